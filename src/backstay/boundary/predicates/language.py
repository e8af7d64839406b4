"""The words of the language: what is bound, what breaks, and what a row of the table says.

A check is a JSON object whose `op` names a row; the modules beside this one hold the rows, `table` puts them together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from backstay.core.messages import Json

_SHOWN = 80
_ARRAYS = frozenset({tuple, list})


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
    is_doubt: bool = field(default=False, compare=False, repr=False)
    """Whether the value could not be read, so that nothing is known of it: a breach under `not` too."""


Check: TypeAlias = Mapping[str, Any]
"""A check whose operands are what `check_problems` demands; another one raises, and the caller denies."""
JudgeOf: TypeAlias = Callable[[Check, Sequence[Bound], float, str], tuple[Breach, ...]]
"""Check, what it is about, now in seconds since 1970, IANA zone → what is broken."""


class Op(NamedTuple):
    """A row of the language: what breaks it, what it needs, what may be wrong with it, how it reads."""

    judge: JudgeOf
    missing: Callable[[Check, Sequence[Bound]], bool]
    problems: Callable[[Check, int], list[str]]
    text: Callable[[Check], str]


@lru_cache(maxsize=256)
def today(now: float, zone: str) -> date:
    """The day it is in a zone."""
    return datetime.fromtimestamp(now, ZoneInfo(zone)).date()


def doubt(one: Bound, limit: str) -> Breach:
    """The breach of a value that cannot be read."""
    return Breach(one.path, shown(one.value), limit, is_doubt=True)


def nothing_given(limit: str) -> tuple[Breach, ...]:
    """What a check comes to when nothing it needs was given."""
    return (Breach("", "(left out)", limit, is_doubt=True),)


def shown(value: Json) -> str:
    """The value as a person reads it, shortened to 80 characters."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        text = f"({type(value).__name__})"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def present(bound: Sequence[Bound]) -> Sequence[Bound]:
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


def left_out(_check: Check, bound: Sequence[Bound]) -> bool:
    """Whether none of the bound arguments was given: what most checks call missing."""
    for one in bound:  # noqa: SIM110  # a third of the cost of `all`, for every rule of every call
        if one.value is not None:
            return False
    return True


def keys(check: Check, required: set[str], optional: frozenset[str] = frozenset()) -> list[str]:
    """Which operands a check lacks, and which it has that its op does not know."""
    names = set(check) - {"op"}
    op = check["op"]
    return [f"{op!r} needs {name!r}" for name in sorted(required - names)] + [
        f"{op!r} has no {name!r}" for name in sorted(names - required - optional, key=str)
    ]
