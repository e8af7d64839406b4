"""Predicates: the closed language that constraints are checked in, and its evaluation.

A check is a JSON object whose `op` names a row of `_OPS`; a new kind of check is a new row. Evaluation is pure: the
clock and the zone come in, nothing is converted between currencies, no binary float is calculated with. What cannot
be read as what it should be counts as a breach, and what cannot be evaluated at all raises, so that the caller denies.
Source: SPEC B6, B8; T11.
"""

from __future__ import annotations

import json
import operator
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from unicodedata import category, normalize
from zoneinfo import ZoneInfo

from backstay.core.messages import Args, Json

_SHOWN = 80
_DEEPEST = 16
_LONGEST_DAYS = 36_525


@dataclass(frozen=True, slots=True)
class Bound:
    """One argument of the call that a constraint binds to."""

    path: str
    """The argument, dotted: `amount`, `lines.0.price`."""
    meaning: str
    """Its mark (`money:EUR`, `quantity:days`, `date_range:start`); empty where it has none."""
    value: Json
    """Its canonical value; None counts as left out."""


@dataclass(frozen=True, slots=True)
class Breach:
    """What broke, in words for the model."""

    path: str
    """The argument; empty where the call as a whole broke the rule."""
    value: str
    """The value as it was given, shortened to 80 characters."""
    limit: str
    """The rule and, where it does not speak for itself, why the value breaks it."""


def evaluate(check: Args, bound: Sequence[Bound], *, now: float, zone: str) -> tuple[Breach, ...]:
    """Return what in the bound arguments breaks the check; empty: it holds.

    Ask `is_missing` first: arguments that were left out are the business of `on_missing`, and what is evaluated all
    the same counts as broken, as does each part of an `all` or `any` that was left out.

    Args:
        check: a check without `check_problems`.
        bound: every argument of the call that the constraint binds to.
        now: seconds since 1970; relative windows are measured from here.
        zone: IANA time zone of the principal, in which days begin and end.

    Raises:
        ValueError: when it cannot be evaluated (an unknown op or zone, an argument of another kind). Deny then.
    """
    try:
        return _OPS[check["op"]].judge(check, bound, _Moment(now, zone))  # type: ignore[index]  # caught below
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError) as error:
        raise ValueError(f"the check cannot be evaluated: {type(error).__name__}: {error}") from error


def is_missing(check: Args, bound: Sequence[Bound]) -> bool:
    """Say whether the arguments that the check needs were left out, so that `on_missing` applies.

    A window needs something that bounds it from below (and, with `to`, from above): an end alone does not make a span.
    An `all` or `any` is missing when every part of it is; a `forbid` needs nothing.

    Raises:
        ValueError: when the check is not of this language.
    """
    try:
        return _OPS[check["op"]].missing(check, bound)  # type: ignore[index]  # caught below
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the check cannot be evaluated: {type(error).__name__}: {error}") from error


def check_problems(check: object) -> list[str]:
    """Return what is wrong with a check, one sentence each; empty if it can be evaluated."""
    return _problems(check, 0)


def limit_text(check: Args) -> str:
    """Return the rule in one line of English: `at most 200 EUR`, `only the last 30 days`."""
    return _OPS[str(check["op"])].text(check)


def selects(bind_meaning: str, tool_meaning: str) -> bool:
    """Say whether a constraint bound to `bind_meaning` reaches an argument marked `tool_meaning`.

    `money` reaches every currency, `window` every bound of a span and every exact or calendar length of time;
    a `quantity:` reaches the same unit in any of its spellings; everything else is compared as it stands.
    """
    if bind_meaning == "money":
        return tool_meaning.startswith("money:")
    if bind_meaning == "window":
        return tool_meaning.startswith("date_range:") or _time_unit(tool_meaning) is not None
    if bind_meaning.startswith("quantity:") and tool_meaning.startswith("quantity:"):
        return _unit(bind_meaning[9:]) == _unit(tool_meaning[9:])
    return bind_meaning == tool_meaning


