"""Each Python call of `checks` is the check of the language that it names, and nothing that is none."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backstay.boundary import checks
from backstay.boundary.predicates import check_problems
from backstay.core.canon import canonical
from backstay.core.errors import ConstraintError

EUR = {"op": "le", "money": "200", "currency": "EUR"}


@pytest.mark.parametrize(
    ("made", "check"),
    [
        (checks.at_most(200, "EUR"), EUR),
        (checks.at_most(Decimal("0.50"), "EUR"), {"op": "le", "money": "0.50", "currency": "EUR"}),
        (checks.at_most("5"), {"op": "le", "number": "5"}),
        (checks.at_most(5, "kg"), {"op": "le", "number": "5", "unit": "kg"}),
        (checks.at_most(5, "GB"), {"op": "le", "number": "5", "unit": "GB"}),
        (checks.at_most(5, "eur"), {"op": "le", "number": "5", "unit": "eur"}),
        (checks.at_most(5, "ÄÖÜ"), {"op": "le", "number": "5", "unit": "ÄÖÜ"}),
        (checks.at_least(5), {"op": "ge", "number": "5"}),
        (checks.less_than(5), {"op": "lt", "number": "5"}),
        (checks.more_than(5), {"op": "gt", "number": "5"}),
        (checks.one_of("a", 1), {"op": "in", "values": ["a", 1]}),
        (checks.none_of("a"), {"op": "not_in", "values": ["a"]}),
        (checks.last(days=30), {"op": "window", "days": 30}),
        (checks.last(months=1), {"op": "window", "months": 1}),
        (checks.within("2026-01-01"), {"op": "window", "from": "2026-01-01"}),
        (checks.within(until="2026-01-31"), {"op": "window", "to": "2026-01-31"}),
        (checks.under("/srv", "/tmp"), {"op": "path", "under": ["/srv", "/tmp"]}),
        (checks.under("a", base="/srv"), {"op": "path", "under": ["a"], "base": "/srv"}),
        (checks.at_host("a.com"), {"op": "host", "in": ["a.com"]}),
        (checks.like("*.tmp"), {"op": "glob", "like": ["*.tmp"]}),
        (checks.calls(3, per="day"), {"op": "count", "max": 3, "per": "day"}),
        (checks.total(300, "EUR", per="day"), {"op": "sum", "max": "300", "money": "EUR", "per": "day"}),
        (checks.total(3, "items", per="session"), {"op": "sum", "max": "3", "unit": "items", "per": "session"}),
        (checks.total(3, "ÄÖÜ", per="session"), {"op": "sum", "max": "3", "unit": "ÄÖÜ", "per": "session"}),
        (checks.total(Decimal("1.5"), per="day"), {"op": "sum", "max": "1.5", "per": "day"}),
        (checks.same_as("to"), {"op": "same_as", "argument": "to"}),
        (checks.among("all"), {"op": "subset_of", "argument": "all"}),
        (checks.own_words(), {"op": "own_words"}),
        (checks.claim("region"), {"op": "claim", "name": "region"}),
        (checks.owned(), {"op": "owned_by"}),
        (checks.owned("order"), {"op": "owned_by", "kind": "order"}),
        (checks.after("look", "see"), {"op": "before", "tools": ["look", "see"]}),
        (checks.function("ours"), {"op": "function", "name": "ours"}),
        (checks.never(), {"op": "forbid"}),
        (checks.all_of(EUR, {"op": "forbid"}), {"op": "all", "of": [EUR, {"op": "forbid"}]}),
        (checks.any_of(EUR), {"op": "any", "of": [EUR]}),
        (checks.negated(EUR), {"op": "not", "of": EUR}),
    ],
)
def test_each_call_is_the_check_it_names(made: Any, check: Any) -> None:
    assert canonical(made) == canonical(check)
    assert check_problems(made) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: checks.at_most("many"),
        lambda: checks.one_of(),
        lambda: checks.last(),
        lambda: checks.last(days=1, months=1),
        lambda: checks.under("../x"),
        lambda: checks.calls(-1, per="day"),
        lambda: checks.negated({"op": "nope"}),
    ],
)
def test_what_is_no_check_is_refused_where_it_is_written(make: Any) -> None:
    with pytest.raises(ConstraintError, match="this is no check: "):
        make()
