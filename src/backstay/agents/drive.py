"""`drive`: take a run's session, fold it, let the loop work, give it back. At least once, by whoever calls it.

`agent.run` is `store.create` and this, on the agent's store: one path. Source: DESIGN 2, 4, 8.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from backstay.agents.capture import capture_rules
from backstay.agents.definition import Definition, limits_with
from backstay.agents.guard import RunGuard
from backstay.agents.journal import Journal
from backstay.agents.lease import LEASE_SECONDS, Lease, Stop, pulse
from backstay.agents.loop import close_step, loop
from backstay.agents.own_tools import RunHost
from backstay.agents.result import ResultStatus, RunResult
from backstay.agents.state import CANCELLED, RunState, SessionState
from backstay.agents.work import Ending, Work
from backstay.boundary.actions import Decision, PendingAction
from backstay.core.context import RunContext
from backstay.core.errors import AppError, BackstayError, FencedError, SetupError
from backstay.core.events import Emitter, RunAnswer, RunFinish, RunStart
from backstay.core.ids import new_id, new_span_id
from backstay.models.model import ChatModel, Price
from backstay.store.protocol import RunStore
from backstay.store.records import Body, Fence, Kind, Record, RunRow, RunStatus, Status

Approver: TypeAlias = "Callable[[PendingAction], Awaitable[Decision | None]]"
_log = logging.getLogger("backstay.agents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a process brings to a run and no row holds."""

    deps: object = None
    model: ChatModel | None = None
    approver: Approver | None = None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(slots=True)
class Live:
    """The runs that this process drives now, by id."""

    stops: dict[str, Stop] = field(default_factory=dict)

    def cancel(self, run_id: str, reason: str) -> bool:
        """Stop a run if it is driven here."""
        stop = self.stops.get(run_id)
        if stop is None:
            return False
        stop.now(Ending(status="cancelled", code=CANCELLED, reason=reason))
        return True

    def leave(self, reason: str) -> int:
        """Stop every run that is driven here and leave it due, as a dead process would; returns how many there were."""
        for stop in self.stops.values():
            stop.now(Ending(status="waiting", code="run.interrupted", reason=reason, is_left=True))
        return len(self.stops)


live = Live()


async def drive(
    run_id: str,
    *,
    store: RunStore,
    agents: Mapping[str, Definition],
    given: Given,
    emit: Emitter,
    owner: str,
) -> RunResult[Any] | None:
    """Drive a run as far as it goes; None if it is not ours: held by somebody else, queued behind another, or ended.

    Raises:
        AppError: code `app.agent`, when the run belongs to an agent that is not among `agents`; it stays due.
        SetupError: code `deps.missing`, when the agent needs dependencies and nobody gives them; it stays due.
    """
    row = await store.run(run_id)
    definition = _agent_of(row, agents)
    claimed = await store.claim(run_id, owner=owner, ttl=LEASE_SECONDS)
    if claimed is None:
        return None
    fence, row = claimed
    return await drive_claimed(row, fence, store=store, definition=definition, given=given, emit=emit)


def _agent_of(row: RunRow, agents: Mapping[str, Definition]) -> Definition:
    definition = agents.get(row.agent)
    if definition is None:
        known = ", ".join(sorted(agents)) or "none"
        raise AppError(
            f"run {row.run_id} belongs to the agent {row.agent!r}, and this app has: {known}. The run stays due;"
            " name the app that has it",
            code="app.agent",
        )
    return definition