class _Moment:
    """One evaluation: where today lies, and how many values could not be read so far."""

    __slots__ = ("doubts", "now", "zone")

    def __init__(self, now: float, zone: str) -> None:
        self.now = now
        self.zone = zone
        self.doubts = 0

    def today(self) -> date:
        """The day it is in the principal's zone."""
        return _today(self.now, self.zone)

    def doubt(self, path: str, value: Json, limit: str) -> Breach:
        """A breach that stays one under `not`: the value could not be read, so nothing is known of it."""
        self.doubts += 1
        return Breach(path, _shown(value), limit)

    def left_out(self, check: _Check) -> tuple[Breach, ...]:
        """What a check comes to when nothing it needs was given."""
        self.doubts += 1
        return (Breach("", "(left out)", limit_text(check)),)


_Check: TypeAlias = Mapping[str, Any]
"""A check whose operands are what `check_problems` demands; another one raises, and the caller denies."""
_JudgeOf: TypeAlias = Callable[[_Check, Sequence[Bound], _Moment], tuple[Breach, ...]]


class _Op(NamedTuple):
    """A row of the language: what breaks it, what it needs, what may be wrong with it, how it reads."""

    judge: _JudgeOf
    missing: Callable[[_Check, Sequence[Bound]], bool]
    problems: Callable[[_Check, int], list[str]]
    text: Callable[[_Check], str]


@lru_cache(maxsize=256)
def _today(now: float, zone: str) -> date:
    return datetime.fromtimestamp(now, ZoneInfo(zone)).date()


def _shown(value: Json) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        text = f"({type(value).__name__})"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


_ARRAYS = frozenset({tuple, list})


def _present(bound: Sequence[Bound]) -> Sequence[Bound]:
    """Everything that is there; of an array each element. The bound arguments themselves where they are all plain."""
    for one in bound:
        if one.value is None or type(one.value) in _ARRAYS:
            return tuple(_flat(bound))
    return bound


def _flat(bound: Sequence[Bound]) -> Iterator[Bound]:
    for one in bound:
        if isinstance(one.value, tuple | list):
            yield from _flat([Bound(f"{one.path}.{i}", one.meaning, item) for i, item in enumerate(one.value)])
        elif one.value is not None:
            yield one


def _left_out(_check: _Check, bound: Sequence[Bound]) -> bool:
    return all(one.value is None for one in bound)


_COMPARE: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "lt": (operator.lt, "less than"),
    "le": (operator.le, "at most"),
    "gt": (operator.gt, "more than"),
    "ge": (operator.ge, "at least"),
    "eq": (operator.eq, "exactly"),
    "ne": (operator.ne, "anything but"),
}
_UNITS: Mapping[str, str] = MappingProxyType(
    {
        alias: unit
        for unit, aliases in {
            "seconds": "second seconds sec s 秒 秒钟",
            "minutes": "minute minutes min 分钟",
            "hours": "hour hours h hr hrs 小时 钟头",
            "days": "day days d 天 日",
            "weeks": "week weeks w 周 星期 礼拜",
            "months": "month months 月 个月",
            "years": "year years y 年",
            "items": "item items piece pieces pcs 件 个 项 商品",
            "orders": "order orders 订单 单",
            "percent": "percent percentage pct % ％ 百分比",
            "emails": "email emails e-mail e-mails mail mails 邮件 封",
            "messages": "message messages 消息 信息 条",
            "files": "file files 文件",
            "rows": "row rows 行",
            "records": "record records 记录",
            "pages": "page pages 页",
            "customers": "customer customers client clients 客户 顾客",
            "people": "person persons people 人 位",
            "kg": "kg kilogram kilograms kilo kilos 公斤 千克",
        }.items()
        for alias in aliases.split()
    }
)
_SECONDS: Mapping[str, Decimal] = MappingProxyType(
    {
        "seconds": Decimal(1),
        "minutes": Decimal(60),
        "hours": Decimal(3600),
        "days": Decimal(86400),
        "weeks": Decimal(604800),
    }
)
_MONTHS: Mapping[str, int] = MappingProxyType({"months": 1, "years": 12})


@lru_cache(maxsize=512)
def _unit(name: str) -> str:
    folded = normalize("NFKC", name).casefold().strip()
    return _UNITS.get(folded, folded)


@lru_cache(maxsize=512)
def _time_unit(meaning: str) -> str | None:
    """The unit of a meaning that is a length of time, exact or of the calendar; None of any other."""
    unit = _unit(meaning[9:]) if meaning.startswith("quantity:") else ""
    return unit if unit in _SECONDS or unit in _MONTHS else None


