"""Rules in the user's own words: read out of every turn, in force at once where stricter, put up for confirmation.

Only a user's own message is read, never a notice, a result, a summary, or a turn that is labelled as somebody else's
text; in it no quotation, no code and no forwarded mail. Source: SPEC B7; DESIGN 8.2.
"""

from __future__ import annotations

from backstay.agents.deciding.inbox import question_row
from backstay.agents.work import Work
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.text import bind, parse, parse_rule
from backstay.core.canon import digest
from backstay.core.events import ActionAsked, ConstraintProposed
from backstay.core.messages import Message
from backstay.store.records import Asked, Body, Kind


async def capture_rules(work: Work) -> None:
    """Journal the rules of the turn that has just come, before anything is asked of a model."""
    run, state, ctx = work.run, work.journal.state, work.ctx
    if run.input is None or run.input_seq != state.seq:
        return
    message, who, now = run.input.message, ctx.principal, ctx.clock()
    words = work.definition.words
    stated = [
        (parse_rule(text, locale=who.locale, zone=who.zone, now=now, tools=words), True) for text in run.input.rules
    ]
    said = [
        (draft, False)
        for draft in parse(
            message.text, locale=who.locale, zone=who.zone, now=now, before=_said_before(work, message), tools=words
        )
        if message.label.trusted  # else it is somebody else's text that the user's turn carries
    ]
    rules: list[Constraint] = []
    for number, (draft, is_stated) in enumerate([*stated, *said], 1):
        rule = bind(
            draft,
            words,
            author="user",
            id=f"u{run.input_seq}.{number}",
            message_id=message.id,
            status="confirmed" if is_stated or draft.check is None else "proposed",
        )
        if not any(_is_same(rule, other) for other in (*work.guard.rules, *rules)):
            rules.append(rule)
    if rules:
        await _propose(work, rules)


def _said_before(work: Work, message: Message) -> str:
    """The user's words before this turn, which `those in brackets` may speak of; untrusted ones are nobody's words."""
    for one in reversed(work.journal.state.messages):
        if one.role == "user" and one.id != message.id:
            return one.text if one.label.trusted else ""
    return ""


def _is_same(rule: Constraint, other: Constraint) -> bool:
    if rule.check is None:
        return other.is_active and other.text == rule.text
    mine, theirs = ((one.check, one.bind, one.tools, one.severity, one.until) for one in (rule, other))
    return other.is_active and mine == theirs


async def _propose(work: Work, rules: list[Constraint]) -> None:
    entries: list[tuple[Kind, Body]] = [("constraint", rule) for rule in rules]
    asked = [_question(work, rule) for rule in rules if rule.status == "proposed" and _lasts(work)]
    entries += [("asked", Asked(action=action)) for action in asked]
    work.journal.queue.pending += asked
    await work.journal.write(*entries)
    for rule in rules:
        if rule.status == "proposed" and work.ctx.emit.wants(ConstraintProposed):
            work.ctx.emit(ConstraintProposed(*work.ctx.head(), constraint=rule))
    for action in asked:
        if work.ctx.emit.wants(ActionAsked):
            work.ctx.emit(ActionAsked(*work.ctx.head(), action=action))


def _lasts(work: Work) -> bool:
    """Whether there will be a later turn for which confirming the rule makes a difference."""
    return work.ctx.session_id != work.ctx.run_id


def _question(work: Work, rule: Constraint) -> PendingAction:
    ctx = work.ctx
    return question_row(
        work.journal.row,
        ctx.agents,
        id=ctx.new_id("a"),
        question=f"Shall this hold from now on: {rule.text!r} ({rule.render})?",
        key=digest(rule.id),
        now=ctx.clock(),
        seconds=work.definition.boundary.ask_seconds,
        rules=(rule.id,),
        preview=rule.render,
    )
