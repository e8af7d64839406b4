"""A run as a picture that is the same on every day: without ids, times, and what they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from backstay.agents.result import RunResult
from backstay.core.canon import canonical
from backstay.core.events import Event
from backstay.core.messages import Media, Message, Part, Reasoning, Text, ToolCall, ToolReturn

_MADE = re.compile(r"\b([a-z]{1,3})-[0-9a-f]{21}\b")
_MARK = re.compile(r"\[redacted:[0-9a-f]{8}\]")


def picture(source: RunResult[Any] | Iterable[Event]) -> str:
    """A result, or the events of a run, as lines of text to compare with what was kept.

    Of a result: every new message, status, code, steps. Of events: each one's name with what it is about; pieces of
    replies are left out. Ids that a run makes up are numbered in their order.
    """
    lines = (
        _of_result(source) if isinstance(source, RunResult) else [_of_event(one) for one in source if not one.is_piece]
    )
    seen: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], f"{found[1]}-#{len(seen) + 1}")

    return _MADE.sub(numbered, _MARK.sub("[redacted]", "\n".join(lines)))


def _of_result(result: RunResult[Any]) -> list[str]:
    messages = [f"{one.role}: {_said(one)}" for one in result.new_messages]
    ending = f"{result.status} {result.code} {result.reason}".rstrip()
    return [*messages, f"= {ending}", f"{result.steps} steps"]


def _said(message: Message) -> str:
    return " | ".join(map(_part, message.parts))


def _part(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Reasoning(text=text):
            return f"(thinks) {text}"
        case Media(mime=mime):
            return f"<{mime}>"
        case ToolCall():
            return _call(part)
        case ToolReturn(name=name, result=result):
            return f"{name} → {result.code or result.via}: {result.summary}"


def _call(call: ToolCall) -> str:
    return f"{call.name}({canonical(call.args) if call.raw is None else call.raw})"


def _of_event(event: Event) -> str:
    call, result, code = (getattr(event, name, None) for name in ("call", "result", "code"))
    about = [
        _call(call) if isinstance(call, ToolCall) else "",
        f"→ {result.code or result.via}" if result is not None else "",
        str(getattr(event, "status", "")),
        str(code or ""),
    ]
    return " ".join([event.name, *filter(None, about)])
