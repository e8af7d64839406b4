"""What only the store of a process does: it forgets runs that had no session, and stays flat."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from backstay.core.errors import NotFoundError
from backstay.store.memory import MemoryStore
from backstay.store.memory.tables import KEPT

Started = Callable[..., Any]


@pytest.fixture
def memory(clock: Any) -> MemoryStore:
    return MemoryStore(clock=clock)


async def whole_run(store: MemoryStore, make: Any, n: int) -> None:
    run = make.run(f"r-{n}", None)
    _, fence = await store.create(run, make.input(run), claim=("w", 30.0), dedup=f"d-{n}")
    assert fence is not None
    await store.append(fence, [make.record(run, 2)])
    await store.begin_effect(fence, f"r-{n}:1", "once", "d", 1, (), make.audit(run.run_id))
    await store.append(fence, [make.record(run, 3, "results", make.results())])
    await store.put_spans([make.span(run)])
    await store.release(fence, run.run_id, "done", [make.status(run, 4)])


async def test_the_newest_runs_without_a_session_stay_readable_and_older_ones_go(
    memory: MemoryStore, make: Any
) -> None:
    for n in range(KEPT + 2):
        await whole_run(memory, make, n)
    assert len(await memory.read(f"r-{KEPT + 1}")) == 4
    assert len(await memory.audit("r-2")) == 1
    assert (await memory.run("r-2")).status == "done"
    for gone in ("r-0", "r-1"):
        assert await memory.read(gone) == []
        assert await memory.audit(gone) == []
        with pytest.raises(NotFoundError):
            await memory.run(gone)


async def test_ten_thousand_runs_leave_memory_flat(memory: MemoryStore, make: Any) -> None:
    for n in range(600):
        await whole_run(memory, make, n)
    tracemalloc.start()
    for n in range(600, 1_600):
        await whole_run(memory, make, n)
    grown, _ = tracemalloc.get_traced_memory()
    for n in range(1_600, 10_000):
        await whole_run(memory, make, n)
    later, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert later - grown < 200_000


async def test_a_run_with_something_to_decide_is_kept_until_it_was_decided(
    memory: MemoryStore, make: Any, started: Started
) -> None:
    run, fence = await started(memory, "r-a", None)
    await memory.append(fence, [], pending=[make.action(run)])
    await memory.release(fence, "r-a", "waiting", [])
    stopped, fence = await started(memory, "r-b", None)
    await memory.append(fence, [], pending=[make.action(stopped, "a-2")])
    await memory.release(fence, "r-b", "stopped", [])
    for n in range(KEPT + 10):
        await whole_run(memory, make, n)
    assert [one.id for one in await memory.pending()] == ["a-1", "a-2"]
    await memory.decide("a-1", 1, make.decision(), make.audit())
    assert await memory.due(1_000.0, 5) == ["r-a"]


async def test_a_session_with_a_name_is_kept(memory: MemoryStore, make: Any, started: Started) -> None:
    _, fence = await started(memory, "r-a", "ann")
    await memory.release(fence, "r-a", "done", [])
    for n in range(KEPT + 10):
        await whole_run(memory, make, n)
    assert len(await memory.load("ann")) == 1


async def test_a_finished_run_that_somebody_goes_on_with_is_kept(memory: MemoryStore, make: Any) -> None:
    await whole_run(memory, make, 0)
    again = make.run("again", "r-0")
    _, fence = await memory.create(again, make.input(again), claim=("w", 30.0))
    assert fence is not None
    await memory.release(fence, "again", "done", [])
    for n in range(1, KEPT + 10):
        await whole_run(memory, make, n)
    assert len(await memory.load("r-0")) == 5


async def test_a_record_costs_a_few_microseconds(memory: MemoryStore, make: Any, started: Started) -> None:
    run, fence = await started(memory)
    records = [make.record(run, seq) for seq in range(2, 4_002)]
    start = time.process_time()
    for record in records:
        await memory.append(fence, [record])
    each = (time.process_time() - start) / len(records)
    assert each < 20e-6, "four times the 5 µs of the budget, for machines that share their cores"
