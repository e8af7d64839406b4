"""Numbers of a request with their units: digits, English and Chinese words, spans of time in the asked unit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from backstay.models.embedded.words import Place

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENFOLD = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: number for number, word in enumerate(_SMALL)}
_WORDS |= {word: number * 10 for number, word in enumerate(_TENFOLD, 2)}
_WORDS |= {"hundred": 100, "thousand": 1000, "dozen": 12}
_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_TENS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_SECONDS = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "fortnight": 1_209_600,
    "month": 2_592_000, "quarter": 7_776_000, "year": 31_536_000,
    "秒": 1, "分钟": 60, "小时": 3600, "钟头": 3600, "天": 86_400, "日": 86_400, "周": 604_800, "星期": 604_800,
    "礼拜": 604_800, "月": 2_592_000, "季度": 7_776_000, "年": 31_536_000,
}  # fmt: skip
"""A month is 30 days and a year 365, as a look-back is meant."""
_SHORT = {
    "sec": "second",
    "secs": "second",
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
}

_UNIT = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|h|days?|weeks?|fortnights?|months?|quarters?|years?)(?![a-z])"
    r"|秒钟?|分钟|小时|钟头|天|日|周|星期|礼拜|个?季度|个?月|年"
)
"""A Latin unit ends with its word; a Chinese one may be followed by anything, a Latin name too: 最近90天Ann."""
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_VALUE = (
    r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?[百千万亿]?"
    rf"|(?:(?:{_WORD})(?:[ -](?:and )?)?)+(?<![ -])"
    r"|[零〇一二两三四五六七八九十百千万亿]+"
)
_FOUND = re.compile(
    rf"(?<![\w.])(?P<half>half an?|half a|半个?)(?![a-z])[ ]?(?P<half_unit>{_UNIT})"
    rf"|(?P<sign>[$€£¥]\s?)?(?<![A-Za-z\d.-])(?P<value>{_VALUE})(?![\d])(?P<and_half>\s*个半)?(?P<gap>[ -]?个?)"
    rf"(?P<unit>(?:{_UNIT})|%|percent\b|EUR\b|USD\b|GBP\b|euros?\b|dollars?\b|pounds?\b|€|\$|£|元|欧元|美元|块)?"
    rf"|(?<![\w])(?P<one>an?|last|past|previous|this|上个?|过去一个?)[ ]?(?P<one_unit>{_UNIT})",
    re.IGNORECASE,
)
_MONEY = re.compile(r"EUR|USD|GBP|euros?|dollars?|€|\$|£|元|欧元|美元|块", re.IGNORECASE)
_MEASURE = re.compile(
    "(?:公斤|千克|公里|千米|厘米|毫米|毫升|平方米|[个位人张件本次升斤克吨米里磅度箱台把袋瓶盒包条份只支间场部辆杯桌双套篇行页])半?"
)
_ARTICLE = re.compile("[个位张件本把台条份只支间场部辆双套篇]")
_NUMERAL_ONLY_IN_WORDS = re.compile(r"[零〇一二两三四五六七八九十百千万亿]+")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as somebody wrote it."""

    value: float
    place: Place
    """Of the number alone."""
    whole: Place
    """With its sign or unit."""
    seconds: float = 0
    """The span of time it names, 0 where it names none."""
    is_money: bool = False
    is_percent: bool = False
    is_article: bool = False
    """Whether it may only be Chinese for "a": 一张发票."""

    def in_unit(self, unit: str) -> float | None:
        """The span of time in `days`, `minutes`…; None if it is none or the unit is none of time."""
        size = _SECONDS.get(unit.casefold().rstrip("s"))
        return self.seconds / size if self.seconds and size else None


def numbers_of(text: str) -> list[Number]:
    """Every number, in order. A Chinese numeral counts only with a unit or measure word: 一 is part of many words."""
    return [number for found in _FOUND.finditer(text) if (number := _read(found, text)) is not None]


def time_unit(words: str) -> str:
    """The unit of time that a slot's name or description asks for, singular; empty if it asks for none."""
    found = re.findall(r"[a-z]+", words.casefold().replace("_", " "))
    return next((word.rstrip("s") for word in found if word.rstrip("s") in _SECONDS and word.endswith("s")), "")


def _read(found: re.Match[str], text: str) -> Number | None:
    if found["half"]:
        return Number(0.5, found.span(), found.span(), seconds=0.5 * _size(found["half_unit"]))
    if found["one"]:
        return Number(1, found.span(), found.span(), seconds=_size(found["one_unit"]))
    value = _value(found["value"]) + (0.5 if found["and_half"] else 0)
    unit, sign = found["unit"] or "", found["sign"] or ""
    if _NUMERAL_ONLY_IN_WORDS.fullmatch(found["value"]) and not (unit or _measured(text, found.end("value"))):
        return None
    measure = "" if unit else _measure(text, found.end("value"))
    if measure.endswith("半"):
        value += 0.5
    money = bool(sign) or _MONEY.fullmatch(unit) is not None
    is_time = bool(unit) and not money and unit not in ("%",) and unit.casefold() != "percent"
    return Number(
        value,
        found.span("value"),
        (found.start(), found.end() if unit else found.end("value") + len(measure)),
        seconds=value * _size(unit) if is_time else 0,
        is_money=money,
        is_percent=unit == "%" or unit.casefold() == "percent",
        is_article=found["value"] == "一" and _ARTICLE.fullmatch(measure) is not None,
    )


def _measure(text: str, end: int) -> str:
    """The measure word after a number, 半 after it included: 两公斤半 is two and a half."""
    found = _MEASURE.match(text, end)
    return found.group() if found else ""


def _measured(text: str, end: int) -> bool:
    return end == len(text) or _MEASURE.match(text, end) is not None


def _size(unit: str) -> float:
    word = unit.casefold().removeprefix("个")
    word = "秒" if word == "秒钟" else _SHORT.get(word, word)
    return _SECONDS.get(word) or _SECONDS.get(word.rstrip("s"), 0)


def _value(text: str) -> float:
    if text[0].isdigit():
        tens = _TENS.get(text[-1], 1)
        return float(text.rstrip("百千万亿").replace(",", "")) * tens
    return _chinese(text) if text[0] in _DIGITS or text[0] in _TENS else _english(text)


def _english(text: str) -> float:
    whole, part = 0, 0
    for word in re.findall("[a-z]+", text.casefold()):
        number = _WORDS.get(word, 0)
        if number == 1000:
            whole, part = whole + max(part, 1) * 1000, 0
        elif number in (100, 12) and word in ("hundred", "dozen"):
            part = max(part, 1) * number
        else:
            part += number
    return whole + part


def _chinese(text: str) -> float:
    if all(char in _DIGITS for char in text):
        return float("".join(str(_DIGITS[char]) for char in text))
    whole = part = digit = 0
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in "万亿":
            whole, part, digit = (whole + part + digit) * _TENS[char], 0, 0
        else:
            part, digit = part + max(digit, 1) * _TENS[char], 0
    return whole + part + digit


def plain(value: float) -> int | float:
    """A whole number as int, any other as it is."""
    return int(value) if value == int(value) else value
