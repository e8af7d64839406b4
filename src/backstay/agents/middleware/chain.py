"""`Middleware`: how a model request, a tool call or a run is done, as the same signature around itself.

It stands after the verdict: other arguments are validated and judged again, and nothing it does can loosen a verdict.
Source: SPEC G8, T3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from backstay.agents.result import RunResult
from backstay.agents.turn import Turn
from backstay.core.context import Next, RunContext
from backstay.core.messages import ModelReply, ModelRequest, ToolCall, ToolResult

ModelNext: TypeAlias = Next[ModelRequest, ModelReply]
ToolNext: TypeAlias = Next[ToolCall, ToolResult]
RunNext: TypeAlias = Next[Turn, RunResult[Any]]


class Middleware:
    """Override what you need; what is not overridden costs nothing."""

    holds_stream: ClassVar[bool] = False
    """True: pieces of a reply wait until `model` has returned, and are those of what it returns."""

    async def model(self, request: ModelRequest, ctx: RunContext[Any], next: ModelNext) -> ModelReply:
        """Around one model request, retries inside."""
        return await next(request, ctx)

    async def tool(self, call: ToolCall, ctx: RunContext[Any], next: ToolNext) -> ToolResult:
        """Around one allowed tool call: answer in its place, or pass on other arguments."""
        return await next(call, ctx)

    async def run(self, turn: Turn, ctx: RunContext[Any], next: RunNext) -> RunResult[Any]:
        """Around one `Agent.run`, before its input is journalled: another input, another result, or one in its place.

        The run has no id yet, and one that is resumed later does not pass through here again; `ctx.emit` is where its
        events go.
        """
        return await next(turn, ctx)


Around: TypeAlias = "Callable[[Any, RunContext[Any], Next[Any, Any]], Awaitable[Any]]"


class Chains:
    """The middleware of an agent, compiled per kind; None where nobody overrides the kind."""

    def __init__(self, middleware: Sequence[Middleware]) -> None:
        self.model = _chain([one.model for one in middleware if type(one).model is not Middleware.model])
        self.tool = _chain([one.tool for one in middleware if type(one).tool is not Middleware.tool])
        self.run = _chain([one.run for one in middleware if type(one).run is not Middleware.run])
        self.holds_stream = any(one.holds_stream for one in middleware)


def _chain(links: Sequence[Around]) -> Around | None:
    """One function out of several: the first is outermost."""
    if not links:
        return None
    if len(links) == 1:
        return links[0]
    first, rest = links[0], _chain(links[1:])
    assert rest is not None

    async def around(value: Any, ctx: RunContext[Any], end: Next[Any, Any]) -> Any:
        async def further(value: Any, ctx: RunContext[Any], /) -> Any:
            return await rest(value, ctx, end)

        return await first(value, ctx, further)

    return around
