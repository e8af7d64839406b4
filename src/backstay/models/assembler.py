"""The assembler: pieces of a streamed reply → the parts of a whole one, at a cost linear in the pieces.

The only place where streamed text, reasoning and arguments are put together, for every client. Source: SPEC L3, L4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from backstay.core.canon import freeze
from backstay.core.messages import Delta, Finish, ModelReply, Reasoning, Text, ToolCall, Usage


@dataclass(slots=True)
class _Open:
    kind: str
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    name: str = ""


class Assembler:
    """Takes deltas in any interleaving of parts; `reply` gives the parts in the order of their numbers."""

    def __init__(self) -> None:
        self._parts: dict[int, _Open] = {}

    def add(self, delta: Delta) -> None:
        """Take one piece. Id and name of a call may come with any of its pieces; the first that is not empty counts."""
        part = self._parts.get(delta.part)
        if part is None:
            part = self._parts[delta.part] = _Open(delta.kind)
        part.pieces.append(delta.text)
        part.call_id = part.call_id or delta.call_id
        part.name = part.name or delta.name

    def reply(self, *, finish: Finish, usage: Usage | None, model: str) -> ModelReply:
        """The whole reply; empty texts are dropped."""
        parts = [_close(number, part) for number, part in sorted(self._parts.items())]
        kept = tuple(part for part in parts if isinstance(part, ToolCall) or part.text)
        return ModelReply(parts=kept, finish=finish, usage=usage, model=model)


def _close(number: int, part: _Open) -> Text | Reasoning | ToolCall:
    text = "".join(part.pieces)
    if part.kind == "text":
        return Text(text=text)
    if part.kind == "reasoning":
        return Reasoning(text=text)
    return parse_call(part.call_id, part.name, text)


def parse_call(call_id: str, name: str, text: str) -> ToolCall:
    """A call from the arguments as the model wrote them; what is no JSON object is kept as `raw` and never runs."""
    try:
        args = freeze(json.loads(text or "{}"))
    except (ValueError, TypeError, RecursionError):
        args = None
    if isinstance(args, Mapping):
        return ToolCall(id=call_id, name=name, args=args)
    return ToolCall(id=call_id, name=name, args={}, raw=text)
