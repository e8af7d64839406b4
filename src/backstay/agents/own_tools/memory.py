"""`remember` and `search_memory`: an agent's own tools over its long-term memory, offered only where it has one.

What was learnt in an untrusted conversation makes the conversation that retrieves it untrusted. What a model has
written is shown and never believed: it stands in the words of the result and not in its data, so that no address in it
counts as somebody's word. Only what a user has said word for word, or a program has put there, does.
Source: SPEC K9, M3, B11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from backstay.core.context import RunContext
from backstay.core.messages import PLAIN, Json, ToolResult
from backstay.memory.estimator import estimate
from backstay.memory.longterm.entry import Entry, Found, LongTermMemory
from backstay.tools.tool import Tool

REMEMBER = "remember"
SEARCH = "search_memory"
_MOST = 2_000
"""Characters of a text that a model may have remembered at once."""


class RememberInput(BaseModel):
    """What is to be kept."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    text: str = Field(
        min_length=1,
        max_length=_MOST,
        description="one fact or preference as a sentence that stands alone, if possible in the user's words",
    )


class RememberTool(Tool):
    """Keeps a text for later conversations with the same person. Changes nothing outside; the entry names its call."""

    name = REMEMBER
    description = (
        "Keep a fact, a preference or a conclusion for later conversations. Use it when the user says something that "
        "will matter beyond today, or asks you to remember it."
    )
    input_schema = RememberInput
    risk = "read"
    examples = (("Remember that I am vegetarian", {"text": "I am vegetarian"}),)

    async def _run(self, input: RememberInput, context: RunContext[Any]) -> object:
        call = context.call
        await context.host.remember(input.text, f"{context.run_id}:{call.slot}" if call else context.run_id)
        return "kept"


class SearchMemoryInput(BaseModel):
    """What is looked for."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    query: str = Field(min_length=1, max_length=_MOST, description="what you want to know, in a few words")
    limit: int = Field(5, ge=1, le=10, description="how many entries at most")


class SearchMemoryTool(Tool):
    """Looks into the long-term memory of the person the run is for.

    Args:
        memory: the memory.
    """

    name = SEARCH
    description = (
        "Search what was remembered in earlier conversations, and the documents that were added. Use it when the user "
        "refers to something that is not in this conversation."
    )
    input_schema = SearchMemoryInput
    risk = "read"
    examples = (("What do I usually order?", {"query": "usual order"}),)

    def __init__(self, memory: LongTermMemory) -> None:
        self._memory = memory

    async def _run(self, input: SearchMemoryInput, context: RunContext[Any]) -> object:
        found = await self._memory.search(input.query, principal=context.principal, limit=input.limit)
        return told(found, context.result_tokens)


def told(found: Sequence[Found], max_tokens: int) -> ToolResult:
    """What a model is told of entries: all in words, as many as fit; in the data only those that may be believed."""
    lines: list[str] = []
    believed: list[Json] = []
    label, spent = PLAIN, 48
    for line, entry in _lines(found):
        spent += estimate(line) + 1
        if spent > max_tokens // 2 and lines:
            break
        lines.append(line if spent <= max_tokens // 2 else f"{line[: max_tokens // 2]}…")
        label = label.join(entry.label)
        if entry.is_believed:
            believed.append({"id": entry.id, "text": entry.text})
    head = f"{len(lines)} of {len(found)} entries:" if lines else "nothing is remembered of this"
    return ToolResult(ok=True, summary="\n".join([head, *lines]), data={"entries": believed}, label=label)


def _lines(found: Sequence[Found]) -> Iterator[tuple[str, Entry]]:
    for one in found:
        entry = one.entry
        day = datetime.fromtimestamp(entry.created_at, UTC).strftime("%Y-%m-%d")
        doubt = "" if entry.label.trusted else ", from text that nobody vouches for"
        yield f"- [{entry.id}, {day}{doubt}] {' '.join(entry.text.split())}", entry
