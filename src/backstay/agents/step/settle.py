"""What happens at a step border: arrivals are numbered and taken in, people are asked, decided actions carried out.

A decided action runs from its stored arguments, judged afresh, at most once. Its outcome enters the session as a
notice, never as a second result. Source: SPEC B4, B5, G3; DESIGN 8.5–8.7.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from backstay.agents.deciding.decide import decision_audit
from backstay.agents.deciding.deferred import delivered
from backstay.agents.guard import describe
from backstay.agents.judging.ledger import Amounts
from backstay.agents.own_tools.questions import answered
from backstay.agents.step.halting import parked
from backstay.agents.step.steering import take_inputs
from backstay.agents.tallies.insistence import is_report
from backstay.agents.work import Ending, Work
from backstay.boundary.actions import ActionState, Decision, PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.deciding import needs_of, stands
from backstay.boundary.judge import call_digest
from backstay.core.context import is_shared
from backstay.core.errors import DecisionError, ToolInputError
from backstay.core.events import ActionAsked, ActionDecided, ActionDone
from backstay.core.ids import new_span_id
from backstay.core.logs import logger
from backstay.core.messages import Args, Label, Message, Text, ToolCall, ToolResult
from backstay.core.redaction import hide
from backstay.core.schema import canonical_args, validate
from backstay.store.records import Fold, Notice, Status

_log = logger("backstay.agents")
_NOTHING = ToolResult(ok=True, summary="")


async def at_border(work: Work) -> Ending | None:
    """Do all that may be done between two steps; says how the drive ends if a halt stops it here."""
    journal, state = work.journal, work.journal.state
    if journal.arrived:
        await journal.arrivals()
        ending = await take_inputs(work)
        if ending is not None:
            return ending
    ending = await parked(work)
    if ending is not None:
        return ending
    if state.open:
        await _expire(work)
        await _ask_approver(work)
    has_settled = False
    while True:
        action_id = next((one for one in state.decided if one in state.open), None) if state.decided else None
        if action_id is None:
            return await parked(work) if has_settled else None
        has_settled = True
        action, decision = state.open[action_id], state.decided[action_id]
        if decision.approve and action.kind == "approval" and action.call is not None:
            ending = await parked(work, (action.call.name,))
            if ending is not None:
                return ending
        await _settle(work, action, decision)


async def _ask_approver(work: Work) -> None:
    if work.approver is None:
        return
    for action in list(work.journal.state.open.values()):
        if action.id in work.offered or action.id in work.journal.state.decided:
            continue
        work.offered.add(action.id)
        decision: Decision | None = await work.approver(action)
        if decision is None:
            continue
        try:
            await work.journal.store.decide(action.id, action.version, decision, decision_audit(action, decision))
        except DecisionError as error:
            _log.warning("the approver's decision about %s does not stand: %s", action.id, error.message)
    await work.journal.arrivals()


async def _expire(work: Work) -> None:
    now = work.ctx.clock()
    for action in list(work.journal.state.open.values()):
        if now >= action.expires_at and action.id not in work.journal.state.decided:
            what = describe(action.call) if action.call else action.question
            told = f"Nobody answered in time about {what}. It has not happened."
            if action.kind == "deferred":
                told = f"No result of {what} has come in time. What became of it is not known."
            elif action.wants_answer or action.kind == "narrowing":
                told = f"Nobody has answered {action.id} in time. Go on without it."
            await _close(work, action, "expired", "Nobody has looked in time." if is_report(action) else told)


async def _settle(work: Work, action: PendingAction, decision: Decision) -> None:
    if work.ctx.emit.wants(ActionDecided):
        work.ctx.emit(ActionDecided(*work.ctx.head(), action=replace(action, decision=decision)))
    if is_report(action):
        await _close(
            work, action, "done", "A person has seen that a rule was broken again and again.", decision=decision
        )
    elif action.wants_answer:
        await _settle_question(work, action, decision)
    elif action.kind == "deferred":
        await _settle_deferred(work, action, decision)
    elif action.kind == "narrowing":
        await _settle_narrowing(work, action, decision)
    elif action.kind == "question":
        await _settle_rule(work, action, decision)
    elif action.kind == "in_doubt":
        await _settle_doubt(work, action, decision)
    elif not decision.approve:
        why = f": {decision.reason}" if decision.reason else "."
        told = f"A person refused {_what(action)}{why} It has not happened; do not ask for it again."
        await _close(work, action, "refused", told, decision=decision)
    else:
        await _execute(work, action, decision)


async def _settle_question(work: Work, action: PendingAction, decision: Decision) -> None:
    """The answer, in the person's words; or that there will be none."""
    if decision.approve:
        await _close(work, action, "done", answered(action, decision.answer), decision=decision)
        return
    why = f": {decision.reason}" if decision.reason else "."
    told = f"{action.id} was not answered{why} Do not ask it again; go on without it."
    await _close(work, action, "refused", told, decision=decision)


