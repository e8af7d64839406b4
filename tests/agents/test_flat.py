"""Runs leave nothing behind: no listener, no task, no memory, whichever way they end; and `run_sync` in a notebook."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from backstay import Agent, events
from backstay.agents.drive import live
from backstay.agents.lease import pulse
from backstay.core.errors import SetupError
from backstay.models import FunctionModel, ScriptedModel, call
from desk import Desk

RUNS = 300
WARM_UP = 280
"""More than a memory store keeps of runs that have ended."""


def left(agent: Agent[Any]) -> dict[str, int]:
    """What could be left behind by runs."""
    return {
        "tasks": len(asyncio.all_tasks()),
        "listeners": len(events._subscriptions) + len(agent._emitter._subscriptions) + len(agent._emitter._nested),
        "live": len(live.stops),
        "leases": sum(map(len, pulse._leases.values())),
        "threads": threading.active_count(),
    }


async def plain(agent: Agent[Any]) -> None:
    await agent.run("go", on=lambda event: None)


async def streamed(agent: Agent[Any]) -> None:
    async with agent.run_stream("go") as stream:
        async for _ in stream:
            pass
        await stream.result()


async def abandoned(agent: Agent[Any]) -> None:
    async with agent.run_stream("go") as stream:
        async for _ in stream:
            break


async def cancelled(agent: Agent[Any]) -> None:
    task = asyncio.ensure_future(agent.run("go"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("way", [plain, streamed, abandoned, cancelled])
async def test_three_hundred_runs_leave_nothing_behind(way: Any) -> None:
    agent = Desk().agent(call("find_order", order_id="1001"), "It is lost.")
    for _ in range(WARM_UP):
        await way(agent)
    gc.collect()
    before, objects = left(agent), len(gc.get_objects())
    for _ in range(RUNS):
        await way(agent)
    gc.collect()
    assert left(agent) == before
    gained = len(gc.get_objects()) - objects
    assert gained < RUNS, f"{gained} objects more"  # one that each run left would be as many


async def test_a_listener_of_a_run_is_gone_with_its_run() -> None:
    agent, heard = Agent(ScriptedModel("hi")), list[str]()
    await agent.run("one", on=lambda event: heard.append(event.name))
    count = len(heard)
    await agent.run("two")
    assert count > 0
    assert len(heard) == count


async def test_a_listener_that_is_wanted_once_hears_one_event_of_many_runs() -> None:
    agent, heard = Agent(ScriptedModel("hi")), list[str]()
    agent.on("run.finish", lambda event: heard.append(event.run_id), once=True)
    for _ in range(3):
        await agent.run("go")
    assert len(heard) == 1
    assert agent._emitter._subscriptions == []


async def test_run_sync_says_where_it_cannot() -> None:
    with pytest.raises(SetupError, match="await agent") as raised:
        Agent(ScriptedModel("hi")).run_sync("go")
    assert raised.value.code == "run.sync"


async def test_run_sync_works_inside_the_loop_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    here = threading.get_ident()
    seen: list[int] = []
    agent = Agent(FunctionModel(lambda _r, _c: str(seen.append(threading.get_ident()) or "hi")))
    assert agent.run_sync("go").output == "hi"
    assert seen
    assert here not in seen
    with pytest.raises(SetupError, match="empty"):
        agent.run_sync("")


def test_run_sync_works_from_threads() -> None:
    agent, said = Agent(ScriptedModel("hi")), list[str | None]()
    threads = [threading.Thread(target=lambda: said.append(agent.run_sync("go").output)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == ["hi"] * 8
