"""Recorded calls, judged by the boundary as it is now. Nothing is executed and nothing is written.

Every session is folded record by record; each call meets the state that it met when it was made, at the time it was
made. What another verdict would have changed afterwards is not guessed: a later call is judged against what happened.
The ledger alone follows the policy that is tried, since its rules may count what nobody counted before. Calls that a
tool's body made are in no journal and are not judged. Source: SPEC B17.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from heapq import heapify, heappop, heappush
from typing import Literal, TypeAlias

from backstay.agents.definition import Definition
from backstay.agents.judging.judge_state import judge_state, rules_in_force, say_rules
from backstay.agents.state import SessionState
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import Presence, call_digest, judge
from backstay.core.canon import freeze
from backstay.core.context import Reserve, Verdict, is_shared
from backstay.core.errors import ToolInputError
from backstay.core.messages import ToolCall, ToolResult
from backstay.core.schema import canonical_args, validate
from backstay.store.protocol import RunStore
from backstay.store.records import Notice, Record, Reply, Results, RunRow

Outcome: TypeAlias = Literal["allow", "ask", "deny"]

_PAGE = 200
_DENIED = frozenset(
    {
        "boundary.error", "principal.missing", "constraint.broken", "limit.cycle", "action.refused",
        "action.unattended", "provenance.secret", "provenance.untraced", "plan.outside",
    }
)  # fmt: skip
"""Codes with which the boundary refuses. Any other refusal came before a call was judged, such as wrong arguments."""
_ALLOWED = frozenset({"tool.circuit_open", "effect.changed"})
"""Codes of calls that were allowed and did not run all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """One recorded call: what became of it then, and what the boundary says now."""

    session_id: str
    run_id: str
    agent: str
    at: float
    """When it was made, in seconds since 1970."""
    call: ToolCall
    """The real call: of a proposal, the action."""
    then: Outcome
    then_code: str
    now: Verdict
    is_decided: bool = False
    """Whether this was its execution, after a person had approved it."""

    @property
    def is_same(self) -> bool:
        """Whether the same would have come of it."""
        return self.then == self.now.outcome


async def rejudge(
    store: RunStore, agents: Mapping[str, Definition], runs: Mapping[str, RunRow], *, since: float = 0.0
) -> AsyncIterator[Rejudged | None]:
    """Judge every recorded call of these runs again; None for each call that was never judged.

    Args:
        store: where the journals are; only read.
        agents: the definitions, by name; runs of others are left out.
        runs: the runs whose calls are judged, by id. Their whole sessions are folded.
        since: calls made before this moment are judged for the ledger alone, in seconds since 1970.

    Yields:
        The calls of all sessions in the order of time, when their results come.
    """
    spent: dict[str, Decimal] = {}
    names = sorted({row.session_id for row in runs.values() if row.agent in agents})
    pages = [_pages(store, name) for name in names]
    sessions = [_Session(name, agents, runs, spent) for name in names]
    waiting = [(record.at, n, record) for n, one in enumerate(pages) if (record := await anext(one, None)) is not None]
    heapify(waiting)
    while waiting:
        _, n, record = heappop(waiting)
        for one in sessions[n].take(record):
            if record.at >= since:
                yield one
        following = await anext(pages[n], None)
        if following is not None:  # a session's own order counts, whatever its clocks said
            heappush(waiting, (max(following.at, record.at), n, following))


async def _pages(store: RunStore, session_id: str) -> AsyncIterator[Record]:
    after = 0
    while page := await store.read(session_id, after=after, limit=_PAGE):
        for record in page:
            yield record
        after = page[-1].seq


@dataclass(slots=True)
class _Judged:
    """A call that was judged and whose result has not come yet."""

    call: ToolCall
    verdict: Verdict
    at: float
    reserve: tuple[Reserve, ...]


