"""Sums and counts over a session or a day, against what the ledger holds already.

What a call adds is told by `added`; who judges puts it into the ledger, and what is there already into `Scene.used`.
A rule is one sum or one count: neither stands inside `all`, `any` or `not`. Source: SPEC B9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from backstay.boundary.predicates.language import (
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    keys,
    left_out,
    never_missing,
    nothing_given,
    present,
    shown,
)
from backstay.boundary.predicates.numbers import number, scaled
from backstay.boundary.predicates.units import SECONDS, unit_of

_PERIODS: Mapping[str, str] = {"session": "in this session", "day": "a day"}
_ONE = Decimal(1)
_Sum: TypeAlias = "tuple[Decimal, tuple[Breach, ...]]"


def is_total(check: Check) -> bool:
    """Whether the check looks at the ledger."""
    return check.get("op") in TOTALS


def added(check: Check, bound: Sequence[Bound]) -> Decimal:
    """What a call adds to the ledger of this rule; what cannot be read adds nothing, and breaks the rule."""
    return Decimal(1) if check["op"] == "count" else _sum(check, bound)[0]


def most(check: Check) -> Decimal:
    """What the ledger of this rule may hold; lengths of time in seconds."""
    exact = number(check["max"])
    if exact is None:
        raise ValueError(f"{check['max']!r} is not a plain number")
    return exact * _base(check)


def _base(check: Check) -> Decimal:
    """What one of the rule's unit is in the ledger."""
    return SECONDS.get(unit_of(check.get("unit", "")), _ONE)


def _sum(check: Check, bound: Sequence[Bound]) -> _Sum:
    text, total, base = _text(check), Decimal(0), _base(check)
    wrong: list[Breach] = []
    for one in present(bound):
        scale, _, reason = scaled(one.meaning, check.get("unit"), check.get("money"))
        value = number(one.value)
        if value is None or reason or value < 0:
            why = reason or ("not a plain number" if value is None else "less than nothing")
            wrong.append(Breach(one.path, shown(one.value), f"{text}; the value is {why}", is_doubt=True))
        else:
            total += value * (base if scale is None else scale)
    return total, tuple(wrong)


def _ready_sum(check: Check) -> Test:
    text, limit, base = _text(check), most(check), _base(check)

    def test(bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        if left_out(check, bound):
            return nothing_given(text)
        total, wrong = _sum(check, bound)
        if wrong or scene.used + total <= limit:
            return wrong
        told = f"{text}, and {_plain(scene.used / base)} of it are used up" if scene.used else text
        return (Breach(_paths(bound), _plain(total / base), told),)

    return test


def _ready_count(check: Check) -> Test:
    text, limit = _text(check), most(check)

    def test(_bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        if scene.used + 1 <= limit:
            return ()
        return (Breach("", "", f"it was called {_plain(scene.used)} times, allowed is {text}"),)

    return test


def _paths(bound: Sequence[Bound]) -> str:
    given = [one.path for one in bound if one.value is not None]
    return given[0] if len(given) == 1 else f"the sum of {given[0]} and {len(given) - 1} more"


def _plain(amount: Decimal) -> str:
    return f"{amount:f}"


def _problems_count(check: Check, depth: int) -> list[str]:
    found = keys(check, {"max", "per"}) + _alone(check, depth)
    if type(check.get("max")) is not int or not 0 <= check["max"] <= 1_000_000_000:
        found.append(f"max must be a whole number of calls, got {shown(check.get('max'))}")
    return found


def _problems_sum(check: Check, depth: int) -> list[str]:
    found = keys(check, {"max", "per"}, frozenset({"money", "unit"})) + _alone(check, depth)
    limit = number(check.get("max"))
    if limit is None or limit < 0:
        found.append(f"max must be a plain number such as '300', got {shown(check.get('max'))}")
    money, unit = check.get("money", "EUR"), check.get("unit", "items")
    if not (isinstance(money, str) and len(money) == 3 and money.isalpha() and money.isupper()):
        found.append(f"money must be an ISO 4217 code such as 'EUR', got {shown(money)}")
    if not isinstance(unit, str) or not unit:
        found.append(f"unit must be a word such as 'items', got {shown(unit)}")
    if "money" in check and "unit" in check:
        found.append("a sum is of money or of a unit, not of both")
    return found


def _alone(check: Check, depth: int) -> list[str]:
    found = [f"{check['op']!r} stands by itself, as a rule of its own"] if depth else []
    if not isinstance(check.get("per"), str) or check["per"] not in _PERIODS:
        found.append(f"per must be 'session' or 'day', got {shown(check.get('per'))}")
    return found


def _text(check: Check) -> str:
    of = check.get("money") or check.get("unit") or ("calls" if check["op"] == "count" else "")
    in_all = "" if check["op"] == "count" else " in all"
    return f"at most {check['max']} {of}".rstrip() + f"{in_all} {_PERIODS[check['per']]}"


TOTALS: Mapping[str, Op] = {
    "sum": Op(_ready_sum, left_out, _problems_sum, _text),
    "count": Op(_ready_count, never_missing, _problems_count, _text),
}
