"""Sets: one of these, none of these. Texts are compared NFKC and case-folded, numbers by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from unicodedata import category, normalize

from backstay.boundary.predicates.language import (
    Bound,
    Breach,
    Check,
    Op,
    doubt,
    keys,
    left_out,
    nothing_given,
    present,
    shown,
)
from backstay.boundary.predicates.numbers import number
from backstay.core.messages import Json


def _key(value: Json) -> str | None:
    """What sets are compared by: texts NFKC and case-folded, numbers by value; None for an object."""
    if isinstance(value, str):
        return value.casefold() if value.isascii() else normalize("NFKC", normalize("NFKC", value).casefold())
    if isinstance(value, bool):
        return "true" if value else "false"
    exact = number(value)
    return None if exact is None else format(Decimal(exact).normalize(), "f")


def _judge(check: Check, bound: Sequence[Bound], _now: float, _zone: str) -> tuple[Breach, ...]:
    listed = {_key(one) for one in check["values"]}
    inside = check["op"] == "in"
    broken: list[Breach] = []
    given = present(bound)
    for one in given:
        key = _key(one.value)
        if key is None:
            broken.append(doubt(one, f"{_text(check)}; the value cannot be compared"))
        elif key not in listed if inside else key in listed or _visible(key) in listed:
            broken.append(Breach(one.path, shown(one.value), _text(check)))
    return tuple(broken) if given or not left_out(check, bound) else nothing_given(_text(check))


def _visible(key: str) -> str:
    """The text without characters that nobody sees: a zero-width joiner must not slip past a list of refusals."""
    return key if key.isascii() else "".join(char for char in key if category(char) != "Cf")


def _problems(check: Check, _depth: int) -> list[str]:
    found = keys(check, {"values"})
    values = check.get("values")
    if not isinstance(values, list | tuple) or not values:
        found.append("values must be an array of at least one text or number")
    else:
        found += [f"values may hold texts and numbers, got {shown(one)}" for one in values if _key(one) is None]
    return found


def _text(check: Check) -> str:
    listed = ", ".join(shown(one) for one in check["values"])
    return f"{'only' if check['op'] == 'in' else 'none of'} {listed}"


_ROW = Op(_judge, left_out, _problems, _text)
SETS: Mapping[str, Op] = {"in": _ROW, "not_in": _ROW}
