"""Telling a person that a run was stopped for what the model insisted on: a row in the inbox that holds no run.

Source: SPEC B10.
"""

from __future__ import annotations

from backstay.agents.deciding.inbox import question_row
from backstay.agents.tallies.insistence import MOST, REPORT, insisted, is_report
from backstay.agents.work import Ending, Work
from backstay.core.canon import digest
from backstay.core.events import ActionAsked
from backstay.store.records import Asked


async def insisting(work: Work) -> Ending | None:
    """How the run ends if the model insists on what a rule forbids; a person finds the row in the inbox."""
    found = insisted(work.journal.state.breaks)
    if found is None:
        return None
    id_, target = found
    rule = next((one for one in work.guard.rules if one.id == id_), None)
    named = f"{id_} ({rule.text!r})" if rule is not None else id_
    told = f"the model broke rule {named} {MOST} times on {target!r}"
    await _tell(work, id_, target, told, rule.render if rule is not None else "")
    return Ending(status="stopped", code="constraint.insisted", reason=told)


async def _tell(work: Work, rule: str, target: str, told: str, render: str) -> None:
    ctx, journal = work.ctx, work.journal
    is_kept = journal.store.is_durable or ctx.session_id != ctx.run_id
    known = any(one.run_id == ctx.run_id and is_report(one) for one in journal.state.open.values())
    if not is_kept or known:  # where nothing is kept, the result itself is all that anybody could look at
        return
    report = question_row(
        journal.row,
        ctx.agents,
        id=ctx.new_id("a"),
        question=f"{told[0].upper()}{told[1:]}, and its run was stopped. Nothing has happened; have you seen this?",
        key=digest([rule, target]),
        now=ctx.clock(),
        seconds=work.definition.boundary.ask_seconds,
        rules=(f"{REPORT}{rule}",),
        targets=(target,),
        preview=render,
    )
    journal.queue.pending.append(report)
    await journal.write(("asked", Asked(action=report)))
    if ctx.emit.wants(ActionAsked):
        ctx.emit(ActionAsked(*ctx.head(), action=report))
