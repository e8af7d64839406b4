"""Comparisons: plain numbers, money in one currency, quantities in one unit. Exact, and never converted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from backstay.boundary.predicates.language import Bound, Breach, Check, Moment, Op, keys, left_out, present, shown
from backstay.boundary.predicates.units import SECONDS, unit_of

_COMPARE: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "lt": (operator.lt, "less than"),
    "le": (operator.le, "at most"),
    "gt": (operator.gt, "more than"),
    "ge": (operator.ge, "at least"),
    "eq": (operator.eq, "exactly"),
    "ne": (operator.ne, "anything but"),
}


def number(value: object) -> int | Decimal | None:
    """The value as an exact number, or None: a bool, NaN, infinity or more than 40 digits is no number here."""
    kind = type(value)
    if isinstance(value, str):
        return _decimal(value) if len(value) <= 64 else None
    if isinstance(value, int) and kind is int:
        return value if value.bit_length() <= 132 else None
    return _decimal(repr(value)) if kind is float else None


@lru_cache(maxsize=512)
def _decimal(text: str) -> Decimal | None:
    if not text.isascii() or "_" in text:
        return None
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return None
    return exact if exact.is_finite() and -40 <= exact.adjusted() <= 40 else None


def _judge(check: Check, bound: Sequence[Bound], moment: Moment) -> tuple[Breach, ...]:
    amount = check.get("money")
    unit, currency = check.get("unit"), None if amount is None else check["currency"]
    limit = _operand(check["number"] if amount is None else amount)
    holds = _COMPARE[check["op"]][0]
    given = present(bound)
    broken: list[Breach] = []
    for one in given:
        reason, scale, base = _scale(one.meaning, unit, currency)
        value = number(one.value)
        if value is None or reason:
            words = f"{_text(check)}; the value is {reason or 'not a plain number'}"
            broken.append(moment.doubt(one.path, one.value, words))
        elif not (holds(value, limit) if scale is base else holds(value * scale, limit * base)):
            broken.append(Breach(one.path, shown(one.value), _text(check)))
    return tuple(broken) if given or not left_out(check, bound) else moment.left_out(_text(check))


@lru_cache(maxsize=512, typed=True)
def _operand(text: str | float) -> int | Decimal:
    exact = number(text)
    if exact is None:
        raise ValueError(f"{text!r} is not a plain number")
    return exact


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
    have, want = unit_of(have), unit_of(unit or "")
    if have in SECONDS and want in SECONDS and have != want:
        return "", SECONDS[have], SECONDS[want]
    return "" if have == want else f"in {have}, and the rule is in {want}", _ONE, _ONE


def _problems(check: Check, _depth: int) -> list[str]:
    money = "money" in check
    found = keys(check, {"money", "currency"} if money else {"number"}, frozenset() if money else frozenset({"unit"}))
    name = "money" if money else "number"
    if name in check and number(check[name]) is None:
        found.append(f"{name} must be a plain number such as '200', got {shown(check[name])}")
    currency, unit = check.get("currency"), check.get("unit", "items")
    if money and not (isinstance(currency, str) and len(currency) == 3 and currency.isalpha() and currency.isupper()):
        found.append(f"currency must be an ISO 4217 code such as 'EUR', got {shown(currency)}")
    if not isinstance(unit, str) or not unit:
        found.append(f"unit must be a word such as 'items', got {shown(unit)}")
    return found


def _text(check: Check) -> str:
    amount = (
        f"{check['money']} {check['currency']}" if "money" in check else f"{check['number']} {check.get('unit', '')}"
    )
    return f"{_COMPARE[str(check['op'])][1]} {amount.rstrip()}"


COMPARISONS: Mapping[str, Op] = dict.fromkeys(_COMPARE, Op(_judge, left_out, _problems, _text))
