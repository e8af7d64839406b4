"""Many tool rounds in one run: the cost of a round must not grow with those before it."""

from __future__ import annotations

import asyncio

from bench.measure import Spread, cpu_each
from bench.scenarios.work import checked, rounds
from bench.table import Row


def ten_rounds() -> list[Row]:
    """Ten rounds in one run."""
    cost = asyncio.run(_cost(10, runs=400))
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


def eighty_rounds() -> list[Row]:
    """Eighty rounds in one run, and a round of them beside a round of ten in the same process."""
    ten, eighty = asyncio.run(_both())
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


async def _both() -> tuple[Spread, Spread]:
    return await _cost(10, runs=400), await _cost(80, runs=60)


async def _cost(count: int, *, runs: int) -> Spread:
    agent = rounds(count)
    await checked(agent, steps=count + 1)
    return await cpu_each(lambda: agent.run("count"), runs=runs, warm_up=max(5, 200 // count))
