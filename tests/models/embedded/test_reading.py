"""Numbers, days, times and expressions as people write them, in both languages."""

from __future__ import annotations

from datetime import date

import pytest

from backstay.models.embedded.arithmetic import expression_of
from backstay.models.embedded.dates import days_of, times_of
from backstay.models.embedded.numbers import numbers_of, plain
from backstay.models.embedded.reading import Reading

MONDAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("the last 90 days", 90),
        ("in the last two weeks", 14),
        ("last month", 30),
        ("a quarter", 90),
        ("最近两周", 14),
        ("近60天", 60),
        ("过去三个月", 90),
        ("半年", 182.5),
        ("twenty-five days", 25),
    ],
)
def test_spans_of_time_in_days(text: str, days: float) -> None:
    assert [one.in_unit("day") for one in numbers_of(text)] == [days]


@pytest.mark.parametrize(
    ("text", "minutes"), [("half an hour", 30), ("two hours", 120), ("半小时", 30), ("90分钟", 90), ("an hour", 60)]
)
def test_spans_of_time_in_minutes(text: str, minutes: float) -> None:
    assert [one.in_unit("minutes") for one in numbers_of(text)] == [minutes]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("50 EUR of order 1001", [50, 1001]),
        ("1,250.50 dollars", [1250.5]),
        ("两千三百元", [2300]),
        ("一万二千元", [12000]),
        ("two hundred and five", [205]),
        ("C-104", []),
        ("订一张票", [1]),
        ("统一发票", []),
        ("3.5万元", [35000]),
        ("两公斤半", [2.5]),
        ("三十箱苹果", [30]),
        ("最近90天Ann", [90]),
    ],
)
def test_numbers(text: str, values: list[float]) -> None:
    assert [plain(one.value) for one in numbers_of(text)] == values


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("tomorrow", "2026-12-01"),
        ("the day after tomorrow", "2026-12-02"),
        ("on December 12", "2026-12-12"),
        ("on the 3rd of January", "2027-01-03"),
        ("next Tuesday", "2026-12-01"),
        ("2026-12-24", "2026-12-24"),
        ("in 3 days", "2026-12-03"),
        ("后天", "2026-12-02"),
        ("12月5日", "2026-12-05"),
        ("下周三", "2026-12-09"),
        ("周五", "2026-12-04"),
        ("3天后", "2026-12-03"),
        ("2026年12月5日", "2026-12-05"),
    ],
)
def test_days(text: str, day: str) -> None:
    assert [one.value for one in days_of(text, MONDAY)] == [day]


@pytest.mark.parametrize("text", ["February 31", "2026-13-01", "31月99日", "maybe", "Mayor"])
def test_what_is_no_day(text: str) -> None:
    assert days_of(text, MONDAY) == []


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("at 3 pm", "15:00"),
        ("10:30", "10:30"),
        ("7:15 p.m.", "19:15"),
        ("12 am", "00:00"),
        ("noon", "12:00"),
        ("half past six in the evening", "18:30"),
        ("quarter to nine", "08:45"),
        ("下午两点", "14:00"),
        ("晚上8点半", "20:30"),
        ("上午10点", "10:00"),
    ],
)
def test_times_of_day(text: str, time: str) -> None:
    assert [one.value for one in times_of(text)] == [time]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("What is (125 + 75) / 8?", "(125 + 75) / 8"),
        ("How much is 17 times 23?", "17 * 23"),
        ("15% of 240", "240 * 15 / 100"),
        ("240的15%", "240 * 15 / 100"),
        ("12乘以15等于多少", "12 * 15"),
        ("1,000 minus 387", "1000 - 387"),
    ],
)
def test_expressions_are_taken_as_they_stand(text: str, said: str) -> None:
    found = expression_of(text)
    assert found is not None
    assert found[0] == said


def test_one_with_a_measure_word_may_only_be_an_article() -> None:
    assert [one.is_article for one in numbers_of("开一张发票，两张收据")] == [True, False]
    assert [one.in_unit("day") for one in numbers_of("最近90天Ann Berg的订单")] == [90]


def test_a_measure_word_belongs_to_its_number() -> None:
    (number,) = numbers_of("寄个5公斤的包裹")
    assert "寄个5公斤的包裹"[slice(*number.whole)] == "5公斤"


def test_a_term_belongs_to_its_day() -> None:
    (day,) = Reading("周五之前整理名单", MONDAY).days
    assert (day.value, "周五之前整理名单"[slice(*day.place)]) == ("2026-12-04", "周五之前")
