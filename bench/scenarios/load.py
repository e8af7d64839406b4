"""Many runs in one process: beside each other, and one after the other without end."""

from __future__ import annotations

import asyncio
import time

from backstay import Agent, events
from backstay.core.events import Emitter
from backstay.models.scripted import FunctionModel, ScriptedModel
from bench.measure import rss_mib, spread
from bench.scenarios.work import ONE_CALL, checked, guarded
from bench.table import Row

CONCURRENT = 1_000
WARM_UP = 1_000
RUNS = 10_000


def concurrent() -> list[Row]:
    """A thousand runs at once, each with one tool call and two requests of 10 ms."""
    return [asyncio.run(_concurrent())]


async def _concurrent() -> Row:
    async def slow(_request: object, ctx: object) -> object:
        await asyncio.sleep(0.01)
        return ONE_CALL[ctx.step - 1]  # type: ignore[attr-defined]  # a RunContext

    agent = guarded(FunctionModel(slow))
    await checked(agent, steps=2)
    waited = spread([await _wall(agent) for _ in range(5)])
    return Row(
        scenario="concurrent",
        what=f"{CONCURRENT:,} runs at once (one call, two requests of 10 ms), wall",
        unit="s",
        budget=1.5,
        peer_key="concurrent",
        **waited.as_dict(),
    )


async def _wall(agent: Agent) -> float:
    began = time.perf_counter()
    results = await asyncio.gather(*(agent.run("add 1 and 2") for _ in range(CONCURRENT)))
    waited = time.perf_counter() - began
    assert all(result.status == "done" for result in results)
    return waited


def flat() -> list[Row]:
    """Memory, tasks and listeners after ten thousand runs more."""
    return asyncio.run(_flat())


async def _flat() -> list[Row]:
    agent = guarded(ScriptedModel(*ONE_CALL))
    await _repeat(agent, WARM_UP)
    rss, tasks, listeners = rss_mib(), len(asyncio.all_tasks()), _listeners(agent)
    half = await _growth(agent, RUNS // 2, rss)
    whole = await _growth(agent, RUNS // 2, rss)
    return [
        Row(
            scenario="flat",
            what=f"resident memory gained by {RUNS:,} runs",
            measured=max(0.0, round(whole, 2)),
            unit="MiB",
            budget=2,
            note=f"{half:+.2f} MiB after half of them; {rss:.0f} MiB before",
        ),
        Row(scenario="flat", what="tasks gained", measured=len(asyncio.all_tasks()) - tasks, budget=0),
        Row(scenario="flat", what="listeners gained", measured=_listeners(agent) - listeners, budget=0),
    ]


async def _growth(agent: Agent, runs: int, since: float) -> float:
    await _repeat(agent, runs)
    return rss_mib() - since


async def _repeat(agent: Agent, runs: int) -> None:
    for _ in range(runs):
        await agent.run("add 1 and 2")


def _listeners(agent: Agent) -> int:
    """Subscriptions and pipes of the agent's emitter and of the process's."""
    emitters: tuple[Emitter, ...] = (agent._emitter, events)
    return sum(len(one._subscriptions) + len(one._nested) for one in emitters)
