"""The loop: ask the model, run what it asks for, journal the results, again. The only one there is.

A coroutine that emits into a sink, streamed or not; a resume enters it wherever the journal ends. Source: SPEC G2;
DESIGN 2, 8.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from backstay.agents.deciding.watcher import HALTED
from backstay.agents.offer import Offer, why_no_end
from backstay.agents.output import MOST
from backstay.agents.prompts import NOTHING
from backstay.agents.result import ResultStatus
from backstay.agents.run_state import CANCELLED, RunState
from backstay.agents.step.batch import run_calls
from backstay.agents.step.halting import parked
from backstay.agents.step.limits import calls_over, hold_budget, limit_reached, warning
from backstay.agents.step.report import insisting
from backstay.agents.step.request import answered
from backstay.agents.step.settle import at_border
from backstay.agents.tallies.repetition import noted
from backstay.agents.work import Ending, Work
from backstay.boundary.actions import PendingAction
from backstay.core.errors import ModelError, RequirementError
from backstay.core.events import ActionAsked, ModelAnswered
from backstay.core.messages import ModelReply, Reasoning, Text, ToolCall, ToolResult, ToolReturn
from backstay.core.redaction import hide, redact
from backstay.store.records import Reply, Results
from backstay.tools.toolset import called


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
        ending = await at_border(work)
        run = work.run
        if run.cancelled is not None:
            return Ending(status="cancelled", code=CANCELLED, reason=run.cancelled)
        if ending is not None:
            return ending
        if not run.is_due:
            return _refused(work) if run.is_refused else _rest(work)
        spent = work.spent()
        ending = limit_reached(spent) or await insisting(work) or _repeating(run) or _unmet(run)
        ending = ending or await hold_budget(work)
        if ending is not None:
            return ending
        try:
            ending = await _ask(work, work.offer_of(run.step + 1), warning(work, spent))
        except (ModelError, RequirementError) as error:
            status: ResultStatus = "waiting" if error.code == HALTED else "failed"
            return Ending(status=status, code=error.code, reason=redact(error.message))
        if ending is not None:
            return ending
        if run.output is not None and not run.is_due:
            return _rest(work)
        if run.empty > 1:
            return Ending(status="failed", code="model.empty", reason="the model answered nothing, twice")


async def _ask(work: Work, offer: Offer, near: str) -> Ending | None:
    """One request and its reply, journalled before anything is built on it; a last reply goes out with the release."""
    run, journal, ctx = work.run, work.journal, work.ctx
    ctx.step = run.step + 1
    began = ctx.clock()
    answer = await answered(work, offer, near)
    if isinstance(answer, Ending):
        return answer
    reply = _numbered(answer.reply, run, journal.state.call_ids)
    body = _body(work, offer, reply, work.cost_usd(answer.model, reply.usage))
    seconds = ctx.clock() - began
    if work.purse is not None:
        await work.purse.settle(reply.usage, body.cost_usd)

    def told(seq: int) -> None:
        if ctx.emit.wants(ModelAnswered):
            name = "" if answer.model is None else answer.model.name
            ctx.emit(ModelAnswered(*ctx.head(seq), reply=reply, seconds=seconds, cost_usd=body.cost_usd, model=name))

    if reply.calls or not reply.parts or body.unmet:
        told(await journal.write(("reply", body)))
    else:
        journal.write_later("reply", body, told)
    return None


def _body(work: Work, offer: Offer, reply: ModelReply, cost_usd: Decimal | None) -> Reply:
    """The reply as it is journalled: of one without calls, whether it ends the run."""
    if reply.calls or not reply.parts or reply.finish == "refusal":
        return Reply(reply=reply, cost_usd=cost_usd)
    code, unmet, is_typed = why_no_end(work.definition, offer, reply)
    return Reply(reply=reply, cost_usd=cost_usd, unmet=hide(unmet), code=code, is_typed=is_typed)


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
            part = ToolCall(id=id_, name=part.name, args=part.args, slot=slot, raw=part.raw, mended=part.mended)
        parts.append(part)
    if slot == run.slot:
        return reply
    return ModelReply(parts=tuple(parts), finish=reply.finish, usage=reply.usage, model=reply.model)


async def _answer_calls(work: Work) -> Ending | None:
    """Give every call of the last reply its result; says so if that ends the run."""
    calls = work.run.unanswered
    if not calls:
        return None
    over = await parked(work, called(calls))
    await work.guard.open_ledger(calls)
    over = over or await calls_over(work, calls)
    if over is not None:
        _refuse(work, calls, over.code, over.reason)
    elif work.run.is_cut_off:
        _refuse(work, calls, "model.cut_off", "The reply was cut off, so this call did not run.")
    elif work.run.is_refused:
        _refuse(work, calls, "model.refused", "The reply was a refusal, so this call did not run.")
    else:
        over = await _run(work, calls)
    await _journal_results(work, calls)
    if over is not None:
        return over
    for part in work.journal.state.messages[-1].returns:
        if part.result.fatal:
            return Ending(status="failed", code=part.result.code or "tool.failed", reason=part.result.error or "")
    return None


async def _run(work: Work, calls: Sequence[ToolCall]) -> Ending | None:
    try:
        offer = work.offer or work.offer_of(work.run.step)
    except RequirementError as error:  # of another version of the agent: what the journal holds open is not run
        _refuse(work, calls, error.code, error.message)
        return Ending(status="failed", code=error.code, reason=redact(error.message))
    await run_calls(work, calls, _surplus(work, calls) | offer.refusals(calls))
    return None


def _surplus(work: Work, calls: Sequence[ToolCall]) -> dict[int, tuple[str, str]]:
    """The calls beside the first where the settings wish for one at a time: a model may write several all the same."""
    if (work.definition.settings or {}).get("parallel") is not False:
        return {}
    told = "One call at a time is wished, so this one did not run. Look at the result of the first, then call it."
    return {call.slot: ("model.one_call", told) for call in calls[1:]}


async def _journal_results(work: Work, calls: Sequence[ToolCall]) -> None:
    returns = tuple(ToolReturn(call_id=call.id, name=call.name, result=work.results.pop(call.slot)) for call in calls)
    spent = [
        amount for call, one in zip(calls, returns, strict=True) for amount in work.guard.close_ledger(call, one.result)
    ]
    keys = work.guard.watch.keys(calls, returns)
    plan = tuple(work.guard.close_plan(call, one.result) for call, one in zip(calls, returns, strict=True))
    returns = noted(work.run.repetition, work.run.step, tuple(_as_read(work, one) for one in returns), keys)
    asked: list[PendingAction] = list(work.journal.queue.pending)
    await work.journal.write(
        ("results", Results(returns=returns, spent=tuple(spent), keys=keys, plan=plan if any(plan) else ()))
    )
    for action in asked:
        if work.ctx.emit.wants(ActionAsked):
            work.ctx.emit(ActionAsked(*work.ctx.head(), action=action))


def _as_read(work: Work, one: ToolReturn) -> ToolReturn:
    """The result as the agent's templates put it to the model."""
    result, prompts = one.result, work.definition.prompts
    if not result.ok:
        text = prompts.error_text(one.name, result.summary, result.code or "")
    elif result.data is None and result.summary == NOTHING and result.via in ("ran", "cached"):
        text = prompts.nothing_text(one.name)
    else:
        return one
    return one if text == result.summary else replace(one, result=replace(result, summary=text))


