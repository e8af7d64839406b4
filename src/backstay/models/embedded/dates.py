"""Days and times of day as people write them, in English and Chinese, counted from the day of the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from backstay.models.embedded.words import Place

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS)
_DAY = "|".join(_DAYS)
_NEAR = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "the day after tomorrow": 2, "day after tomorrow": 2,
    "the day before yesterday": -2,
    "今天": 0, "今晚": 0, "明天": 1, "明晚": 1, "后天": 2, "大后天": 3, "昨天": -1, "前天": -2,
}  # fmt: skip
_HOURS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8,
    "九": 9, "十": 10, "十一": 11, "十二": 12,
}  # fmt: skip
_HOUR = "|".join(sorted(_HOURS, key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class Moment:
    """A day (`2026-12-01`) or a time of day (`15:00`) and where it was written."""

    value: str
    place: Place


def days_of(text: str, today: date) -> list[Moment]:
    """Every day that the text names, in order; a day without a year is the next one."""
    found = [moment for pattern, read in _DAY_FORMS for moment in _all(pattern, read, text, today)]
    return _without_overlaps(found)


def times_of(text: str) -> list[Moment]:
    """Every time of day, in order, as HH:MM."""
    found = [
        Moment(value, match.span())
        for pattern, read in _TIME_FORMS
        for match in pattern.finditer(text)
        if (value := read(match)) is not None
    ]
    return _without_overlaps(found)


def _all(
    pattern: re.Pattern[str], read: Callable[[re.Match[str], date], date | None], text: str, today: date
) -> list[Moment]:
    made = []
    for match in pattern.finditer(text):
        try:
            day = read(match, today)
        except (ValueError, OverflowError):
            continue
        if day is not None:
            made.append(Moment(day.isoformat(), match.span()))
    return made


def _without_overlaps(found: list[Moment]) -> list[Moment]:
    kept: list[Moment] = []
    for moment in sorted(found, key=lambda one: (one.place[0], -one.place[1])):
        if not kept or moment.place[0] >= kept[-1].place[1]:
            kept.append(moment)
    return kept


def _next(month: int, day: int, today: date) -> date:
    this = date(today.year, month, day)
    return this if this >= today else date(today.year + 1, month, day)


def _month(name: str) -> int:
    return next(n for n, one in enumerate(_MONTHS, 1) if one.startswith(name.casefold()[:3]))


def _weekday(number: int, today: date) -> date:
    """The first such day after today, "next Friday" too: people differ, and a person can correct it."""
    return today + timedelta(days=(number - today.weekday()) % 7 or 7)


def _chinese_weekday(match: re.Match[str], today: date) -> date:
    number = "一二三四五六日天".index(match["day"])
    number = min(number, 6)
    if match["next"]:
        return today + timedelta(days=7 - today.weekday() + number)
    return _weekday(number, today)


def _named(match: re.Match[str], today: date) -> date:
    day = int(match["day"] or match["day2"])
    month = _month(match["month"] or match["month2"])
    year = match["year"] or match["year2"]
    return date(int(year), month, day) if year else _next(month, day, today)


_DAY_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], date | None]], ...] = (
    (
        re.compile(r"(?:\bon )?(?<!\d)(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})(?!\d)[日号]?", re.I),
        lambda m, _: date(int(m[1]), int(m[2]), int(m[3])),
    ),
    (
        re.compile(
            rf"(?:\bon )?(?:the )?\b(?:(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
            r"(?:,? (?P<year>\d{4}))?"
            rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month2>{_MONTH})(?:,? (?P<year2>\d{{4}}))?)\b",
            re.I,
        ),
        _named,
    ),
    (re.compile(r"(?<!\d)(\d{1,2})月(\d{1,2})[日号]"), lambda m, today: _next(int(m[1]), int(m[2]), today)),
    (
        re.compile(rf"(?:\b(?:on|for) )?\b(?:next |this |coming )?(?P<day>{_DAY})\b", re.I),
        lambda m, today: _weekday(_DAYS.index(m["day"].casefold()), today),
    ),
    (re.compile("(?P<next>下个?)?(?:这个?)?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"), _chinese_weekday),
    (
        re.compile("|".join(sorted((rf"\b{w}\b" if w.isascii() else w for w in _NEAR), key=len, reverse=True)), re.I),
        lambda m, today: today + timedelta(days=_NEAR[m[0].casefold()]),
    ),
    (
        re.compile(r"\bin (\d{1,3}) days\b|(?<!\d)(\d{1,3})天(?:后|之后|以后)", re.I),
        lambda m, today: today + timedelta(days=int(m[1] or m[2])),
    ),
)


def _clock(hour: int, minute: int, part: str) -> str | None:
    late = part.casefold().replace(".", "") in ("pm", "in the evening", "in the afternoon", "at night") or part in (
        "下午", "晚上", "傍晚", "今晚", "明晚",
    )  # fmt: skip
    if late and hour < 12:
        hour += 12
    if part.casefold().replace(".", "") == "am" and hour == 12:
        hour = 0
    return f"{hour:02}:{minute:02}" if hour < 24 and minute < 60 else None


def _hour(word: str) -> int:
    return int(word) if word.isdecimal() else _HOURS[word.casefold()]


def _spoken(match: re.Match[str]) -> str | None:
    hour, minute = _hour(match["hour"]), 30 if match["how"].casefold() == "half" else 15
    if match["way"].casefold() == "to":
        hour, minute = hour - 1, 60 - minute
    return _clock(hour, minute, match["part"] or "")


def _chinese_time(match: re.Match[str]) -> str | None:
    minute = 30 if match["half"] else 15 if match["quarter"] else int(match["minute"] or 0)
    return _clock(_hour(match["hour"]), minute, match["part"] or "")


_PART = r"(?: ?(?P<part>[ap]\.?m\.?(?![a-z])|in the (?:morning|afternoon|evening)|at night))"
_AT = r"(?:\b(?:at|for|from|by) )?"
_TIME_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    (
        re.compile(
            r"(?P<part>早上|上午|中午|下午|傍晚|晚上|今晚|明晚|凌晨)?\s?"
            rf"(?P<hour>\d{{1,2}}|{_HOUR})[点時时](?!间)(?:(?P<half>半)|(?P<quarter>一刻)|(?P<minute>\d{{1,2}})分?)?钟?"
        ),
        _chinese_time,
    ),
    (
        re.compile(rf"{_AT}(?P<how>half|quarter) (?P<way>past|to) (?P<hour>\d{{1,2}}|{_HOUR})\b{_PART}?", re.I),
        _spoken,
    ),
    (
        re.compile(rf"{_AT}(?<![\d:.])(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?![\d:]){_PART}?", re.I),
        lambda m: _clock(int(m["hour"]), int(m["minute"]), m["part"] or ""),
    ),
    (
        re.compile(rf"{_AT}(?<![\d:.-])\b(?P<hour>\d{{1,2}}|{_HOUR}){_PART}", re.I),
        lambda m: _clock(_hour(m["hour"]), 0, m["part"] or ""),
    ),
    (re.compile(rf"{_AT}\b(?:(noon|midday)|midnight)\b", re.I), lambda m: "12:00" if m[1] else "00:00"),
)