def _number(value: object) -> int | Decimal | None:
    """The value as an exact number, or None: a bool, NaN, infinity or more than 40 digits is no number here."""
    kind = type(value)
    if isinstance(value, int) and kind is int:
        return value if value.bit_length() <= 132 else None
    if kind is float:
        return _decimal(repr(value))
    return _decimal(value) if isinstance(value, str) and len(value) <= 64 else None


@lru_cache(maxsize=512)
def _decimal(text: str) -> Decimal | None:
    if not text.isascii() or "_" in text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and -40 <= number.adjusted() <= 40 else None


def _judge_compare(check: _Check, bound: Sequence[Bound], moment: _Moment) -> tuple[Breach, ...]:
    amount = check.get("money")
    limit = _operand(check["number"] if amount is None else amount)
    unit, currency = check.get("unit"), None if amount is None else check["currency"]
    compare = _COMPARE[check["op"]][0]
    broken = []
    present = _present(bound)
    for one in present:
        reason, scale, base = _scale(one.meaning, unit, currency)
        number = _number(one.value)
        if reason or number is None:
            words = f"{limit_text(check)}; the value is {reason or 'not a plain number'}"
            broken.append(moment.doubt(one.path, one.value, words))
        elif not (compare(number, limit) if scale is base else compare(number * scale, limit * base)):
            broken.append(Breach(one.path, _shown(one.value), limit_text(check)))
    return tuple(broken) if present or not _left_out(check, bound) else moment.left_out(check)


@lru_cache(maxsize=512, typed=True)
def _operand(text: str | float) -> int | Decimal:
    number = _number(text)
    if number is None:
        raise ValueError(f"{text!r} is not a plain number")
    return number


_ONE = Decimal(1)


@lru_cache(maxsize=512)
def _scale(meaning: str, unit: str | None, currency: str | None) -> tuple[str, Decimal, Decimal]:
    """Why a value of this meaning cannot stand under such a rule, and by what to multiply value and limit."""
    kind, _, have = meaning.partition(":")
    if unit is None and currency is None:
        return "", _ONE, _ONE
    if kind != ("quantity" if currency is None else "money"):
        raise ValueError(
            f"a rule about {currency or unit} cannot be checked on an argument that means {meaning or 'nothing'}"
        )
    if currency is not None:
        reason = "" if have == currency else f"in {have}, and the rule is in {currency}; never converted"
        return reason, _ONE, _ONE
    have, want = _unit(have), _unit(unit or "")
    if have in _SECONDS and want in _SECONDS and have != want:
        return "", _SECONDS[have], _SECONDS[want]
    return "" if have == want else f"in {have}, and the rule is in {want}", _ONE, _ONE


def _problems_compare(check: _Check, _depth: int) -> list[str]:
    money = "money" in check
    found = _keys(check, {"money", "currency"} if money else {"number"}, frozenset() if money else frozenset({"unit"}))
    name = "money" if money else "number"
    if name in check and _number(check[name]) is None:
        found.append(f"{name} must be a plain number such as '200', got {_shown(check[name])}")
    currency, unit = check.get("currency"), check.get("unit", "items")
    if money and not (isinstance(currency, str) and len(currency) == 3 and currency.isalpha() and currency.isupper()):
        found.append(f"currency must be an ISO 4217 code such as 'EUR', got {_shown(currency)}")
    if not isinstance(unit, str) or not unit:
        found.append(f"unit must be a word such as 'items', got {_shown(unit)}")
    return found


def _text_compare(check: _Check) -> str:
    amount = (
        f"{check['money']} {check['currency']}" if "money" in check else f"{check['number']} {check.get('unit', '')}"
    )
    return f"{_COMPARE[str(check['op'])][1]} {amount.rstrip()}"


def _key(value: Json) -> str | None:
    """What sets are compared by: texts NFKC and case-folded, numbers by value; None for an object."""
    if isinstance(value, str):
        return value.casefold() if value.isascii() else normalize("NFKC", normalize("NFKC", value).casefold())
    if isinstance(value, bool):
        return "true" if value else "false"
    number = _number(value)
    return None if number is None else format(Decimal(number).normalize(), "f")


