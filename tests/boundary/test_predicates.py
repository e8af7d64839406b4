from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.boundary.predicates import (
    Bound,
    Breach,
    Scene,
    check_problems,
    evaluate,
    is_missing,
    limit_text,
    selects,
)
from backstay.core.canon import freeze
from backstay.core.context import Principal
from backstay.core.messages import Args, Json

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC).timestamp()
EUR = {"op": "le", "money": "200", "currency": "EUR"}
DAYS = {"op": "window", "days": 30}
JANUARY = {"op": "window", "from": "2026-01-01", "to": "2026-01-31"}


def scene(now: float = NOW, zone: str = "UTC", **more: Any) -> Scene:
    return Scene(now, Principal(id="ann", zone=zone), **more)


def judged(check: Args, *bound: Bound, now: float = NOW, zone: str = "UTC") -> tuple[Breach, ...]:
    assert check_problems(check) == []
    return evaluate(check, bound, scene(now, zone))


def days(value: Json) -> Bound:
    return Bound("days", "quantity:days", value)


def start(value: Json) -> Bound:
    return Bound("since", "date_range:start", value)


def end(value: Json) -> Bound:
    return Bound("until", "date_range:end", value)


def whole(value: Json) -> Bound:
    return Bound("period", "date_range:whole", freeze(value))


def money(value: Json, currency: str = "EUR") -> Bound:
    return Bound("amount", f"money:{currency}", value)


@pytest.mark.parametrize("value", ["200", "200.00", 200, 199.99, "0", "-5", "2E+2"])
def test_an_amount_up_to_the_limit_holds(value: Json) -> None:
    assert judged(EUR, money(value)) == ()


@pytest.mark.parametrize(
    "value",
    [
        "200.01",
        201,
        200.00000001,
        True,
        "NaN",
        "inf",
        "1e400",
        float("inf"),
        "2_0",
        "２０",
        "",
        " ",
        "many",
        "9" * 70,
        {"a": 1},
    ],
)
def test_more_than_the_limit_or_no_plain_number_is_a_breach(value: Json) -> None:
    (breach,) = judged(EUR, money(value))
    assert breach.path == "amount"
    assert breach.limit.startswith("at most 200 EUR")


def test_floats_are_compared_as_they_are_written() -> None:
    assert judged({"op": "eq", "money": "0.3", "currency": "EUR"}, money(0.3)) == ()
    assert judged({"op": "eq", "money": "0.3", "currency": "EUR"}, money(0.1 + 0.2)) != ()


def test_another_currency_is_never_converted() -> None:
    (breach,) = judged(EUR, money("1", "USD"))
    assert "in USD, and the rule is in EUR; never converted" in breach.limit
    assert judged({"op": "not", "of": EUR}, money("1", "USD")) != ()


def test_every_element_of_an_array_is_compared() -> None:
    (breach,) = judged(EUR, Bound("amounts", "money:EUR", ("10", "300", None)))
    assert breach == Breach("amounts.1", "300", "at most 200 EUR")


@pytest.mark.parametrize(
    ("op", "holds"),
    [("lt", (199,)), ("le", (199, 200)), ("gt", (201,)), ("ge", (200, 201)), ("eq", (200,)), ("ne", (199, 201))],
)
def test_each_comparison_holds_where_it_says(op: str, holds: tuple[int, ...]) -> None:
    check = {"op": op, "number": "200", "unit": "items"}
    assert tuple(n for n in (199, 200, 201) if not judged(check, Bound("n", "quantity:items", n))) == holds


def test_units_go_by_aliases_and_exact_conversion_of_time_alone() -> None:
    two_weeks = {"op": "le", "number": "2", "unit": "weeks"}
    assert judged(two_weeks, Bound("n", "quantity:天", 14)) == ()
    assert judged(two_weeks, Bound("n", "quantity:day", 15)) != ()
    assert judged(two_weeks, Bound("n", "quantity:hours", 336)) == ()
    assert judged(two_weeks, Bound("n", "quantity:months", 0)) != ()
    assert judged({"op": "le", "number": 3, "unit": "件"}, Bound("n", "quantity:item", 3)) == ()
    assert judged({"op": "le", "number": 3}, Bound("n", "", 3)) == ()


