"""The one owner of model retries: a request goes out, its pieces become events, a whole reply comes back.

Source: SPEC L3, L5; DESIGN 2.4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from backstay.agents.middleware import Chains
from backstay.core.context import RunContext
from backstay.core.errors import ModelError
from backstay.core.events import ModelDelta, ModelFailed, ModelRetry, ModelStart
from backstay.core.messages import Delta, ModelReply, ModelRequest
from backstay.core.retry import MODEL_RETRY
from backstay.models.model import ChatModel


async def ask(model: ChatModel, chains: Chains, request: ModelRequest, ctx: RunContext[Any]) -> ModelReply:
    """Return the model's whole reply.

    Raises:
        ModelError: after the last attempt, or at once for what asking again cannot mend.
    """
    if ctx.emit.wants(ModelStart):
        ctx.emit(ModelStart(*ctx.head(), request=request, model=model.name))

    async def rest(request: ModelRequest, ctx: RunContext[Any], /) -> ModelReply:
        return await _attempts(model, request, ctx, _listener(chains, ctx))

    try:
        if chains.model is None:
            return await rest(request, ctx)
        reply: ModelReply = await chains.model(request, ctx, rest)
        return reply
    except ModelError as error:
        if ctx.emit.wants(ModelFailed):
            ctx.emit(ModelFailed(*ctx.head(), error=error.message, code=error.code))
        raise


def _listener(chains: Chains, ctx: RunContext[Any]) -> Callable[[Delta], None] | None:
    """Where pieces go: nowhere if nobody listens, or if a middleware wants to see the whole reply first."""
    if chains.holds_stream or not ctx.emit.wants(ModelDelta):
        return None

    def on_delta(delta: Delta) -> None:
        ctx.emit(ModelDelta(*ctx.head(), delta=delta))

    return on_delta


async def _attempts(
    model: ChatModel, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None
) -> ModelReply:
    ctx.attempt = 1
    while True:
        try:
            return await model.request(request, ctx, on_delta)
        except ModelError as raised:
            error = raised
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            error = ModelError(f"{model.name} was cancelled from within", retryable=True)
        wait = MODEL_RETRY.wait(ctx.attempt, error.retry_after)
        if not error.retryable or ctx.attempt >= MODEL_RETRY.max_attempts or ctx.clock() + wait > ctx.deadline:
            raise error
        if ctx.emit.wants(ModelRetry):
            ctx.emit(ModelRetry(*ctx.head(), error=error.message, code=error.code))
        await ctx.sleep(wait)
        ctx.attempt += 1
