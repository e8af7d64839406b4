"""Rewriting the working memory at the end of a run: by rules always, with a model's proposal where one may propose.

The answer has been delivered by then. Whatever the model says or does not say, the memory is written. Source: SPEC M3.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypedDict

from backstay.agents.ask import ask_aside
from backstay.agents.guard import describe
from backstay.agents.step.compact import charged
from backstay.agents.step.limits import hold_budget, limit_reached
from backstay.agents.work import Work
from backstay.core.canon import freeze
from backstay.core.context import Principal
from backstay.core.errors import ModelError
from backstay.core.messages import Args, Label, ModelUse
from backstay.memory.longterm.entry import Author
from backstay.memory.working import fitted, request_for, unbounded
from backstay.models.model import ChatModel
from backstay.store.records import Fact, Memory

MEMORY_SECONDS = 10.0
"""How long a model may take to propose: less than a lease lasts."""
KEEP_SECONDS = 5.0
"""How long writing to long-term memory may take."""


def proposer(work: Work) -> ChatModel | None:
    """The model that proposes the memory; None where the rules do it alone.

    They do for a conversation of one run, which nobody will go on with, and where the run's own model keeps no notes
    or has no structured output.
    """
    if work.ctx.session_id == work.ctx.run_id:
        return None
    profile = work.model.profile
    return work.definition.memory_model or (work.model if profile.schema_output and profile.keeps_notes else None)


async def proposed(work: Work, model: ChatModel) -> tuple[Args | None, ModelUse | None]:
    """What a model proposes and what that cost; no proposal where a limit is reached, or where it fails."""
    if limit_reached(work.spent()) is not None or await hold_budget(work) is not None:
        return None, None
    state, chains = work.journal.state, work.definition.chains
    request = request_for(state.memory, state.messages[state.remembered :])
    try:
        async with asyncio.timeout(MEMORY_SECONDS):
            answer = await ask_aside(model, chains, request, work.ctx)
    except (ModelError, TimeoutError) as error:
        work.ctx.logger.warning("the working memory was written by rules: %s", error)
        return None, None
    usage = answer.reply.usage
    used = await charged(work, None, usage, work.cost_usd(answer.model, usage), model)
    return _object(answer.reply.text), used


def _object(text: str) -> Args | None:
    try:
        found = json.loads(text)
        return freeze(found) if isinstance(found, Mapping) else None  # type: ignore[return-value]  # an object
    except (ValueError, TypeError, RecursionError):
        return None


class Written(NamedTuple):
    """The working memory after a run, and what of it goes to long-term memory."""

    memory: Memory
    outgoing: tuple[Fact, ...] = ()


def written(work: Work, proposal: Args | None = None, asked: ModelUse | None = None) -> Written:
    """The memory as it is to be journalled, and what is to be kept elsewhere. Nothing is kept yet."""
    state, keeps_some = work.journal.state, _keeps_some(work)
    waiting = {one.id: describe(one.call) if one.call else one.question for one in state.open.values() if one.holds_run}
    whole = unbounded(state.memory, state.messages[state.remembered :], waiting, proposal)
    if keeps_some:
        whole = _named(whole, state.memory, work.ctx.principal.id)
    memory = fitted(whole)
    memory = memory if memory.asked is asked else replace(memory, asked=asked)
    return Written(memory, _outgoing(work, whole, memory) if keeps_some else ())


def _keeps_some(work: Work) -> bool:
    definition = work.definition
    return definition.long_term is not None and definition.remembering.write != "never"


def _named(memory: Memory, before: Memory | None, person: str) -> Memory:
    """The memory with the person of this run on every fact that it has added: later runs may be somebody else's."""
    known = before.facts if before is not None else ()
    if memory.facts == known:
        return memory
    return replace(memory, facts=tuple(one if one in known else replace(one, person=person) for one in memory.facts))


def _outgoing(work: Work, whole: Memory, memory: Memory) -> tuple[Fact, ...]:
    known = work.journal.state.memory.facts if work.journal.state.memory is not None else ()
    stays = set(memory.facts)
    is_new = work.definition.remembering.write == "stressed"
    return tuple([one for one in whole.facts if one not in stays or (is_new and one.is_stressed and one not in known)])


async def keep(work: Work, facts: Sequence[Fact]) -> None:
    """Keep facts in long-term memory, each under its person and with its source. Twice is once; a failure is logged.

    A sentence that the user has stressed was chosen by rules, so it has the label of its message alone; what a model
    has proposed has the label of all that the model had read.
    """
    memory, row = work.definition.long_term, work.journal.row
    if memory is None:
        return
    try:
        async with asyncio.timeout(KEEP_SECONDS):
            for one in facts:
                person = Principal(id=one.person or row.principal.id, tenant=row.principal.tenant)
                if person.id:
                    await memory.add(one.text, principal=person, **_about(work, one))
    except Exception as error:  # a program may bring a memory of its own, and whatever it raises must not cost the run
        work.ctx.logger.warning("long-term memory was not written: %s: %s", type(error).__name__, error)


class _About(TypedDict):
    source: str
    author: Author
    label: Label


def _about(work: Work, fact: Fact) -> _About:
    state = work.journal.state
    return _About(
        source=f"{work.journal.row.session_id}#{fact.source}",
        author="user" if state.sources.is_said(fact.text, exact=False) else "model",
        label=fact.label if fact.is_stressed else fact.label.join(state.label),
    )