@pytest.mark.parametrize("bound", [Bound("x", "", 3), Bound("x", "id:order", 3)])
def test_a_value_of_another_kind_cannot_be_evaluated(bound: Bound) -> None:
    for check in (EUR, {"op": "le", "number": "3", "unit": "items"}, DAYS):
        with pytest.raises(ValueError, match="cannot be checked"):
            judged(check, bound)


def test_sets_compare_folded_texts_and_exact_numbers() -> None:
    check = {"op": "in", "values": ["Ärger@Example.com", 5, "ＡＢＣ"]}
    for value in ("äRGER@example.COM", "abc", 5, 5.0, "5", ("abc", 5)):
        assert judged(check, Bound("to", "recipient", value)) == ()
    for value in ("x@example.com", 6, ("abc", "x"), {"a": 1}, "ab\u200bc"):
        assert judged(check, Bound("to", "recipient", value)) != ()


def test_refused_values_do_not_slip_past_in_disguise() -> None:
    check = {"op": "not_in", "values": ["smith", 1001]}
    for value in ("SMITH", "sm\u200bith", "ｓｍｉｔｈ", 1001, "1001", ("jones", "smith"), {"name": "smith"}):
        assert judged(check, Bound("to", "recipient", value)) != ()
    assert judged(check, Bound("to", "recipient", "jones")) == ()


@pytest.mark.parametrize("value", [30, "30", 0, 29.5, 30.0])
def test_up_to_the_days_of_the_window_hold(value: Json) -> None:
    assert judged(DAYS, days(value)) == ()


@pytest.mark.parametrize("value", [31, 30.5, 90, -1, "-1", True, "thirty", "NaN", 1e400, 10**30, "P30D", {"a": 1}])
def test_more_days_or_no_number_of_days_break_the_window(value: Json) -> None:
    assert judged(DAYS, days(value)) != ()


def test_other_lengths_of_time_are_measured_by_the_calendar() -> None:
    assert judged(DAYS, Bound("n", "quantity:weeks", 4)) == ()
    assert judged(DAYS, Bound("n", "quantity:weeks", 5)) != ()
    assert judged(DAYS, Bound("n", "quantity:months", 1)) != ()
    assert judged({"op": "window", "months": 1}, Bound("n", "quantity:months", 1)) == ()
    assert judged({"op": "window", "months": 1}, days(31)) == ()
    assert judged({"op": "window", "months": 1}, days(32)) != ()


def test_incident_two_is_refused_in_every_shape() -> None:
    for bound in (
        (days(90),),
        (start("2026-01-01"), end("2026-06-15")),
        (start("2026-06-01"), end("2026-01-01")),
        (whole("2026-01-01/2026-06-15"),),
        (whole("last quarter"),),
        (start("2026-03-17T00:00:00Z"),),
        (whole({"start": "2026-01-01", "end": "2026-06-15"}),),
        (whole(["2026-01-01", "2026-06-15"]),),
    ):
        assert not is_missing(DAYS, bound)
        assert judged(DAYS, *bound) != ()
    for bound in ((), (end("2026-06-15"),), (days(None), start(None))):
        assert is_missing(DAYS, bound)
        assert judged(DAYS, *bound) != ()


@pytest.mark.parametrize(
    "bound",
    [
        (start("2026-05-16"),),
        (start("2026-06-01"), end("2027-01-01")),
        (days(30), end("2026-06-15")),
        (whole("2026-05-16/2026-06-15"),),
        (whole("2026-06-01/.."),),
        (whole("2026-06-01"),),
        (whole({"start": "2026-05-16", "end": None}),),
        (whole(["2026-06-01", "2026-06-02"]),),
    ],
)
def test_what_lies_inside_the_last_thirty_days_holds(bound: tuple[Bound, ...]) -> None:
    assert judged(DAYS, *bound) == ()


