"""No query crosses tenants, and within one nobody sees another's but its staff. Every store, every query."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backstay.core.context import Principal
from backstay.core.errors import NotFoundError, StoreError
from backstay.core.files import File
from backstay.core.messages import PLAIN
from backstay.store.access import owner_of
from backstay.store.protocol import RunStore
from backstay.store.sqlite import SQLiteStore

ANN = Principal(id="ann", tenant="acme", kind="customer")
STAFF = (Principal(id="oz", tenant="acme", kind="operator"), Principal(id="dee", tenant="acme", kind="developer"))
OTHERS = (
    Principal(id="ann", tenant="bolt", kind="customer"),
    Principal(id="ann", tenant="bolt", kind="operator"),
    Principal(id="ann", tenant="", kind="developer"),
    Principal(id="bob", tenant="acme", kind="customer"),
    Principal(id="bob", tenant="acme", kind="member"),
    Principal(id="", tenant="acme", kind="anonymous"),
)
PNG = File("a.png", b"png")

ASKED_FOR_SOMEBODY: dict[str, Callable[[RunStore, Principal], Awaitable[Any]]] = {
    "run": lambda store, who: store.run("r-1", principal=who),
    "runs": lambda store, who: store.runs(principal=who),
    "action": lambda store, who: store.action("a-1", principal=who),
    "pending": lambda store, who: store.pending(principal=who, state=""),
    "read": lambda store, who: store.read("s-1", principal=who),
    "audit": lambda store, who: store.audit("s-1", principal=who),
    "artifact": lambda store, who: store.artifact("s-1", PNG.ref, principal=who),
    "spans": lambda store, who: store.spans("t-r-1", principal=who),
    "traces": lambda store, who: store.traces(principal=who),
}
THE_PROCESS_ITSELF = {
    "is_durable", "close", "standing", "sign", "note", "audit_heads",
    "create", "claim", "renew", "load", "arrivals", "next_input", "arrived", "append", "begin_effect", "reserved",
    "spent", "charge", "release", "due", "decide", "cancel", "fork", "forget", "verify_audit", "board_get",
    "board_put", "put_spans",
}  # fmt: skip
"""What drives runs and keeps the file. `create` names a principal in its row; `spent` takes keys that hold one."""


async def filled(store: RunStore, make: Any, started: Callable[..., Any]) -> None:
    run, fence = await started(store)
    file = (PNG.artifact(PLAIN), PNG.data)
    await store.append(fence, [], pending=[make.action(run)], audit=[make.audit()], files=[file])
    await store.put_spans([make.span(run)])
    await store.release(fence, "r-1", "waiting", [])


async def found(query: Callable[[RunStore, Principal], Awaitable[Any]], store: RunStore, who: Principal) -> Any:
    try:
        return await query(store, who)
    except NotFoundError:
        return None


def test_every_door_of_a_store_is_asked_for_somebody_or_is_the_process_own() -> None:
    doors = {name for name in vars(RunStore) if not name.startswith("_")}
    assert doors == ASKED_FOR_SOMEBODY.keys() | THE_PROCESS_ITSELF
    taking = {name for name in doors if callable(found_ := getattr(RunStore, name))
              and "principal" in inspect.signature(found_).parameters}  # fmt: skip
    assert taking == ASKED_FOR_SOMEBODY.keys()


@pytest.mark.parametrize("name", ASKED_FOR_SOMEBODY)
async def test_no_query_crosses_tenants_and_none_shows_another_persons(
    name: str, store: RunStore, make: Any, started: Any
) -> None:
    await filled(store, make, started)
    query = ASKED_FOR_SOMEBODY[name]
    for who in (ANN, *STAFF):
        assert await found(query, store, who), who
    for who in OTHERS:
        assert not await found(query, store, who), who


@pytest.mark.parametrize("name", ["run", "action", "artifact"])
async def test_what_is_anothers_is_not_found_in_the_same_words_as_what_is_not_there(
    name: str, store: RunStore, make: Any, started: Any
) -> None:
    async def told(who: Principal) -> str:
        with pytest.raises(NotFoundError) as error:
            await ASKED_FOR_SOMEBODY[name](store, who)
        return error.value.message

    before = await told(OTHERS[0])
    await filled(store, make, started)
    assert await told(OTHERS[0]) == before


@pytest.mark.parametrize("who", OTHERS)
async def test_a_session_of_somebody_else_cannot_be_spoken_in(
    who: Principal, store: RunStore, make: Any, started: Any
) -> None:
    await filled(store, make, started)
    other = make.run("r-2", principal=who)
    for claim in (("w2", 30.0), None):
        with pytest.raises(StoreError) as error:
            await store.create(other, make.input(other), claim=claim)
        assert error.value.code == "session.owner"
    with pytest.raises(StoreError, match="is not yours"):  # a run's id is no way in either
        await store.create(replace(other, run_id="r-1", session_id="s-2", root_id="s-2"), make.input(other))
    assert [one.run_id for one in await store.runs()] == ["r-1"]
    assert len(await store.load("s-1")) == 1


async def test_staff_goes_on_with_a_customers_waiting_run_under_the_customers_name(
    store: RunStore, make: Any, started: Any
) -> None:
    await filled(store, make, started)
    other = make.run("r-2", principal=STAFF[0])
    row, fence = await store.create(other, make.input(other), claim=("w2", 30.0))
    assert (row.run_id, row.principal, fence is not None) == ("r-1", ANN, True)


@pytest.mark.parametrize(("asker", "waiting"), [(ANN, STAFF[0]), (ANN, STAFF[1]), (STAFF[0], STAFF[1])])
async def test_nobody_goes_on_with_a_waiting_run_that_has_more_rights(
    asker: Principal, waiting: Principal, store: RunStore, make: Any
) -> None:
    first = make.run("r-1", principal=asker)
    _, fence = await store.create(first, make.input(first), claim=("w", 30.0))
    await store.release(fence, "r-1", "done", [])  # type: ignore[arg-type]
    staff = make.run("r-2", principal=waiting)
    _, fence = await store.create(staff, make.input(staff), claim=("w", 30.0))
    await store.release(fence, "r-2", "waiting", [])  # type: ignore[arg-type]
    later = make.run("r-3", principal=asker)
    row, _ = await store.create(later, make.input(later), claim=("w", 30.0))
    assert (row.run_id, row.principal) == ("r-3", asker)


async def test_equal_dedup_keys_of_two_persons_are_two_keys(store: RunStore, make: Any) -> None:
    for n, who in enumerate({owner_of(one): one for one in (ANN, *OTHERS)}.values()):
        run = make.run(f"r-{n}", f"s-{n}", principal=who)
        row, _ = await store.create(run, make.input(run), dedup="k", claim=("w", 30.0))
        assert row.run_id == f"r-{n}"
    again = make.run("r-9", "s-9", principal=ANN)
    assert (await store.create(again, make.input(again), dedup="k"))[0].run_id == "r-0"


async def test_a_fork_is_its_sources_owners(store: RunStore, make: Any, started: Any) -> None:
    await filled(store, make, started)
    copy = await store.fork("s-1", 1)
    assert await store.read(copy, principal=ANN)
    assert not await store.read(copy, principal=OTHERS[0])
    run = make.run("r-2", copy, principal=OTHERS[0])
    with pytest.raises(StoreError, match="is not yours"):
        await store.create(run, make.input(run))


async def test_a_store_of_before_learns_whose_its_sessions_are(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "old.db"
    store = SQLiteStore(path)
    run = make.run(principal=ANN)
    await store.create(run, make.input(run), dedup="k")
    await store.close()
    with closing(sqlite3.connect(path)) as db, db:  # as it was some versions ago
        for undo in (
            "DROP INDEX runs_parked", "ALTER TABLE runs DROP COLUMN parked", "DROP TABLE halts", "DROP TABLE grants",
            "DELETE FROM meta WHERE name = 'standing'",
            "DROP TABLE steering", "ALTER TABLE arrivals DROP COLUMN ahead",
        ):  # fmt: skip
            db.execute(undo)
        db.execute("ALTER TABLE sessions DROP COLUMN tenant")
        db.execute("ALTER TABLE sessions DROP COLUMN person")
        db.execute("UPDATE dedups SET dedup = 'k'")
        db.execute("PRAGMA user_version=2")
    store = SQLiteStore(path)
    try:
        other = make.run("r-2", principal=OTHERS[0])
        with pytest.raises(StoreError, match="is not yours"):
            await store.create(other, make.input(other))
        again = make.run("r-3", "s-3", principal=ANN)
        assert (await store.create(again, make.input(again), dedup="k"))[0].run_id == "r-1"
    finally:
        await store.close()


async def test_a_session_that_an_older_process_made_is_its_first_runs_owners(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "store.db"
    store = SQLiteStore(path)
    run = make.run(principal=ANN)
    await store.create(run, make.input(run))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE sessions SET tenant = NULL, person = NULL")
    other = make.run("r-2", principal=OTHERS[0])
    with pytest.raises(StoreError, match="is not yours"):
        await store.create(other, make.input(other))
    await store.close()
