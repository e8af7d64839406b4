"""`drive`: take a run's session, fold it, let the loop work, give it back. At least once, by whoever calls it.

`agent.run` is `store.create` and this, on the agent's store: one path. Source: DESIGN 2, 4, 8.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from backstay.agents.answer import answer_of
from backstay.agents.capture import capture_rules
from backstay.agents.deciding.watcher import HALTED
from backstay.agents.definition import Definition, limits_with
from backstay.agents.guard import RunGuard
from backstay.agents.journal import Journal
from backstay.agents.judging.recollect import recollections
from backstay.agents.lease import LEASE_SECONDS, WISHED, Lease, Stop, pulse
from backstay.agents.loop import close_step, loop
from backstay.agents.own_tools.catalogue import RunHost
from backstay.agents.own_tools.questions import Questions
from backstay.agents.purse import Purse
from backstay.agents.remember import Written, keep, proposed, proposer, written
from backstay.agents.result import ResultStatus, RunResult
from backstay.agents.run_state import CANCELLED, RunState
from backstay.agents.state import SessionState
from backstay.agents.step.safety import unsafe
from backstay.agents.work import Ending, Work
from backstay.boundary.actions import Decision, PendingAction
from backstay.boundary.judge import Presence
from backstay.core.context import RunContext
from backstay.core.errors import AppError, BackstayError, FencedError, SetupError
from backstay.core.events import Emitter, MemoryWritten, RunAnswer, RunFinish, RunStart
from backstay.core.ids import new_id, new_span_id
from backstay.core.logs import logger
from backstay.models.model import ChatModel
from backstay.models.prices import price_of
from backstay.store.protocol import RunStore
from backstay.store.records import Body, Fence, Kind, Record, RunRow, RunStatus, Status

Approver: TypeAlias = "Callable[[PendingAction], Awaitable[Decision | None]]"
_MAY_GO_ON = ("done", "waiting", "needs_narrowing")
"""Ends of the loop after which something that has arrived meanwhile is taken in at once."""
_log = logger("backstay.agents")


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
    arrived = await store.arrived(run_id)
    return await drive_claimed(row, fence, store=store, definition=definition, given=given, emit=emit, arrived=arrived)


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
    arrived: int = 0,
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
        arrived: inputs that steer the run and that nobody has taken in yet.
    """
    await asyncio.sleep(0)  # a run gives the loop a turn, even one that never waits
    emit.bind(asyncio.get_running_loop())
    state = SessionState(row.session_id)
    state.load([first] if first is not None else await store.load(row.session_id))
    journal = Journal(store, fence, row, state, given.clock)
    journal.arrived = arrived
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
    presence: Presence = "attended" if given.approver else (input.presence if input else "inbox")
    guard = RunGuard(
        journal,
        definition,
        agents=(definition.name,),
        presence=presence,
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
        host=RunHost(
            journal,
            definition.long_term,
            Questions(journal, definition.boundary, (definition.name,), clock=given.clock, new_id=new_id),
        ),
        around=definition.chains.tool,
        sleep=given.sleep,
        model=(given.model or definition.model).name,
        result_tokens=min(4_000, (given.model or definition.model).profile.window // 10),
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
        price=price_of(given.model) if given.model else definition.price,
        run=run,
        presence=presence,
        purse=Purse(definition.boundary.budgets, journal, definition.name, given.clock)
        if definition.boundary.budgets
        else None,
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
            work.prolong = stop.allow
            over = unsafe(work)
            if over is not None:
                return over
            await capture_rules(work)
            return await _to_its_end(work)
    except TimeoutError:
        if not scope.expired():
            raise
        ending = stop.ending or _out_of_time(work)
        if ending.code == "store.fenced":
            raise FencedError(ending.reason) from None
        if not ending.is_left:
            await close_step(work, ending.code, f"Not run: {ending.reason}.")
        return await _as_wished(work, ending)
    except asyncio.CancelledError:
        reason = "the task that drove the run was cancelled"
        ending = Ending(status="cancelled", code=CANCELLED, reason=reason)
        await _despite_cancelling(_give_up(work, ending))
        raise


async def _to_its_end(work: Work) -> Ending:
    """The loop, and again where something has arrived during the last request: what the user has said is answered.

    Not for a conversation of this one run, in which nobody else speaks.
    """
    while True:
        ending = await loop(work)
        is_over = ending.status not in _MAY_GO_ON or ending.code == HALTED or ending.is_left
        if is_over or work.ctx.session_id == work.ctx.run_id or not await work.journal.look():
            return ending


async def _as_wished(work: Work, ending: Ending) -> Ending:
    """The ending with the reason of whoever wished the run cancelled."""
    if ending.reason != WISHED:
        return ending
    await work.journal.arrivals()
    return replace(ending, reason=work.run.cancelled or WISHED)


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
    model = proposer(work) if status in ("done", "waiting") and not ending.is_left else None
    memory = None if ending.is_left else written(work)
    if memory is None or (model is None and not memory.outgoing):
        await _release(work, ending, status, memory)
        _tell_answer(work, status)
    else:
        await journal.write()  # the answer is out before anybody works on the memory
        _tell_answer(work, status)
        try:
            memory = memory if model is None else written(work, *await proposed(work, model))
            await keep(work, memory.outgoing)  # before the release: a run that is resumed in between keeps it again
        except asyncio.CancelledError:
            await _despite_cancelling(_release(work, ending, status, memory))
            raise
        await _release(work, ending, status, memory)
    result: RunResult[Any] = RunResult(
        status=status,
        code=ending.code,
        reason=ending.reason,
        output=answer_of(work.definition, run),
        run_id=ctx.run_id,
        session_id=ctx.session_id,
        trace_id=ctx.trace_id,
        label=state.label,
        steps=run.step,
        new_messages=tuple(state.messages[seen:]),
        usage=run.usage,
        cost_usd=run.cost_usd,
        models=run.models,
        pending=tuple(one for one in state.open.values() if one.run_id == ctx.run_id),
        artifacts=run.artifacts,
    )
    if memory is not None and ctx.emit.wants(MemoryWritten):
        ctx.emit(MemoryWritten(*ctx.head(state.seq), memory=memory.memory))
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


def _tell_answer(work: Work, status: ResultStatus) -> None:
    if work.run.output is not None and work.ctx.emit.wants(RunAnswer) and status in ("done", "waiting"):
        work.ctx.emit(RunAnswer(*work.ctx.head(), text=work.run.output))


async def _release(work: Work, ending: Ending, status: ResultStatus, memory: Written | None) -> None:
    """Write how the run stands and what is kept of it, and give the session back."""
    journal, state, ctx = work.journal, work.journal.state, work.ctx
    if work.purse is not None:
        await work.purse.give_back()
    row_status: RunStatus = "running" if ending.is_left else status
    entries: list[tuple[Kind, Body]] = [("snapshot", state.snapshot())] if journal.wants_snapshot else []
    if memory is not None:
        entries.append(("memory", memory.memory))
    seconds = ctx.clock() - work.started_at
    last = Status(
        status=row_status, code=ending.code, reason=ending.reason, output=work.run.output, active_seconds=seconds
    )
    wake_at = min((one.expires_at for one in state.held_by(ctx.run_id)), default=None)
    parked = work.guard.watcher.changes if ending.code == HALTED else None
    await journal.release(row_status, *entries, ("status", last), wake_at=wake_at, parked=parked)
    recollections.keep(journal.store, state, work.definition.policy_digest, ctx.run_id)


async def told(store: RunStore, row: RunRow, definition: Definition | None = None) -> RunResult[Any]:
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
        output=seen.output if definition is None else answer_of(definition, seen),
        run_id=row.run_id,
        session_id=row.session_id,
        trace_id=row.trace_id,
        label=state.label,
        steps=seen.step,
        new_messages=(),
        usage=seen.usage,
        cost_usd=seen.cost_usd,
        models=seen.models,
        pending=tuple(one for one in state.open.values() if one.run_id == row.run_id),
        artifacts=seen.artifacts,
    )