@pytest.mark.parametrize(
    "value",
    ["last quarter", "", "../2026-06-15", "2026-06", "2026-06-01 to 2026-06-02", [], ["2026-06-01"], {"from": "x"}, 7,
     ["2026-06-01", "soon"], "2026-02-30/2026-06-15", {}, "２０２６-06-01"],
)  # fmt: skip
def test_what_is_no_span_of_dates_is_a_breach(value: Json) -> None:
    (breach,) = judged(DAYS, whole(value))
    assert breach.limit.startswith("only the last 30 days")


@pytest.mark.parametrize(
    "value", ["yesterday", 1781000000, True, "15.06.2026", "2026-02-30", "20260601", ("2026-06-01",)]
)
def test_what_is_no_date_is_a_breach(value: Json) -> None:
    assert judged(DAYS, start(value)) != ()


def test_days_beside_a_lone_end_count_back_from_that_end() -> None:
    assert judged(DAYS, days(30), end("2026-06-01")) != ()
    assert judged(DAYS, days(10), end("2026-06-01")) == ()


def test_days_begin_and_end_in_the_zone_of_the_principal() -> None:
    late = datetime(2026, 6, 15, 23, 30, tzinfo=UTC).timestamp()
    assert judged(DAYS, start("2026-05-16"), now=late, zone="UTC") == ()
    assert judged(DAYS, start("2026-05-16"), now=late, zone="Asia/Shanghai") != ()
    assert judged(DAYS, start("2026-05-16T23:00:00+00:00"), now=late, zone="Asia/Shanghai") == ()
    assert judged(DAYS, start("2026-05-16T23:00:00"), now=late, zone="Asia/Shanghai") != ()


def test_the_day_of_a_clock_change_is_a_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for hour in (0, 1, 3, 23):
        now = datetime(2026, 3, 29, hour, 30, tzinfo=berlin).timestamp()
        assert judged({"op": "window", "days": 1}, start("2026-03-28"), now=now, zone="Europe/Berlin") == ()
        assert judged({"op": "window", "days": 1}, start("2026-03-27"), now=now, zone="Europe/Berlin") != ()


def test_months_end_on_the_last_day_that_there_is() -> None:
    leap = datetime(2028, 2, 29, 12, tzinfo=UTC).timestamp()
    assert judged({"op": "window", "months": 12}, start("2027-02-28"), now=leap) == ()
    assert judged({"op": "window", "months": 12}, start("2027-02-27"), now=leap) != ()
    assert judged({"op": "window", "days": 366}, start("2027-02-28"), now=leap) == ()
    march = datetime(2026, 3, 31, 12, tzinfo=UTC).timestamp()
    assert judged({"op": "window", "months": 1}, start("2026-02-28"), now=march) == ()


def test_an_absolute_window_wants_both_of_its_sides() -> None:
    assert judged(JANUARY, start("2026-01-01"), end("2026-01-31")) == ()
    assert judged(JANUARY, whole("2026-01-10")) == ()
    for bound in (
        (start("2025-12-31"), end("2026-01-31")),
        (start("2026-01-01"), end("2026-02-01")),
        (whole("2026-01-01/.."),),
    ):
        assert judged(JANUARY, *bound) != ()
    assert is_missing(JANUARY, (start("2026-01-01"),))
    assert is_missing(JANUARY, (end("2026-01-31"),))
    assert judged(JANUARY, days(30)) != ()
    assert judged({"op": "window", "from": "2026-06-01"}, days(14)) == ()
    assert judged({"op": "window", "to": "2026-01-31"}, start("2020-01-01"), end("2026-01-31")) == ()
    assert is_missing({"op": "window", "to": "2026-01-31"}, (start("2020-01-01"),))