async def drive_claimed(
    row: RunRow,
    fence: Fence,
    *,
    store: RunStore,
    definition: Definition,
    given: Given,
    emit: Emitter,
    first: Record | None = None,
) -> RunResult[Any]:
    """Drive a run whose session is held already, and give the session back whatever happens.

    Args:
        row: the run.
        fence: the right to write to its session.
        store: where it is journalled.
        definition: of its agent.
        given: what this process brings.
        emit: where its events go.
        first: the input that has just made the session, if nothing else can be in it.
    """
    await asyncio.sleep(0)  # a run gives the loop a turn, even one that never waits
    emit.bind(asyncio.get_running_loop())
    state = SessionState(row.session_id)
    state.load([first] if first is not None else await store.load(row.session_id))
    journal = Journal(store, fence, row, state, given.clock)
    seen = _seen(state, row.run_id)
    try:
        work = await _prepare(row, journal, definition, given, emit)
    except BackstayError:
        await store.release(fence, row.run_id, "running", ())  # running without a driver: due
        raise
    stop = Stop()
    live.stops[row.run_id] = stop
    lease = Lease(store, fence, stop)
    pulse.add(lease)
    try:
        ending = await _work(work, stop)
    finally:
        pulse.discard(lease)
        live.stops.pop(row.run_id, None)
    return await _finish(work, ending, seen)


def _seen(state: SessionState, run_id: str) -> int:
    """How many messages the caller knows: all but the input that has just come."""
    run = state.run(run_id)
    is_new = run.input is not None and run.input_seq == state.seq
    return len(state.messages) - (1 if is_new else 0)


