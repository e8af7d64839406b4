"""Dates in words, English and Chinese: days, months, years and the spans between them."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import TypeAlias

from backstay.core.patterns import Pattern

Days: TypeAlias = "tuple[date, date] | None"
"""First and last day of what was named; None where it is a date that cannot be told (no year, 03/04/2026)."""

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_TO = r" ?(?:-|–|—|~|to|until|till|through|and|至|到) ?"
_NOT_DIGIT = r"(?<![0-9.,/-])"


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _make(year: str | int, month: str | int, day: str | int) -> date:
    return date(int(year), int(month), int(day))


def _of_month(year: str | int, month: str | int) -> tuple[date, date]:
    return _make(year, month, 1), _make(year, month, monthrange(int(year), int(month))[1])


def _one(day: date) -> tuple[date, date]:
    return day, day


def _numeric(first: str, second: str, year: str) -> Days:
    if int(first) > 12 and int(second) <= 12:
        return _one(_make(year, second, first))
    if int(second) > 12 and int(first) <= 12:
        return _one(_make(year, first, second))
    return _one(_make(year, first, second)) if first == second else None


def _quarter(number: str, year: str) -> tuple[date, date]:
    last = 3 * int(number)
    return _make(year, last - 2, 1), _of_month(year, last)[1]


_Read: TypeAlias = Callable[[re.Match[str], date], Days]
_ROWS: tuple[tuple[Pattern, _Read], ...] = tuple(
    (Pattern(pattern), read)
    for pattern, read in (
        (
            _NOT_DIGIT + r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?![0-9])",
            lambda m, _: _one(_make(m[1], m[2], m[3])),
        ),
        (
            r"([0-9]{4})年([0-9]{1,2})月(?:份)?(?:到|至|-|~)([0-9]{1,2})月份?(?![0-9]|[0-9]*[日号])",
            lambda m, _: (_of_month(m[1], m[2])[0], _of_month(m[1], m[3])[1]),
        ),
        (
            r"([0-9]{4})年([0-9]{1,2})月([0-9]{1,2})[日号]?(?:到|至|-|~)(?:([0-9]{1,2})月)?([0-9]{1,2})[日号]",
            lambda m, _: (_make(m[1], m[2], m[3]), _make(m[1], m[4] or m[2], m[5])),
        ),
        (r"([0-9]{4})年([0-9]{1,2})月([0-9]{1,2})[日号]", lambda m, _: _one(_make(m[1], m[2], m[3]))),
        (r"([0-9]{4})年([0-9]{1,2})月份?", lambda m, _: _of_month(m[1], m[2])),
        (r"([0-9]{4})年(?:全年)?", lambda m, _: (_make(m[1], 1, 1), _make(m[1], 12, 31))),
        (r"[0-9]{1,2}月[0-9]{1,2}[日号]?(?:(?:到|至|-|~)(?:[0-9]{1,2}月)?[0-9]{1,2}[日号])?", lambda _m, _: None),
        (
            rf"{_NOT_DIGIT}{_DAY}{_TO}{_DAY}(?: of)? {_MONTH},? ([0-9]{{4}})",
            lambda m, _: (_make(m[4], _month(m[3]), m[1]), _make(m[4], _month(m[3]), m[2])),
        ),
        (
            rf"(?<![a-z]){_MONTH} {_DAY}{_TO}{_DAY},? ([0-9]{{4}})",
            lambda m, _: (_make(m[4], _month(m[1]), m[2]), _make(m[4], _month(m[1]), m[3])),
        ),
        (
            rf"(?<![a-z]){_MONTH}{_TO}{_MONTH},? ([0-9]{{4}})",
            lambda m, _: (_of_month(m[3], _month(m[1]))[0], _of_month(m[3], _month(m[2]))[1]),
        ),
        (rf"{_NOT_DIGIT}{_DAY}(?: of)? {_MONTH},? ([0-9]{{4}})", lambda m, _: _one(_make(m[3], _month(m[2]), m[1]))),
        (rf"(?<![a-z]){_MONTH} {_DAY},? ([0-9]{{4}})", lambda m, _: _one(_make(m[3], _month(m[1]), m[2]))),
        (rf"(?<![a-z]){_MONTH},? ([0-9]{{4}})(?![0-9])", lambda m, _: _of_month(m[2], _month(m[1]))),
        (rf"(?<![a-z])(?:{_DAY}(?: of)? {_MONTH}|{_MONTH} {_DAY}(?![0-9]))", lambda _m, _: None),
        (r"(?<![a-z])q([1-4]) ?([0-9]{4})", lambda m, _: _quarter(m[1], m[2])),
        (
            _NOT_DIGIT + r"([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})(?![0-9])",
            lambda m, _: _numeric(m[1], m[2], m[3]),
        ),
        (r"(?<![a-z])(?<!the )last month(?![a-z])|上个?月", lambda _, today: _previous_month(today)),
        (r"(?<![a-z])this month(?![a-z])|本月|这个?月", lambda _, today: _of_month(today.year, today.month)),
        (
            r"(?<![a-z])(?<!the )last week(?![a-z])|上个?(?:周|星期|礼拜)(?![一二三四五六日天])",
            lambda _, today: _week(today, -1),
        ),
        (
            r"(?<![a-z])this week(?![a-z])|[本这]个?(?:周|星期|礼拜)(?![一二三四五六日天])",
            lambda _, today: _week(today, 0),
        ),
        (r"(?<![a-z])yesterday(?![a-z])|昨[天日]", lambda _, today: _one(today - timedelta(1))),
        (
            r"(?<![a-z])(?<!the )last year(?![a-z])|去年",
            lambda _, t: (date(t.year - 1, 1, 1), date(t.year - 1, 12, 31)),
        ),
        (r"(?<![a-z])this year(?![a-z])|今年", lambda _, today: (date(today.year, 1, 1), date.max)),
    )
)
YEAR = Pattern(r"(?<![0-9.,a-z-])(20[0-9]{2})(?![0-9.,-]*[0-9])(?! ?[a-z%]*(?:k|eur|usd))")
"""A bare year; only looked for when nothing else claimed the digits."""


def _week(today: date, weeks: int) -> tuple[date, date]:
    """A week from Monday to Sunday, so many after this one."""
    monday = today + timedelta(7 * weeks - today.weekday())
    return monday, monday + timedelta(6)


def _previous_month(today: date) -> tuple[date, date]:
    last = today.replace(day=1) - timedelta(1)
    return last.replace(day=1), last


def read_dates(text: str, today: date, put: Callable[[Days], str]) -> str:
    """Return the text with every date replaced by what `put` says for it, in the order of `_ROWS`."""

    def replaced(found: re.Match[str], read: _Read) -> str:
        try:
            return put(read(found, today))
        except ValueError:
            return put(None)

    for pattern, read in _ROWS:
        text = pattern.sub(lambda found, read=read: replaced(found, read), text)  # type: ignore[misc]
    return text
