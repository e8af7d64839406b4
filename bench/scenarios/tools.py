"""One call of a tool by itself, and a hundred and fifty tools that are never called."""

from __future__ import annotations

import asyncio
from typing import Any

from backstay import Agent, Boundary, Limits, RunContext, Tool, tool
from backstay.models.scripted import ScriptedModel, call
from bench.measure import Spread, cpu_each, cpu_side_by_side
from bench.scenarios.work import ONE_CALL, RULES, add_tool, checked
from bench.table import Row

CALLS = 10_000
MANY = 150


def tool_call() -> list[Row]:
    """`tool.run` inside a run: validated, judged by two rules, bounded in time, heard by one listener, no cache."""
    return [asyncio.run(_tool_call())]


async def _tool_call() -> Row:
    found: dict[str, Spread] = {}
    add = add_tool()

    @tool(risk="read", timeout=600.0)
    async def many(ctx: RunContext[Any]) -> str:
        """Call the other tool many times."""
        args = {"a": 1, "b": 2}
        assert (await add.run(args, ctx)).data == 3
        found["run"] = await cpu_each(lambda: add.run(args, ctx), runs=CALLS)
        found["function"] = await cpu_each(lambda: add(1, 2), runs=CALLS)  # type: ignore[operator]  # a FunctionTool
        return "done"

    limits = Limits(calls=100 * CALLS, seconds=600, tokens=10_000_000)
    agent = Agent(
        ScriptedModel(call("many"), "done"), tools=[many, add], boundary=Boundary(constraints=RULES, limits=limits)
    )
    agent.on("*", lambda event: None)
    await checked(agent, steps=2)
    cost = _above(found["run"], found["function"].median)
    return Row(
        scenario="tool_call",
        what="one tool.run above its function, CPU",
        unit="µs",
        budget=60,
        **cost.times(1e6).as_dict(),
    )


def _above(cost: Spread, floor: float) -> Spread:
    return Spread(median=cost.median - floor, lowest=cost.lowest - floor, highest=cost.highest - floor)


def many_tools() -> list[Row]:
    """The same one-tool run with one tool and with 150, side by side."""
    return [asyncio.run(_many_tools())]


async def _many_tools() -> Row:
    one = _agent([add_tool()])
    more = _agent([add_tool(), *(_other(number) for number in range(MANY - 1))])
    for agent in (one, more):
        await checked(agent, steps=2)
    found = await cpu_side_by_side(
        {"one": (lambda: one.run("add 1 and 2"), 200), "more": (lambda: more.run("add 1 and 2"), 200)}
    )
    ratio = found["more"].median / found["one"].median
    return Row(
        scenario="many_tools",
        what=f"a run among {MANY} tools, against one of 1",
        unit="×",
        budget=1.1,
        measured=ratio,
        lowest=found["more"].lowest / found["one"].lowest,
        highest=found["more"].highest / found["one"].highest,
        note=f"{found['one'].median * 1e3:.3f} and {found['more'].median * 1e3:.3f} ms CPU",
    )


def _agent(tools: list[Tool]) -> Agent:
    agent = Agent(ScriptedModel(*ONE_CALL), tools=tools, boundary=Boundary(constraints=RULES))
    agent.on("*", lambda event: None)
    return agent


def _other(number: int) -> Tool:
    async def look(order_id: str, days: int = 30, sort: str = "newest") -> list[str]:
        """Look something up. Use it when the user asks for it.

        Args:
            order_id: the order's number
            days: how far back to look, in days
            sort: which come first
        """
        return []

    return tool(risk="read", name=f"look_{number}")(look)