def test_forbid_is_always_a_breach() -> None:
    assert not is_missing({"op": "forbid"}, ())
    assert judged({"op": "forbid"}) == (Breach("", "", "never"),)
    assert judged({"op": "not", "of": {"op": "forbid"}}) == ()


def test_all_any_and_not_take_each_part_to_what_it_is_about() -> None:
    both = {"op": "all", "of": [EUR, DAYS]}
    assert judged(both, money("10"), days(3)) == ()
    assert judged(both, money("1000"), days(3)) != ()
    assert judged(both, money("10")) != ()
    assert is_missing(both, (money(None), days(None)))
    either = {"op": "any", "of": [EUR, DAYS]}
    assert judged(either, money("1000"), days(3)) == ()
    assert judged(either, money("10")) == ()
    assert judged({"op": "any", "of": [DAYS, EUR]}, money("10")) == ()
    assert judged(either, money("1000"), days(90)) != ()
    assert judged({"op": "not", "of": EUR}, money("201")) == ()
    assert judged({"op": "not", "of": EUR}, money("200")) != ()


@pytest.mark.parametrize("value", ["lots", True, float("nan")])
def test_what_cannot_be_read_is_a_breach_under_not_too(value: Json) -> None:
    assert judged({"op": "not", "of": EUR}, money(value)) != ()
    assert judged({"op": "not", "of": {"op": "all", "of": [EUR]}}, money(value)) != ()


def test_what_was_left_out_is_missing_and_never_holds() -> None:
    for check in (EUR, {"op": "in", "values": ["a"]}, DAYS, {"op": "not", "of": EUR}, {"op": "any", "of": [EUR]}):
        for bound in ((), (money(None),)):
            assert is_missing(check, bound)
            assert judged(check, *bound) != ()


@pytest.mark.parametrize(
    "check",
    [
        None, [], "le", {}, {"op": "nope"}, {"op": ["le"]}, {"op": "le"}, {"op": "le", "money": "200"},
        {"op": "le", "money": "200", "currency": "euro"}, {"op": "le", "money": "lots", "currency": "EUR"},
        {"op": "le", "money": True, "currency": "EUR"}, {"op": "le", "number": "3", "unit": 3},
        {"op": "le", "number": "3", "money": "3", "currency": "EUR"}, {"op": "in"}, {"op": "in", "values": []},
        {"op": "in", "values": "abc"}, {"op": "in", "values": [{}]}, {"op": "window"}, {"op": "window", "days": "30"},
        {"op": "window", "days": -1}, {"op": "window", "days": True}, {"op": "window", "days": 3, "months": 3},
        {"op": "window", "days": 3, "from": "2026-01-01"}, {"op": "window", "from": "01.01.2026"},
        {"op": "window", "from": "2026-02-01", "to": "2026-01-01"}, {"op": "window", "from": 5},
        {"op": "forbid", "x": 1},
        {"op": "all", "of": []}, {"op": "all", "of": EUR}, {"op": "any", "of": [EUR, {"op": "nope"}]}, {"op": "not"},
        {"op": "not", "of": [EUR]},
    ],
)  # fmt: skip
def test_a_check_that_is_none_has_problems(check: object) -> None:
    assert check_problems(check)


def test_endless_nesting_is_a_problem_and_not_a_crash() -> None:
    check: Args = EUR
    for _ in range(5000):
        check = {"op": "not", "of": check}
    assert check_problems(check)
    with pytest.raises(ValueError, match="cannot be evaluated"):
        evaluate(check, (money("1"),), scene())


@pytest.mark.parametrize(
    "check", [{}, {"op": "nope"}, {"op": ["le"]}, {"op": "le"}, {"op": "window", "from": "x"}, {"op": "all"}]
)
def test_a_check_that_cannot_be_evaluated_raises(check: Args) -> None:
    with pytest.raises(ValueError, match=r"."):
        evaluate(check, (days(1),), scene())


