"""Halts and grants: what every store keeps beside the runs. The parameter `store` is each of them in turn."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from backstay.boundary.checks import total
from backstay.boundary.constraints import Constraint
from backstay.boundary.grants import Grant
from backstay.boundary.halts import Halt, halting
from backstay.core.context import Principal
from backstay.store.protocol import RunStore
from backstay.store.sqlite import SQLiteStore
from backstay.store.standing import CHAIN

PAY = Halt(scope="tool", name="pay", by="bo", at=1_000.0, reason="the bank is down")


def grant(grant_id: str = "g-1", person: str = "") -> Grant:
    cap = Constraint.of("at most 50 EUR a day", total(50, "EUR", per="day"), argument="amount", tools=["refund"])
    return Grant(
        id=grant_id, agent="desk", tool="refund", rules=(cap,), tenant="acme", person=person, by="bo", at=1_000.0,
        until=9_000.0,
    )  # fmt: skip


async def test_a_halt_is_in_force_until_it_is_lifted_and_both_are_audited(store: RunStore) -> None:
    assert (await store.standing.changes(), list(await store.standing.halts())) == (0, [])
    assert await store.standing.halt(PAY)
    assert not await store.standing.halt(PAY)
    assert list(await store.standing.halts()) == [PAY]
    assert await store.standing.changes() == 1
    assert await store.standing.lift("tool", "pay", by="cy", at=2_000.0)
    assert not await store.standing.lift("tool", "pay", by="cy", at=2_000.0)
    assert (await store.standing.changes(), list(await store.standing.halts())) == (2, [])
    rows = [(row.kind, row.tool, row.result_digest, row.rules) for row, _ in await store.audit(CHAIN)]
    assert rows == [("halt", "pay", "halted", ("tool:pay",)), ("halt", "pay", "lifted", ("tool:pay",))]
    assert await store.verify_audit() == []


async def test_a_parked_run_is_due_after_the_next_change_and_not_before(
    store: RunStore, started: Callable[..., Any]
) -> None:
    _, fence = await started(store)
    await store.standing.halt(PAY)
    await store.release(fence, "r-1", "waiting", [], parked=await store.standing.changes())
    assert await store.due(1_000.0, 10) == []
    await store.standing.lift("tool", "pay", by="bo", at=1_001.0)
    assert await store.due(1_000.0, 10) == ["r-1"]
    assert await store.claim("r-1", owner="w2", ttl=30.0) is not None
    assert await store.due(1_000.0, 10) == []


async def test_a_run_parked_while_somebody_lifted_the_halt_is_due_at_once(
    store: RunStore, started: Callable[..., Any]
) -> None:
    _, fence = await started(store)
    await store.standing.halt(PAY)
    seen = await store.standing.changes()
    await store.standing.lift("tool", "pay", by="bo", at=1_001.0)
    await store.release(fence, "r-1", "waiting", [], parked=seen)
    assert await store.due(1_000.0, 10) == ["r-1"]


async def test_a_grant_is_kept_for_whom_it_is_until_it_is_revoked(store: RunStore) -> None:
    for_ann = grant("g-2", person="ann")
    await store.standing.grant(grant())
    await store.standing.grant(for_ann)
    ann, bea = (Principal(id=one, tenant="acme", kind="customer") for one in ("ann", "bea"))
    other = Principal(id="ann", tenant="elsewhere", kind="customer")
    assert [one.id for one in await store.standing.grants(agent="desk", principal=ann)] == ["g-1", "g-2"]
    assert [one.id for one in await store.standing.grants(agent="desk", principal=bea)] == ["g-1"]
    assert list(await store.standing.grants(agent="desk", principal=other)) == []
    assert list(await store.standing.grants(agent="other")) == []
    assert list(await store.standing.grants()) == [grant(), for_ann]
    assert await store.standing.revoke("g-1", by="bo", at=2_000.0)
    assert not await store.standing.revoke("g-1", by="bo", at=2_000.0)
    assert [one.id for one in await store.standing.grants()] == ["g-2"]
    results = [(row.kind, row.result_digest) for row, _ in await store.audit(CHAIN)]
    assert results == [("grant", "granted"), ("grant", "granted"), ("grant", "revoked")]


async def test_what_stands_survives_the_process(tmp_path: Path) -> None:
    first = SQLiteStore(tmp_path / "store.db")
    await first.standing.halt(PAY)
    await first.standing.grant(grant())
    await first.close()
    second = SQLiteStore(tmp_path / "store.db")
    assert (list(await second.standing.halts()), list(await second.standing.grants())) == ([PAY], [grant()])
    assert await second.standing.changes() == 2
    await second.close()


async def test_a_grant_that_somebody_else_wrote_allows_nothing(sqlite: SQLiteStore) -> None:
    await sqlite.standing.grant(grant())
    with closing(sqlite3.connect(sqlite.path)) as db:
        db.execute("UPDATE grants SET body = replace(body, '9000.0', '9999999.0')")
        db.commit()
    assert list(await sqlite.standing.grants()) == []


def test_a_halt_stops_what_it_names_and_nothing_else() -> None:
    agent, tenant = Halt(scope="agent", name="desk", by="b", at=0.0), Halt(scope="tenant", name="acme", by="b", at=0.0)
    everything = Halt(scope="all", by="b", at=0.0)
    assert halting([agent], ("lead", "desk"), "x") is agent
    assert halting([agent], ("lead",), "x") is None
    assert halting([tenant], ("lead",), "acme") is tenant
    assert halting([tenant], ("acme",), "") is None
    assert halting([PAY], ("pay",), "pay", ("look",)) is None
    assert halting([PAY], (), "", ("look", "pay")) is PAY
    assert halting([everything], (), "") is everything
