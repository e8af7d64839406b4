"""One function owns whether a history may be sent: one result for every call, unique ids, order kept.

It runs where messages come from outside or out of a store; what the loop itself appends is valid as it is made.
Source: SPEC M7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from backstay.core.messages import Message, Part, ToolCall, ToolResult, ToolReturn

_LOST = ToolResult(
    ok=False,
    summary="No result of this call was recorded.",
    error="no result was recorded",
    code="history.lost",
    via="refused",
)


def make_valid(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages such that every provider takes them.

    A result without its call is dropped, a call without a result gets one that says so, a doubled id is made another,
    reasoning without anything after it in its message is dropped with an otherwise empty message.
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
        elif not isinstance(part, ToolReturn):
            parts.append(part)
    return message if len(parts) == len(message.parts) and tuple(parts) == message.parts else replace(
        message, parts=tuple(parts)
    )


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
        del waiting[fresh]
        parts.append(replace(part, call_id=fresh))
    if parts:
        made.append(replace(message, parts=tuple(parts)))


def _close(made: list[Message], waiting: dict[str, tuple[str, str]]) -> None:
    if not waiting:
        return
    lost = tuple(ToolReturn(call_id=fresh, name=name, result=_LOST) for fresh, (_, name) in waiting.items())
    made.append(Message(id=f"{made[-1].id}+lost", role="tool", parts=lost))
    waiting.clear()
