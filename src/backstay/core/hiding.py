"""Registered credentials out of what a session keeps: messages, calls, replies, results. Source: SPEC B20.

It is done where these are made, so that journal, prompts, events, caches and screens never hold one. Nothing is copied
where nothing is found, and nothing is looked at while no credential is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from backstay.core.canon import FrozenDict
from backstay.core.messages import (
    Delta,
    Json,
    Message,
    ModelReply,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolReturn,
)
from backstay.core.redaction import has_secrets, held_back, hide


def hide_json(value: Json) -> Json:
    """A JSON value without registered credentials in texts, keys and numbers; the same object if there are none."""
    return _hidden(value) if has_secrets() else value


def _hidden(value: Json) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, int | float):
        text = str(value)
        hidden = hide(text)
        return value if hidden == text else hidden
    if isinstance(value, Mapping):
        items = {hide(key): _hidden(item) for key, item in value.items()}
        is_same = all(key in value and item is value[key] for key, item in items.items())
        return value if is_same and len(items) == len(value) else FrozenDict(items)
    listed = tuple([_hidden(item) for item in value])
    return value if all(one is other for one, other in zip(listed, value, strict=True)) else listed


def hide_call(call: ToolCall) -> ToolCall:
    """A call without registered credentials."""
    args, raw = hide_json(call.args), hide(call.raw) if call.raw is not None else None
    mended = hide(call.mended) if call.mended is not None else None
    if args is call.args and raw == call.raw and mended == call.mended and hide(call.name) == call.name:
        return call
    assert isinstance(args, Mapping)
    return replace(call, name=hide(call.name), args=args, raw=raw, mended=mended)


def hide_reply(reply: ModelReply) -> ModelReply:
    """A model's reply without registered credentials."""
    return replace(reply, parts=tuple(map(_part, reply.parts))) if has_secrets() else reply


def hide_message(message: Message) -> Message:
    """A message without registered credentials in its words, calls and results."""
    return replace(message, parts=tuple(map(_part, message.parts))) if has_secrets() else message


def hide_result(result: ToolResult) -> ToolResult:
    """A result without registered credentials."""
    if not has_secrets():
        return result
    return replace(
        result,
        summary=hide(result.summary),
        data=hide_json(result.data),
        error=None if result.error is None else hide(result.error),
        artifacts=tuple(replace(one, name=hide(one.name)) for one in result.artifacts),
    )


class HidingPieces:
    """A reply's pieces without registered credentials: the end of one that may go on as a credential is held back.

    Args:
        on_delta: takes the pieces.
    """

    __slots__ = ("_held", "_on_delta")

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        self._on_delta = on_delta
        self._held: dict[tuple[str, int], Delta] = {}

    def __call__(self, delta: Delta) -> None:
        """Take a piece and give on what is sure."""
        place = delta.kind, delta.part
        held = self._held.pop(place, None)
        if held is not None:
            delta = delta._replace(text=held.text + delta.text)
        if has_secrets():
            text = hide(delta.text)
            back = held_back(text)
            if back:
                self._held[place] = delta._replace(text=text[-back:])
            delta = delta._replace(text=text[: len(text) - back], name=hide(delta.name))
        if delta.text or not self._held.get(place):
            self._on_delta(delta)

    def close(self) -> None:
        """Give on what was held back: the reply has ended, and it was none."""
        held, self._held = self._held, {}
        for delta in held.values():
            self._on_delta(delta._replace(name=hide(delta.name)))


def _part(part: Any) -> Any:
    if isinstance(part, Text):
        return replace(part, text=hide(part.text))
    if isinstance(part, Reasoning):
        hidden = hide(part.text)
        # A signature is of the words as they were.
        return part if hidden == part.text else replace(part, text=hidden, signature=None)
    if isinstance(part, ToolCall):
        return hide_call(part)
    if isinstance(part, ToolReturn):
        return replace(part, result=hide_result(part.result))
    return part