class _Session:
    """One session, folded along with the verdicts of the policy that is tried."""

    def __init__(
        self,
        session_id: str,
        agents: Mapping[str, Definition],
        runs: Mapping[str, RunRow],
        shared: dict[str, Decimal],
    ) -> None:
        self._state = SessionState(session_id)
        self._agents = agents
        self._runs = runs
        self._shared = shared
        self._spent: dict[str, Decimal] = {}
        self._open: dict[str, _Judged] = {}
        self._planned: dict[str, int] = {}
        self._known: set[str] = set()
        self._rules: dict[str, tuple[int, tuple[Constraint, ...]]] = {}

    def take(self, record: Record) -> Iterator[Rejudged | None]:
        """Fold a record; a reply's calls are judged after it, an approved action before the notice of its end."""
        row = self._runs.get(record.run_id)
        definition = self._agents.get(row.agent) if row else None
        if row is not None and definition is not None:
            self._meet(row, definition)
            if isinstance(record.body, Notice):
                yield from self._carried_out(record, record.body, row, definition)
        self._state.fold(record)
        if row is None or definition is None:
            return
        if isinstance(record.body, Reply):
            for call in record.body.reply.calls:
                judged = self._judge(call, row, definition, record.at)
                self._open[call.id] = judged
        elif isinstance(record.body, Results):
            for one in record.body.returns:
                yield self._result(one.call_id, one.result, row)

    def _meet(self, row: RunRow, definition: Definition) -> None:
        if row.run_id not in self._known:
            self._known.add(row.run_id)
            say_rules(self._state, definition.constraints)

    def _in_force(self, definition: Definition) -> tuple[Constraint, ...]:
        known = self._rules.get(definition.name)
        if known is None or known[0] != self._state.rules_version:
            known = self._state.rules_version, rules_in_force(definition.constraints, self._state)
            self._rules[definition.name] = known
        return known[1]

    def _judge(
        self, call: ToolCall, row: RunRow, definition: Definition, at: float, decided: PendingAction | None = None
    ) -> _Judged:
        real, tool = definition.toolset.resolve(call)
        if isinstance(tool, ToolResult):
            return _Judged(real, _refused(real, tool.code or "", tool.summary), at, ())
        try:
            if real.raw is not None:
                raise ToolInputError("its arguments are not a JSON object")
            args = canonical_args(validate(tool.input_schema, real.args))
        except ToolInputError as error:
            return _Judged(real, _refused(real, error.code, error.message), at, ())
        real = replace(real, args=args)
        if decided is not None:
            decided = replace(decided, args_digest=call_digest(real.name, args))
        input = self._state.run(row.run_id).input
        presence: Presence = input.presence if input is not None else "inbox"
        key = f"{row.run_id}:{real.slot}"
        state = judge_state(
            self._state,
            principal=row.principal,
            agents=(definition.name,),
            rules=self._in_force(definition),
            spent=self._now_spent(),
            presence=presence,
            now=at,
            key=key,
            planned=self._planned,
            decided=decided,
            is_exposed=bool(definition.reach.untrusted),
        )
        verdict = judge(real, tool.facts(args), definition.boundary, state)
        if verdict.plan and verdict.outcome != "deny":
            self._planned[key] = verdict.plan
        return _Judged(real, verdict, at, verdict.reserve if verdict.outcome == "allow" else ())

    def _now_spent(self) -> Mapping[str, Decimal]:
        total = {**self._spent, **self._shared}
        for one in self._open.values():
            _add(total, one.reserve)
        return total

    def _spend(self, judged: _Judged, result: ToolResult) -> None:
        if not result.is_void:
            _add(self._spent, [one for one in judged.reserve if not is_shared(one.key)])
            _add(self._shared, [one for one in judged.reserve if is_shared(one.key)])

    def _result(self, call_id: str, result: ToolResult, row: RunRow) -> Rejudged | None:
        judged = self._open.pop(call_id, None)
        if judged is None:
            return None
        self._planned.pop(f"{row.run_id}:{judged.call.slot}", None)
        self._spend(judged, result)
        then = _then(result)
        return None if then is None else self._told(judged, then, result.code or "", row)

    def _carried_out(self, record: Record, notice: Notice, row: RunRow, definition: Definition) -> Iterator[Rejudged]:
        action, decision = self._state.open.get(notice.action_id), self._state.decided.get(notice.action_id)
        if action is None or decision is None or action.kind != "approval" or not decision.approve:
            return
        if action.call is None or notice.state not in ("done", "in_doubt", "stale"):
            return
        args = action.call.args if decision.args is None else freeze(decision.args)
        assert isinstance(args, Mapping)
        call = replace(action.call, args=args, proposed=True)  # a person's decision reaches any tool
        judged = self._judge(call, row, definition, record.at, action)
        happened = notice.state != "stale"
        self._spend(judged, ToolResult(ok=notice.ok, summary="", via="ran" if happened else "refused"))
        then: Outcome = "allow" if happened else "ask" if self._is_asked_again(action) else "deny"
        yield replace(self._told(judged, then, "" if happened else "action.stale", row), is_decided=True)

    def _is_asked_again(self, action: PendingAction) -> bool:
        """Whether a stale approval led to a further question about the same call: it stands before the notice."""
        calls = [one.call.id for one in self._state.open.values() if one.call is not None and one.id != action.id]
        return action.call is not None and action.call.id in calls

    def _told(self, judged: _Judged, then: Outcome, code: str, row: RunRow) -> Rejudged:
        return Rejudged(
            session_id=row.session_id,
            run_id=row.run_id,
            agent=row.agent,
            at=judged.at,
            call=judged.call,
            then=then,
            then_code=code,
            now=judged.verdict,
        )


def _add(total: dict[str, Decimal], amounts: tuple[Reserve, ...] | list[Reserve]) -> None:
    for key, amount, _ in amounts:
        total[key] = total.get(key, Decimal(0)) + amount


def _then(result: ToolResult) -> Outcome | None:
    """What the boundary had said of a call with this result; None if it was never asked."""
    if result.via == "held" or result.code == "action.too_many":
        return "ask"
    if result.via != "refused" or result.code in _ALLOWED:
        return "allow"
    return "deny" if result.code in _DENIED else None


def _refused(call: ToolCall, code: str, told: str) -> Verdict:
    return Verdict(outcome="deny", call=call, digest="", risk="write", rules=(code,), code=code, message=told)
