"""The audit chain and the seals of the inbox: whoever changes the file is found out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backstay.core.errors import DecisionError
from backstay.store.chain import Chain
from backstay.store.protocol import RunStore
from backstay.store.sqlite import SQLiteStore

Started = Callable[..., Any]
COLUMNS = (
    "session_id", "n", "run_id", "slot", "kind", "tool", "args_digest", "result_digest", "rules", "who", "at", "hash",
)  # fmt: skip


def change(store: SQLiteStore, statement: str, *values: Any) -> None:
    db = sqlite3.connect(store.path)
    with db:
        assert db.execute(statement, values).rowcount > 0
    db.close()


def value(store: SQLiteStore, query: str) -> Any:
    db = sqlite3.connect(store.path)
    (found,) = db.execute(query).fetchone()
    db.close()
    return found


async def five_rows(store: RunStore, make: Any, started: Started) -> Any:
    _, fence = await started(store)
    await store.append(fence, [], audit=[make.audit(slot=n) for n in range(1, 4)])
    await store.append(fence, [], audit=[make.audit(slot=n, who="bo", kind="end") for n in (4, 5)])
    return fence


async def test_a_chain_that_nobody_touched_holds(store: RunStore, make: Any, started: Started) -> None:
    await five_rows(store, make, started)
    assert await store.verify_audit() == []
    assert await store.verify_audit("s-1") == []
    assert await store.verify_audit("no such session") == []
    rows = await store.audit("s-1")
    assert [row.slot for row, _ in rows] == [1, 2, 3, 4, 5]
    assert len({mark for _, mark in rows}) == 5


async def test_persons_stand_in_it_as_pseudonyms(store: RunStore, make: Any, started: Started) -> None:
    await five_rows(store, make, started)
    rows = [row for row, _ in await store.audit("s-1")]
    who = {row.who for row in rows}
    assert len(who) == 2
    assert all(len(one) == 16 and one not in ("ann", "bo") for one in who)
    assert replace(rows[0], who="ann") == make.audit(slot=1)


async def test_a_strange_tool_name_does_not_stop_the_audit(store: RunStore, make: Any, started: Started) -> None:
    _, fence = await started(store)
    await store.append(fence, [], audit=[make.audit(tool="re\ud800\0fund", rules=("\udfff", "规则"), who="\ud800")])
    ((row, _),) = await store.audit("s-1")
    assert (row.tool, row.rules) == ("re\\ud800\\x00fund", ("\\udfff", "规则"))
    assert await store.verify_audit() == []


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("n", [1, 3, 5])
async def test_one_changed_byte_in_any_field_is_found(
    sqlite: SQLiteStore, make: Any, started: Started, column: str, n: int
) -> None:
    await five_rows(sqlite, make, started)
    old = value(sqlite, f"SELECT {column} FROM audit WHERE n = {n}")
    for new in changed(old):
        change(sqlite, f"UPDATE audit SET {column} = ? WHERE n = ?", new, n)
        wrong = await sqlite.verify_audit()
        assert wrong, (column, old, new)
        change(sqlite, f"UPDATE audit SET {column} = ? WHERE {column} = ?", old, new)
        assert await sqlite.verify_audit() == []


def changed(old: Any) -> list[Any]:
    if not isinstance(old, str):
        return [old + 100]
    flipped = [old[:at] + chr(ord(old[at]) ^ 1) + old[at + 1 :] for at in range(len(old))]
    return [*flipped[:1], *flipped[-1:], old + " ", old.upper() + "x"] if old else ["x"]


@pytest.mark.parametrize("column", ["n", "hash", "seal", "session_id"])
async def test_a_changed_head_is_found(sqlite: SQLiteStore, make: Any, started: Started, column: str) -> None:
    await five_rows(sqlite, make, started)
    change(sqlite, f"UPDATE heads SET {column} = ?", changed(value(sqlite, f"SELECT {column} FROM heads"))[0])
    assert await sqlite.verify_audit()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
async def test_a_removed_row_is_found(sqlite: SQLiteStore, make: Any, started: Started, n: int) -> None:
    await five_rows(sqlite, make, started)
    change(sqlite, "DELETE FROM audit WHERE n = ?", n)
    (wrong,) = [one for one in await sqlite.verify_audit() if str(n) in one][:1]
    assert "s-1" in wrong


@pytest.mark.parametrize("n", [1, 3, 5])
async def test_a_removed_row_whose_successors_moved_up_is_found(
    sqlite: SQLiteStore, make: Any, started: Started, n: int
) -> None:
    await five_rows(sqlite, make, started)
    change(sqlite, "DELETE FROM audit WHERE n = ?", n)
    for later in range(n + 1, 6):
        change(sqlite, "UPDATE audit SET n = ? WHERE n = ?", later - 1, later)
    assert await sqlite.verify_audit()


async def test_an_inserted_row_is_found(sqlite: SQLiteStore, make: Any, started: Started) -> None:
    await five_rows(sqlite, make, started)
    rest = ", ".join(COLUMNS[2:])
    change(sqlite, f"INSERT INTO audit (session_id, n, {rest}) SELECT session_id, 6, {rest} FROM audit WHERE n = 5")
    assert await sqlite.verify_audit()


@pytest.mark.parametrize("kept", [0, 2, 4])
async def test_a_cut_tail_is_found(sqlite: SQLiteStore, make: Any, started: Started, kept: int) -> None:
    await five_rows(sqlite, make, started)
    change(sqlite, "DELETE FROM audit WHERE n > ?", kept)
    assert await sqlite.verify_audit()


async def test_a_cut_tail_is_found_although_its_head_was_set_back(
    sqlite: SQLiteStore, make: Any, started: Started
) -> None:
    await five_rows(sqlite, make, started)
    change(sqlite, "DELETE FROM audit WHERE n > 3")
    change(sqlite, "UPDATE heads SET n = 3, hash = (SELECT hash FROM audit WHERE n = 3)")
    assert await sqlite.verify_audit()


async def test_a_head_that_is_gone_is_found(sqlite: SQLiteStore, make: Any, started: Started) -> None:
    await five_rows(sqlite, make, started)
    change(sqlite, "DELETE FROM heads")
    (wrong,) = await sqlite.verify_audit()
    assert "head" in wrong


async def test_rows_and_head_of_another_session_do_not_fit(sqlite: SQLiteStore, make: Any, started: Started) -> None:
    await five_rows(sqlite, make, started)
    change(sqlite, "UPDATE audit SET session_id = 's-2'")
    change(sqlite, "UPDATE heads SET session_id = 's-2'")
    assert await sqlite.verify_audit()


async def test_every_session_has_a_chain_of_its_own(store: RunStore, make: Any, started: Started) -> None:
    for n in (1, 2):
        _, fence = await started(store, f"r-{n}", f"s-{n}")
        await store.append(fence, [], audit=[make.audit(f"r-{n}")])
    first, second = await store.audit("s-1"), await store.audit("s-2")
    assert len(first) == len(second) == 1
    assert first[0][1] != second[0][1]


def test_borders_of_fields_are_part_of_a_seal() -> None:
    chain = Chain(b"k" * 32)
    assert len({chain.seal("ab", "c"), chain.seal("a", "bc"), chain.seal("abc"), chain.seal(("ab", "c"))}) == 4
    assert chain.seal("1") != chain.seal(1)


def test_another_key_makes_other_seals_and_pseudonyms() -> None:
    one, other = Chain(b"1" * 32), Chain(b"2" * 32)
    assert one.pseudonym("ann") != other.pseudonym("ann")
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    "column",
    ["id", "version", "state", "run_id", "session_id", "root_id", "tenant", "person", "expires_at", "body", "seal"],
)
async def test_an_action_that_was_changed_in_the_file_is_not_given_out(
    sqlite: SQLiteStore, make: Any, started: Started, column: str
) -> None:
    run, fence = await started(sqlite)
    await sqlite.append(fence, [], pending=[make.action(run)])
    new = changed(value(sqlite, f"SELECT {column} FROM actions"))[0]
    change(sqlite, f"UPDATE actions SET {column} = ?", new)
    name = new if column == "id" else "a-1"
    for call in (
        sqlite.action(name),
        sqlite.decide(name, 1, make.decision(), make.audit()),
    ):
        with pytest.raises(DecisionError, match=name) as caught:
            await call
        assert caught.value.code == "action.tampered"
    assert list(await sqlite.pending(state="")) == []
    assert any(name in wrong for wrong in await sqlite.verify_audit())
    assert await sqlite.audit("s-1") == []


async def test_an_older_row_put_back_does_not_reopen_an_action(
    sqlite: SQLiteStore, make: Any, started: Started, tmp_path: Path
) -> None:
    run, fence = await started(sqlite)
    await sqlite.append(fence, [], pending=[make.action(run)])
    body = value(sqlite, "SELECT body FROM actions")
    await sqlite.decide("a-1", 1, make.decision(approve=False), make.audit())
    change(sqlite, "UPDATE actions SET body = ?, state = 'open', version = 1", body)
    with pytest.raises(DecisionError) as caught:
        await sqlite.decide("a-1", 1, make.decision(), make.audit())
    assert caught.value.code == "action.tampered"