def _judge_set(check: _Check, bound: Sequence[Bound], moment: _Moment) -> tuple[Breach, ...]:
    listed = {_key(one) for one in check["values"]}
    inside = check["op"] == "in"
    broken = []
    present = _present(bound)
    for one in present:
        key = _key(one.value)
        if key is None:
            broken.append(moment.doubt(one.path, one.value, f"{limit_text(check)}; the value cannot be compared"))
        elif key not in listed if inside else key in listed or _visible(key) in listed:
            broken.append(Breach(one.path, _shown(one.value), limit_text(check)))
    return tuple(broken) if present or not _left_out(check, bound) else moment.left_out(check)


def _visible(key: str) -> str:
    """The text without characters that nobody sees: a zero-width joiner must not slip past a list of refusals."""
    return key if key.isascii() else "".join(char for char in key if category(char) != "Cf")


def _problems_set(check: _Check, _depth: int) -> list[str]:
    found = _keys(check, {"values"})
    values = check.get("values")
    if not isinstance(values, list | tuple) or not values:
        found.append("values must be an array of at least one text or number")
    else:
        found += [f"values may hold texts and numbers, got {_shown(one)}" for one in values if _key(one) is None]
    return found


def _text_set(check: _Check) -> str:
    listed = ", ".join(_shown(one) for one in check["values"])
    return f"{'only' if check['op'] == 'in' else 'none of'} {listed}"


def _months_before(day: date, months: int) -> date:
    """The same day so many months earlier, or the last day of that month where it is shorter."""
    index = day.year * 12 + day.month - 1 - months
    year, month = index // 12, index % 12 + 1
    return date.min if year < 1 else date(year, month, min(day.day, monthrange(year, month)[1]))


def _days_before(day: date, days: int) -> date:
    return day - timedelta(days) if days < day.toordinal() else date.min


@lru_cache(maxsize=512)
def _first(days: int | None, months: int, now: float, zone: str) -> date:
    today = _today(now, zone)
    return _months_before(today, months) if days is None else _days_before(today, days)


def _limits(check: _Check, moment: _Moment) -> tuple[date, date]:
    """First and last day of the window; a relative window, and one without `to`, never ends."""
    days = check.get("days")
    if days is not None or "months" in check:
        return _first(days, 0 if days is not None else check["months"], moment.now, moment.zone), date.max
    first, last = check.get("from"), check.get("to")
    return (
        date.min if first is None else date.fromisoformat(first),
        date.max if last is None else date.fromisoformat(last),
    )


def _day(value: object, moment: _Moment) -> date | None:
    """The day of an ISO date or date and time in the principal's zone; None for anything else."""
    if not isinstance(value, str) or not value.isascii() or value[4:5] != "-" or value[7:8] != "-":
        return None
    try:
        if len(value) == 10:
            return date.fromisoformat(value)
        stamp = datetime.fromisoformat(value)
        return (stamp if stamp.tzinfo is None else stamp.astimezone(ZoneInfo(moment.zone))).date()
    except (ValueError, OverflowError):
        return None


_Span: TypeAlias = tuple[date | None, date | None]
_EMPTY = (None, "", "..")


def _whole(value: Json, moment: _Moment) -> _Span | None:
    """First and last day of a span given in one value; an open side is None; None: it cannot be read as a span."""
    if isinstance(value, str):
        ends: Sequence[object] = value.split("/") if "/" in value else (value, value)
    elif isinstance(value, Mapping):
        ends = (value.get("start"), value.get("end")) if value.keys() <= {"start", "end"} else ()
    else:
        ends = value if isinstance(value, tuple | list) else ()
    if len(ends) != 2:
        return None
    days = [None if end in _EMPTY else _day(end, moment) for end in ends]
    if any(day is None and end not in _EMPTY for day, end in zip(days, ends, strict=True)):
        return None
    return days[0], days[1]


def _length(value: Json, unit: str, base: date) -> _Span | None:
    """The span of so many units that ends with `base`; None where the value is no length of time."""
    number = _number(value)
    if number is None or number < 0:
        return None
    if unit in _MONTHS:
        return _months_before(base, min(ceil(number * _MONTHS[unit]), 12 * base.year)), base
    if unit != "days":
        number = Decimal(number) * _SECONDS[unit] / _SECONDS["days"]
    return _days_before(base, ceil(number)), base


