"""What every store does. The parameter `store` is each of them in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from backstay.core.context import Principal, Reserve
from backstay.core.errors import BackstayError, DecisionError, FencedError, NotFoundError, StoreError
from backstay.core.files import MAX_FILE_BYTES, File
from backstay.core.messages import Artifact, Label, ToolResult
from backstay.store.protocol import RunStore
from backstay.store.records import Decided, Fence, Snapshot, Status

Started = Callable[..., Any]


def kinds(records: Any) -> list[tuple[int, str]]:
    return [(one.seq, one.kind) for one in records]


# creating and claiming


async def test_a_new_run_on_a_free_session_gets_the_fence_and_its_input_is_record_one(
    store: RunStore, make: Any
) -> None:
    run = make.run()
    row, fence = await store.create(run, make.input(run), claim=("w1", 30.0))
    assert fence == Fence(root_id="s-1", owner="w1", epoch=1)
    assert row.status == "running"
    assert row.created_at == 1_000.0
    assert await store.run("r-1") == row
    (record,) = await store.load("s-1")
    assert record == replace(make.input(run), seq=1)


async def test_a_run_without_a_claim_is_queued_and_its_input_is_numbered_by_whoever_claims(
    store: RunStore, make: Any
) -> None:
    run = make.run()
    row, fence = await store.create(run, make.input(run))
    assert (row.status, fence) == ("queued", None)
    assert await store.load("s-1") == []
    claimed = await store.claim("r-1", owner="w2", ttl=30.0)
    assert claimed is not None
    assert claimed[1].status == "running"
    assert kinds(await store.load("s-1")) == [(1, "input")]


async def test_an_input_to_a_busy_session_is_left_as_an_arrival(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    other = make.run("r-2")
    row, none = await store.create(other, make.input(other), claim=("w2", 30.0))
    assert none is None
    assert row.status == "queued"
    assert await store.claim("r-2", owner="w2", ttl=30.0) is None
    await store.release(fence, "r-1", "done", [])
    assert (await store.claim("r-2", owner="w2", ttl=30.0))[0].epoch == 2  # type: ignore[index]


async def test_queued_inputs_of_a_session_are_driven_in_their_order(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    for n in (2, 3):
        run = make.run(f"r-{n}")
        await store.create(run, make.input(run), claim=("w2", 30.0))
    await store.release(fence, "r-1", "done", [])
    fourth = make.run("r-4")
    assert (await store.create(fourth, make.input(fourth), claim=("w3", 30.0)))[1] is None
    assert await store.claim("r-3", owner="w2", ttl=30.0) is None
    assert await store.due(1_000.0, 10) == ["r-2"]
    fence = (await store.claim("r-2", owner="w2", ttl=30.0))[0]  # type: ignore[index]
    await store.release(fence, "r-2", "done", [])
    assert await store.due(1_000.0, 10) == ["r-3"]


async def test_a_dedup_key_gives_the_first_run_back_and_no_fence(store: RunStore, make: Any) -> None:
    first, second = make.run("r-1", "s-1"), make.run("r-2", "s-2")
    await store.create(first, make.input(first), dedup="k", claim=("w1", 30.0))
    row, fence = await store.create(second, make.input(second), dedup="k", claim=("w1", 30.0))
    assert (row.run_id, fence) == ("r-1", None)
    with pytest.raises(NotFoundError):
        await store.run("r-2")


async def test_creating_the_same_run_twice_is_one_run(store: RunStore, make: Any, started: Started) -> None:
    await started(store)
    run = make.run()
    row, fence = await store.create(run, make.input(run), claim=("w2", 30.0))
    assert (row.run_id, fence) == ("r-1", None)
    assert len(await store.load("s-1")) == 1


@pytest.mark.parametrize("status", ["waiting", "needs_narrowing"])
async def test_an_input_continues_the_run_that_waits(store: RunStore, make: Any, started: Started, status: str) -> None:
    _, fence = await started(store)
    await store.release(fence, "r-1", status, [])
    other = make.run("r-2")
    row, fence = await store.create(other, make.input(other), claim=("w2", 30.0), dedup="again")
    assert (row.run_id, row.status, fence.epoch) == ("r-1", "running", 2)
    assert [(one.seq, one.run_id) for one in await store.load("s-1")] == [(1, "r-1"), (2, "r-1")]
    assert (await store.create(make.run("r-3"), make.input(other), dedup="again"))[0].run_id == "r-1"
    with pytest.raises(NotFoundError):
        await store.run("r-2")


async def test_a_decision_that_arrived_first_is_numbered_before_the_input(
    store: RunStore, make: Any, started: Started
) -> None:
    run, fence = await started(store)
    await store.append(fence, [], pending=[make.action(run)])
    await store.release(fence, "r-1", "waiting", [])
    await store.decide("a-1", 1, make.decision(), make.audit())
    other = make.run("r-2")
    await store.create(other, make.input(other), claim=("w2", 30.0))
    assert kinds(await store.load("s-1")) == [(1, "input"), (2, "decided"), (3, "input")]


async def test_an_input_for_a_waiting_run_without_a_claim_makes_it_due(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    await store.release(fence, "r-1", "waiting", [])
    other = make.run("r-2")
    row, none = await store.create(other, make.input(other))
    assert (row.run_id, row.status, none) == ("r-1", "waiting", None)
    assert await store.due(1_000.0, 10) == ["r-1"]


async def test_a_live_lease_is_nobodys_to_take(store: RunStore, clock: Any, started: Started) -> None:
    await started(store)
    for owner in ("w1", "w2"):
        assert await store.claim("r-1", owner=owner, ttl=30.0) is None


async def test_a_claim_over_an_expired_lease_fences_the_former_owner_out(
    store: RunStore, make: Any, clock: Any, started: Started
) -> None:
    run, old = await started(store)
    clock.now += 31.0
    fence, row = await store.claim("r-1", owner="w2", ttl=30.0)  # type: ignore[misc]
    assert (fence.epoch, row.status) == (2, "running")
    with pytest.raises(FencedError):
        await store.append(old, [make.record(run, 2)])
    with pytest.raises(FencedError):
        await store.arrivals(old, "r-1")
    with pytest.raises(FencedError):
        await store.release(old, "r-1", "done", [])
    with pytest.raises(FencedError):
        await store.begin_effect(old, "r-1:1", "once", "d", 1, (), make.audit())
    with pytest.raises(FencedError):
        await store.board_put(old, "b", "k", 1, expect=0)
    assert await store.renew(old, 30.0) == "lost"
    assert kinds(await store.load("s-1")) == [(1, "input")]


async def test_a_late_owner_whom_nobody_replaced_may_still_write(
    store: RunStore, make: Any, clock: Any, started: Started
) -> None:
    run, fence = await started(store)
    clock.now += 100.0
    await store.append(fence, [make.record(run, 2)])
    assert await store.renew(fence, 30.0) == "held"
    assert await store.claim("r-1", owner="w2", ttl=1.0) is None


async def test_a_run_that_ended_is_never_claimed(store: RunStore, started: Started) -> None:
    for n, status in enumerate(("done", "stopped", "failed", "cancelled")):
        _, fence = await started(store, f"r-{n}", f"s-{n}")
        await store.release(fence, f"r-{n}", status, [])
        assert await store.claim(f"r-{n}", owner="w1", ttl=30.0) is None


async def test_what_is_not_there_is_not_found(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    for call in (
        store.run("x"),
        store.claim("x", owner="w", ttl=1.0),
        store.action("x"),
        store.decide("x", 1, make.decision(), make.audit()),
        store.cancel("x", "why"),
        store.fork("x", 3),
        store.release(fence, "x", "done", []),
        store.append(fence, [], statuses={"x": "done"}),
        store.append(fence, [], outcomes=[("x", ToolResult(ok=True, summary=""))]),
        store.arrivals(fence, "x"),
    ):
        with pytest.raises(NotFoundError):
            await call
    assert await store.load("x") == []
    assert await store.read("x") == []
    assert await store.audit("x") == []
    assert await store.spans("x") == []
    assert await store.board_get("x", "y") is None


async def test_a_child_run_is_driven_under_its_parents_fence(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    child = make.run("r-1/1", "r-1/1", root_id="s-1", parent_id="r-1")
    row, none = await store.create(child, make.input(child))
    assert (row.status, none) == ("queued", None)
    assert await store.claim("r-1/1", owner="w2", ttl=30.0) is None
    shared, row = await store.claim("r-1/1", owner="w1", ttl=30.0)  # type: ignore[misc]
    assert (shared, row.status) == (fence, "running")
    await store.append(fence, [make.record(child, 2)])
    await store.release(fence, "r-1/1", "done", [make.status(child, 3)])
    await store.append(fence, [make.record(make.run(), 2)])
    assert kinds(await store.load("r-1/1")) == [(1, "input"), (2, "reply"), (3, "status")]
    assert (await store.run("r-1")).status == "running"


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
async def test_an_identifier_that_no_database_can_hold_is_refused(store: RunStore, make: Any, name: str) -> None:
    run = make.run("r-1", name)
    with pytest.raises(StoreError) as caught:
        await store.create(run, make.input(run))
    assert caught.value.code == "store.id"


# writing and reading


async def test_records_follow_without_gaps(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    await store.append(fence, [make.record(run, 2), make.record(run, 3)])
    for seqs in ([5], [3], [4, 6], [4, 4], [5, 4]):
        with pytest.raises(FencedError):
            await store.append(fence, [make.record(run, seq) for seq in seqs])
    with pytest.raises(FencedError):
        await store.release(fence, "r-1", "done", [make.record(run, 9)])
    assert kinds(await store.load("s-1")) == [(1, "input"), (2, "reply"), (3, "reply")]
    assert (await store.run("r-1")).status == "running"


async def test_a_fence_writes_to_its_own_sessions_only(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    other, _ = await started(store, "r-2", "s-2")
    for run in (other, make.run("r-3", "s-3")):
        with pytest.raises(FencedError):
            await store.append(fence, [make.record(run, 2)])


async def test_a_batch_that_is_refused_leaves_nothing(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    with pytest.raises(NotFoundError):
        await store.append(
            fence,
            [make.record(run, 2)],
            pending=[make.action(run)],
            audit=[make.audit()],
            statuses={"r-1": "waiting"},
            outcomes=[("never", ToolResult(ok=True, summary=""))],
        )
    assert kinds(await store.load("s-1")) == [(1, "input")]
    assert await store.pending() == []
    assert await store.audit("s-1") == []
    assert (await store.run("r-1")).status == "running"


async def test_what_is_read_equals_what_was_written(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    written = [
        make.record(run, 2, "reply", make.reply("\ud83d half a character \udc00")),
        make.record(run, 3, "results", make.results()),
        make.record(run, 4, "memory", {"$": "Reply", "a": (1, 2.5, None)}),
        make.record(run, 5, "status", Status(status="done", output=(), active_seconds=0.25)),
    ]
    await store.append(fence, written)
    assert list(await store.load("s-1"))[1:] == written
    assert await store.read("s-1", after=3) == written[2:]
    assert kinds(await store.read("s-1", after=1, limit=2)) == [(2, "reply"), (3, "results")]


async def test_load_gives_the_newest_snapshot_and_what_follows_its_tail(
    store: RunStore, make: Any, started: Started
) -> None:
    run, fence = await started(store)
    await store.append(
        fence,
        [
            make.record(run, 2),
            make.record(run, 3, "snapshot", Snapshot(tail=1, instructions="old")),
            make.record(run, 4),
            make.record(run, 5, "snapshot", Snapshot(tail=2, instructions="new", spent={"day": Decimal("1.50")})),
            make.record(run, 6),
        ],
    )
    loaded = await store.load("s-1")
    assert kinds(loaded) == [(5, "snapshot"), (2, "reply"), (4, "reply"), (6, "reply")]
    assert loaded[0].body == Snapshot(tail=2, instructions="new", spent={"day": Decimal("1.50")})
    assert kinds(await store.read("s-1", after=2, limit=2)) == [(3, "snapshot"), (4, "reply")]


async def test_a_long_session_is_loaded_whole(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    await store.append(fence, [make.record(run, seq, "memory", seq) for seq in range(2, 700)])
    assert [one.seq for one in await store.load("s-1")] == list(range(1, 700))


async def test_append_counts_decisions_and_wishes_but_not_inputs(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    assert await store.append(fence, [make.record(run, 2)], pending=[make.action(run), make.action(run, "a-2")]) == 0
    await store.decide("a-1", 1, make.decision(), make.audit())
    await store.decide("a-2", 1, make.decision(approve=False), make.audit())
    await store.cancel("r-1", "enough")
    other = make.run("r-2")
    await store.create(other, make.input(other), claim=("w2", 30.0))
    assert await store.append(fence, [make.record(run, 3)]) == 3
    arrived = await store.arrivals(fence, "r-1")
    assert kinds(arrived) == [(4, "decided"), (5, "decided"), (6, "status")]
    assert await store.arrivals(fence, "r-1") == []
    assert await store.append(fence, [make.record(run, 7)]) == 0
    assert kinds(await store.read("s-1", after=3)) == [*kinds(arrived), (7, "reply")]


async def test_release_writes_sets_the_status_and_gives_the_session_back(
    store: RunStore, make: Any, started: Started
) -> None:
    run, fence = await started(store)
    await store.release(fence, "r-1", "waiting", [make.record(run, 2)])
    assert (await store.run("r-1")).status == "waiting"
    with pytest.raises(FencedError):
        await store.append(fence, [make.record(run, 3)])
    assert await store.renew(fence, 30.0) == "lost"
    assert (await store.claim("r-1", owner="w2", ttl=1.0))[0].epoch == 2  # type: ignore[index]


async def test_append_sets_statuses(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    await store.append(fence, [], statuses={"r-1": "needs_narrowing"})
    assert (await store.run("r-1")).status == "needs_narrowing"


# effects


async def test_an_effect_begins_once_and_its_outcome_is_given_ever_after(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    begin = ("r-1:1", "once", "digest")
    assert await store.begin_effect(fence, *begin, 1, (), make.audit()) == "new"
    assert await store.begin_effect(fence, *begin, 2, (), make.audit()) == "new"
    result = ToolResult(ok=True, summary="paid", data=(1, "2"))
    await store.append(fence, [], outcomes=[("r-1:1", result)], audit=[make.audit(kind="end")])
    assert await store.begin_effect(fence, *begin, 3, (), make.audit()) == result
    assert [row.kind for row, _ in await store.audit("s-1")] == ["begin", "begin", "end"]


@pytest.mark.parametrize(("effect", "answer"), [("once", "started"), ("keyed", "new"), ("none", "new")])
async def test_an_effect_that_an_older_epoch_began_is_taken_over_only_if_it_may_repeat(
    store: RunStore, make: Any, clock: Any, started: Started, effect: Any, answer: str
) -> None:
    _, fence = await started(store)
    await store.begin_effect(fence, "r-1:1", effect, "digest", 1, (), make.audit())
    clock.now += 31.0
    fence, _ = await store.claim("r-1", owner="w2", ttl=30.0)  # type: ignore[misc]
    for attempt in (1, 2):
        assert await store.begin_effect(fence, "r-1:1", effect, "digest", attempt, (), make.audit()) == answer


async def test_an_effect_with_other_arguments_is_refused(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    await store.begin_effect(fence, "r-1:1", "once", "digest", 1, (), make.audit())
    with pytest.raises(DecisionError) as caught:
        await store.begin_effect(fence, "r-1:1", "once", "other", 1, (), make.audit())
    assert caught.value.code == "effect.changed"
    assert len(await store.audit("s-1")) == 1


@pytest.mark.parametrize(
    ("result", "held"),
    [
        (None, ("12.50", "0")),
        (ToolResult(ok=True, summary=""), ("0.00", "12.50")),
        (ToolResult(ok=False, summary="", applied=False), ("0.00", "0")),
        (ToolResult(ok=False, summary="", via="refused"), ("0.00", "0")),
        (ToolResult(ok=False, summary="it is not known whether it took effect"), ("12.50", "0")),
        (ToolResult(ok=False, summary="", via="in_doubt"), ("12.50", "0")),
    ],
)
async def test_what_was_reserved_is_spent_given_back_or_held(
    store: RunStore, make: Any, started: Started, result: ToolResult | None, held: tuple[str, str]
) -> None:
    _, fence = await started(store)
    reserve = (Reserve("session:refund", Decimal("12.50")),)
    for attempt in (1, 2):
        await store.begin_effect(fence, "r-1:1", "once", "digest", attempt, reserve, make.audit())
    if result is not None:
        await store.append(fence, [], outcomes=[("r-1:1", result)])
    assert ledger(store) == tuple(map(Decimal, held))


async def test_what_was_in_doubt_is_settled_when_it_is_known(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    await store.begin_effect(fence, "r-1:1", "once", "d", 1, (Reserve("k", Decimal("2")),), make.audit())
    for result in (ToolResult(ok=False, summary="", via="in_doubt"), *[ToolResult(ok=True, summary="")] * 2):
        await store.append(fence, [], outcomes=[("r-1:1", result)])
    assert ledger(store) == (Decimal(0), Decimal(2))


async def test_what_effects_hold_is_told_by_effect_and_by_shared_key(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    _, other = await started(store, "r-2", "s-2")
    day = "day:2026-06-15:/ann:x"
    held = (Reserve("session:c1", Decimal(3)), Reserve(day, Decimal("2.50"), Decimal(10)))
    for key in ("r-1:1", "r-1:1/1", "r-1:10", "r-1:2"):
        assert await store.begin_effect(fence, key, "once", "d", 1, held, make.audit()) == "new"
    await store.append(fence, [], outcomes=[("r-1:2", ToolResult(ok=False, summary="", applied=False))])
    amounts = (("session:c1", Decimal(3)), (day, Decimal("2.50")))
    assert await store.reserved("s-1", ["r-1:1", "r-1:2", "r-1:3"]) == {"r-1:1": amounts, "r-1:1/1": amounts}
    assert await store.reserved("s-2", ["r-1:1"]) == {}
    assert await store.spent([day, "day:other"]) == {day: Decimal("7.50"), "day:other": Decimal(0)}
    full = await store.begin_effect(
        other, "r-2:1", "once", "d", 1, [Reserve(day, Decimal(3), Decimal(10))], make.audit()
    )
    assert isinstance(full, ToolResult)
    assert (full.ok, full.via, full.code) == (False, "refused", "constraint.broken")
    assert await store.audit("s-2") == []
    last = [Reserve(day, Decimal("2.5"), Decimal(10))]
    assert await store.begin_effect(other, "r-2:1", "once", "d", 1, last, make.audit()) == "new"
    await store.forget("s-1")
    assert (await store.spent([day]))[day] == 10


def ledger(store: Any) -> tuple[Decimal, Decimal]:
    """The protocol only writes the ledger so far, so that the test looks behind it."""
    if store.is_durable:
        with store._read() as db:
            ((reserved, committed),) = db.execute("SELECT reserved, committed FROM ledger").fetchall()
        return Decimal(reserved), Decimal(committed)
    (held,) = store._t.roots["s-1"].ledger.values()
    return held.reserved, held.committed


# actions and decisions


async def test_one_of_a_hundred_decisions_wins(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    await store.append(fence, [], pending=[make.action(run)])
    answers = await asyncio.gather(
        *(store.decide("a-1", 1, make.decision(by=f"p{n}"), make.audit(kind="decision")) for n in range(100)),
        return_exceptions=True,
    )
    won = [one for one in answers if not isinstance(one, BaseException)]
    assert len(won) == 1
    assert {getattr(one, "code", "") for one in answers} - {""} == {"action.decided"}
    assert won[0] == await store.action("a-1")
    assert (won[0].state, won[0].version) == ("approved", 2)
    assert len(await store.arrivals(fence, "r-1")) == 1
    assert [row.kind for row, _ in await store.audit("s-1")] == ["decision"]


@pytest.mark.parametrize(("approve", "state"), [(True, "approved"), (False, "refused")])
async def test_a_decision_makes_the_run_due_and_arrives_in_its_session(
    store: RunStore, make: Any, started: Started, approve: bool, state: str
) -> None:
    run, fence = await started(store)
    await store.release(fence, "r-1", "waiting", [])
    fence, _ = await store.claim("r-1", owner="w1", ttl=30.0)  # type: ignore[misc]
    await store.append(fence, [], pending=[make.action(run)])
    await store.release(fence, "r-1", "waiting", [])
    assert await store.due(1_000.0, 10) == []
    decision = make.decision(approve=approve, args={"amount": "1.00"})
    decided = await store.decide("a-1", 1, decision, make.audit())
    assert (decided.state, decided.decision) == (state, decision)
    assert await store.due(1_000.0, 10) == ["r-1"]
    await store.claim("r-1", owner="w2", ttl=30.0)
    assert await store.due(1_000.0, 10) == []
    record = (await store.load("s-1"))[-1]
    assert (record.kind, record.body, record.at) == ("decided", Decided(action_id="a-1", decision=decision), 1_500.0)


@pytest.mark.parametrize(
    ("version", "fields", "code"),
    [
        (2, {}, "action.version"),
        (1, {"args_digest": "other"}, "action.digest"),
        (1, {"args_digest": "other", "args": {"amount": "1"}}, "action.digest"),
        (1, {"at": 2_000.0}, "action.expired"),
    ],
)
async def test_a_decision_that_cannot_stand_is_refused(
    store: RunStore, make: Any, started: Started, version: int, fields: dict[str, Any], code: str
) -> None:
    run, fence = await started(store)
    await store.append(fence, [], pending=[make.action(run)])
    with pytest.raises(DecisionError) as caught:
        await store.decide("a-1", version, make.decision(**fields), make.audit())
    assert caught.value.code == code
    assert await store.arrivals(fence, "r-1") == []
    assert await store.audit("s-1") == []
    assert (await store.action("a-1")).state == ("expired" if code == "action.expired" else "open")


async def test_an_action_that_a_late_decision_expired_stays_expired_and_wakes_its_run(
    store: RunStore, make: Any, started: Started
) -> None:
    run, fence = await started(store)
    await store.append(fence, [], pending=[make.action(run)])
    await store.release(fence, "r-1", "waiting", [])
    for _ in range(2):
        with pytest.raises(DecisionError, match="expired"):
            await store.decide("a-1", 1, make.decision(at=2_000.0), make.audit())
    assert await store.due(2_000.0, 10) == ["r-1"]
    assert await store.pending(state="expired") == [replace(make.action(run), state="expired", version=2)]


async def test_a_driver_never_writes_over_a_decision(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    action = make.action(run)
    await store.append(fence, [], pending=[action])
    await store.append(fence, [], pending=[action])
    await store.decide("a-1", 1, make.decision(), make.audit())
    with pytest.raises(DecisionError) as caught:
        await store.append(fence, [make.record(run, 2)], pending=[replace(action, state="stale", version=2)])
    assert caught.value.code == "action.version"
    assert kinds(await store.load("s-1")) == [(1, "input")]
    await store.append(fence, [], pending=[replace(action, state="done", version=3)])
    assert (await store.action("a-1")).state == "done"


async def test_actions_are_listed_in_pages_by_person_and_state(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    eve = Principal(id="eve", tenant="acme")
    await store.append(
        fence,
        [],
        pending=[
            *(make.action(run, f"a-{n}", principal=eve if n % 2 else run.principal) for n in range(6)),
            make.action(run, "a-6", state="refused"),
        ],
    )
    assert [one.id for one in await store.pending(limit=2)] == ["a-0", "a-1"]
    assert [one.id for one in await store.pending(after="a-1", limit=2)] == ["a-2", "a-3"]
    assert [one.id for one in await store.pending(principal=eve)] == ["a-1", "a-3", "a-5"]
    assert await store.pending(principal=Principal(id="eve", tenant="other")) == []
    assert [one.id for one in await store.pending(state="refused")] == ["a-6"]
    assert len(await store.pending(state="")) == 7
    assert [one.id for one in await store.pending(state="", principal=eve, limit=1)] == ["a-1"]


@pytest.mark.parametrize(
    "quoted", ["'; DROP TABLE runs; --", '" OR 1=1 --', "%", "_", "a' UNION SELECT key FROM meta --"]
)
async def test_what_is_asked_for_is_never_read_as_sql(
    store: RunStore, make: Any, started: Started, quoted: str
) -> None:
    run, fence = await started(store)
    await store.append(fence, [], pending=[make.action(run)])
    assert await store.pending(principal=Principal(id=quoted, tenant=quoted)) == []
    assert await store.pending(state=quoted) == []
    assert await store.runs(status=quoted) == []
    assert await store.read(quoted) == []
    assert await store.spans(quoted) == []
    assert await store.board_get(quoted, quoted) is None
    assert await store.board_put(fence, quoted, quoted, quoted, expect=0) == 1
    with pytest.raises(NotFoundError):
        await store.action(quoted)
    assert (await store.board_get(quoted, quoted)) == (quoted, 1)
    assert (await store.run("r-1")).run_id == "r-1"


# due, cancel


async def test_runs_that_a_dead_owner_left_are_due(store: RunStore, clock: Any, started: Started) -> None:
    _, fence = await started(store)
    assert await store.due(1_029.0, 10) == []
    assert await store.due(1_030.0, 10) == ["r-1"]
    await store.renew(fence, 60.0)
    assert await store.due(1_030.0, 10) == []


async def test_a_run_that_sleeps_is_due_when_its_time_comes(store: RunStore, started: Started) -> None:
    _, fence = await started(store)
    await store.release(fence, "r-1", "waiting", [], wake_at=1_100.0)
    assert await store.due(1_099.0, 10) == []
    assert await store.due(1_100.0, 10) == ["r-1"]
    fence, _ = await store.claim("r-1", owner="w1", ttl=30.0)  # type: ignore[misc]
    await store.release(fence, "r-1", "waiting", [])
    assert await store.due(5_000.0, 10) == []


async def test_a_run_whose_action_has_expired_is_due(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    await store.append(fence, [], pending=[make.action(run)])
    await store.release(fence, "r-1", "waiting", [])
    assert await store.due(1_999.0, 10) == []
    assert await store.due(2_000.0, 10) == ["r-1"]


async def test_due_names_the_oldest_first_and_no_more_than_asked(store: RunStore, make: Any, clock: Any) -> None:
    for n in (3, 1, 2):
        clock.now += 1.0
        run = make.run(f"r-{n}", f"s-{n}")
        await store.create(run, make.input(run))
    assert await store.due(1_000.0, 2) == ["r-3", "r-1"]


async def test_a_child_is_due_for_a_decision_and_not_for_its_input_or_its_parents_death(
    store: RunStore, make: Any, clock: Any, started: Started
) -> None:
    _, fence = await started(store)
    child = make.run("r-1/1", "r-1/1", root_id="s-1", parent_id="r-1")
    await store.create(child, make.input(child))
    assert await store.due(2_000.0, 10) == ["r-1"]
    await store.claim("r-1/1", owner="w1", ttl=30.0)
    assert await store.due(1_999.0, 10) == ["r-1"]
    await store.append(fence, [], pending=[make.action(child)])
    await store.append(fence, [], statuses={"r-1/1": "waiting"})
    await store.release(fence, "r-1", "waiting", [])
    assert await store.due(1_999.0, 10) == []
    await store.decide("a-1", 1, make.decision(), make.audit("r-1/1"))
    assert await store.due(1_999.0, 10) == ["r-1/1"]
    assert [row.run_id for row, _ in await store.audit("s-1")] == ["r-1/1"]


async def test_a_wish_to_cancel_reaches_the_driver_and_makes_an_idle_run_due(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    assert await store.renew(fence, 30.0) == "held"
    await store.cancel("r-1", "enough")
    await store.cancel("r-1", "enough!")
    assert await store.renew(fence, 30.0) == "cancel"
    assert await store.due(1_000.0, 10) == []
    (wish,) = await store.arrivals(fence, "r-1")
    assert (wish.kind, wish.body.status, wish.body.reason) == ("status", "cancelled", "enough")
    assert await store.renew(fence, 30.0) == "held"
    await store.release(fence, "r-1", "waiting", [])
    await store.cancel("r-1", "enough")
    assert await store.due(1_000.0, 10) == ["r-1"]


async def test_a_wish_for_a_queued_run_does_not_stop_the_one_that_is_driven(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    other = make.run("r-2")
    await store.create(other, make.input(other))
    await store.cancel("r-2", "not that one")
    assert await store.renew(fence, 30.0) == "held"


async def test_cancelling_what_has_ended_does_nothing(store: RunStore, started: Started) -> None:
    _, fence = await started(store)
    await store.release(fence, "r-1", "done", [])
    await store.cancel("r-1", "late")
    assert await store.due(9_999.0, 10) == []


# runs, boards, forks, forgetting, spans


async def test_runs_are_listed_in_pages_by_person_and_status(store: RunStore, make: Any) -> None:
    eve = Principal(id="eve")
    for n in range(4):
        run = make.run(f"r-{n}", f"s-{n}", principal=eve if n % 2 else make.run().principal)
        await store.create(run, make.input(run), claim=("w", 9.0) if n < 2 else None)
    assert [one.run_id for one in await store.runs(after="r-0", limit=2)] == ["r-1", "r-2"]
    assert [one.run_id for one in await store.runs(principal=eve)] == ["r-1", "r-3"]
    assert [one.run_id for one in await store.runs(status="queued")] == ["r-2", "r-3"]
    assert [one.run_id for one in await store.runs(principal=eve, status="running")] == ["r-1"]


async def test_a_board_value_is_set_only_over_the_version_that_was_read(store: RunStore, started: Started) -> None:
    _, fence = await started(store)
    assert await store.board_put(fence, "b", "k", {"n": [1]}, expect=0) == 1
    assert await store.board_get("b", "k") == ({"n": (1,)}, 1)
    for expect in (0, 2):
        with pytest.raises(DecisionError) as caught:
            await store.board_put(fence, "b", "k", 2, expect=expect)
        assert caught.value.code == "board.conflict"
    assert await store.board_put(fence, "b", "k", None, expect=1) == 2
    assert await store.board_get("b", "k") == (None, 2)


async def test_a_board_takes_json_only(store: RunStore, started: Started) -> None:
    _, fence = await started(store)
    with pytest.raises(StoreError) as caught:
        await store.board_put(fence, "b", "k", object(), expect=0)  # type: ignore[arg-type]
    assert caught.value.code == "store.json"


async def test_a_fork_has_the_records_up_to_there_and_goes_its_own_way(
    store: RunStore, make: Any, started: Started
) -> None:
    run, fence = await started(store)
    await store.append(
        fence,
        [
            make.record(run, 2),
            make.record(run, 3, "snapshot", Snapshot(tail=2, instructions="i")),
            make.record(run, 4),
            make.record(run, 5, "snapshot", Snapshot(tail=4, instructions="later")),
        ],
        pending=[make.action(run)],
    )
    copy = await store.fork("s-1", 4)
    assert kinds(await store.read(copy)) == [(1, "input"), (2, "reply"), (3, "snapshot"), (4, "reply")]
    assert kinds(await store.load(copy)) == [(3, "snapshot"), (2, "reply"), (4, "reply")]
    assert {one.session_id for one in await store.read(copy)} == {copy}
    assert len(await store.pending()) == 1
    again = make.run("r-9", copy)
    _, other = await store.create(again, make.input(again), claim=("w9", 30.0))
    assert kinds(await store.read(copy, after=4)) == [(5, "input")]
    await store.append(other, [make.record(again, 6)])
    assert len(await store.read("s-1")) == 5


async def test_a_forgotten_session_is_gone_but_its_audit_chain_verifies(
    store: RunStore, make: Any, started: Started
) -> None:
    run, fence = await started(store)
    other, _ = await started(store, "r-2", "s-2")
    child = make.run("r-1/1", "r-1/1", root_id="s-1", parent_id="r-1")
    await store.create(child, make.input(child), dedup="d")
    await store.begin_effect(fence, "r-1:1", "once", "d", 1, (Reserve("k", Decimal(1)),), make.audit())
    await store.append(fence, [make.record(run, 2)], pending=[make.action(run)])
    await store.put_spans([make.span(run), make.span(other)])
    await store.forget("s-1")
    await store.forget("s-1")
    assert await store.load("s-1") == []
    assert await store.load("r-1/1") == []
    assert await store.spans(run.trace_id) == []
    assert await store.pending(state="") == []
    assert [one.run_id for one in await store.runs()] == ["r-2"]
    with pytest.raises(FencedError):
        await store.append(fence, [make.record(run, 3)])
    assert len(await store.audit("s-1")) == 1
    assert await store.verify_audit() == []
    assert len(await store.spans(other.trace_id)) == 1
    _, fence = await started(store)
    assert await store.begin_effect(fence, "r-1:1", "once", "other", 1, (), make.audit()) == "new"


# files


def a_file(name: str = "a.txt", data: bytes = b"hello", **label: Any) -> tuple[Artifact, bytes]:
    return File(name, data).artifact(Label(**label)), data


async def test_a_file_comes_back_as_it_was_with_its_label(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    every_byte = bytes(range(256)) * 40
    text, chart = a_file(trusted=False, secrecy="internal"), a_file("图\ud83d.png", every_byte)
    await store.append(fence, [make.record(run, 2)], files=[text, chart])
    assert await store.artifact("s-1", text[0].ref) == text
    assert await store.artifact("s-1", chart[0].ref) == chart


async def test_a_file_belongs_to_its_session_and_the_children_of_it(
    store: RunStore, make: Any, started: Started
) -> None:
    _, fence = await started(store)
    _, other = await started(store, "r-2", "s-2")
    child = make.run("r-1/1", "r-1/1", root_id="s-1", parent_id="r-1")
    await store.create(child, make.input(child))
    mine, theirs = a_file(), a_file("b.txt")
    await store.append(fence, [], files=[mine])
    await store.append(other, [], files=[theirs])
    assert await store.artifact("r-1/1", mine[0].ref) == mine
    for session, ref in (("s-1", theirs[0].ref), ("s-2", mine[0].ref), ("none", mine[0].ref), ("s-1", "artifact:0")):
        with pytest.raises(NotFoundError):
            await store.artifact(session, ref)


async def test_the_same_file_twice_is_one_with_the_stricter_label(store: RunStore, started: Started) -> None:
    _, fence = await started(store)
    plain, foreign, secret = a_file(), a_file(trusted=False), a_file(secrecy="secret")
    await store.append(fence, [], files=[plain, foreign])
    await store.append(fence, [], files=[secret])
    await store.append(fence, [], files=[plain])
    kept, data = await store.artifact("s-1", plain[0].ref)
    assert (kept.label, data) == (Label(trusted=False, secrecy="secret"), b"hello")


async def test_equal_bytes_of_two_sessions_outlive_the_first_that_is_forgotten(
    store: RunStore, started: Started
) -> None:
    _, fence = await started(store)
    _, other = await started(store, "r-2", "s-2")
    mine, theirs = a_file("mine.txt"), a_file("theirs.txt")
    await store.append(fence, [], files=[mine, a_file("again.txt")])
    await store.append(other, [], files=[theirs])
    await store.forget("s-1")
    with pytest.raises(NotFoundError):
        await store.artifact("s-1", mine[0].ref)
    assert await store.artifact("s-2", theirs[0].ref) == theirs
    await store.forget("s-2")
    with pytest.raises(NotFoundError):
        await store.artifact("s-2", theirs[0].ref)


async def test_a_fork_has_the_files_too(store: RunStore, started: Started) -> None:
    _, fence = await started(store)
    mine = a_file()
    await store.append(fence, [], files=[mine])
    copy = await store.fork("s-1", 1)
    await store.forget("s-1")
    assert await store.artifact(copy, mine[0].ref) == mine


async def test_a_file_that_is_too_large_is_refused_with_its_batch(store: RunStore, make: Any, started: Started) -> None:
    run, fence = await started(store)
    large = a_file("large.bin", bytes(MAX_FILE_BYTES + 1))
    with pytest.raises(StoreError) as caught:
        await store.append(fence, [make.record(run, 2)], files=[a_file(), large])
    assert caught.value.code == "artifact.too_large"
    assert kinds(await store.load("s-1")) == [(1, "input")]
    with pytest.raises(NotFoundError):
        await store.artifact("s-1", a_file()[0].ref)
    await store.append(fence, [], files=[a_file("most.bin", bytes(MAX_FILE_BYTES))])


async def test_a_fenced_out_owner_keeps_no_file(store: RunStore, clock: Any, started: Started) -> None:
    _, old = await started(store)
    clock.now += 31.0
    await store.claim("r-1", owner="w2", ttl=30.0)
    with pytest.raises(FencedError):
        await store.append(old, [], files=[a_file()])
    with pytest.raises(NotFoundError):
        await store.artifact("s-1", a_file()[0].ref)


async def test_spans_are_found_by_trace_and_by_run(store: RunStore, make: Any) -> None:
    run = make.run()
    spans = [
        make.span(run, "b", kind="tool", parent_id="a", started_at=2.0, input="\ud800"),
        make.span(run, "a", started_at=1.0),
    ]
    await store.put_spans(spans)
    assert await store.spans(run.trace_id) == spans[::-1]
    assert await store.spans("r-1") == spans[::-1]


async def test_traces_are_listed_newest_first_each_once(store: RunStore, make: Any) -> None:
    runs = [make.run(f"r-{n}") for n in range(4)]
    await store.put_spans([make.span(run, f"sp-{n}", started_at=float(n)) for n, run in enumerate(runs)])
    await store.put_spans([make.span(runs[0], "resumed", started_at=9.0)])
    await store.put_spans([make.span(runs[1], "tool", kind="tool", parent_id="sp-1", started_at=9.0)])
    assert [one.span_id for one in await store.traces(limit=3)] == ["sp-3", "sp-2", "sp-1"]
    assert [one.span_id for one in await store.traces(after="t-r-2", limit=3)] == ["sp-1", "sp-0"]


async def test_a_closed_store_may_not_be_used_again(store: RunStore, make: Any) -> None:
    await store.close()
    await store.close()
    for call in (store.run("r-1"), store.cancel("r-1", ""), store.verify_audit()):
        with pytest.raises(BackstayError) as caught:
            await call
        assert caught.value.code == "store.closed"
