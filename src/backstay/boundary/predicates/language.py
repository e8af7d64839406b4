"""The words of the language: what is bound, what breaks, and what a row of the table says.

A check is a JSON object whose `op` names a row; the modules beside this one hold the rows, `table` puts them together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


class Moment:
    """One evaluation: where today lies, and how many values could not be read so far."""

    __slots__ = ("doubts", "now", "zone")

    def __init__(self, now: float, zone: str) -> None:
        self.now = now
        self.zone = zone
        self.doubts = 0

    def today(self) -> date:
        """The day it is in the principal's zone."""
        return today(self.now, self.zone)

    def doubt(self, path: str, value: Json, limit: str) -> Breach:
        """A breach that stays one under `not`: the value could not be read, so nothing is known of it."""
        self.doubts += 1
        return Breach(path, shown(value), limit)

    def left_out(self, limit: str) -> tuple[Breach, ...]:
        """What a check comes to when nothing it needs was given."""
        self.doubts += 1
        return (Breach("", "(left out)", limit),)


Check: TypeAlias = Mapping[str, Any]
"""A check whose operands are what `check_problems` demands; another one raises, and the caller denies."""
JudgeOf: TypeAlias = Callable[[Check, Sequence[Bound], Moment], tuple[Breach, ...]]


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
