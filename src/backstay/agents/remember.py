"""Rewriting the working memory at the end of a run: by rules always, with a model's proposal where one may propose.

The answer has been delivered by then. Whatever the model says or does not say, the memory is written. Source: SPEC M3.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace

from backstay.agents.ask import ask_aside
from backstay.agents.guard import describe
from backstay.agents.step.compact import charged
from backstay.agents.step.limits import hold_budget, limit_reached
from backstay.agents.work import Work
from backstay.core.canon import freeze
from backstay.core.errors import ModelError
from backstay.core.messages import Args, ModelUse
from backstay.memory.working import request_for, rewritten
from backstay.models.model import ChatModel
from backstay.store.records import Memory

MEMORY_SECONDS = 10.0
"""How long a model may take to propose: less than a lease lasts."""


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


def written(work: Work, proposal: Args | None = None, asked: ModelUse | None = None) -> Memory:
    """The memory as it is to be journalled."""
    state = work.journal.state
    waiting = {one.id: describe(one.call) if one.call else one.question for one in state.open.values() if one.holds_run}
    memory = rewritten(state.memory, state.messages[state.remembered :], waiting, proposal)
    return memory if memory.asked is asked else replace(memory, asked=asked)
