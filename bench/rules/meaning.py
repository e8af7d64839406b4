"""Meaning: two lists of rules are the same where `judge` says the same of every call that is tried.

Each list is asked about single calls near its borders at several times, and about sessions in which calls of two tools
follow each other over two days, so that totals, counts and orders are met too. Source: SPEC B1, B6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.policy import Boundary
from backstay.boundary.predicates import selects
from backstay.boundary.provenance import SessionSources
from backstay.boundary.text import ToolWords
from backstay.core.canon import canonical
from backstay.core.context import Principal, ToolFacts
from backstay.core.messages import PLAIN, ToolCall
from bench.rules.probes import SAID, Borders, borders, calls_of

_ME = Principal(id="ann", zone="UTC")
_RULES_ALONE = Boundary(provenance="off")
_RANK = {"allow": 0, "ask": 1, "deny": 2}
_DAY = 86_400.0
_MOST_REPEATS = 40
_STARTS = 12
"""Calls of a tool that sessions are begun with."""


class Difference(NamedTuple):
    """How one list of rules stands to another."""

    stricter: bool
    """Whether it stops a call that the other lets through or asks about."""
    looser: bool


@dataclass(slots=True)
class _Session:
    """One session under one list of rules."""

    rules: tuple[Constraint, ...]
    sources: SessionSources
    spent: dict[str, Decimal] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)

    def judge(self, tool: ToolFacts, args: Mapping[str, Any], now: float) -> int:
        """What becomes of a call: 0 allowed, 1 asked about, 2 refused. What is not refused is done."""
        state = JudgeState(
            now=now,
            principal=_ME,
            agents=("desk",),
            constraints=self.rules,
            sources=self.sources,
            spent=self.spent,
            done=self.done,
        )
        verdict = judge(ToolCall(id="c", name=tool.name, args=args, slot=1), tool, _RULES_ALONE, state)
        if verdict.outcome != "deny":
            for one in verdict.reserve:
                self.spent[one.key] = self.spent.get(one.key, Decimal(0)) + one.amount
            self.done[tool.name] = self.done.get(tool.name, 0) + 1
        return _RANK[verdict.outcome]


def difference(
    read: Sequence[Constraint], said: Sequence[Constraint], tools: Sequence[ToolWords], now: float
) -> Difference:
    """Compare what was read with what was said. What is written alike is alike, and not tried."""
    if _written(read, tools) == _written(said, tools):
        return Difference(False, False)
    lists = [tuple(replace(one, on_missing="allow") for one in rules) for rules in (read, said)]
    near = borders((*read, *said))
    found = {one > other for one, other in _verdicts(lists, near, tools, now) if one != other}
    return Difference(True in found, False in found)


def _written(rules: Sequence[Constraint], tools: Sequence[ToolWords]) -> frozenset[tuple[object, ...]]:
    return frozenset(
        (canonical(one.check), frozenset(tool.name for tool in tools if _touches(one, tool)), one.severity, one.until)
        for one in rules
    )


def _touches(rule: Constraint, tool: ToolWords) -> bool:
    meaning = rule.bind.get("meaning")
    if rule.tools or meaning is None:
        return not rule.tools or tool.name in rule.tools
    return any(selects(meaning, one) for one in tool.meanings.values())


def _verdicts(
    lists: Sequence[tuple[Constraint, ...]], near: Borders, tools: Sequence[ToolWords], now: float
) -> Iterator[tuple[int, int]]:
    sources = SessionSources()
    sources.say("m1", SAID, PLAIN, "user")
    today = datetime.fromtimestamp(now, UTC).date()
    starts: dict[str, list[Mapping[str, Any]]] = {}
    rules = [rule for one in lists for rule in one]
    touched = [tool for tool in tools if any(_touches(rule, tool) for rule in rules)]
    meanings = {rule.bind["meaning"] for rule in rules if "meaning" in rule.bind}
    facts = {tool.name: _facts(tool) for tool in tools}
    for at in _times(lists, now, today):
        for tool in touched:
            for args in calls_of(tool, near, meanings, today):
                one, other = (_Session(each, sources).judge(facts[tool.name], args, at) for each in lists)
                yield one, other
                if at == now and one < 2 and other < 2:
                    starts.setdefault(tool.name, []).append(args)
    chosen = {name: calls[:: len(calls) // _STARTS + 1] for name, calls in starts.items()}
    for tool in touched:  # a call that is refused at first may be let through later
        chosen.setdefault(tool.name, [next(calls_of(tool, near, (), today))])
    for name in (name for rule in rules for name in _earlier(rule.check) if name in facts):
        chosen.setdefault(name, [{}])
    if any(_is_long(rule.check) for rule in rules):
        yield from _in_sessions(lists, sources, [facts[name] for name in chosen], chosen, near, now)


def _earlier(check: Any) -> Sequence[str]:
    """The tools that have to come first."""
    return check["tools"] if check is not None and check["op"] == "before" else ()


def _is_long(check: Any) -> bool:
    """Whether a check looks at more than one call."""
    return check is not None and check["op"] in ("sum", "count", "before")


def _in_sessions(
    lists: Sequence[tuple[Constraint, ...]],
    sources: SessionSources,
    facts: Sequence[ToolFacts],
    calls: Mapping[str, Sequence[Mapping[str, Any]]],
    near: Borders,
    now: float,
) -> Iterator[tuple[int, int]]:
    repeats = min(_MOST_REPEATS, int(max([2, *(n for n in near.numbers if n <= _MOST_REPEATS)])) + 2)
    for first in facts:
        for second in facts:
            for args in calls[first.name]:
                sessions = [_Session(rules, sources) for rules in lists]
                yield from _steps(sessions, first, args, second, calls[second.name][0], repeats, now)


def _steps(
    sessions: Sequence[_Session],
    first: ToolFacts,
    args: Mapping[str, Any],
    second: ToolFacts,
    then: Mapping[str, Any],
    repeats: int,
    now: float,
) -> Iterator[tuple[int, int]]:
    """One tool again and again, another once, and both on the next day. Ends where the lists part."""
    plan = [(first, args, now)] * repeats + [(second, then, now), (first, args, now + _DAY), (second, then, now + _DAY)]
    for tool, given, at in plan:
        one, other = (session.judge(tool, given, at) for session in sessions)
        yield one, other
        if one != other:
            return


def _times(lists: Sequence[tuple[Constraint, ...]], now: float, today: date) -> Iterator[float]:
    yield now
    for until in sorted({rule.until for rules in lists for rule in rules if rule.until}):
        days = date.fromisoformat(until[:10]) - today
        yield from (now + (days + timedelta(more)).total_seconds() for more in (0, 1))


def _facts(tool: ToolWords) -> ToolFacts:
    return ToolFacts(name=tool.name, digest="d" * 64, risk="write", effect="once", meanings=dict(tool.meanings))
