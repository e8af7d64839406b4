"""The one owner of model retries: a request goes out, its pieces become events, a whole reply comes back.

With several models in a row each has its own attempts, and the next is asked only where it can help. Source: SPEC L3,
L4, L5; DESIGN 2.4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from backstay.agents.deciding.watcher import HALTED
from backstay.agents.middleware import Chains
from backstay.agents.output import TEXT, OutputType
from backstay.agents.partials import Partials
from backstay.core.context import RunContext
from backstay.core.errors import ModelError
from backstay.core.events import ModelDelta, ModelFailed, ModelFallback, ModelRetry, ModelStart, OutputPartial
from backstay.core.hiding import HidingPieces, hide_reply
from backstay.core.messages import Delta, Json, ModelReply, ModelRequest
from backstay.core.redaction import redact
from backstay.core.retry import MODEL_RETRY
from backstay.models.assembler import pieces_of
from backstay.models.choices import as_calls, understood
from backstay.models.fallback import FallbackModel
from backstay.models.model import ChatModel


class Answer(NamedTuple):
    """A reply and the model that gave it; None where a middleware answered in its place."""

    reply: ModelReply
    model: ChatModel | None


async def ask(
    model: ChatModel,
    chains: Chains,
    request: ModelRequest,
    ctx: RunContext[Any],
    *,
    rules_digest: str = "",
    output: OutputType = TEXT,
) -> Answer:
    """Return the model's whole reply, without registered credentials.

    Args:
        model: is asked.
        chains: the middleware around it.
        request: goes out.
        ctx: of the run.
        rules_digest: for the event.
        output: what the reply may be an answer of.

    Raises:
        ModelError: after the last attempt of the last model, or at once for what asking again cannot mend.
    """
    if ctx.emit.wants(ModelStart):
        ctx.emit(ModelStart(*ctx.head(), request=request, model=model.name, rules_digest=rules_digest))
    asked: ChatModel | None = None
    pieces = _Pieces(ctx, request, output, is_held=chains.holds_stream)

    async def rest(request: ModelRequest, ctx: RunContext[Any], /) -> ModelReply:
        nonlocal asked
        reply, asked = await _from_the_first(model, request, ctx, pieces.take)
        return reply

    ctx.attempt = 1
    try:
        reply: ModelReply = await (rest(request, ctx) if chains.model is None else chains.model(request, ctx, rest))
    except ModelError as error:
        if ctx.emit.wants(ModelFailed):
            ctx.emit(ModelFailed(*ctx.head(), error=error.message, code=error.code))
        raise
    reply = hide_reply(reply)
    pieces.end(reply)
    return Answer(reply, asked)


async def ask_aside(model: ChatModel, chains: Chains, request: ModelRequest, ctx: RunContext[Any]) -> Answer:
    """The reply to a request of the framework's own: one attempt, no events, and every middleware around it.

    Raises:
        ModelError: when there is none.
    """
    asked: ChatModel | None = None

    async def rest(request: ModelRequest, ctx: RunContext[Any], /) -> ModelReply:
        nonlocal asked
        asked = model.models[0] if isinstance(model, FallbackModel) else model
        return await asked.request(request, ctx, None)

    reply: ModelReply = await (rest(request, ctx) if chains.model is None else chains.model(request, ctx, rest))
    return Answer(hide_reply(reply), asked)


class _Pieces:
    """The pieces of a reply on their way to listeners: at once, or when a middleware has seen the whole of it."""

    def __init__(self, ctx: RunContext[Any], request: ModelRequest, output: OutputType, *, is_held: bool) -> None:
        self._ctx = ctx
        self._is_told = ctx.emit.wants(ModelDelta)
        is_shown = not output.is_text and ctx.emit.wants(OutputPartial)
        self._partials = Partials(output, request, self._show) if is_shown else None
        self._is_wanted = self._is_told or is_shown
        self.take = self._take if self._is_wanted and not is_held else None
        self._told_of = 0
        """The attempt of which pieces were told."""

    def _take(self, delta: Delta) -> None:
        self._told_of = self._ctx.attempt
        if self._is_told:
            self._ctx.emit(ModelDelta(*self._ctx.head(), delta=delta))
        if self._partials is not None:
            self._partials.take(delta, self._ctx.attempt)

    def _show(self, value: Json) -> None:
        self._ctx.emit(OutputPartial(*self._ctx.head(), value=value))

    def end(self, reply: ModelReply) -> None:
        """Tell the pieces of a reply of which none was told."""
        if self._is_wanted and self._told_of != self._ctx.attempt:
            for delta in pieces_of(hide_reply(reply)):
                self._take(delta)
        if self._partials is not None:
            self._partials.end(reply, self._ctx.attempt)


async def _from_the_first(
    model: ChatModel, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None
) -> tuple[ModelReply, ChatModel]:
    """The reply of the first model that answers; attempts are numbered through, since pieces belong to an attempt."""
    if not isinstance(model, FallbackModel):
        return await _attempts(model, request, ctx, on_delta), model
    one = model.after(None, None, request)
    if one is None:
        raise model.none_fits(request)
    while True:
        try:
            return await _attempts(one, request, ctx, on_delta), one
        except ModelError as error:
            following = model.after(one, error, request) if ctx.clock() < ctx.deadline else None
            if following is None:
                raise
            if ctx.emit.wants(ModelFallback):
                ctx.emit(_fell(ctx, one, following, error))
        one = following
        ctx.attempt += 1


def _fell(ctx: RunContext[Any], one: ChatModel, following: ChatModel, error: ModelError) -> ModelFallback:
    return ModelFallback(*ctx.head(), model=one.name, next=following.name, error=redact(error.message), code=error.code)


async def _attempts(
    model: ChatModel, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None
) -> ModelReply:
    request, is_written = understood(request, model.profile)
    number = 1
    while True:
        stopped = await ctx.guard.halted()
        if stopped is not None:
            raise ModelError(stopped.summary, code=HALTED, retryable=False)
        try:
            if is_written:  # pieces of a call that is written as words would be taken for an answer
                return as_calls(await model.request(request, ctx, None))
            hiding = None if on_delta is None else HidingPieces(on_delta)
            reply = await model.request(request, ctx, hiding)
            if hiding is not None:
                hiding.close()
            return reply
        except ModelError as raised:
            error = raised
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            error = ModelError(f"{model.name} was cancelled from within", retryable=True)
        wait = MODEL_RETRY.wait(number, error.retry_after)
        if not error.retryable or number >= MODEL_RETRY.max_attempts or ctx.clock() + wait > ctx.deadline:
            raise error
        if ctx.emit.wants(ModelRetry):
            ctx.emit(ModelRetry(*ctx.head(), error=error.message, code=error.code))
        await ctx.sleep(wait)
        ctx.attempt += 1
        number += 1