async def _prepare(row: RunRow, journal: Journal, definition: Definition, given: Given, emit: Emitter) -> Work:
    run = journal.state.run(row.run_id)
    input = run.input
    limits = limits_with(definition.boundary.limits, input.limits if input else None)
    guard = RunGuard(
        journal,
        definition,
        agents=(definition.name,),
        presence="attended" if given.approver else (input.presence if input else "inbox"),
        clock=given.clock,
        new_id=new_id,
    )
    ctx: RunContext[Any] = RunContext(
        run_id=row.run_id,
        session_id=row.session_id,
        trace_id=row.trace_id,
        span_id=new_span_id(),
        parent_id=None,
        step=run.step,
        attempt=1,
        agents=(definition.name,),
        principal=row.principal,
        deps=await _deps(row, definition, given, needed=input is not None and input.has_deps),
        clock=given.clock,
        new_id=new_id,
        logger=_log,
        emit=emit,
        guard=guard,
        host=RunHost(journal),
        around=definition.chains.tool,
        sleep=given.sleep,
        result_tokens=min(4_000, definition.model.profile.window // 10),
    )
    work = Work(
        definition=definition,
        journal=journal,
        guard=guard,
        ctx=ctx,
        limits=limits,
        started_at=given.clock(),
        approver=given.approver,
        model=given.model or definition.model,
        price=Price(given.model.profile.price) if given.model else definition.price,
        run=run,
    )
    ctx.deadline = work.started_at + limits.seconds - work.active_seconds
    return work


async def _deps(row: RunRow, definition: Definition, given: Given, *, needed: bool) -> object:
    if given.deps is not None:
        return given.deps
    if definition.deps_for is None:
        if needed:
            raise SetupError(
                f"run {row.run_id} was started with deps, which no row holds. Give the agent deps_for=, a function of"
                " principal and run id that makes them; the run stays due",
                code="deps.missing",
            )
        return None
    made = definition.deps_for(row.principal, row.run_id)
    return await made if isawaitable(made) else made


async def _work(work: Work, stop: Stop) -> Ending:
    """Let the loop run inside the one scope that a limit, a wish to cancel and a lost lease all end."""
    ctx, run = work.ctx, work.run
    if ctx.emit.wants(RunStart):
        text = run.input.message.text if run.input else ""
        ctx.emit(RunStart(*ctx.head(), session_id=ctx.session_id, input=text, resumed=run.step > 0))
    left = ctx.deadline - ctx.clock()
    if left <= 0:
        return _out_of_time(work)
    try:
        async with asyncio.timeout(left if left < math.inf else None) as scope:
            stop.arm(scope)
            await capture_rules(work)
            return await loop(work)
    except TimeoutError:
        if not scope.expired():
            raise
        ending = stop.ending or _out_of_time(work)
        if ending.code == "store.fenced":
            raise FencedError(ending.reason) from None
        if not ending.is_left:
            await close_step(work, ending.code, f"Not run: {ending.reason}.")
        return ending
    except asyncio.CancelledError:
        reason = "the task that drove the run was cancelled"
        ending = Ending(status="cancelled", code=CANCELLED, reason=reason)
        await _despite_cancelling(_give_up(work, ending))
        raise


def _out_of_time(work: Work) -> Ending:
    return Ending(
        status="stopped", code="limit.seconds", reason=f"the limit of {work.limits.seconds:g} seconds is reached"
    )


async def _give_up(work: Work, ending: Ending) -> None:
    await close_step(work, ending.code, f"Not run: {ending.reason}.")
    await _finish(work, ending, 0)


async def _despite_cancelling(closing: Any) -> None:
    """Let the closing of the books end, even if the task is cancelled again meanwhile."""
    task = asyncio.ensure_future(closing)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
    if not task.cancelled() and task.exception() is not None:
        _log.error("the cancelled run could not be closed: %s", task.exception())


async def _finish(work: Work, ending: Ending, seen: int) -> RunResult[Any]:
    journal, state, ctx, run = work.journal, work.journal.state, work.ctx, work.run
    held = state.held_by(ctx.run_id)
    status: ResultStatus = "waiting" if held and ending.status == "done" else ending.status
    result: RunResult[Any] = RunResult(
        status=status,
        code=ending.code,
        reason=ending.reason,
        output=run.output,
        run_id=ctx.run_id,
        session_id=ctx.session_id,
        trace_id=ctx.trace_id,
        label=state.label,
        steps=run.step,
        new_messages=tuple(state.messages[seen:]),
        usage=run.usage,
        cost_usd=run.cost_usd,
        pending=tuple(one for one in state.open.values() if one.run_id == ctx.run_id),
    )
    row_status: RunStatus = "running" if ending.is_left else status
    last = Status(
        status=row_status,
        code=ending.code,
        reason=ending.reason,
        output=run.output,
        active_seconds=ctx.clock() - work.started_at,
    )
    wake_at = min((one.expires_at for one in held), default=None)
    entries: list[tuple[Kind, Body]] = [("status", last)]
    if journal.wants_snapshot:
        entries.insert(0, ("snapshot", state.snapshot()))
    await journal.release(row_status, *entries, wake_at=wake_at)
    if run.output is not None and ctx.emit.wants(RunAnswer) and status in ("done", "waiting"):
        ctx.emit(RunAnswer(*ctx.head(), text=run.output))
    if ctx.emit.wants(RunFinish):
        ctx.emit(
            RunFinish(
                *ctx.head(state.seq),
                status=status,
                code=ending.code,
                reason=ending.reason,
                usage=result.usage,
                cost_usd=result.cost_usd,
            )
        )
    return result


async def told(store: RunStore, row: RunRow) -> RunResult[Any]:
    """The result of a run as its journal tells it: for a run that somebody else has driven."""
    state, last, seen = SessionState(row.session_id), Status(status="failed"), RunState(row.run_id)
    after = 0
    while page := await store.read(row.session_id, after=after, limit=500):
        for record in page:
            if record.run_id == row.run_id and isinstance(record.body, Status):
                last, seen = record.body, state.run(row.run_id)
            state.fold(record)
        after = page[-1].seq
    status = cast("ResultStatus", row.status)
    return RunResult(
        status=status,
        code=last.code,
        reason=last.reason,
        output=seen.output,
        run_id=row.run_id,
        session_id=row.session_id,
        trace_id=row.trace_id,
        label=state.label,
        steps=seen.step,
        new_messages=(),
        usage=seen.usage,
        cost_usd=seen.cost_usd,
        pending=tuple(one for one in state.open.values() if one.run_id == row.run_id),
    )
