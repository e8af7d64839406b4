"""The calls of one step: eight at once, those that must not after them, results in the order of the calls. T14."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backstay import Agent, tool
from backstay.models import ScriptedModel, call


class _Seats:
    """Tools that note when they begin and end, and how many are at work at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.order: list[str] = []

    async def sit(self, name: str) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        self.order.append(f"+{name}")
        for _ in range(20):  # long enough for whoever may sit beside it to come
            await asyncio.sleep(0)
        self.order.append(f"-{name}")
        self.now -= 1

    def tools(self) -> list[Any]:
        seats = self

        @tool(risk="read")
        async def look(number: int) -> int:
            """Look. Use it when asked."""
            await seats.sit(f"look {number}")
            return number

        @tool(risk="read", sequential=True)
        async def step(number: int) -> int:
            """Step. Use it when asked."""
            await seats.sit(f"step {number}")
            return number

        return [look, step]


async def test_no_more_than_eight_calls_of_a_step_run_at_once() -> None:
    seats = _Seats()
    agent = Agent(ScriptedModel([call("look", number=n) for n in range(20)], "ok"), tools=seats.tools())
    result = await agent.run("look twenty times")
    assert seats.most == 8
    assert [one.result.data for one in result.new_messages[2].returns] == list(range(20))


@pytest.mark.parametrize("limit", [1, 3])
async def test_the_limit_is_the_agents(limit: int) -> None:
    seats = _Seats()
    lines = [[call("look", number=n) for n in range(6)], "ok"]
    await Agent(ScriptedModel(*lines), tools=seats.tools(), concurrency=limit).run("look six times")
    assert seats.most == limit


async def test_sequential_calls_run_in_order_one_at_a_time_and_after_the_others() -> None:
    seats = _Seats()
    line = [
        call("step", number=1), call("look", number=1), call("step", number=2), call("look", number=2),
        call("step", number=3),
    ]  # fmt: skip
    result = await Agent(ScriptedModel(line, "ok"), tools=seats.tools()).run("go")
    assert seats.most == 2, "the two looks; no step beside anything"
    assert set(seats.order[:4]) == {"+look 1", "-look 1", "+look 2", "-look 2"}
    assert seats.order[4:] == ["+step 1", "-step 1", "+step 2", "-step 2", "+step 3", "-step 3"]
    assert [(one.name, one.result.data) for one in result.new_messages[2].returns] == [
        ("step", 1), ("look", 1), ("step", 2), ("look", 2), ("step", 3),
    ]  # fmt: skip


async def test_equal_calls_beside_each_other_run_at_once_too() -> None:
    seats = _Seats()
    await Agent(ScriptedModel([call("look", number=1)] * 5, "ok"), tools=seats.tools()).run("go")
    assert seats.most == 5