async def _settle_narrowing(work: Work, action: PendingAction, decision: Decision) -> None:
    """What was too long is shown as an excerpt from now on, or the run ends."""
    journal, at = work.journal, work.journal.state.log.at
    if not decision.approve:
        wish = Status(status="cancelled", reason="the request is too long, and nobody wanted it narrowed")
        journal.queue.records.append(("status", wish))
        await _close(work, action, "refused", "The request was not narrowed.", decision=decision)
        return
    cut = Fold(trimmed=at.trimmed, folded=at.folded, narrowed=action.targets)
    journal.queue.records.append(("fold", cut))
    told = f"Shown as excerpts from now on, because there is no room for them: {action.preview}."
    if decision.answer is not None:
        told = f"{told} {answered(action, decision.answer)}"
    await _close(work, action, "done", told, decision=decision)


async def _settle_deferred(work: Work, action: PendingAction, decision: Decision) -> None:
    """What the other side has delivered, with the label of the tool's results."""
    assert action.call is not None
    if not decision.approve:
        await _close(work, action, "refused", f"Nobody waits for {_what(action)} any more.", decision=decision)
        return
    tool = work.definition.toolset.get(action.call.name)
    label = tool.facts(action.call.args).label if tool is not None else Label(trusted=False)
    result = delivered(decision.answer, label, work.ctx.result_tokens)
    told = f"The result of {_what(action)} has come{'' if result.ok else ', and it failed'}: {result.summary}"
    await _close(work, action, "done", told, decision=decision, result=result)


async def _settle_rule(work: Work, action: PendingAction, decision: Decision) -> None:
    """The user confirms or withdraws a rule that was read from their words."""
    rule = work.journal.state.constraints.get(action.rules[0]) if action.rules else None
    if rule is not None:
        status: Literal["confirmed", "revoked"] = "confirmed" if decision.approve else "revoked"
        confirmed: Constraint = replace(rule, status=status)
        work.journal.queue.records.append(("constraint", confirmed))
    told = f"The rule {action.question!r} is {'confirmed' if decision.approve else 'withdrawn'}."
    await _close(work, action, "done" if decision.approve else "refused", told, decision=decision)


async def _settle_doubt(work: Work, action: PendingAction, decision: Decision) -> None:
    happened = "took effect" if decision.approve else "did not take effect"
    told = f"A person has looked: {_what(action)} {happened}."
    spent = await _spent_in_doubt(work, action, decision.approve, told)
    await _close(work, action, "done" if decision.approve else "refused", told, decision=decision, spent=spent)


async def _spent_in_doubt(work: Work, action: PendingAction, happened: bool, told: str) -> Amounts:
    """Tell the ledger what a person has found; returns what the session gets back, as amounts below 0."""
    if action.call is None:
        return ()
    key, journal = work.guard.key(action.call, action.run_id), work.journal
    held = (await journal.store.reserved(journal.row.root_id, [key])).get(key)
    if not held:
        return ()
    journal.queue.outcomes.append((key, ToolResult(ok=happened, summary=told, applied=None if happened else False)))
    return () if happened else tuple((name, -amount) for name, amount in held if not is_shared(name))


