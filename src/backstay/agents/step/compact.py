"""Keeping a request inside the window: what has to leave, in which order, and asking the user where nothing can.

Every step is a record before it shows: a resume sends the same bytes. Source: SPEC M4–M6, M8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal

from backstay.agents.ask import ask_aside
from backstay.agents.deciding.inbox import question_row
from backstay.agents.work import Ending, Work
from backstay.core.canon import digest
from backstay.core.errors import BackstayError, ModelError
from backstay.core.events import ActionAsked, MemoryFold, MemoryTrim
from backstay.core.messages import Message, ModelUse, ToolSpec, Usage
from backstay.core.redaction import redact
from backstay.memory.estimator import TOKENS_A_CHARACTER, estimate
from backstay.memory.folding import Folding, extract, notes_in, planned, request_for
from backstay.memory.log import Pointers, counted
from backstay.memory.policies import WindowPolicy
from backstay.memory.retrieved import retrieved_text
from backstay.memory.summarizing import notes_by
from backstay.memory.window import (
    Room,
    check_fixed,
    is_over,
    is_surely_within,
    largest,
    plan,
    room_in,
    summary_message,
    system_text,
)
from backstay.memory.working import memory_message
from backstay.models.model import ChatModel
from backstay.store.records import Asked, Fold

FOLD_SECONDS = 20.0
"""How long a model may take to sum up, each time of two."""
_TRIES = 2
_ASKED_NAMES = 3
"""So many items a question about the size names."""


async def fit(work: Work, tools: Sequence[ToolSpec], *, now: bool = False) -> Ending | None:
    """Trim and fold until the next request fits; how the run ends where it cannot.

    Args:
        work: the drive.
        tools: what the request will offer.
        now: to the low water mark even if there seems to be room, since the provider says that there is none.
    """
    log, work.estimated = work.journal.state.log, 0
    if work.definition.policy is not None and (wrong := await _follow(work, work.definition.policy)) is not None:
        return wrong
    if not now and _is_small(work, tools):
        return None
    told = _fixed_problem(work, tools)
    if told:
        return Ending(status="failed", code="window.fixed", reason=told)
    room = _room(work, tools)
    if now or is_over(log, room):
        to = plan(log, room, work.definition.shares, now=now)
        if to != log.at:
            await _advance(work, to)
            room = _room(work, tools)  # the summary takes some of it
    work.estimated = _fixed(work, tools) + log.words + log.results
    return await _narrowing(work, room) if log.words + log.results > room.total else None


def _is_small(work: Work, tools: Sequence[ToolSpec]) -> bool:
    """Whether the request is so small that nothing need be counted."""
    state = work.journal.state
    fixed = int((len(state.instructions) + len(work.rules) + 400) * TOKENS_A_CHARACTER) + work.tool_tokens(tools)
    aside = len(state.log.notes) + sum(map(len, state.log.ids)) + 4_000 * (state.memory is not None)
    aside += len(retrieved_text(state.retrieved))
    room = room_in(work.window, work.definition.shares, fixed=fixed, memory=int(aside * TOKENS_A_CHARACTER))
    return is_surely_within(state.log.size, room.history) and fixed <= work.window // 2


def _room(work: Work, tools: Sequence[ToolSpec]) -> Room:
    state = work.journal.state
    fixed = _fixed(work, tools)
    aside = (summary_message(state.log), memory_message(state.memory, state.retrieved))
    memory = sum(state.log.weigh(one) for one in aside if one is not None)
    return room_in(work.window, work.definition.shares, fixed=fixed, memory=memory)


def _fixed(work: Work, tools: Sequence[ToolSpec]) -> int:
    state = work.journal.state
    return counted(system_text(state.instructions, work.rules)) + work.tool_tokens(tools)


def _fixed_problem(work: Work, tools: Sequence[ToolSpec]) -> str:
    state = work.journal.state
    system, rules = counted(state.instructions), counted(work.rules)
    return check_fixed(work.window, system=system, rules=rules, tools=work.tool_tokens(tools))


async def _follow(work: Work, policy: WindowPolicy) -> Ending | None:
    """Show no more than the agent's own memory does; how the run ends where a function of the program's fails."""
    log = work.journal.state.log
    try:
        first = min(await policy.first(log), log.end - 1)
    except Exception as error:  # what a program has given to count by is part of its set-up
        told = error.message if isinstance(error, BackstayError) else f"{type(error).__name__}: {redact(str(error))}"
        return Ending(status="failed", code="memory.config", reason=f"the agent's memory failed: {told}")
    if first <= log.at.folded:
        return None
    to = Pointers(max(log.at.trimmed, first), first)
    await _advance(work, to, drops=policy.summing is None)
    return None


async def _advance(work: Work, to: Pointers, *, drops: bool = False) -> None:
    """Move the pointers as one record: a fold that was not written has not happened. `drops`: without any notes."""
    state, ctx = work.journal.state, work.ctx
    log, at = state.log, state.log.at
    tokens = log.words + log.results
    body = Fold(trimmed=to.trimmed, folded=at.folded, tokens=tokens)
    if drops:
        body = Fold(trimmed=to.trimmed, folded=to.folded, by="memory", tokens=tokens)
    elif to.folded > at.folded:
        leaving = log.messages(range(max(log.start, at.folded), to.folded))
        folding = planned(log.notes, log.ids, log.label, leaving, window=_window_for_notes(work))
        notes, asked = await _summed_up(work, folding)
        body = Fold(
            trimmed=to.trimmed,
            folded=to.folded,
            notes=extract(folding, estimate) if notes is None else notes,
            ids=folding.ids,
            label=folding.label,
            by="rules" if notes is None else "model",
            tokens=tokens,
            asked=asked,
        )
    seq = await work.journal.write(("fold", body))
    left = log.words + log.results
    if body.by and ctx.emit.wants(MemoryFold):
        usage = body.asked.usage if body.asked is not None else Usage()
        ctx.emit(
            MemoryFold(
                *ctx.head(seq),
                first=at.folded,
                end=body.folded,
                before=tokens,
                after=left,
                by=body.by,
                notes=body.notes,
                usage=usage,
            )
        )
    elif not body.by and ctx.emit.wants(MemoryTrim):
        ctx.emit(MemoryTrim(*ctx.head(seq), first=at.trimmed, end=body.trimmed, before=tokens, after=left))


def _window_for_notes(work: Work) -> int:
    summing = work.definition.policy.summing if work.definition.policy is not None else None
    return work.window if summing is None else min(work.window, summing.max_tokens)


async def _summed_up(work: Work, folding: Folding) -> tuple[str | None, ModelUse | None]:
    """Notes by a model, and what they cost; no notes where none can write them, or where it failed twice.

    What a function of the program's own uses is the program's affair.
    """
    summing = work.definition.policy.summing if work.definition.policy is not None else None
    if summing is not None and summing.summarise is not None:
        return await notes_by(summing.summarise, folding, summing.timeout), None
    model = work.definition.summariser or (work.model if work.model.profile.keeps_notes else None)
    if model is None:
        return None, None
    request, used = request_for(folding), None
    for _ in range(_TRIES):
        try:
            async with asyncio.timeout(FOLD_SECONDS if summing is None else summing.timeout):
                answer = await ask_aside(model, work.definition.chains, request, work.ctx)
        except (ModelError, TimeoutError) as error:
            work.ctx.logger.warning("the turns that leave the window could not be summed up: %s", error)
            continue
        used = await charged(work, used, answer.reply.usage, work.cost_usd(answer.model, answer.reply.usage), model)
        notes = notes_in(answer.reply, folding, estimate)
        if notes is not None:
            return notes, used
    return None, used


async def charged(
    work: Work, used: ModelUse | None, usage: Usage | None, cost_usd: Decimal | None, model: ChatModel
) -> ModelUse:
    """What a hidden request has used, with those before it; budgets are charged at once."""
    if work.purse is not None:
        await work.purse.settle(usage, cost_usd)
    before = used or ModelUse(model=f"{model.name} (memory)", requests=0, usage=Usage(), cost_usd=Decimal(0))
    return before.more(usage, cost_usd)


async def _narrowing(work: Work, room: Room) -> Ending:
    """Ask the user for less: nothing more can leave by itself."""
    ctx, journal = work.ctx, work.journal
    asked = next((one for one in journal.state.open.values() if one.kind == "narrowing"), None)
    if asked is not None:
        return Ending(status="needs_narrowing", code="window.narrowing", reason=asked.question)
    items = largest(journal.state.log, _ASKED_NAMES)
    named = "; ".join(f"{_name(one)} (about {tokens:,} tokens)" for one, tokens in items)
    question = (
        f"This is more than the model can read at once: there is room for {room.total:,} tokens. The largest items are"
        f" {named}. Which part matters? The run goes on with your answer, and with the beginning and end of these."
    )
    action = question_row(
        journal.row,
        ctx.agents,
        id=ctx.new_id("a"),
        question=question,
        key=digest([one.id for one, _ in items]),
        now=ctx.clock(),
        seconds=work.definition.boundary.ask_seconds,
        kind="narrowing",
        targets=tuple(one.id for one, _ in items),
        preview=named,
    )
    journal.queue.pending.append(action)
    await journal.write(("asked", Asked(action=action)))
    if ctx.emit.wants(ActionAsked):
        ctx.emit(ActionAsked(*ctx.head(), action=action))
    return Ending(status="needs_narrowing", code="window.narrowing", reason=question)


def _name(message: Message) -> str:
    if message.role == "tool":
        return f"the results of {', '.join(dict.fromkeys(one.name for one in message.returns))}"
    whose = {"user": "the message", "assistant": "the reply", "notice": "the notice"}.get(message.role, "the text")
    words = " ".join(message.text.split())
    return f"{whose} that begins {words[:60]!r}" if words else f"{whose} {message.id}"
