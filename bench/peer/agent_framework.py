"""agent-framework-core doing the same work; prints JSON. Run by `python -m bench`, in the peer's own environment:
`.venv-peer-agent-framework/bin/python -m bench.peer.agent_framework [NAME ...]` from the repository's root.

`lean` is the bare agent and a chat client with the function loop, without middleware, checks or telemetry. `shipped` is
what its users get, guarded: `Agent`, a client layered like its own clients (function loop, middleware, telemetry), one
function middleware that checks the two rules and one that listens.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentResponse,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    Message,
    RawAgent,
    tool,
)
from agent_framework.observability import ChatTelemetryLayer

from bench.peer.work import PROMPT, Framework, Line, Once, Outcome, is_forbidden, main


@tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


class _Scripted(BaseChatClient):
    """Says its lines in order, one a step. Stateless: the step is read off the request, as a real model would."""

    def __init__(self, lines: Sequence[Line], seconds: float = 0.0) -> None:
        super().__init__()
        self._lines = lines
        self._seconds = seconds

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> ChatResponse:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        step = (len(messages) - 1) // 2
        line = self._lines[step]
        said = line if isinstance(line, str) else Content.from_function_call(f"call-{step}", line[0], arguments=line[1])
        return ChatResponse(messages=[Message("assistant", [said])])


class LeanClient(FunctionInvocationLayer, _Scripted):
    """The function loop over the script."""

    def __init__(self, lines: Sequence[Line], seconds: float = 0.0) -> None:
        super().__init__(lines=lines, seconds=seconds)


class ShippedClient(FunctionInvocationLayer, ChatMiddlewareLayer, ChatTelemetryLayer, _Scripted):
    """The layers of the peer's own clients, over the script."""

    def __init__(self, lines: Sequence[Line], seconds: float = 0.0) -> None:
        super().__init__(lines=lines, seconds=seconds)


async def check(context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
    """The two rules of our side."""
    if is_forbidden(context.arguments):
        raise ValueError("a rule is broken")
    await call_next()


async def listen(context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
    """The listener of our side."""
    await call_next()


def lean(lines: Sequence[Line], seconds: float) -> Once:
    """The peer's fastest."""
    agent = RawAgent(LeanClient(lines, seconds), tools=[add])
    return lambda: agent.run(PROMPT)


def shipped(lines: Sequence[Line], seconds: float) -> Once:
    """What the peer's users get, with the same guards as ours."""
    agent = Agent(ShippedClient(lines, seconds), tools=[add], middleware=[check, listen])
    return lambda: agent.run(PROMPT)


def outcome(response: AgentResponse) -> Outcome:
    """Read a run off its response."""
    contents = [content for message in response.messages for content in message.contents]
    returned = [str(content.result) for content in contents if content.type == "function_result"]
    return Outcome(answer=response.text, messages=len(response.messages), returned=tuple(returned))


PEER = Framework(
    packages=("agent-framework-core",),
    front="from agent_framework import Agent, tool",
    lean=lean,
    guarded=shipped,
    outcome=outcome,
)

if __name__ == "__main__":
    logging.getLogger("agent_framework").setLevel(logging.ERROR)
    main(PEER, sys.argv[1:])