def _base(bound: Sequence[Bound], moment: _Moment) -> date:
    """The day from which a length of time counts back: today, or the end that was given without a start."""
    # 30 days before 1 January are not the last 30 days, although both values look harmless.
    given = {one.meaning: one.value for one in bound if one.value is not None}
    end = None if "date_range:start" in given else _day(given.get("date_range:end"), moment)
    return min(moment.today(), end or date.max)


def _span(one: Bound, bound: Sequence[Bound], moment: _Moment) -> _Span | None:
    """The days that one argument asks for, an open side None; None: they cannot be told."""
    meaning = one.meaning
    if meaning == "date_range:start" or meaning == "date_range:end":
        day = _day(one.value, moment)
        return None if day is None else (day, None) if meaning == "date_range:start" else (None, day)
    if meaning == "date_range:whole":
        return _whole(one.value, moment)
    unit = _time_unit(meaning)
    if unit is None:
        raise ValueError(f"a window cannot be checked on an argument that means {meaning or 'nothing'}")
    return _length(one.value, unit, _base(bound, moment) if len(bound) > 1 else moment.today())


def _judge_window(check: _Check, bound: Sequence[Bound], moment: _Moment) -> tuple[Breach, ...]:
    first, last = _limits(check, moment)
    if _missing_window(check, bound):
        return moment.left_out(check)
    broken = []
    for one in bound:
        if one.value is None:
            continue
        span = _span(one, bound, moment)
        if span is None:
            kind = "a span of dates" if one.meaning == "date_range:whole" else "a date or a length of time"
            broken.append(moment.doubt(one.path, one.value, f"{limit_text(check)}; the value cannot be read as {kind}"))
            continue
        start, end = span
        whole = one.meaning == "date_range:whole"
        open_side = whole and ((start is None and first > date.min) or (end is None and last < date.max))
        if open_side or (start and not first <= start <= last) or (end and not first <= end <= last):
            broken.append(Breach(one.path, _shown(one.value), limit_text(check)))
    return tuple(broken)


def _missing_window(check: _Check, bound: Sequence[Bound]) -> bool:
    lower = upper = False
    for one in bound:
        if one.value is not None:
            lower = lower or one.meaning != "date_range:end"
            upper = upper or one.meaning != "date_range:start"
    if "to" not in check:
        return not lower
    return not upper or ("from" in check and not lower)


def _problems_window(check: _Check, _depth: int) -> list[str]:
    found = _keys(check, set(), frozenset({"days", "months", "from", "to"}))
    length = [name for name in ("days", "months") if name in check]
    ends = [name for name in ("from", "to") if name in check]
    if len(length) + bool(ends) != 1:
        found.append("a window has either days, or months, or from and/or to")
    for name in length:
        if type(check[name]) is not int or not 0 <= check[name] <= _LONGEST_DAYS:
            found.append(f"{name} must be a whole number from 0 to {_LONGEST_DAYS}, got {_shown(check[name])}")
    bad = [name for name in ends if not (isinstance(check[name], str) and _is_date(check[name]))]
    found += [f"{name} must be a date such as '2026-01-31', got {_shown(check[name])}" for name in bad]
    if len(ends) == 2 and not bad and check["from"] > check["to"]:
        found.append("from lies after to")
    return found


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _text_window(check: _Check) -> str:
    for name in ("days", "months"):
        if name in check:
            return f"only the last {check[name]} {name}" if check[name] != 1 else f"only the last {name[:-1]}"
    if "from" in check and "to" in check:
        return f"only {check['from']} to {check['to']}"
    return f"only since {check['from']}" if "from" in check else f"only until {check['to']}"


def _judge_forbid(check: _Check, _bound: Sequence[Bound], _moment: _Moment) -> tuple[Breach, ...]:
    return (Breach("", "", limit_text(check)),)


def _wanted(check: _Check) -> str:
    """The meaning that a part of a compound check is about; empty: whatever the constraint binds to."""
    if check["op"] == "window":
        return "window"
    if "money" in check:
        return "money"
    return f"quantity:{check['unit']}" if "unit" in check else ""


