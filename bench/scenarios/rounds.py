"""Many tool rounds in one run: the cost of a round must not grow with those before it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bench.measure import Spread, cpu_each, cpu_side_by_side
from bench.scenarios.work import checked, rounds
from bench.table import Row


def ten_rounds() -> list[Row]:
    """Ten rounds in one run."""
    cost = asyncio.run(_ten())
    return [
        Row(
            scenario="ten_rounds",
            what="a run of 10 tool rounds, CPU",
            unit="ms",
            budget=1.5,
            peer_key="ten_rounds",
            **cost.times(1e3).as_dict(),
        )
    ]


async def _ten() -> Spread:
    return await cpu_each(await _run_of(10), runs=400, warm_up=20)


def eighty_rounds() -> list[Row]:
    """Eighty rounds in one run, and a round of them beside a round of ten in the same process."""
    costs = asyncio.run(_both())
    ten, eighty = costs["ten"], costs["eighty"]
    return [
        Row(
            scenario="eighty_rounds",
            what="a run of 80 tool rounds, CPU",
            unit="ms",
            **eighty.times(1e3).as_dict(),
        ),
        Row(
            scenario="eighty_rounds",
            what="a round of 80 ÷ a round of 10",
            measured=(eighty.median / 80) / (ten.median / 10),
            unit="×",
            budget=1.3,
        ),
    ]


async def _both() -> dict[str, Spread]:
    return await cpu_side_by_side({"ten": (await _run_of(10), 40), "eighty": (await _run_of(80), 5)}, repeats=15)


async def _run_of(count: int) -> Callable[[], Awaitable[object]]:
    agent = rounds(count)
    await checked(agent, steps=count + 1)
    return lambda: agent.run("count")
