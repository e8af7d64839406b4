"""One run with one async tool call, and the same by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bench.measure import cpu_each
from bench.table import Row

RUNS = 2_000


def one_tool() -> list[Row]:
    """Boundary with two rules, one listener, memory store."""
    from backstay.models.scripted import ScriptedModel
    from bench.scenarios.work import ONE_CALL, checked, guarded

    async def measure() -> Row:
        agent = guarded(ScriptedModel(*ONE_CALL))
        await checked(agent, steps=2)
        cost = await cpu_each(lambda: agent.run("add 1 and 2"), runs=RUNS)
        return Row(
            scenario="one_tool",
            what="a run with one tool call, CPU",
            unit="ms",
            budget=0.25,
            peer_key="one_tool",
            **cost.times(1e3).as_dict(),
        )

    return [asyncio.run(measure())]


def bare() -> list[Row]:
    """The floor: a loop as one writes it by hand, without a boundary, a journal or events."""

    async def measure() -> Row:
        cost = await cpu_each(lambda: _by_hand("add 1 and 2", _Script(), {"add": _add}), runs=20_000)
        return Row(scenario="bare", what="the same by hand, CPU", unit="ms", **cost.times(1e3).as_dict())

    return [asyncio.run(measure())]


class _Script:
    """A model of two lines."""

    def __init__(self) -> None:
        self._step = 0

    async def request(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        self._step += 1
        if self._step == 1:
            return {"role": "assistant", "calls": [{"id": "1", "name": "add", "arguments": '{"a": 1, "b": 2}'}]}
        return {"role": "assistant", "content": messages[-1]["content"], "calls": []}


async def _add(a: int, b: int) -> int:
    return a + b


async def _by_hand(text: str, model: _Script, tools: Mapping[str, Callable[..., Awaitable[Any]]]) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": text}]
    while True:
        reply = await model.request(messages)
        messages.append(reply)
        if not reply["calls"]:
            return str(reply["content"])
        for one in reply["calls"]:
            result = await tools[one["name"]](**json.loads(one["arguments"]))
            messages.append({"role": "tool", "call_id": one["id"], "content": json.dumps(result)})
