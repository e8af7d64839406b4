"""`backstay boundary replay`: what the boundary as it is now would have said of calls that were made before.

Source: SPEC B17.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from backstay.agents.guard import describe
from backstay.agents.rejudge import Rejudged, rejudge
from backstay.cli.apps import find_app
from backstay.cli.exits import DONE, FAILED
from backstay.cli.options import (
    DEFAULT_STORE,
    AsOption,
    JsonOption,
    StoreOption,
    opened,
    principal_asked,
    seconds_of,
    usage,
)
from backstay.cli.printing import Printer, one_line, when
from backstay.core.context import Principal
from backstay.store.protocol import RunStore
from backstay.store.records import RunRow

_THEN = {"allow": "ran", "ask": "asked", "deny": "refused"}
_NOW = {"allow": "runs", "ask": "asks", "deny": "is refused"}


def replay(
    path: Annotated[str | None, typer.Argument(metavar="APP", help="The app with the draft of its boundary.")] = None,
    traces: Annotated[
        str, typer.Option("--traces", metavar="QUERY", help="run:ID, session:ID, agent:NAME or all.")
    ] = "all",
    since: Annotated[str, typer.Option("--since", metavar="7d", help="Only calls of the last 30m, 12h, 7d, 4w.")] = "",
    as_: AsOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Judge recorded calls by the boundary as it is now. Executes nothing, writes nothing; exits 1 on a difference."""
    agents = {name: one.definition for name, one in find_app(path).agents.items()}
    chosen, begin = _chosen(traces), _begin(since)
    found = asyncio.run(_replayed(store, agents, chosen, begin, principal_asked(as_)))
    _tell(Printer(as_json=as_json), traces, found)
    return FAILED if found.differences else DONE


@dataclass(slots=True)
class _Found:
    runs: int = 0
    judged: int = 0
    not_judged: int = 0
    others: Counter[str] = field(default_factory=Counter)
    """Runs of agents that the app does not have."""
    differences: list[Rejudged] = field(default_factory=list)
    noted: Counter[str] = field(default_factory=Counter)
    """What is only noted → calls."""


def _chosen(query: str) -> Callable[[RunRow], bool]:
    kind, colon, name = query.partition(":")
    if query == "all":
        return lambda _row: True
    if colon and name:
        match kind:
            case "run":
                return lambda row: row.run_id == name
            case "session":
                return lambda row: row.session_id == name
            case "agent":
                return lambda row: row.agent == name
    raise usage(f"--traces {query!r}: expected run:ID, session:ID, agent:NAME or all")


def _begin(since: str) -> float:
    if not since:
        return 0.0
    seconds = seconds_of(since)
    if seconds is None:
        raise usage(f"--since {since!r}: expected a number and m, h, d or w, such as 7d")
    return time.time() - seconds


async def _replayed(
    place: str, agents: Mapping[str, Any], chosen: Callable[[RunRow], bool], begin: float, principal: Principal | None
) -> _Found:
    found = _Found()
    async with opened(place) as store:
        runs = {row.run_id: row for row in await _runs(store, principal) if chosen(row)}
        found.others.update(row.agent for row in runs.values() if row.agent not in agents)
        found.runs = len(runs) - found.others.total()
        async for one in rejudge(store, agents, runs, since=begin):
            if one is None:
                found.not_judged += 1
                continue
            found.judged += 1
            found.noted.update(rule for rule in one.now.rules if rule.startswith("noted:"))
            if not one.is_same:
                found.differences.append(one)
    return found


async def _runs(store: RunStore, principal: Principal | None) -> list[RunRow]:
    found: list[RunRow] = []
    after = ""
    while page := await store.runs(principal=principal, after=after, limit=500):
        found += page
        after = page[-1].run_id
    return found


def _tell(out: Printer, query: str, found: _Found) -> None:
    changes = Counter((one.then, one.now.outcome) for one in found.differences)
    out.document(
        {
            "query": query,
            "runs": found.runs,
            "runs_of_other_agents": dict(found.others),
            "judged": found.judged,
            "not_judged": found.not_judged,
            "changes": {f"{then}->{now}": count for (then, now), count in sorted(changes.items())},
            "noted": dict(found.noted),
            "differences": [_document(one) for one in found.differences],
        }
    )
    out.line(
        f"{_many(found.judged, 'call')} of {_many(found.runs, 'run')} judged; {len(found.differences)} differ", "bold"
    )
    for (then, now), count in sorted(changes.items()):
        out.line(f"  {_THEN[then]}, and now {_NOW[now]}: {count}")
    for rule, count in sorted(found.noted.items()):
        out.line(f"  {rule}: {count}")
    if found.not_judged:
        why = "wrong arguments, an unknown tool, a limit"
        out.line(f"  {_many(found.not_judged, 'call')} had never come to be judged: {why}")
    for agent, count in sorted(found.others.items()):
        out.line(f"  {_many(count, 'run')} of {agent!r} left out: this app has no such agent")
    if found.differences:
        out.line()
        out.table(["CALL", "THEN", "NOW", "RULES", "WHY", "RUN", "AT"], [_row(one) for one in found.differences])


def _many(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _row(one: Rejudged) -> list[str]:
    then = _THEN[one.then] if not one.is_decided else {"allow": "ran, approved"}.get(one.then, "stale, approved")
    return [
        one_line(describe(one.now.call), 120),
        f"{then} [{one.then_code}]" if one.then_code else then,
        _NOW[one.now.outcome],
        ", ".join(one.now.rules),
        one_line(one.now.message, 200),
        one.run_id,
        when(one.at),
    ]


def _document(one: Rejudged) -> dict[str, Any]:
    return {
        "call": describe(one.now.call),
        "tool": one.now.call.name,
        "then": one.then,
        "then_code": one.then_code,
        "now": one.now.outcome,
        "rules": list(one.now.rules),
        "code": one.now.code,
        "message": one.now.message,
        "approved": one.is_decided,
        "agent": one.agent,
        "run_id": one.run_id,
        "session_id": one.session_id,
        "at": one.at,
    }
