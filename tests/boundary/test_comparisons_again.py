"""A test of a comparison is made once and used for many calls: a later one is compared as the first."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.boundary.predicates import Bound, Scene, check_problems, evaluate, ready
from backstay.core.context import Principal

AT = Scene(0.0, Principal(id="ann", zone="UTC"))
EUR = {"op": "le", "money": "200", "currency": "EUR"}
WEEKS = {"op": "le", "number": "2", "unit": "weeks"}


@pytest.mark.parametrize(
    ("check", "meaning", "values"),
    [
        (EUR, "money:EUR", {"200": True, "201": False, "199": True}),
        (EUR, "money:USD", {"1": False, "2": False}),
        (WEEKS, "quantity:days", {14: True, 15: False, 13: True}),
        (WEEKS, "quantity:weeks", {2: True, 3: False}),
        (WEEKS, "quantity:items", {1: False, 0: False}),
        ({"op": "gt", "number": "1", "unit": "days"}, "quantity:hours", {24: False, 25: True, 2: False}),
    ],
)
def test_each_call_is_compared_as_if_it_were_the_first(check: Any, meaning: str, values: dict[Any, bool]) -> None:
    assert check_problems(check) == []
    test = ready(check)
    for value, holds in [*values.items(), *values.items()]:
        found = test([Bound("n", meaning, value)], AT)
        assert isinstance(found, tuple)
        assert (found == ()) is holds, (value, found)


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_a_limit_that_is_no_number_is_held_by_nothing(op: str) -> None:
    for limit in ("many", True, None):
        with pytest.raises(ValueError, match="is not a plain number"):
            evaluate({"op": op, "number": limit}, [Bound("n", "", 1)], AT)


def test_days_are_no_months_and_no_one_guesses() -> None:
    (found,) = evaluate({"op": "le", "number": "2", "unit": "months"}, [Bound("n", "quantity:days", 1)], AT)
    assert found.is_doubt
    assert "in days, and the rule is in months" in found.limit


@pytest.mark.parametrize(("value", "holds"), [(64, True), (65, False)])
def test_a_number_has_at_most_64_characters_as_it_is_given(value: int, holds: bool) -> None:
    given = "1." + "0" * (value - 2)
    assert (evaluate({"op": "eq", "number": "1"}, [Bound("n", "", given)], AT) == ()) is holds


@pytest.mark.parametrize("given", ["1e40", "9e40", "1e-40", 10**39, -(10**39), 2**132 - 1])
def test_a_number_may_be_as_large_and_as_small_as_it_is_said(given: Any) -> None:
    assert evaluate({"op": "ne", "number": "7"}, [Bound("n", "", given)], AT) == ()


@pytest.mark.parametrize("given", ["1e41", "1e-41", 2**132])
def test_a_number_beyond_that_is_no_plain_one(given: Any) -> None:
    (found,) = evaluate({"op": "ne", "number": "7"}, [Bound("n", "", given)], AT)
    assert found.is_doubt
