"""Comparisons: plain numbers, money in one currency, quantities in one unit. Exact, and never converted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, TypeAlias

from backstay.boundary.predicates.language import (
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    doubt,
    keys,
    left_out,
    nothing_given,
    present,
    shown,
)
from backstay.boundary.predicates.units import SECONDS, unit_of

_ONE = Decimal(1)
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
    if kind is str or isinstance(value, str):
        return _decimal(value) if len(value) <= 64 else None  # type: ignore[arg-type]  # it is a text
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


def _ready(check: Check) -> Test:
    op, money, text = check["op"], check.get("money"), _text(check)
    amount, unit, currency = (
        (check["number"], check.get("unit"), None) if money is None else (money, None, check["currency"])
    )
    limits: dict[str, _Limit] = {}

    def test(bound: Sequence[Bound], _scene: Scene) -> tuple[Breach, ...]:
        if len(bound) == 1:  # the usual one, and a quick answer
            known, exact = limits.get(bound[0].meaning), number(bound[0].value)
            if known is not None and exact is not None:
                holds, bar, scale, reason = known
                if scale is None and not reason and holds(exact, bar):
                    return ()
        given = present(bound)
        broken: list[Breach] = []
        for one in given:
            meaning = one.meaning
            limit = limits.get(meaning)
            if limit is None:
                limit = limits[meaning] = _limit(op, amount, unit, currency, meaning)
            holds, bar, scale, reason = limit
            value = number(one.value)
            if value is None or reason:
                broken.append(doubt(one, f"{text}; the value is {reason or 'not a plain number'}"))
            elif not holds(value if scale is None else value * scale, bar):
                broken.append(Breach(one.path, shown(one.value), text))
        if broken:
            return tuple(broken)
        return () if given or not left_out(check, bound) else nothing_given(text)

    return test


_Limit: TypeAlias = tuple[Callable[[Any, Any], bool], int | Decimal, Decimal | None, str]
"""How a value of one meaning is compared, with what, times what (None: nothing); and why it cannot be."""


@lru_cache(maxsize=1024, typed=True)
def _limit(op: str, amount: str | float, unit: str | None, currency: str | None, meaning: str) -> _Limit:
    limit = number(amount)
    if limit is None:
        raise ValueError(f"{amount!r} is not a plain number")
    scale, base, reason = scaled(meaning, unit, currency)
    return _COMPARE[op][0], limit if scale is None else limit * base, scale, reason


def scaled(meaning: str, unit: str | None, currency: str | None) -> tuple[Decimal | None, Decimal, str]:
    """By what to multiply value (None: by nothing) and limit, or why such a value cannot stand under such a rule."""
    if unit is None and currency is None:
        return None, _ONE, ""
    kind, _, have = meaning.partition(":")
    if kind != ("quantity" if currency is None else "money"):
        raise ValueError(
            f"a rule about {currency or unit} cannot be checked on an argument that means {meaning or 'nothing'}"
        )
    if currency is not None:
        return None, _ONE, "" if have == currency else f"in {have}, and the rule is in {currency}; never converted"
    have, want = unit_of(have), unit_of(unit or "")
    if have in SECONDS and want in SECONDS and have != want:
        return SECONDS[have], SECONDS[want], ""
    return None, _ONE, "" if have == want else f"in {have}, and the rule is in {want}"


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


COMPARISONS: Mapping[str, Op] = dict.fromkeys(_COMPARE, Op(_ready, left_out, _problems, _text))
