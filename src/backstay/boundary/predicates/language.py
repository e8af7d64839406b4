"""The words of the language: what is bound, what breaks, and what a row of the table says.

A check is a JSON object whose `op` names a row; the modules beside this one hold the rows, `table` puts them together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias
from zoneinfo import ZoneInfo

from backstay.core.canon import EMPTY
from backstay.core.context import Principal
from backstay.core.messages import Args, Json

MAX_ITEMS = 1000
"""Operands that are lists may have so many items."""
MAX_CHARS = 1000
"""An operand may be a text of so many characters."""
MAX_VALUE = 4096
"""A value longer than this is not read as a path, a host or against a pattern."""
_SHOWN = 80
_ARRAYS = frozenset({tuple, list})
_ZERO = Decimal(0)

Function: TypeAlias = Callable[[Args, Principal], object]
"""A developer's own check: arguments and principal → True (holds), False or a reason (broken). Anything else denies."""
Owner: TypeAlias = Callable[[str], object]
"""Whose an identifier is: id → a principal's id, or None. Called at every judgement, so it has to be quick."""


class OwnWords(Protocol):
    """What the user has said."""

    def is_said(self, value: str, *, exact: bool, kind: str = "") -> bool:
        """Whether the value stands as a whole token in a message of the user, not in anybody else's text."""
        ...


class Bound(NamedTuple):
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


class Scene(NamedTuple):
    """What a check may know beside what it is bound to: one for every call that is judged."""

    now: float
    """Seconds since 1970; relative windows are measured from here."""
    principal: Principal
    """Who the call is for: days begin and end in the zone, claims are what the door has made sure of."""
    args: Args = EMPTY
    """All canonical arguments of the call."""
    used: Decimal = _ZERO
    """What the rule's ledger holds already, this call not counted; only a sum or a count looks at it."""
    done: Mapping[str, int] = EMPTY
    """Tool → how often it has succeeded in this session."""
    words: OwnWords | None = None
    """What the user has said; None: nothing is known of it."""
    functions: Mapping[str, Function] = EMPTY
    owners: Mapping[str, Owner] = EMPTY
    """Kind of identifier → whose one is."""


Check: TypeAlias = Mapping[str, Any]
"""A check whose operands are what `check_problems` demands; another one raises, and the caller denies."""
Test: TypeAlias = Callable[[Sequence[Bound], Scene], tuple[Breach, ...]]
"""What a rule is about, in which scene → what is broken."""


class Op(NamedTuple):
    """A row of the language: what breaks it, what it needs, what may be wrong with it, how it reads."""

    ready: Callable[[Check], Test]
    """Makes the test of a check, its operands read once. Raises what a wrong operand raises."""
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


def each(check: Check, text: str, judge: Callable[[Bound, Scene], Breach | None]) -> Test:
    """The test that looks at everything that is there by itself; of an array at each element."""

    def test(bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        if len(bound) == 1 and type(bound[0][2]) is str:  # the usual one, and a quick answer
            found = judge(bound[0], scene)
            return () if found is None else (found,)
        given = present(bound)
        if not given:
            return nothing_given(text) if left_out(check, bound) else ()
        return tuple(found for one in given if (found := judge(one, scene)) is not None)

    return test


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
        value = one[2]
        if value is None or type(value) in _ARRAYS:
            return tuple(_flat(bound))
    return bound


def _flat(bound: Sequence[Bound]) -> Iterator[Bound]:
    for one in bound:
        if isinstance(one.value, tuple | list):
            yield from _flat([Bound(f"{one.path}.{i}", one.meaning, item) for i, item in enumerate(one.value)])
        elif one.value is not None:
            yield one


def never_missing(_check: Check, _bound: Sequence[Bound]) -> bool:
    """What a check about the call as a whole answers: it needs no argument."""
    return False


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


def listed(check: Check, name: str, is_fine: Callable[[object], bool], wanted: str) -> list[str]:
    """What is wrong with an operand that is a list of texts."""
    values = check.get(name)
    if not isinstance(values, list | tuple) or not values:
        return [f"{name} must be an array of at least one {wanted}"]
    if len(values) > MAX_ITEMS:
        return [f"{name} may have {MAX_ITEMS} items, got {len(values)}"]
    bad = [one for one in values if not (isinstance(one, str) and 0 < len(one) <= MAX_CHARS and is_fine(one))]
    return [f"{name} may hold {wanted}s, got {shown(one)}" for one in bad]


def named(check: Check, name: str) -> list[str]:
    """What is wrong with an operand that is a name."""
    value = check.get(name)
    if isinstance(value, str) and len(value.strip()) > 0 and len(value) <= MAX_CHARS:
        return []
    return [f"{name} must be a name, got {shown(value)}"]
