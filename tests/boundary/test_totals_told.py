"""What a sum or a count holds, and how it is told when it is full."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backstay.boundary.predicates import Bound, Breach, Scene, added, check_problems, evaluate, limit_text, most
from backstay.core.context import Principal

EUR = {"op": "sum", "max": "300", "money": "EUR", "per": "day"}
HOURS = {"op": "sum", "max": "2", "unit": "days", "per": "session"}
TWICE = {"op": "count", "max": 2, "per": "session"}


def judged(check: Any, *bound: Bound, used: Any = 0) -> tuple[Breach, ...]:
    assert check_problems(check) == []
    return evaluate(check, bound, Scene(0.0, Principal(id="ann"), used=Decimal(used)))


def euro(value: Any, path: str = "amount") -> Bound:
    return Bound(path, "money:EUR", value)


@pytest.mark.parametrize(("used", "value", "holds"), [(0, "300", True), ("0.01", "300", False), (299, 1, True)])
def test_a_sum_is_full_at_its_limit_and_no_sooner(used: Any, value: Any, holds: bool) -> None:
    assert (judged(EUR, euro(value), used=used) == ()) is holds


def test_a_full_sum_tells_what_it_would_come_to_and_what_is_used() -> None:
    assert judged(EUR, euro("301")) == (Breach("amount", "301", "at most 300 EUR in all a day"),)
    (found,) = judged(EUR, euro("50"), used=270)
    assert found == Breach("amount", "50", "at most 300 EUR in all a day, and 270 of it are used up")
    (found,) = judged(EUR, euro("200", "lines.0.price"), euro(None, "lines.1.price"), euro("150", "lines.2.price"))
    assert (found.path, found.value) == ("the sum of lines.0.price and 1 more", "350")
    (found,) = judged(EUR, *(euro("200", f"lines.{n}.price") for n in range(3)))
    assert (found.path, found.value) == ("the sum of lines.0.price and 2 more", "600")


def test_lengths_of_time_are_added_in_seconds_and_told_in_the_unit_of_the_rule() -> None:
    assert most(HOURS) == Decimal(2 * 86_400)
    assert added(HOURS, [Bound("n", "quantity:hours", 5), Bound("m", "quantity:days", "0.5")]) == Decimal(17 * 3600)
    assert added(HOURS, [Bound("n", "quantity:days", 1)]) == Decimal(86_400)
    assert judged(HOURS, Bound("n", "quantity:hours", 24), used=86_400) == ()
    (found,) = judged(HOURS, Bound("n", "quantity:hours", 36), used=86_400)
    assert found == Breach("n", "1.5", "at most 2 days in all in this session, and 1 of it are used up")


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        (euro("-1"), "less than nothing"),
        (euro("many"), "not a plain number"),
        (Bound("amount", "money:USD", "1"), "in USD, and the rule is in EUR; never converted"),
    ],
)
def test_what_cannot_be_added_breaks_the_sum_and_adds_nothing(bound: Bound, told: str) -> None:
    (found,) = judged(EUR, bound, euro("10", "fee"))
    assert found.is_doubt
    assert found.path == "amount"
    assert found.limit == f"at most 300 EUR in all a day; the value is {told}"
    assert added(EUR, [bound, euro("10", "fee")]) == Decimal(10)
    assert added(EUR, [euro("0")]) == 0
    (still,) = judged(EUR, bound, euro("400", "fee"))
    assert still == found, "what cannot be read is told before what is too much"


def test_a_call_of_which_nothing_is_counted_is_left_out() -> None:
    for bound in ((), (euro(None),)):
        (found,) = judged(EUR, *bound)
        assert found == Breach("", "(left out)", "at most 300 EUR in all a day")
        assert found.is_doubt


def test_a_full_count_tells_how_often_it_was_called() -> None:
    assert judged(TWICE, used=1) == ()
    assert judged(TWICE, used=2) == (
        Breach("", "", "it was called 2 times, allowed is at most 2 calls in this session"),
    )
    assert added(TWICE, []) == 1
    assert most(TWICE) == 2


@pytest.mark.parametrize("limit", ["many", None, True])
def test_a_limit_that_is_no_number_is_none(limit: Any) -> None:
    for check in ({**EUR, "max": limit}, {**TWICE, "max": limit}):
        with pytest.raises(ValueError, match="is not a plain number"):
            most(check)
        with pytest.raises(ValueError, match="is not a plain number"):
            evaluate(check, [euro("1")], Scene(0.0, Principal(id="ann")))


@pytest.mark.parametrize(
    ("check", "text"),
    [
        ({"op": "sum", "max": 3, "unit": "items", "per": "day"}, "at most 3 items in all a day"),
        ({"op": "sum", "max": 3, "per": "session"}, "at most 3 in all in this session"),
        (TWICE, "at most 2 calls in this session"),
        ({**TWICE, "per": "day"}, "at most 2 calls a day"),
    ],
)
def test_a_total_reads_as_one_line(check: Any, text: str) -> None:
    assert limit_text(check) == text