def _mine(check: _Check, bound: Sequence[Bound]) -> Sequence[Bound]:
    """What of the bound arguments a part is about: one call may have an amount and dates, and a rule speak of both."""
    wanted = _wanted(check)
    if not wanted:
        return bound
    kind = wanted.partition(":")[0]
    # Another unit, or an argument named without a meaning, is not skipped: it breaks the part or cannot be evaluated.
    return [one for one in bound if selects(wanted, one.meaning)] or [
        one for one in bound if one.meaning.partition(":")[0] in (kind, "")
    ]


def _part(check: _Check, bound: Sequence[Bound], moment: _Moment) -> tuple[Breach, ...]:
    return _OPS[check["op"]].judge(check, _mine(check, bound), moment)


def _judge_all(check: _Check, bound: Sequence[Bound], moment: _Moment) -> tuple[Breach, ...]:
    return tuple(breach for part in check["of"] for breach in _part(part, bound, moment))


def _judge_any(check: _Check, bound: Sequence[Bound], moment: _Moment) -> tuple[Breach, ...]:
    broken: list[Breach] = []
    doubts = moment.doubts
    for part in check["of"]:
        found = _part(part, bound, moment)
        if not found:
            moment.doubts = doubts
            return ()
        broken += found
    return tuple(broken)


def _judge_not(check: _Check, bound: Sequence[Bound], moment: _Moment) -> tuple[Breach, ...]:
    doubts = moment.doubts
    found = _part(check["of"], bound, moment)
    if moment.doubts > doubts:
        return found
    if found:
        return ()
    values = [one for one in bound if one.value is not None] or [Bound("", "", "")]
    return tuple(Breach(one.path, _shown(one.value), limit_text(check)) for one in values)


def _missing_of(check: _Check, bound: Sequence[Bound]) -> bool:
    return all(_OPS[part["op"]].missing(part, _mine(part, bound)) for part in check["of"])


def _missing_not(check: _Check, bound: Sequence[Bound]) -> bool:
    return _OPS[check["of"]["op"]].missing(check["of"], _mine(check["of"], bound))


def _keys(check: _Check, required: set[str], optional: frozenset[str] = frozenset()) -> list[str]:
    names = set(check) - {"op"}
    op = check["op"]
    return [f"{op!r} needs {name!r}" for name in sorted(required - names)] + [
        f"{op!r} has no {name!r}" for name in sorted(names - required - optional, key=str)
    ]


def _problems(check: object, depth: int) -> list[str]:
    if depth > _DEEPEST:
        return [f"checks may be nested {_DEEPEST} deep"]
    if not isinstance(check, Mapping):
        return [f"a check is an object with an 'op', got {_shown(str(check))}"]
    op = check.get("op")
    if not isinstance(op, str) or op not in _OPS:
        return [f"unknown op {_shown(str(op))!r}; known are {', '.join(sorted(_OPS))}"]
    return _OPS[op].problems(check, depth)


def _problems_of(check: _Check, depth: int) -> list[str]:
    found = _keys(check, {"of"})
    parts = check.get("of")
    if not isinstance(parts, list | tuple) or not parts:
        return [*found, "of must be an array of at least one check"]
    return found + [problem for part in parts for problem in _problems(part, depth + 1)]


def _problems_not(check: _Check, depth: int) -> list[str]:
    return _keys(check, {"of"}) or _problems(check["of"], depth + 1)


def _problems_forbid(check: _Check, _depth: int) -> list[str]:
    return _keys(check, set())


def _text_of(check: _Check) -> str:
    return (" and " if check["op"] == "all" else " or ").join(limit_text(part) for part in check["of"])


_COMPARISON = _Op(_judge_compare, _left_out, _problems_compare, _text_compare)
_OPS: Mapping[str, _Op] = {
    **dict.fromkeys(_COMPARE, _COMPARISON),
    "in": _Op(_judge_set, _left_out, _problems_set, _text_set),
    "not_in": _Op(_judge_set, _left_out, _problems_set, _text_set),
    "window": _Op(_judge_window, _missing_window, _problems_window, _text_window),
    "forbid": _Op(_judge_forbid, lambda _check, _bound: False, _problems_forbid, lambda _check: "never"),
    "all": _Op(_judge_all, _missing_of, _problems_of, _text_of),
    "any": _Op(_judge_any, _missing_of, _problems_of, _text_of),
    "not": _Op(_judge_not, _missing_not, _problems_not, lambda check: f"not ({limit_text(check['of'])})"),
}
