"""The loop: ask the model, run what it asks for, journal the results, again. The only one there is.

A coroutine that emits into a sink, streamed or not; a resume enters it wherever the journal ends. Source: SPEC G2;
DESIGN 2, 8.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from backstay.agents.ask import ask
from backstay.agents.own_tools import RECALL
from backstay.agents.settle import at_border
from backstay.agents.state import CANCELLED, RunState
from backstay.agents.work import Ending, Spent, Work
from backstay.boundary.actions import PendingAction
from backstay.core.errors import ModelError
from backstay.core.events import ActionAsked, ModelAnswered
from backstay.core.ids import new_span_id
from backstay.core.messages import ModelReply, ModelRequest, Reasoning, Text, ToolCall, ToolResult, ToolReturn
from backstay.memory.window import pack
from backstay.store.records import Reply, Results
from backstay.tools.toolset import proposal_reason


async def loop(work: Work) -> Ending:
    """Drive the run until it ends or has to wait.

    Raises:
        StoreError: when the journal cannot be written; nothing that was written is lost.
        CancelledError: when it is stopped from outside; `close_step` then makes the history valid.
    """
    while True:
        ending = await _answer_calls(work)
        if ending is not None:
            return ending
        await at_border(work)
        run = work.run
        if run.cancelled is not None:
            return Ending(status="cancelled", code=CANCELLED, reason=run.cancelled)
        if not run.is_due:
            return _rest(work)
        spent = work.spent()
        ending = _limit_reached(spent)
        if ending is not None:
            return ending
        try:
            await _ask(work, _warning(spent))
        except ModelError as error:
            return Ending(status="failed", code=error.code, reason=error.message)
        if run.output is not None and not run.is_due:
            return _rest(work)
        if run.empty > 1:
            return Ending(status="failed", code="model.empty", reason="the model answered nothing, twice")


async def _ask(work: Work, warning: str) -> None:
    """One request and its reply, journalled before anything is built on it; a last reply goes out with the release."""
    run, journal, ctx, definition = work.run, work.journal, work.ctx, work.definition
    ctx.step = run.step + 1
    state = journal.state
    request = ModelRequest(
        messages=pack(state.instructions, work.rules, state.messages, warning),
        tools=definition.toolset.offered(_offered(work)),
        settings=definition.settings,
    )
    began = ctx.clock()
    reply = _numbered(await ask(work.model, definition.chains, request, ctx), run, state.call_ids)
    body = Reply(reply=reply, cost_usd=work.price.cost_usd(reply.usage))
    seconds = ctx.clock() - began

    def told(seq: int) -> None:
        if ctx.emit.wants(ModelAnswered):
            ctx.emit(ModelAnswered(*ctx.head(seq), reply=reply, seconds=seconds, cost_usd=body.cost_usd))

    if reply.calls or not reply.parts:
        told(await journal.write(("reply", body)))
    else:
        journal.write_later("reply", body, told)


def _offered(work: Work) -> frozenset[str]:
    """Names of the tools of the next request; `recall` only once there is something to recall."""
    names = work.definition.toolset.names
    return names if work.journal.state.has_refs else names - {RECALL}


def _numbered(reply: ModelReply, run: RunState, used: set[str]) -> ModelReply:
    """Give every call its slot and an id that no other call of the session has."""
    slot, seen = run.slot, set[str]()
    parts: list[Text | Reasoning | ToolCall] = []
    for part in reply.parts:
        if isinstance(part, ToolCall):
            slot += 1
            is_fresh = part.id and part.id not in seen and part.id not in used and "/" not in part.id
            id_ = part.id if is_fresh else f"{run.run_id}.{slot}"
            seen.add(id_)
            part = ToolCall(id=id_, name=part.name, args=part.args, slot=slot, raw=part.raw)
        parts.append(part)
    if slot == run.slot:
        return reply
    return ModelReply(parts=tuple(parts), finish=reply.finish, usage=reply.usage, model=reply.model)


async def _answer_calls(work: Work) -> Ending | None:
    """Give every call of the last reply its result; says so if that ends the run."""
    calls = work.run.unanswered
    if not calls:
        return None
    over = _calls_over(work, calls)
    if over is not None:
        _refuse(work, calls, over.code, over.reason)
    elif work.run.is_cut_off:
        _refuse(work, calls, "model.cut_off", "The reply was cut off, so this call did not run.")
    else:
        await _run_calls(work, calls)
    await _journal_results(work, calls)
    if over is not None:
        return over
    for part in work.journal.state.messages[-1].returns:
        if part.result.fatal:
            return Ending(status="failed", code=part.result.code or "tool.failed", reason=part.result.error or "")
    return None


async def _run_calls(work: Work, calls: Sequence[ToolCall]) -> None:
    """Run the calls of one step: beside each other, those that must not after them in order."""
    sequential = [call for call in calls if _is_sequential(work, call)]
    beside = [call for call in calls if call not in sequential]
    work.guard.siblings = len(calls)
    if len(beside) == 1:
        await _run_call(work, beside[0])
    elif beside:
        await _run_beside(work, beside)
    for call in sequential:
        await _run_call(work, call)


async def _run_beside(work: Work, calls: Sequence[ToolCall]) -> None:
    seats = asyncio.Semaphore(work.definition.concurrency)

    async def seated(call: ToolCall) -> None:
        async with seats:
            await _run_call(work, call)

    try:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(seated(call))
    except BaseExceptionGroup as several:  # only the store's errors come through the pipeline; the first says it
        raise several.exceptions[0] from None


def _is_sequential(work: Work, call: ToolCall) -> bool:
    tool = work.definition.toolset.get(call.name)
    return tool is not None and tool.sequential


async def _run_call(work: Work, call: ToolCall) -> None:
    if call.slot in work.results:
        return
    ctx = work.ctx
    reason = proposal_reason(call)
    if reason:
        work.guard.reasons[call.slot] = reason
    child = ctx.child(call=call, span_id=new_span_id(), key=f"{ctx.run_id}:{call.slot}")
    work.results[call.slot] = await work.definition.toolset.run(call, child)


async def _journal_results(work: Work, calls: Sequence[ToolCall]) -> None:
    returns = tuple(ToolReturn(call_id=call.id, name=call.name, result=work.results.pop(call.slot)) for call in calls)
    asked: list[PendingAction] = list(work.journal.queue.pending)
    await work.journal.write(("results", Results(returns=returns)))
    for action in asked:
        if work.ctx.emit.wants(ActionAsked):
            work.ctx.emit(ActionAsked(*work.ctx.head(), action=action))


def _refuse(work: Work, calls: Sequence[ToolCall], code: str, told: str) -> None:
    for call in calls:
        work.results[call.slot] = ToolResult(ok=False, summary=told, error=told, code=code, via="refused")


async def close_step(work: Work, code: str, told: str) -> None:
    """After a stop: give every open call its result, so that the history is valid. What had begun is in doubt."""
    calls = work.run.unanswered
    for call in calls:
        if call.slot in work.results:
            continue
        not_run = ToolResult(ok=False, summary=told, error=told, code=code, via="refused")
        work.results[call.slot] = work.guard.doubt(call.slot) or not_run
    if calls:
        await _journal_results(work, calls)


def _rest(work: Work) -> Ending:
    """The model has said what it has to say."""
    held = work.journal.state.held_by(work.run.run_id)
    if held:
        names = ", ".join(one.id for one in held)
        return Ending(status="waiting", code="action.waiting", reason=f"a person has to decide {names}")
    return Ending(status="done")


def _limit_reached(spent: Spent) -> Ending | None:
    for name, used, allowed in spent:
        if used >= allowed and name != "calls" and (name != "usd" or used > 0):
            return Ending(status="stopped", code=f"limit.{name}", reason=f"the limit of {allowed:g} {name} is reached")
    return None


def _calls_over(work: Work, calls: Sequence[ToolCall]) -> Ending | None:
    if work.run.calls - work.run.since_calls <= work.limits.calls:
        return None
    told = f"the limit of {work.limits.calls} calls would be passed, so none of these {len(calls)} ran"
    return Ending(status="stopped", code="limit.calls", reason=told)


def _warning(spent: Spent) -> str:
    near = [f"{used:g} of {allowed:g} {name}" for name, used, allowed in spent if used >= 0.8 * allowed]
    return f"Nearly used up: {', '.join(near)}. Come to an end." if near else ""
