"""Rules made ready for a tool: what each binds to is looked up once, and its operands are read once.

`judge` asks for them at every call; they are made when the rules of a session or the facts of a tool have changed, and
remembered. That changes nothing but the time it takes. Source: SPEC B6, B9.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from backstay.boundary.arguments import Binding, binding_of
from backstay.boundary.constraints import Constraint
from backstay.boundary.predicates import Test, is_total, ready
from backstay.core.canon import EMPTY, digest
from backstay.core.context import Principal, ToolFacts
from backstay.core.messages import Args

_KEPT = 256
"""Pairs of a list of rules and a tool that are remembered."""


class Rule(NamedTuple):
    """A constraint, ready to be asked about calls of one tool."""

    constraint: Constraint
    check: Args
    test: Test
    place: int
    """Which of the bindings it is about."""
    is_total: bool
    lasts: bool
    """Whether neither time nor agent can put it out of force."""


class Ready(NamedTuple):
    """All rules that may concern a tool, and what they bind to."""

    constraints: Sequence[Constraint]
    tool: ToolFacts
    rules: tuple[Rule, ...]
    bindings: tuple[Binding, ...]


_remembered: dict[tuple[int, str], Ready] = {}


def rules_for(constraints: Sequence[Constraint], tool: ToolFacts) -> Ready:
    """Return the rules in force that may concern this tool."""
    key = (id(constraints), tool.name)
    known = _remembered.get(key)
    if known is not None and known.constraints is constraints and _is_same(known.tool, tool):
        return known
    made = _made(constraints, tool)
    if len(_remembered) >= _KEPT:
        _remembered.clear()
    _remembered[key] = made
    return made


def _is_same(one: ToolFacts, other: ToolFacts) -> bool:
    """Whether rules bind to two facts alike; the risk may differ from call to call."""
    return one is other or (
        one.name == other.name
        and one.meanings == other.meanings
        and one.sinks == other.sinks
        and one.texts == other.texts
    )


def _made(constraints: Sequence[Constraint], tool: ToolFacts) -> Ready:
    rules: list[Rule] = []
    places: dict[tuple[str | None, str | None, bool], int] = {}
    bindings: list[Binding] = []
    for one in constraints:
        if one.check is None or not one.is_active or (one.tools and tool.name not in one.tools):
            continue
        bound = (one.bind.get("argument"), one.bind.get("meaning"), bool(one.tools))
        place = places.get(bound)
        if place is None:
            place = places[bound] = len(bindings)
            bindings.append(binding_of(one, tool))
        lasts = not one.agents and one.until is None
        rules.append(Rule(one, one.check, ready(one.check), place, is_total(one.check), lasts))
    return Ready(constraints, tool, tuple(rules), tuple(bindings))


def account(one: Constraint, principal: Principal, now: float) -> str:
    """The ledger's key of a sum or a count: the rule's own in its session, or one of a person, a day and what the rule
    says, which all sessions share.
    """
    check = one.check or EMPTY
    if check.get("per") != "day":
        return f"session:{one.id}"
    day = datetime.fromtimestamp(now, ZoneInfo(principal.zone)).date().isoformat()
    same = digest([check, dict(one.bind), sorted(one.tools)])[:16]
    return f"day:{day}:{principal.key}:{same}"
