"""The assembler: pieces of a streamed reply → the parts of a whole one, at a cost linear in the pieces.

The only place where streamed text, reasoning and arguments are put together, for every client. Source: SPEC L3, L4.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from backstay.core.canon import EMPTY, canonical, freeze
from backstay.core.messages import Delta, Finish, Json, ModelReply, Reasoning, Text, ToolCall, Usage

MAX_DEPTH = 64
"""Levels of objects and arrays that the arguments of a call may have."""


@dataclass(slots=True)
class _Open:
    kind: str
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    name: str = ""
    signature: str | None = None


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

    def sign(self, part: int, signature: str) -> None:
        """Take the provider's token of a reasoning part; it may come before, between or after the part's pieces."""
        self._parts.setdefault(part, _Open("reasoning")).signature = signature

    def reply(self, *, finish: Finish, usage: Usage | None, model: str) -> ModelReply:
        """The whole reply; empty texts are dropped."""
        parts = [_close(part) for _, part in sorted(self._parts.items())]
        return ModelReply(parts=tuple(filter(says_something, parts)), finish=finish, usage=usage, model=model)


def says_something(part: Text | Reasoning | ToolCall) -> bool:
    """Whether a part belongs into a reply: a call, words, or reasoning of which only the signature is shown."""
    return isinstance(part, ToolCall) or bool(part.text) or (isinstance(part, Reasoning) and part.signature is not None)


def _close(part: _Open) -> Text | Reasoning | ToolCall:
    text = "".join(part.pieces)
    if part.kind == "text":
        return Text(text=text)
    if part.kind == "reasoning":
        return Reasoning(text=text, signature=part.signature)
    return parse_call(part.call_id, part.name, text)


def parse_call(call_id: str, name: str, text: str) -> ToolCall:
    """A call from the arguments as the model wrote them; what is no JSON object is kept as `raw` and never runs.

    Nothing, blanks and `null` are a call without arguments. An object written twice, as by providers that send the
    whole after its pieces, counts once (case C65). Objects nested deeper than 64 levels are kept as `raw`.
    """
    try:
        args = freeze(_once(text)) if text.strip() else EMPTY
    except (ValueError, TypeError, RecursionError):
        return ToolCall(id=call_id, name=name, args=EMPTY, raw=text)
    if args is None:
        args = EMPTY
    if not isinstance(args, Mapping) or _is_deep(text, args):
        return ToolCall(id=call_id, name=name, args=EMPTY, raw=text)
    return ToolCall(id=call_id, name=name, args=args)


_DECODER = json.JSONDecoder()


def _once(text: str) -> Any:
    text = text.strip()
    value, end = _DECODER.raw_decode(text)
    rest = text[end:].lstrip()
    if rest and canonical(json.loads(rest)) != canonical(value):
        raise ValueError("something else stands behind the object")
    return value


def _is_deep(text: str, value: Json) -> bool:
    """Whether a value is nested beyond what the journal, the boundary and the schema can walk."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, Mapping | tuple)]
        if not level:
            return False
    return True


def _inside(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
