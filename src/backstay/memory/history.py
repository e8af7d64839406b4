"""One function owns whether a history may be sent: one result for every call, unique ids, order kept.

It runs where messages come from outside or out of a store; what the loop itself appends is valid as it is made.
Source: SPEC M7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from backstay.core.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, ToolReturn

_LOST = ToolResult(
    ok=False,
    summary="No result of this call was recorded.",
    error="no result was recorded",
    code="history.lost",
    via="refused",
)


def make_valid(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages such that every provider takes them.

    A result without its call is dropped, a call without a result gets one that says so, a doubled id of a call is made
    another, empty texts are dropped, and so is reasoning with nothing after it in its message (case C33); a message of
    which nothing is left goes with it. Everything else stays in its order.
    """
    made: list[Message] = []
    used: set[str] = set()
    waiting: dict[str, tuple[str, str]] = {}
    for message in messages:
        if message.role == "tool":
            _add_returns(made, message, waiting)
            continue
        _close(made, waiting)
        kept = _with_unique_calls(message, used, waiting)
        if kept.parts:
            made.append(kept)
    _close(made, waiting)
    return tuple(made)


def _with_unique_calls(message: Message, used: set[str], waiting: dict[str, tuple[str, str]]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            if message.role != "assistant":
                continue
            fresh = _unused(part.id, used)
            used.add(fresh)
            waiting[fresh] = (part.id, part.name)
            parts.append(part if fresh == part.id else replace(part, id=fresh))
        elif not isinstance(part, ToolReturn) and not _is_empty(part, message):
            parts.append(part)
    while parts and isinstance(parts[-1], Reasoning):
        parts.pop()
    return message if tuple(parts) == message.parts else replace(message, parts=tuple(parts))


def _is_empty(part: Part, message: Message) -> bool:
    """Whether no provider takes the part: words that are none, and anybody's reasoning but the model's."""
    if isinstance(part, Reasoning):
        return message.role != "assistant"
    return isinstance(part, Text) and not part.text


def _unused(wanted: str, used: set[str]) -> str:
    fresh, number = wanted or "call", 1
    while fresh in used or not fresh:
        number += 1
        fresh = f"{wanted or 'call'}-{number}"
    return fresh


def _add_returns(made: list[Message], message: Message, waiting: dict[str, tuple[str, str]]) -> None:
    parts: list[Part] = []
    for part in message.returns:
        fresh = next((id_ for id_, (given, _) in waiting.items() if given == part.call_id), None)
        if fresh is None:
            continue
        _, name = waiting.pop(fresh)
        parts.append(part if (part.call_id, part.name) == (fresh, name) else replace(part, call_id=fresh, name=name))
    if parts:
        made.append(message if tuple(parts) == message.parts else replace(message, parts=tuple(parts)))


def _close(made: list[Message], waiting: dict[str, tuple[str, str]]) -> None:
    if not waiting:
        return
    lost = tuple(ToolReturn(call_id=fresh, name=name, result=_LOST) for fresh, (_, name) in waiting.items())
    made.append(Message(id=f"{made[-1].id}+lost", role="tool", parts=lost))
    waiting.clear()
