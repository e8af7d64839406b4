"""Windows of days: the last 30 days, since January, from here to there, in the principal's zone.

Relative windows are measured from the moment of each judgement; explicit dates are absolute. Source: SPEC B6.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from math import ceil
from typing import TypeAlias
from zoneinfo import ZoneInfo

from backstay.boundary.predicates.language import (
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    doubt,
    keys,
    nothing_given,
    shown,
    today,
)
from backstay.boundary.predicates.numbers import number
from backstay.boundary.predicates.units import MONTHS, SECONDS, time_unit
from backstay.core.messages import Json

_LONGEST_DAYS = 36_525


def _months_before(day: date, months: int) -> date:
    """The same day so many months earlier, or the last day of that month where it is shorter."""
    index = day.year * 12 + day.month - 1 - months
    year, month = index // 12, index % 12 + 1
    return date.min if year < 1 else date(year, month, min(day.day, monthrange(year, month)[1]))


def _days_before(day: date, days: int) -> date:
    return day - timedelta(days) if days < day.toordinal() else date.min


@lru_cache(maxsize=512)
def _first(days: int | None, months: int, day: date) -> date:
    return _months_before(day, months) if days is None else _days_before(day, days)


def _limits_of(check: Check) -> Callable[[float, str], tuple[date, date]]:
    """First and last day of the window at a time, in a zone; a relative window, and one without `to`, never ends."""
    days = check.get("days")
    if days is not None or "months" in check:
        months = 0 if days is not None else check["months"]
        return lambda now, zone: (_first(days, months, today(now, zone)), date.max)
    first, last = check.get("from"), check.get("to")
    ends = (
        date.min if first is None else date.fromisoformat(first),
        date.max if last is None else date.fromisoformat(last),
    )
    return lambda _now, _zone: ends


@lru_cache(maxsize=1024)
def _of_text(value: str, zone: str) -> date | None:
    try:
        if len(value) == 10:
            return date.fromisoformat(value)
        stamp = datetime.fromisoformat(value)
        return (stamp if stamp.tzinfo is None else stamp.astimezone(ZoneInfo(zone))).date()
    except (ValueError, OverflowError):
        return None


def _day(value: object, zone: str) -> date | None:
    """The day of an ISO date or date and time in the principal's zone; None for anything else."""
    if not isinstance(value, str) or not value.isascii() or value[4:5] != "-" or value[7:8] != "-":
        return None
    return _of_text(value, zone) if len(value) <= 40 else None


_Span: TypeAlias = tuple[date | None, date | None]
_EMPTY = (None, "", "..")


def _whole(value: Json, zone: str) -> _Span | None:
    """First and last day of a span given in one value; an open side is None; None: it cannot be read as a span."""
    if isinstance(value, str):
        ends: Sequence[object] = value.split("/") if "/" in value else (value, value)
    elif isinstance(value, Mapping):
        ends = (value.get("start"), value.get("end")) if value.keys() <= {"start", "end"} else ()
    else:
        ends = value if isinstance(value, tuple | list) else ()
    if len(ends) != 2:
        return None
    days = [None if end in _EMPTY else _day(end, zone) for end in ends]
    if any(day is None and end not in _EMPTY for day, end in zip(days, ends, strict=True)):
        return None
    return days[0], days[1]


def _length(value: Json, unit: str, base: date) -> _Span | None:
    """The span of so many units that ends with `base`; None where the value is no length of time."""
    exact = number(value)
    if exact is None or exact < 0:
        return None
    if unit in MONTHS:
        return _months_before(base, min(ceil(exact * MONTHS[unit]), 12 * base.year)), base
    if unit != "days":
        exact = Decimal(exact) * SECONDS[unit] / SECONDS["days"]
    return _days_before(base, ceil(exact)), base


def _base(bound: Sequence[Bound], now: float, zone: str) -> date:
    """The day from which a length of time counts back: today, or the end that was given without a start."""
    # 30 days before 1 January are not the last 30 days, although both values look harmless.
    given = {one.meaning: one.value for one in bound if one.value is not None}
    end = None if "date_range:start" in given else _day(given.get("date_range:end"), zone)
    return min(today(now, zone), end or date.max)


def _span(one: Bound, bound: Sequence[Bound], now: float, zone: str) -> _Span | None:
    """The days that one argument asks for, an open side None; None: they cannot be told."""
    meaning = one.meaning
    if meaning == "date_range:start" or meaning == "date_range:end":
        day = _day(one.value, zone)
        return None if day is None else (day, None) if meaning == "date_range:start" else (None, day)
    if meaning == "date_range:whole":
        return _whole(one.value, zone)
    unit = time_unit(meaning)
    if unit is None:
        raise ValueError(f"a window cannot be checked on an argument that means {meaning or 'nothing'}")
    return _length(one.value, unit, _base(bound, now, zone) if len(bound) > 1 else today(now, zone))


def _ready(check: Check) -> Test:
    text, limits, is_open = _text(check), _limits_of(check), "to" not in check

    def test(bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        zone = scene.principal.zone
        first, last = limits(scene.now, zone)
        if is_open and len(bound) == 1 and bound[0].meaning == "date_range:start":  # the usual one, and a quick answer
            day = _day(bound[0].value, zone)
            if day is not None and first <= day <= last:
                return ()
        if _missing(check, bound):
            return nothing_given(text)
        broken: list[Breach] = []
        for one in bound:
            if one.value is None:
                continue
            span = _span(one, bound, scene.now, zone)
            if span is None:
                kind = "a span of dates" if one.meaning == "date_range:whole" else "a date or a length of time"
                broken.append(doubt(one, f"{text}; the value cannot be read as {kind}"))
                continue
            start, end = span
            whole = one.meaning == "date_range:whole"
            open_side = whole and ((start is None and first > date.min) or (end is None and last < date.max))
            if open_side or (start and not first <= start <= last) or (end and not first <= end <= last):
                broken.append(Breach(one.path, shown(one.value), text))
        return tuple(broken)

    return test


def _missing(check: Check, bound: Sequence[Bound]) -> bool:
    lower = upper = False
    for one in bound:
        if one.value is not None:
            lower = lower or one.meaning != "date_range:end"
            upper = upper or one.meaning != "date_range:start"
    if "to" not in check:
        return not lower
    return not upper or ("from" in check and not lower)


def _problems(check: Check, _depth: int) -> list[str]:
    found = keys(check, set(), frozenset({"days", "months", "from", "to"}))
    length = [name for name in ("days", "months") if name in check]
    ends = [name for name in ("from", "to") if name in check]
    if len(length) + bool(ends) != 1:
        found.append("a window has either days, or months, or from and/or to")
    for name in length:
        if type(check[name]) is not int or not 0 <= check[name] <= _LONGEST_DAYS:
            found.append(f"{name} must be a whole number from 0 to {_LONGEST_DAYS}, got {shown(check[name])}")
    bad = [name for name in ends if not (isinstance(check[name], str) and _is_date(check[name]))]
    found += [f"{name} must be a date such as '2026-01-31', got {shown(check[name])}" for name in bad]
    if len(ends) == 2 and not bad and check["from"] > check["to"]:
        found.append("from lies after to")
    return found


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _text(check: Check) -> str:
    for name in ("days", "months"):
        if name in check:
            return f"only the last {check[name]} {name}" if check[name] != 1 else f"only the last {name[:-1]}"
    if "from" in check and "to" in check:
        return f"only {check['from']} to {check['to']}"
    return f"only since {check['from']}" if "from" in check else f"only until {check['to']}"


WINDOWS: Mapping[str, Op] = {"window": Op(_ready, _missing, _problems, _text)}