def _refuse(work: Work, calls: Sequence[ToolCall], code: str, told: str) -> None:
    for call in calls:
        work.results[call.slot] = ToolResult(ok=False, summary=told, error=told, code=code, via="refused")


async def close_step(work: Work, code: str, told: str) -> None:
    """After a stop: give every open call its result, so that the history is valid. What had begun is in doubt."""
    calls = work.run.unanswered
    await work.guard.open_ledger(calls)
    for call in calls:
        if call.slot in work.results:
            continue
        not_run = ToolResult(ok=False, summary=told, error=told, code=code, via="refused")
        work.results[call.slot] = work.guard.doubt(call.slot) or not_run
    if calls:
        await _journal_results(work, calls)


def _refused(work: Work) -> Ending:
    """The model would not: that is no answer, whatever it says of it."""
    said = next((one.text for one in reversed(work.journal.state.messages) if one.role == "assistant"), "")
    told = f"the model refused: {redact(said)[:300]}" if said else "the model refused and said nothing"
    return Ending(status="failed", code="model.refused", reason=told)


def _rest(work: Work) -> Ending:
    """The model has said what it has to say."""
    held = work.journal.state.held_by(work.run.run_id)
    if held:
        names = ", ".join(one.id for one in held)
        return Ending(status="waiting", code="action.waiting", reason=f"a person has to decide {names}")
    return Ending(status="done")


def _unmet(run: RunState) -> Ending | None:
    """The model was told twice why its answer does not end the run, and has given another such."""
    tally = run.tally
    if tally.unmet < MOST:
        return None
    status: ResultStatus = "stopped" if tally.code == "requirement.unmet" else "failed"
    return Ending(status=status, code=tally.code, reason=redact(tally.reason))


def _repeating(run: RunState) -> Ending | None:
    over = run.repetition.over
    return Ending(status="stopped", code="run.repeating", reason=over) if over else None