async def _execute(work: Work, action: PendingAction, decision: Decision) -> None:
    """Run an approved action: same arguments, same tool and no stricter verdict, or it is stale."""
    assert action.call is not None
    tool = work.definition.toolset.get(action.call.name)
    if tool is None:
        told = f"{_what(action)} was approved, but this agent has no such tool any more. It has not happened."
        await _close(work, action, "stale", told, decision=decision)
        return
    call = action.call if decision.args is None else replace(action.call, args=decision.args)
    try:
        args = canonical_args(validate(tool.input_schema, call.args))
    except ToolInputError as error:
        told = f"{_what(action)} was approved, but its arguments are not valid: {error.message} It has not happened."
        await _close(work, action, "stale", told, decision=decision)
        return
    call, changed = replace(call, args=args), _changed(call.args, args)
    now = needs_of(work.definition.boundary.deciders, call, tool.facts(args))
    is_same = not changed and stands(now, action, decision)
    decided = replace(action, args_digest=call_digest(call.name, args) if is_same else "")
    result = await _run(work, call, decided)
    state, told = _outcome(action, call, result)
    spent = work.guard.close_ledger(call, result)
    await _close(work, action, state, told, decision=decision, result=result, spent=spent)


def _changed(stored: Args, now: Args) -> list[str]:
    """Arguments that re-validating changed; parameters added since then stand at their default and do not count."""
    return [name for name, value in stored.items() if now.get(name) != value]


async def _run(work: Work, call: ToolCall, decided: PendingAction) -> ToolResult:
    ctx, guard = work.ctx, work.guard
    await guard.open_ledger([call])
    guard.decided, guard.siblings = decided, 1
    try:
        child = ctx.child(call=call, span_id=new_span_id(), key=f"{ctx.run_id}:{call.slot}")
        result = await work.definition.toolset.run(call, child)
        return await guard.labelled(child.call, result)
    finally:
        guard.decided = None


def _outcome(action: PendingAction, call: ToolCall, result: ToolResult) -> tuple[ActionState, str]:
    what = describe(call)
    if result.code == "action.deferred":
        return "done", f"{what} was approved and begun. {result.summary}"
    if result.via == "held":
        return "stale", f"{what} was approved, but more has to be asked now. It has not happened. {result.summary}"
    if result.via == "in_doubt":
        return "in_doubt", f"{what} was approved. {result.summary}"
    if result.ok:
        return "done", f"{what} was approved and done: {result.summary}"
    if result.via == "refused":
        return "stale", f"{what} was approved, but is refused now: {result.summary} It has not happened."
    return "done", f"{what} was approved and failed: {result.summary}"


async def _close(
    work: Work,
    action: PendingAction,
    state: ActionState,
    told: str,
    *,
    decision: Decision | None = None,
    result: ToolResult = _NOTHING,
    spent: Amounts = (),
) -> None:
    """Write the row's end and the notice about it, in one transaction."""
    journal, ctx = work.journal, work.ctx
    closed = replace(action, state=state, version=action.version + 2, decision=decision)
    asked = [one for one in journal.queue.pending if one.state == "open"]
    journal.queue.pending.append(closed)
    text = f'<notice id="{action.id}" state="{state}">{_escape(hide(told))}</notice>'
    message = Message(id=ctx.new_id("n"), role="notice", parts=(Text(text=text),), label=result.label)
    body = Notice(
        message=message, action_id=action.id, state=state, artifacts=result.artifacts, ok=result.ok, spent=spent
    )
    await journal.write(("notice", body))
    for one in asked:
        if ctx.emit.wants(ActionAsked):
            ctx.emit(ActionAsked(*ctx.head(), action=one))
    if ctx.emit.wants(ActionDone):
        ctx.emit(ActionDone(*ctx.head(), action=closed))


def _escape(text: str) -> str:
    return text.replace("<notice", "&lt;notice").replace("</notice", "&lt;/notice")


def _what(action: PendingAction) -> str:
    return describe(action.call) if action.call is not None else action.question
