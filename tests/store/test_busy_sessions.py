"""What every store does with an input for a session that is at work: it waits, enters, goes ahead, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backstay.core.context import Principal
from backstay.core.errors import FencedError, NotFoundError, StoreError
from backstay.store.protocol import RunStore
from backstay.store.records import Fence, Input, Record, Status
from backstay.store.sqlite import SQLiteStore

Started = Callable[..., Any]
BOB = Principal(id="bob", tenant="acme", kind="customer")
OZ = Principal(id="oz", tenant="acme", kind="operator")


async def bring(store: RunStore, make: Any, run_id: str, on_busy: Any, **more: Any) -> Any:
    """Another input for session s-1, and where it went."""
    dedup = more.pop("dedup", None)
    run = make.run(run_id, **more)
    return await store.create(run, make.input(run, run_id), claim=("w2", 30.0), dedup=dedup, on_busy=on_busy)


async def texts(store: RunStore) -> list[tuple[str, str]]:
    """Run and words of every input of the session that has a place."""
    return [(one.run_id, one.body.message.text) for one in await store.read("s-1") if isinstance(one.body, Input)]


def words(record: Record | None) -> str:
    """What an input says."""
    assert record is not None
    assert isinstance(record.body, Input)
    return record.body.message.text


async def test_where_nobody_is_at_work_every_way_is_the_same(store: RunStore, make: Any) -> None:
    for n, way in enumerate(("queue", "steer", "reject", "interrupt"), 1):
        row, fence = await bring(store, make, f"r-{n}", way)
        assert (row.run_id, row.status) == (f"r-{n}", "running")
        await store.release(fence, row.run_id, "done", [])
    assert [run_id for run_id, _ in await texts(store)] == ["r-1", "r-2", "r-3", "r-4"]


async def test_reject_names_the_run_at_work_and_stores_nothing(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    with pytest.raises(StoreError, match="run r-1 is at work") as caught:
        await bring(store, make, "r-2", "reject", dedup="k")
    assert caught.value.code == "session.busy"
    with pytest.raises(NotFoundError):
        await store.run("r-2")
    await bring(store, make, "r-3", "queue")
    await store.release(fence, "r-1", "done", [])
    with pytest.raises(StoreError, match="run r-3"):
        await bring(store, make, "r-2", "reject")
    fence = (await store.claim("r-3", owner="w", ttl=30.0))[0]  # type: ignore[index]
    await store.release(fence, "r-3", "done", [])
    assert (await bring(store, make, "r-2", "reject", dedup="k"))[1] is not None


async def test_reject_with_a_key_that_is_known_gives_the_first_run(store: RunStore, make: Any) -> None:
    await bring(store, make, "r-1", "reject", dedup="k")
    row, fence = await bring(store, make, "r-2", "reject", dedup="k")
    assert (row.run_id, fence) == ("r-1", None)


async def test_an_input_that_steers_waits_for_the_run_at_work_and_makes_none(
    store: RunStore, make: Any, started: Started
) -> None:
    run, fence = await started(store)
    for n in (2, 3):
        row, none = await bring(store, make, f"r-{n}", "steer")
        assert (row.run_id, none) == ("r-1", None)
    assert [one.run_id for one in await store.runs()] == ["r-1"]
    assert await texts(store) == [("r-1", "hello")]
    assert await store.append(fence, [make.record(run, 2)]) == await store.arrived("r-1") == 2
    assert await store.arrivals(fence, "r-1") == [], "arrivals are decisions and wishes"
    first = await store.next_input(fence, "r-1")
    assert first is not None
    assert (first.seq, first.run_id, first.kind, words(first)) == (3, "r-1", "input", "r-2")
    await store.append(fence, [make.record(run, 4)])
    assert (await store.next_input(fence, "r-1")).seq == 5  # type: ignore[union-attr]
    assert await store.next_input(fence, "r-1") is None
    await store.release(fence, "r-1", "done", [make.status(run, 6)])
    assert await texts(store) == [("r-1", "hello"), ("r-1", "r-2"), ("r-1", "r-3")]
    assert [one.run_id for one in await store.runs()] == ["r-1"]
    assert await store.due(9e9, 10) == []


@pytest.mark.parametrize("ended", ["released", "written"])
async def test_what_an_ended_run_has_not_taken_in_becomes_runs_ahead_of_the_queue(
    store: RunStore, make: Any, started: Started, ended: str
) -> None:
    _, fence = await started(store)
    await bring(store, make, "r-2", "queue")
    await bring(store, make, "r-3", "steer", dedup="k")
    await bring(store, make, "r-4", "steer")
    if ended == "written":
        await store.append(fence, [], statuses={"r-1": "cancelled"})
    await store.release(fence, "r-1", "done" if ended == "released" else "cancelled", [])
    assert [one.status for one in await store.runs()][1:] == ["queued"] * 3
    again = make.run("r-9")
    assert (await store.create(again, make.input(again), dedup="k"))[0].run_id == "r-3"
    order = ["r-3", "r-4", "r-2"]
    for n, run_id in enumerate(order):
        assert await store.due(9e9, 10) == [run_id]
        assert [await store.claim(one, owner="w", ttl=9.0) for one in order[n + 1 :]] == [None] * (2 - n)
        fence = (await store.claim(run_id, owner="w", ttl=9.0))[0]  # type: ignore[index]
        await store.release(fence, run_id, "done", [])
    assert await texts(store) == [("r-1", "hello"), *((one, one) for one in order)]


async def test_what_a_dead_driver_has_not_taken_in_waits_for_the_next(
    store: RunStore, make: Any, clock: Any, started: Started
) -> None:
    _, dead = await started(store)
    await bring(store, make, "r-2", "steer")
    clock.now += 31
    assert await store.due(clock.now, 10) == ["r-1"]
    fence, _ = await store.claim("r-1", owner="w2", ttl=30.0)  # type: ignore[misc]
    assert await texts(store) == [("r-1", "hello")], "there may be calls without results"
    with pytest.raises(FencedError):
        await store.next_input(dead, "r-1")
    assert (await store.next_input(fence, "r-1")).seq == 2  # type: ignore[union-attr]


async def test_a_run_that_waits_is_due_for_an_input_that_steers_it_but_not_if_a_halt_has_parked_it(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    await bring(store, make, "r-2", "steer")
    await store.release(fence, "r-1", "waiting", [], parked=await store.standing.changes())
    assert await store.due(9e9, 10) == []
    fence, _ = await store.claim("r-1", owner="w", ttl=30.0)  # type: ignore[misc]
    await store.release(fence, "r-1", "waiting", [])
    assert await store.due(9e9, 10) == ["r-1"]


@pytest.mark.parametrize(
    ("at_work", "new"),
    [({}, {"agent": "another"}), ({"principal": OZ}, {}), ({}, {"principal": OZ, "agent": "another"})],
)
async def test_an_input_that_may_not_enter_is_queued(store: RunStore, make: Any, at_work: Any, new: Any) -> None:
    opened = make.run("r-0")
    _, fence = await store.create(opened, make.input(opened), claim=("w", 30.0))
    assert fence is not None
    await store.release(fence, "r-0", "done", [])
    await bring(store, make, "r-1", "queue", **at_work)
    row, none = await bring(store, make, "r-2", "steer", **new)
    assert (row.run_id, row.status, none) == ("r-2", "queued", None)
    assert await store.arrived("r-1") == 0


async def test_interrupt_wishes_the_run_at_work_cancelled_and_goes_ahead_of_the_queue(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    await bring(store, make, "r-2", "queue")
    row, none = await bring(store, make, "r-3", "interrupt")
    assert (row.run_id, row.status, none) == ("r-3", "queued", None)
    assert await store.renew(fence, 30.0) == "cancel"
    (wish,) = await store.arrivals(fence, "r-1")
    assert isinstance(wish.body, Status)
    assert (wish.body.status, wish.body.reason) == ("cancelled", "run r-3 interrupts it")
    await store.release(fence, "r-1", "cancelled", [])
    assert await store.due(9e9, 10) == ["r-3"]
    assert await store.claim("r-2", owner="w", ttl=9.0) is None


async def test_what_interrupts_goes_ahead_of_what_was_to_steer_the_run(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    await bring(store, make, "r-2", "steer")
    await bring(store, make, "r-3", "interrupt")
    await bring(store, make, "r-4", "queue")
    await store.release(fence, "r-1", "cancelled", [])
    for run_id in ("r-3", "r-2", "r-4"):
        assert await store.due(9e9, 10) == [run_id]
        fence, _ = await store.claim(run_id, owner="w", ttl=9.0)  # type: ignore[misc]
        await store.release(fence, run_id, "done", [])


async def test_a_second_interrupt_cancels_the_first_which_has_not_begun(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    await bring(store, make, "r-2", "interrupt")
    await bring(store, make, "r-3", "interrupt")
    await store.release(fence, "r-1", "cancelled", [])
    fence, _ = await store.claim("r-2", owner="w", ttl=9.0)  # type: ignore[misc]
    assert [one.kind for one in await store.load("s-1")] == ["input", "input", "status"]
    await store.release(fence, "r-2", "cancelled", [])
    assert await store.due(9e9, 10) == ["r-3"]
    fence, _ = await store.claim("r-3", owner="w", ttl=9.0)  # type: ignore[misc]
    assert [one.kind for one in await store.load("s-1")] == ["input", "input", "status", "input"]


async def test_what_somebody_may_not_see_they_do_not_interrupt(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    await store.release(fence, "r-1", "done", [])
    _, fence = await bring(store, make, "r-2", "queue", principal=OZ)
    await bring(store, make, "r-3", "interrupt")
    assert await store.renew(fence, 30.0) == "held"


async def test_a_forgotten_session_leaves_no_input_that_steers(store: RunStore, make: Any, started: Started) -> None:
    await started(store)
    await bring(store, make, "r-2", "steer", dedup="k")
    await store.forget("s-1")
    row, fence = await bring(store, make, "r-2", "steer", dedup="k")
    assert (row.run_id, fence) == ("r-2", Fence(root_id="s-1", owner="w2", epoch=1))


async def test_a_driver_in_another_process_sees_what_steers_its_run(tmp_path: Path, make: Any) -> None:
    one, other = SQLiteStore(tmp_path / "s.db"), SQLiteStore(tmp_path / "s.db")
    run = make.run()
    _, fence = await one.create(run, make.input(run), claim=("w1", 30.0))
    assert fence is not None
    row, _ = await bring(other, make, "r-2", "steer")
    assert row == replace(run, created_at=row.created_at)
    assert await one.arrived("r-1") == 1
    assert words(await one.next_input(fence, "r-1")) == "r-2"
    assert await other.arrived("r-1") == 0
    await one.close()
    await other.close()
