"""Sets: one of these, none of these. Texts are compared NFKC and case-folded, numbers by value."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from unicodedata import category, normalize

from backstay.boundary.predicates.language import (
    MAX_ITEMS,
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    doubt,
    each,
    keys,
    left_out,
    shown,
)
from backstay.boundary.predicates.numbers import number
from backstay.core.messages import Json


def key_of(value: Json) -> str | None:
    """What sets are compared by: texts NFKC and case-folded, numbers by value; None for an object."""
    if isinstance(value, str):
        return value.casefold() if value.isascii() else normalize("NFKC", normalize("NFKC", value).casefold())
    if isinstance(value, bool):
        return "true" if value else "false"
    exact = number(value)
    return None if exact is None else _plain(f"{Decimal(exact):f}")


def _plain(text: str) -> str:
    """A number without the zeros that say nothing; as a text, since arithmetic would round it to 28 digits."""
    plain = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if plain == "-0" else plain


def _ready(check: Check) -> Test:
    listed = frozenset(key_of(one) for one in check["values"])
    inside, text = check["op"] == "in", _text(check)

    def judge(one: Bound, _scene: Scene) -> Breach | None:
        key = key_of(one.value)
        if key is None:
            return doubt(one, f"{text}; the value cannot be compared")
        if key not in listed if inside else key in listed or _visible(key) in listed:
            return Breach(one.path, shown(one.value), text)
        return None

    return each(check, text, judge)


def _visible(key: str) -> str:
    """The text without characters that nobody sees: a zero-width joiner must not slip past a list of refusals."""
    return key if key.isascii() else "".join(char for char in key if category(char) != "Cf")


def _problems(check: Check, _depth: int) -> list[str]:
    found = keys(check, {"values"})
    values = check.get("values")
    if not isinstance(values, list | tuple) or not values:
        found.append("values must be an array of at least one text or number")
    else:
        if len(values) > MAX_ITEMS:
            found.append(f"values may have {MAX_ITEMS} items, got {len(values)}")
        found += [f"values may hold texts and numbers, got {shown(one)}" for one in values if key_of(one) is None]
    return found


def _text(check: Check) -> str:
    listed = ", ".join(shown(one) for one in check["values"])
    return f"{'only' if check['op'] == 'in' else 'none of'} {listed}"


_ROW = Op(_ready, left_out, _problems, _text)
SETS: Mapping[str, Op] = {"in": _ROW, "not_in": _ROW}
