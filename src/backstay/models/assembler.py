"""The assembler: pieces of a streamed reply → the parts of a whole one, at a cost linear in the pieces.

The only place where streamed text, reasoning and arguments are put together, for every client. Source: SPEC L3, L4.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backstay.core.canon import EMPTY, canonical, freeze
from backstay.core.messages import Delta, Finish, Json, ModelReply, Reasoning, Text, ToolCall, Usage
from backstay.models.mending import mend

MAX_DEPTH = 64
"""Levels of objects and arrays that the arguments of a call may have."""
MAX_CHARS = 1_000_000
"""Characters that they may have; of more only the beginning is kept, and the call does not run."""
MAX_NAME = 128
"""Characters of a tool's name that are kept; no tool has so many."""


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
    whole after its pieces, counts once (case C65). Broken JSON that can be read in one way only is mended, and says so.
    Objects nested deeper than 64 levels, and of texts above a million characters the beginning, are kept as `raw`.
    """
    name = name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…"
    if len(text) > MAX_CHARS:
        told = f"[{len(text):,} characters; at most {MAX_CHARS:,} may arguments have] {text[:200]}"
        return ToolCall(id=call_id, name=name, args=EMPTY, raw=told)
    args, is_mended = _arguments(text)
    if not isinstance(args, Mapping) or _is_deep(text, args):
        return ToolCall(id=call_id, name=name, args=EMPTY, raw=text)
    return ToolCall(id=call_id, name=name, args=args, mended=text if is_mended else None)


def _arguments(text: str) -> tuple[Json, bool]:
    """The value that arguments mean, and whether they had to be mended for it; a text is none."""
    try:
        args = freeze(_once(text)) if text.strip() else EMPTY
    except (ValueError, TypeError, RecursionError):
        args = text
    if args is None:
        return EMPTY, False
    if not isinstance(args, str):
        return args, False
    mended = mend(text)
    try:
        return (args, False) if mended is None else (freeze(mended), True)
    except TypeError:  # a number that JSON does not have
        return args, False


_PIECE = 12
"""Characters of a piece of a whole reply that is told in pieces."""


def pieces_of(reply: ModelReply) -> Iterator[Delta]:
    """A whole reply as the deltas that an assembler makes it of again."""
    for number, part in enumerate(reply.parts):
        if isinstance(part, ToolCall):
            text = part.raw if part.raw is not None else part.mended
            text = json.dumps(part.args, ensure_ascii=False) if text is None else text
            for piece in _cut(text):
                yield Delta("args", number, piece, part.id, part.name)
        else:
            for piece in _cut(part.text):
                yield Delta("text" if isinstance(part, Text) else "reasoning", number, piece)


def _cut(text: str) -> Iterator[str]:
    for start in range(0, max(len(text), 1), _PIECE):
        yield text[start : start + _PIECE]


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
