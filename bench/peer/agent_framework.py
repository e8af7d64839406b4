"""agent-framework-core doing the same work; prints JSON. Run by `python -m bench`, in the peer's own environment:
`.venv-peer/bin/python -m bench.peer.agent_framework [NAME ...]` from the repository's root.

Two compositions of its public classes are measured. `lean` has what the work needs and nothing else: the bare agent and
a chat client with the function loop, without middleware, checks or telemetry. It is the peer's fastest, and the figure
in the table. `shipped` is what its users get: `Agent`, a client layered like its own clients (function loop,
middleware, telemetry), one function middleware that checks the two rules and one that listens.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from agent_framework import (
    Agent,
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

from bench.measure import Spread, cpu_each, cpu_of_code, spread

CONCURRENT = 1_000
Line = tuple[str, dict[str, int]] | str
ONE_CALL: tuple[Line, ...] = (("add", {"a": 1, "b": 2}), "3")


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
    given = context.arguments
    if given["a"] > 100 or given["b"] < 0:
        raise ValueError("a rule is broken")
    await call_next()


async def listen(context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
    """The listener of our side."""
    await call_next()


def lean(lines: Sequence[Line], seconds: float = 0.0) -> RawAgent:
    """The peer's fastest."""
    return RawAgent(LeanClient(lines, seconds), tools=[add])


def shipped(lines: Sequence[Line], seconds: float = 0.0) -> Agent:
    """What the peer's users get, with the same guards as ours."""
    return Agent(ShippedClient(lines, seconds), tools=[add], middleware=[check, listen])


async def _checked(agent: Any, answer: str, messages: int) -> None:
    response = await agent.run("add 1 and 2")
    if response.text != answer or len(response.messages) != messages:
        raise AssertionError(f"the peer answered {response.text!r} in {len(response.messages)} messages")


async def _cost(agent: Any, *, answer: str, messages: int, runs: int, warm_up: int) -> Spread:
    await _checked(agent, answer, messages)
    return await cpu_each(lambda: agent.run("add 1 and 2"), runs=runs, warm_up=warm_up)


def one_tool() -> dict[str, float]:
    """Milliseconds of CPU for a run with one tool call."""
    costs = {
        name: asyncio.run(_cost(made(ONE_CALL), answer="3", messages=3, runs=2_000, warm_up=200))
        for name, made in (("one_tool", lean), ("one_tool.shipped", shipped))
    }
    return {name: cost.median * 1e3 for name, cost in costs.items()}


def ten_rounds() -> dict[str, float]:
    """Milliseconds of CPU for a run of ten tool rounds."""
    lines = (*(("add", {"a": number, "b": 1}) for number in range(10)), "done")
    costs = {
        name: asyncio.run(_cost(made(lines), answer="done", messages=21, runs=400, warm_up=20))
        for name, made in (("ten_rounds", lean), ("ten_rounds.shipped", shipped))
    }
    return {name: cost.median * 1e3 for name, cost in costs.items()}


def concurrent() -> dict[str, float]:
    """Seconds until a thousand runs at once have ended, with requests of 10 ms."""

    async def wall() -> float:
        agent = lean(ONE_CALL, 0.01)
        await _checked(agent, "3", 3)
        waited = []
        for _ in range(5):
            began = time.perf_counter()
            await asyncio.gather(*(agent.run("add 1 and 2") for _ in range(CONCURRENT)))
            waited.append(time.perf_counter() - began)
        return spread(waited).median

    return {"concurrent": asyncio.run(wall())}


def import_cost() -> dict[str, float]:
    """Milliseconds of CPU that importing agent and tool adds to a bare interpreter."""
    return {"import": cpu_of_code("from agent_framework import Agent, tool").median * 1e3}


MEASURES: Mapping[str, Callable[[], dict[str, float]]] = {
    "import_cost": import_cost,
    "one_tool": one_tool,
    "ten_rounds": ten_rounds,
    "concurrent": concurrent,
}


def main(names: Sequence[str]) -> None:
    """Measure what is named, or everything, and print one JSON object on the last line."""
    logging.getLogger("agent_framework").setLevel(logging.ERROR)
    found: dict[str, float] = {}
    for name in names or MEASURES:
        found |= MEASURES[name]()
    print(json.dumps({"peer": f"agent-framework-core {version('agent-framework-core')}", "measured": found}))


if __name__ == "__main__":
    main(sys.argv[1:])
