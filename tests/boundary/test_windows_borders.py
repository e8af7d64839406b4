"""Where a window of days begins and ends, to the day, and what of a span may be left open."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from backstay.boundary.predicates import Bound, Breach, Scene, check_problems, evaluate, is_missing, limit_text
from backstay.core.canon import freeze
from backstay.core.context import Principal

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC).timestamp()
DAYS = {"op": "window", "days": 30}
JANUARY = {"op": "window", "from": "2026-01-01", "to": "2026-01-31"}
UNTIL = {"op": "window", "to": "2026-01-31"}


def judged(check: Any, *bound: Bound) -> tuple[Breach, ...]:
    assert check_problems(check) == []
    return evaluate(check, bound, Scene(NOW, Principal(id="ann", zone="UTC")))


def holds(check: Any, *bound: Bound) -> bool:
    return judged(check, *bound) == ()


def start(value: Any) -> Bound:
    return Bound("since", "date_range:start", value)


def end(value: Any) -> Bound:
    return Bound("until", "date_range:end", value)


def whole(value: Any) -> Bound:
    return Bound("period", "date_range:whole", freeze(value))


def length(value: Any, unit: str = "days") -> Bound:
    return Bound("n", f"quantity:{unit}", value)


@pytest.mark.parametrize(
    ("months", "first", "before"),
    [
        (0, "2026-06-15", "2026-06-14"),
        (5, "2026-01-15", "2026-01-14"),
        (6, "2025-12-15", "2025-12-14"),
        (24_300, "0001-06-15", "0001-06-14"),
    ],
)
def test_a_window_of_months_begins_on_the_same_day_of_its_month(months: int, first: str, before: str) -> None:
    check = {"op": "window", "months": months}
    assert holds(check, start(first))
    assert not holds(check, start(before))


@pytest.mark.parametrize("months", [24_306, 24_311, 24_312, 36_525])
def test_a_window_that_is_longer_than_the_calendar_begins_with_it(months: int) -> None:
    assert holds({"op": "window", "months": months}, start("0001-01-01"))


def test_a_length_of_time_that_is_longer_than_the_calendar_is_too_long() -> None:
    for ordinal in (date(2026, 6, 15).toordinal() - 1, date(2026, 6, 15).toordinal(), 10**30):
        (breach,) = judged(DAYS, length(ordinal))
        assert not breach.is_doubt


@pytest.mark.parametrize(
    ("window", "months", "is_inside"),
    [(2400, 2400, True), (2400, 2500, False), (23_000, 23_000, True), (23_000, 24_000, False), (23_000, 10**9, False)],
)
def test_many_months_are_as_many_as_are_said(window: int, months: int, is_inside: bool) -> None:
    assert holds({"op": "window", "months": window}, length(months, "months")) is is_inside


@pytest.mark.parametrize(
    ("hours", "is_inside"), [(720, True), (721, False), ("719.5", True), (0, True), (-1, False), (24, True)]
)
def test_a_part_of_a_day_is_the_whole_day(hours: Any, is_inside: bool) -> None:
    assert holds(DAYS, length(hours, "hours")) is is_inside


def test_of_dates_only_the_day_counts_and_they_are_written_in_one_way() -> None:
    assert holds(DAYS, start("2026-06-01T12:00:00." + "1" * 20))
    for odd in (
        "2026-06-01T12:00:00." + "1" * 21,
        "2026-W24-1",
        "2026W24-1",
        "2026W24-10:00",
        "2026-06-01\u200b12:00",
        "2026-06-1",
        "2026-06-01T",
    ):
        (breach,) = judged(DAYS, start(odd))
        assert breach.is_doubt
        assert breach.limit == "only the last 30 days; the value cannot be read as a date or a length of time"


def test_a_span_in_one_value_has_a_start_and_an_end_and_nothing_else() -> None:
    assert holds(JANUARY, whole({"start": "2026-01-01", "end": "2026-01-31"}))
    assert not holds(JANUARY, whole({"start": "2026-01-01", "end": "2026-02-01"}))
    assert not holds(JANUARY, whole({"start": "2025-12-31", "end": "2026-01-31"}))
    for odd in (
        {"start": "2026-01-01", "end": "2026-01-31", "zone": "UTC"},
        ["2026-01-01", "2026-01-02", "2026-01-03"],
        "2026-01-01/2026-01-02/2026-01-03",
    ):
        (breach,) = judged(JANUARY, whole(odd))
        assert breach.is_doubt
        assert breach.limit.endswith("the value cannot be read as a span of dates")


def test_an_open_side_is_a_breach_only_where_the_window_has_that_side() -> None:
    assert holds(UNTIL, whole("../2026-01-31"))
    assert holds(UNTIL, whole({"end": "2026-01-31"}))
    assert not holds(UNTIL, whole("2026-01-01/.."))
    assert not holds(DAYS, whole("../2026-06-15"))
    assert holds(DAYS, whole("2026-06-15/"))


def test_a_day_on_either_end_of_the_window_lies_in_it() -> None:
    for day in ("2026-01-01", "2026-01-31"):
        assert holds(JANUARY, start(day), end(day))
    for day in ("2025-12-31", "2026-02-01"):
        assert len(judged(JANUARY, start(day), end(day))) == 2


def test_what_a_call_leaves_out_beside_what_bounds_it_is_no_breach() -> None:
    assert holds(DAYS, start("2026-06-01"), end(None))
    assert holds(DAYS, start(None), length(3), end(None))


def test_a_window_with_an_end_wants_one_of_the_call() -> None:
    assert judged(JANUARY, start("2026-01-10")) != ()
    assert judged(JANUARY, end("2026-01-10")) != ()
    assert judged(UNTIL, start("2026-01-10")) != ()
    assert holds(UNTIL, end("2026-01-10"))
    assert not is_missing(UNTIL, [end("2026-01-10")])
    assert not is_missing(JANUARY, [end("2026-01-31"), start("2026-01-01")])
    assert not is_missing(JANUARY, [start("2026-01-01"), end("2026-01-31")])


def test_a_length_counts_back_from_a_lone_end_and_otherwise_from_today() -> None:
    assert not holds(DAYS, length(28), end("2026-06-10"))
    assert not holds(DAYS, length(28), start(None), end("2026-06-10"))
    assert holds(DAYS, length(28), start("2026-06-01"), end("2026-06-10"))
    assert holds(DAYS, length(28), start("2026-06-01"))
    assert holds(DAYS, length(30), end("2027-01-01")), "an end to come is not waited for"


@pytest.mark.parametrize(
    ("check", "text"),
    [
        ({"op": "window", "days": 1}, "only the last day"),
        ({"op": "window", "days": 0}, "only the last 0 days"),
        ({"op": "window", "months": 2}, "only the last 2 months"),
        (UNTIL, "only until 2026-01-31"),
        ({"op": "eq", "number": 3}, "exactly 3"),
        ({"op": "ne", "number": 3}, "anything but 3"),
        ({"op": "gt", "number": 3}, "more than 3"),
        ({"op": "ge", "number": 3}, "at least 3"),
    ],
)
def test_a_limit_reads_as_people_say_it(check: Any, text: str) -> None:
    assert limit_text(check) == text


def test_an_end_that_is_no_date_is_one_problem_beside_one_that_is() -> None:
    assert len(check_problems({"op": "window", "from": 5, "to": "2026-01-01"})) == 1
    assert len(check_problems({"op": "window", "from": "2026-01-01", "to": "x"})) == 1
