"""Filters: what may be said is decided before anybody hears it; credentials reach no model. Source: SPEC G8, B20."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from backstay.agents.middleware.chain import Middleware, ModelNext, RunNext, ToolNext
from backstay.agents.result import RunResult
from backstay.agents.turn import Turn
from backstay.core.canon import freeze
from backstay.core.context import RunContext
from backstay.core.messages import (
    Media,
    Message,
    ModelReply,
    ModelRequest,
    Part,
    Text,
    ToolCall,
    ToolResult,
    ToolReturn,
)
from backstay.core.redaction import redact, redact_json


class ContentFilter(Middleware):
    """Holds every reply until a function has seen all its words, streamed or not.

    Args:
        check: gets the words of a reply and returns what may be said instead: the same, others, or None where nothing
            may be said. Then the reply counts as a refusal, its calls do not run, and the run fails as `model.refused`.
    """

    holds_stream: ClassVar[bool] = True

    def __init__(self, check: Callable[[str], str | None]) -> None:
        self._check = check

    async def model(self, request: ModelRequest, ctx: RunContext[Any], next: ModelNext) -> ModelReply:
        """Ask, and let through what the function lets through."""
        reply = await next(request, ctx)
        said = reply.text
        allowed = self._check(said) if said else said
        if allowed == said:
            return reply
        rest = tuple(part for part in reply.parts if not isinstance(part, Text))
        if allowed is None:
            return replace(reply, parts=(), finish="refusal")
        return replace(reply, parts=(Text(text=allowed), *rest) if allowed else rest)


class SecretFilter(Middleware):
    """Keeps what has the shape of a credential from the model, the journal and the answer, of results their data too.

    Registered credentials never get that far; this is for those that nobody has registered: a key that a user pastes, a
    token in a tool's result. Like the registered ones they are replaced by a mark that is equal for equal secrets.
    """

    holds_stream: ClassVar[bool] = True

    async def run(self, turn: Turn, ctx: RunContext[Any], next: RunNext) -> RunResult[Any]:
        """Redact the input before it is written down."""
        clean: str | Sequence[Text | Media]
        if isinstance(turn.input, str):
            clean = redact(turn.input)
        else:
            clean = [Text(text=redact(part.text)) if isinstance(part, Text) else part for part in turn.input]
        return await next(replace(turn, input=clean), ctx)

    async def tool(self, call: ToolCall, ctx: RunContext[Any], next: ToolNext) -> ToolResult:
        """Redact what a tool returns."""
        result = await next(call, ctx)
        data = freeze(redact_json(result.data))
        return replace(
            result,
            summary=redact(result.summary),
            data=result.data if data == result.data else data,
            error=None if result.error is None else redact(result.error),
        )

    async def model(self, request: ModelRequest, ctx: RunContext[Any], next: ModelNext) -> ModelReply:
        """Redact what the model is sent, and the words that it says."""
        reply = await next(replace(request, messages=tuple(map(_clean, request.messages))), ctx)
        parts = tuple(replace(part, text=redact(part.text)) if isinstance(part, Text) else part for part in reply.parts)
        return replace(reply, parts=parts)


def _clean(message: Message) -> Message:
    parts = tuple(map(_clean_part, message.parts))
    return (
        message
        if all(one is other for one, other in zip(parts, message.parts, strict=True))
        else replace(message, parts=parts)
    )


def _clean_part(part: Part) -> Part:
    match part:
        case Text(text=text):
            clean = redact(text)
            return part if clean == text else Text(text=clean)
        case ToolReturn(result=result):
            clean = redact(result.summary)
            return part if clean == result.summary else replace(part, result=replace(result, summary=clean))
        case _:
            return part
