"""The same run in a SQLite file, with a tool that writes and with traces."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path

from backstay import Agent
from backstay.models.scripted import ScriptedModel
from backstay.store.sqlite import SQLiteStore
from bench.measure import cpu_each
from bench.scenarios.work import ONE_CALL, checked, guarded
from bench.table import Row

RUNS = 500


def sqlite() -> list[Row]:
    """CPU of a run and the durable transactions it takes."""
    with tempfile.TemporaryDirectory(prefix="backstay-bench-") as folder:
        return asyncio.run(_sqlite(Path(folder) / "bench.db"))


async def _sqlite(path: Path) -> list[Row]:
    store = SQLiteStore(path)
    agent = guarded(ScriptedModel(*ONE_CALL), risk="write")
    close = _traced(agent, store)
    await checked(agent, steps=2, store=store)
    before = store.transactions
    cost = await cpu_each(lambda: agent.run("add 1 and 2", store=store), runs=RUNS, warm_up=50)
    transactions = (store.transactions - before) / (RUNS + 50)
    if close is not None:
        await close()
    traced = len(await store.traces()) > 0
    await store.close()
    return [
        Row(
            scenario="sqlite",
            what="a run with one write, journal and traces, CPU",
            unit="ms",
            budget=2,
            note="" if traced else "without traces: backstay.trace wrote none",
            **cost.times(1e3).as_dict(),
        ),
        Row(
            scenario="sqlite",
            what="durable transactions of that run",
            measured=transactions,
            budget=5,
            note="counted by the store's writer; traces are written in transactions of their own that are not fsynced",
        ),
    ]


def _traced(agent: Agent, store: SQLiteStore) -> Callable[[], Awaitable[None]] | None:
    """Let the agent's runs be recorded, if there is a recorder; returns what closes it."""
    try:
        recorder = import_module("backstay.trace").Recorder(store)
        recorder.attach(agent._emitter)
    except (ImportError, AttributeError):
        return None
    close: Callable[[], Awaitable[None]] = recorder.close
    return close
