"""pydantic-ai doing the same work; prints JSON. Run by `python -m bench`, in the peer's own environment:
`.venv-peer-pydantic-ai/bin/python -m bench.peer.pydantic_ai [NAME ...]` from the repository's root.

Nothing is instrumented unless a user asks for it, so `lean` is `Agent` over `FunctionModel` as it is. `guarded` adds
hooks: one that checks the two rules, and one at each border of run, request and call that listens. Its listeners to
events (`agent.on_event`) are left out: they make every request a streamed one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, AgentRunResult, ModelRetry
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from bench.peer.work import PROMPT, Framework, Line, Once, Outcome, is_forbidden, main


async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def scripted(lines: Sequence[Line], seconds: float) -> FunctionModel:
    """Says its lines in order, one a step. Stateless: the step is read off the request, as a real model would."""

    async def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if seconds:
            await asyncio.sleep(seconds)
        step = (len(messages) - 1) // 2
        line = lines[step]
        said = TextPart(line) if isinstance(line, str) else ToolCallPart(line[0], line[1], tool_call_id=f"call-{step}")
        return ModelResponse([said], usage=USED)

    return FunctionModel(reply)


USED = RequestUsage(input_tokens=10, output_tokens=10)
"""Told, because the model would otherwise estimate it from the whole history."""


def hooks() -> Hooks[None]:
    """The two rules and the listener of our side."""
    made: Hooks[None] = Hooks()

    @made.on.before_tool_execute
    async def check(ctx: Any, /, *, call: Any, tool_def: Any, args: Any) -> Any:
        if is_forbidden(args):
            raise ModelRetry("a rule is broken")
        return args

    @made.on.after_tool_execute
    async def called(ctx: Any, /, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        return result

    @made.on.before_model_request
    async def asking(ctx: Any, request_context: Any, /) -> Any:
        return request_context

    @made.on.after_model_request
    async def asked(ctx: Any, /, *, request_context: Any, response: Any) -> Any:
        return response

    @made.on.before_run
    async def begun(ctx: Any, /) -> None: ...

    @made.on.after_run
    async def ended(ctx: Any, /, *, result: Any) -> Any:
        return result

    return made


def lean(lines: Sequence[Line], seconds: float) -> Once:
    """The peer's fastest."""
    agent = Agent(scripted(lines, seconds), tools=[add])
    return lambda: agent.run(PROMPT)


def guarded(lines: Sequence[Line], seconds: float) -> Once:
    """With hooks that check and listen."""
    agent = Agent(scripted(lines, seconds), tools=[add], capabilities=[hooks()])
    return lambda: agent.run(PROMPT)


def outcome(result: AgentRunResult[str]) -> Outcome:
    """Read a run off its result."""
    messages = result.new_messages()[1:]
    returned = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return Outcome(answer=result.output, messages=len(messages), returned=tuple(str(value) for value in returned))


PEER = Framework(
    packages=("pydantic-ai-slim",),
    front="from pydantic_ai import Agent, Tool",
    lean=lean,
    guarded=guarded,
    outcome=outcome,
)

if __name__ == "__main__":
    main(PEER, sys.argv[1:])