def test_an_unknown_zone_raises() -> None:
    for zone in ("Mars/Olympus", "../etc", ""):
        with pytest.raises(ValueError, match=r"."):
            evaluate(DAYS, (days(1),), scene(zone=zone))


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (EUR, "at most 200 EUR"),
        ({"op": "lt", "number": "3", "unit": "items"}, "less than 3 items"),
        (DAYS, "only the last 30 days"),
        ({"op": "window", "months": 1}, "only the last month"),
        (JANUARY, "only 2026-01-01 to 2026-01-31"),
        ({"op": "window", "from": "2026-01-01"}, "only since 2026-01-01"),
        ({"op": "in", "values": ["a", 2]}, "only a, 2"),
        (
            {"op": "any", "of": [EUR, {"op": "not", "of": {"op": "not_in", "values": ["a"]}}]},
            "at most 200 EUR or not (none of a)",
        ),
        ({"op": "forbid"}, "never"),
    ],
)
def test_a_rule_reads_as_one_line(check: Args, text: str) -> None:
    assert limit_text(check) == text


@pytest.mark.parametrize(
    ("bind", "meaning", "reached"),
    [
        ("money", "money:EUR", True), ("money", "quantity:days", False), ("window", "quantity:days", True),
        ("window", "date_range:whole", True), ("window", "quantity:weeks", True), ("window", "quantity:items", False),
        ("quantity:items", "quantity:件", True), ("quantity:items", "quantity:kg", False),
        ("id:order", "id:order", True),
        ("id:order", "id:orders", False), ("money:EUR", "money:USD", False), ("recipient", "recipient", True),
    ],
)  # fmt: skip
def test_a_bound_meaning_selects(bind: str, meaning: str, reached: bool) -> None:
    assert selects(bind, meaning) is reached


def test_long_values_are_shortened() -> None:
    (breach,) = judged(EUR, money("x" * 500))
    assert len(breach.value) == 80


@given(st.decimals(-(10**6), 10**6, places=2), st.decimals(-(10**6), 10**6, places=2))
def test_money_compares_like_decimals(value: Decimal, limit: Decimal) -> None:
    check = {"op": "le", "money": str(limit), "currency": "EUR"}
    assert (judged(check, money(str(value))) == ()) == (value <= limit)


@given(st.dates(date(1990, 1, 1), date(2060, 1, 1)), st.integers(0, 4000), st.integers(-10, 5000))
def test_a_start_so_many_days_ago_agrees_with_that_number_of_days(today: date, window: int, ago: int) -> None:
    now = datetime(today.year, today.month, today.day, 12, tzinfo=UTC).timestamp()
    first = (today - timedelta(ago)).isoformat()
    assert (judged({"op": "window", "days": window}, start(first), now=now) == ()) == (ago <= window)
    assert (judged({"op": "window", "days": window}, days(ago), now=now) == ()) == (0 <= ago <= window)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_MEANINGS = st.sampled_from(
    [
        "",
        "money:EUR",
        "money:USD",
        "quantity:days",
        "quantity:months",
        "date_range:start",
        "date_range:end",
        "date_range:whole",
    ]
)


@given(
    st.sampled_from(
        [EUR, DAYS, JANUARY, {"op": "not", "of": DAYS}, {"op": "in", "values": ["a"]}, {"op": "all", "of": [EUR, DAYS]}]
    ),
    st.lists(st.builds(Bound, st.just("x"), _MEANINGS, _JSON), max_size=3),
)
def test_evaluation_answers_or_raises_value_error(check: Args, bound: list[Bound]) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(evaluate(check, bound, scene(zone="Asia/Shanghai")), tuple)
    assert is_missing(check, bound) in (True, False)
