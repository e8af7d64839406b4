"""Many runs in one process: beside each other, and one after the other without end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

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
    walls, cpus = zip(*[await _cost(agent) for _ in range(5)], strict=True)
    return Row(
        scenario="concurrent",
        what=f"{CONCURRENT:,} runs at once (one call, two requests of 10 ms), wall",
        unit="s",
        budget=1.5,
        peer_key="concurrent",
        note=f"{spread(cpus).median:.3g} s of CPU; the rest is waiting, for the model and for the processor",
        **spread(walls).as_dict(),
    )


async def _cost(agent: Agent) -> tuple[float, float]:
    """Seconds of wall and of CPU until all have ended."""
    wall, cpu = time.perf_counter(), time.process_time()
    results = await asyncio.gather(*(agent.run("add 1 and 2") for _ in range(CONCURRENT)))
    cost = time.perf_counter() - wall, time.process_time() - cpu
    assert all(result.status == "done" for result in results)
    return cost


def flat() -> list[Row]:
    """Memory, tasks and listeners after ten thousand runs more."""
    return asyncio.run(_flat())


async def _flat() -> list[Row]:
    agent = guarded(ScriptedModel(*ONE_CALL))
    await _repeat(agent, WARM_UP, _turn)
    tasks, listeners = len(asyncio.all_tasks()), _listeners(agent)
    return [
        await _growth(agent, "", _turn),
        await _growth(agent, " that never wait", _no_turn),
        Row(scenario="flat", what="tasks gained", measured=len(asyncio.all_tasks()) - tasks, budget=0),
        Row(scenario="flat", what="listeners gained", measured=_listeners(agent) - listeners, budget=0),
    ]


async def _growth(agent: Agent, which: str, between: Callable[[], Awaitable[None]]) -> Row:
    before = rss_mib()
    await _repeat(agent, RUNS // 2, between)
    half = rss_mib() - before
    await _repeat(agent, RUNS // 2, between)
    return Row(
        scenario="flat",
        what=f"resident memory gained by {RUNS:,} runs{which}",
        measured=max(0.0, round(rss_mib() - before, 2)),
        unit="MiB",
        budget=2,
        note=f"{half:+.2f} MiB after half of them; {before:.0f} MiB before",
    )


async def _repeat(agent: Agent, runs: int, between: Callable[[], Awaitable[None]]) -> None:
    for _ in range(runs):
        await agent.run("add 1 and 2")
        await between()


async def _turn() -> None:
    """Let the event loop throw away what was cancelled, as every real model does while it is waited for."""
    await asyncio.sleep(0)


async def _no_turn() -> None:
    """A scripted run on the memory store never waits: cancelled timers stay until the loop gets a turn."""


def _listeners(agent: Agent) -> int:
    """Subscriptions and pipes of the agent's emitter and of the process's."""
    emitters: tuple[Emitter, ...] = (agent._emitter, events)
    return sum(len(one._subscriptions) + len(one._nested) for one in emitters)
