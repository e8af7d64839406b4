"""Looking into long-term memory for an input: once, journalled before it shows, and never the reason why a run fails.

What is found stands beside the working memory in every request until the next input. Its label is the session's from
then on. Source: SPEC M3, M4, B11.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from backstay.agents.work import Work
from backstay.core.messages import PLAIN, Text
from backstay.core.redaction import hide
from backstay.memory.longterm.entry import LongTermMemory
from backstay.memory.retrieved import picked
from backstay.store.records import Input, Retrieved, Snippet

RETRIEVE_SECONDS = 5.0
"""How long a search may take."""
_QUERY = 2_000
"""Characters of an input that are looked for."""
_CANDIDATES = 8


async def retrieve(work: Work) -> bool:
    """Look up what is remembered of the run's last input if nobody has; whether the session's label has changed."""
    memory, state, given = work.definition.long_term, work.journal.state, work.run.input
    if memory is None or given is None or not work.definition.remembering.retrieve_tokens:
        return False
    if state.retrieved is not None and state.retrieved.message_id == given.message.id:
        return False
    snippets, label = await _snippets(work, memory, given), PLAIN
    for one in snippets:
        label = label.join(one.label)
    before = state.label
    await work.journal.write(("retrieved", Retrieved(message_id=given.message.id, snippets=snippets, label=label)))
    return state.label != before


async def _snippets(work: Work, memory: LongTermMemory, given: Input) -> tuple[Snippet, ...]:
    words = " ".join(part.text for part in given.message.parts if isinstance(part, Text))[:_QUERY]
    settings, state = work.definition.remembering, work.journal.state
    if not words.strip():
        return ()
    try:
        async with asyncio.timeout(RETRIEVE_SECONDS):
            found = await memory.search(words, principal=work.ctx.principal, limit=_CANDIDATES)
    except Exception as error:  # a program may bring a memory of its own, and whatever it raises must not cost the run
        work.ctx.logger.warning("nothing was looked up in long-term memory: %s: %s", type(error).__name__, error)
        return ()
    known = () if state.memory is None else (state.memory.goal, *(one.text for one in state.memory.facts))
    most = min(settings.retrieve_tokens, work.window // 10)
    return tuple(replace(one, text=hide(one.text)) for one in picked(found, settings, most_tokens=most, known=known))
