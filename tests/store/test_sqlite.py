"""The file: several processes, crashes, damage, a full disk, other versions, the key."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backstay.core.errors import BackstayError, CorruptError, FullError, StoreError
from backstay.core.files import File
from backstay.core.messages import Label
from backstay.store import migrations
from backstay.store.memory import MemoryStore
from backstay.store.open import open_store
from backstay.store.sqlite import SQLiteStore, creating, effects, opening, streams
from backstay.store.sqlite.rows import row_of_record, row_of_run

Started = Callable[..., Any]
HERE = str(Path(__file__).parent)

WRITES_RUNS = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from conftest import Make
from backstay.store.sqlite import SQLiteStore

async def main(path, name, count):
    make, store = Make(), SQLiteStore(path)
    for n in range(count):
        run = make.run(f"{name}-{n}", None)
        _, fence = await store.create(run, make.input(run), claim=(name, 30.0))
        await store.begin_effect(fence, f"{run.run_id}:1", "once", "d", 1, (), make.audit(run.run_id))
        for seq in (2, 3, 4):
            await store.append(fence, [make.record(run, seq)])
            print(run.run_id, seq, flush=True)
        await store.release(fence, run.run_id, "done", [make.status(run, 5)])
    await store.close()

asyncio.run(main(sys.argv[2], sys.argv[3], int(sys.argv[4])))
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITES_RUNS, HERE, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def test_two_processes_write_to_one_file_without_a_lock_error(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    processes = [writer(path, name, 100) for name in ("one", "two")]
    for process in processes:
        _, errors = await asyncio.to_thread(process.communicate, timeout=120)
        assert (process.returncode, errors) == (0, "")
    store = SQLiteStore(path)
    runs = await store.runs(limit=1_000)
    assert len(runs) == 200
    assert {run.status for run in runs} == {"done"}
    assert [len(await store.read(run.session_id)) for run in runs] == [5] * 200
    assert await store.verify_audit() == []
    await store.close()


@pytest.mark.parametrize("lines", [1, 20, 47])
async def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "store.db"
    process = writer(path, "w", 10_000)
    assert process.stdout is not None
    seen = [process.stdout.readline().split() for _ in range(lines)]
    os.kill(process.pid, signal.SIGKILL)
    seen += [line.split() for line in process.communicate()[0].splitlines()]
    assert len(seen) >= lines
    store = SQLiteStore(path)
    for run_id, seq in (one for one in seen if len(one) == 2):
        assert int(seq) in [record.seq for record in await store.read(run_id)]
    for run in await store.runs(limit=10_000):
        records = await store.read(run.session_id)
        assert [one.seq for one in records] == list(range(1, len(records) + 1))
    assert await store.verify_audit() == []
    await store.close()


async def test_writes_that_queue_up_share_a_transaction(sqlite: SQLiteStore, make: Any, started: Started) -> None:
    claimed = [await started(sqlite, f"r-{n}", f"s-{n}") for n in range(50)]
    before = sqlite.transactions
    await asyncio.gather(*(sqlite.append(fence, [make.record(run, 2)]) for run, fence in claimed))
    assert 1 <= sqlite.transactions - before <= 10
    for n in range(50):
        assert len(await sqlite.load(f"s-{n}")) == 2


async def test_one_refused_batch_does_not_undo_those_that_share_its_transaction(
    sqlite: SQLiteStore, make: Any, started: Started
) -> None:
    claimed = [await started(sqlite, f"r-{n}", f"s-{n}") for n in range(20)]
    before = sqlite.transactions
    answers = await asyncio.gather(
        *(sqlite.append(fence, [make.record(run, 2 + n % 2)]) for n, (run, fence) in enumerate(claimed)),
        return_exceptions=True,
    )
    assert [isinstance(one, BackstayError) for one in answers] == [bool(n % 2) for n in range(20)]
    assert [len(await sqlite.load(f"s-{n}")) for n in range(20)] == [2, 1] * 10
    assert sqlite.transactions - before <= 5


async def test_a_run_with_one_tool_is_about_five_transactions(sqlite: SQLiteStore, make: Any, started: Started) -> None:
    run, fence = await started(sqlite)
    await sqlite.append(fence, [make.record(run, 2)])
    await sqlite.begin_effect(fence, "r-1:1", "once", "d", 1, (), make.audit())
    await sqlite.append(fence, [make.record(run, 3, "results", make.results())], audit=[make.audit(kind="end")])
    await sqlite.release(fence, "r-1", "done", [make.status(run, 4)])
    assert sqlite.transactions == 5


async def test_a_cancelled_caller_leaves_the_store_in_order(sqlite: SQLiteStore, make: Any, started: Started) -> None:
    run, fence = await started(sqlite)
    task = asyncio.ensure_future(sqlite.append(fence, [make.record(run, 2)]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    seqs = [one.seq for one in await sqlite.load("s-1")]
    assert seqs in ([1], [1, 2])
    await sqlite.append(fence, [make.record(run, len(await sqlite.load("s-1")) + 1)])


def test_a_store_serves_several_loops_in_turn(tmp_path: Path, make: Any) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    for n in range(2):
        run = make.run(f"r-{n}", f"s-{n}")
        asyncio.run(store.create(run, make.input(run)))
    assert len(asyncio.run(store.runs())) == 2  # type: ignore[arg-type]
    asyncio.run(store.close())


# the schema


async def test_an_opened_file_has_the_present_schema_and_safe_settings(sqlite: SQLiteStore) -> None:
    db = sqlite3.connect(sqlite.path)
    assert db.execute("PRAGMA user_version").fetchone() == (len(migrations.MIGRATIONS),)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()
    synchronous = [
        one.execute("PRAGMA synchronous").fetchone() for one in (sqlite._writer._durable, sqlite._writer._lazy)
    ]
    assert synchronous == [(2,), (1,)]


async def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await SQLiteStore(path).close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA user_version=99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(CorruptError, match=r"newer Backstay.*nothing was changed.*Upgrade") as caught:
        SQLiteStore(path)
    assert caught.value.code == "store.version"
    assert path.read_bytes() == before


async def test_an_older_file_is_upgraded_with_what_is_in_it(
    tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    run = make.run()
    await store.create(run, make.input(run))
    await store.close()
    later = (*migrations.MIGRATIONS, ("ALTER TABLE runs ADD COLUMN colour TEXT",))
    monkeypatch.setattr(opening, "MIGRATIONS", later)
    store = SQLiteStore(tmp_path / "store.db")
    assert (await store.run("r-1")).status == "queued"
    with store._read() as db:
        assert db.execute("SELECT colour FROM runs").fetchall() == [(None,)]
        assert db.execute("PRAGMA user_version").fetchone() == (len(later),)
    await store.close()


async def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    await SQLiteStore(path).close()
    broken = ("ALTER TABLE runs ADD COLUMN colour TEXT", "ALTER TABLE nothing ADD COLUMN x TEXT")
    monkeypatch.setattr(opening, "MIGRATIONS", (*migrations.MIGRATIONS, broken))
    with pytest.raises(StoreError):
        SQLiteStore(path)
    monkeypatch.undo()
    await SQLiteStore(path).close()
    db = sqlite3.connect(path)
    assert "colour" not in [row[1] for row in db.execute("PRAGMA table_info(runs)")]
    db.close()


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mine (x)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(CorruptError, match="another program"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    assert not (tmp_path / "key").exists()


# damage


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"not a database, but long enough to be read as one" * 100)
    before = path.read_bytes()
    with pytest.raises(CorruptError, match="Restore it from a backup") as caught:
        SQLiteStore(path)
    assert caught.value.code == "store.corrupt"
    assert str(path) in caught.value.message
    assert path.read_bytes() == before


async def test_a_damaged_page_is_corrupt_and_nothing_else(tmp_path: Path, make: Any, started: Started) -> None:
    path = tmp_path / "store.db"
    store = SQLiteStore(path)
    run, fence = await started(store)
    await store.append(fence, [make.record(run, seq, "memory", "x" * 3_000) for seq in range(2, 200)])
    await store.close()
    data = bytearray(path.read_bytes())
    for page in range(8, len(data) // 4_096):
        data[page * 4_096 : page * 4_096 + 100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(CorruptError, match="backup"):
        await broken_reads(path)


async def broken_reads(path: Path) -> None:
    store = SQLiteStore(path)
    try:
        await store.load("s-1")
        await store.runs()
        await store.cancel("r-1", "")
    finally:
        await store.close()


async def test_a_body_that_was_changed_in_the_file_is_corrupt(sqlite: SQLiteStore, started: Started) -> None:
    await started(sqlite)
    db = sqlite3.connect(sqlite.path)
    with db:
        db.execute('UPDATE records SET body = \'{"$":"Input"}\'')
    db.close()
    with pytest.raises(CorruptError):
        await sqlite.load("s-1")


# no room, no right


async def test_a_full_file_refuses_the_batch_and_keeps_what_it_has(
    sqlite: SQLiteStore, make: Any, started: Started
) -> None:
    run, fence = await started(sqlite)
    other, another = await started(sqlite, "r-2", "s-2")
    db = sqlite._writer._durable
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count={pages}")
    big = make.record(run, 2, "memory", "x" * 100_000)
    answers = await asyncio.gather(
        sqlite.append(fence, [big], audit=[make.audit()], statuses={"r-1": "waiting"}),
        sqlite.append(another, [make.record(other, 2, "memory", 1)]),
        return_exceptions=True,
    )
    assert isinstance(answers[0], FullError)
    assert answers[0].code == "store.full"
    assert answers[1] == 0
    assert len(await sqlite.load("s-1")) == 1
    assert await sqlite.audit("s-1") == []
    assert (await sqlite.run("r-1")).status == "running"
    db.execute("PRAGMA max_page_count=1073741823")
    await sqlite.append(fence, [big])
    assert len(await sqlite.load("s-1")) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_full_disk_refuses_the_batch_and_keeps_what_it_has(
    small_disk: Path, make: Any, started: Started
) -> None:
    store = SQLiteStore(small_disk / "store.db")
    run, fence = await started(store)
    written = 1

    async def fill_up() -> None:
        nonlocal written
        while True:
            await store.append(fence, [make.record(run, written + 1, "memory", "x" * 50_000)], audit=[make.audit()])
            written += 1

    with pytest.raises(FullError) as caught:
        await fill_up()
    assert caught.value.code == "store.full"
    assert len(await store.load("s-1")) == written
    await store.close()
    store = SQLiteStore(small_disk / "store.db")
    assert len(await store.load("s-1")) == written
    assert len(await store.audit("s-1")) == written - 1
    assert await store.verify_audit() == []
    await store.close()


def test_a_place_where_no_file_can_be_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for where in (tmp_path / "no folder" / "store.db", tmp_path / "file" / "store.db", tmp_path):
        with pytest.raises(StoreError) as caught:
            SQLiteStore(where)
        assert caught.value.code == "store.readonly"


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become somebody else")
def test_a_folder_that_belongs_to_somebody_else_is_said_so(tmp_path: Path) -> None:
    script = """
import os, sys
from backstay.core.errors import StoreError
from backstay.store.open import open_store
os.setuid(65534)
for where in (sys.argv[1] + "/store.db", sys.argv[1] + "/deeper/store.db"):
    try:
        open_store(where)
    except StoreError as error:
        print(error.code)
"""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder != Path("/tmp") and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["store.readonly", "store.readonly"]


async def test_a_file_that_stays_locked_is_busy_and_works_again_later(tmp_path: Path, make: Any) -> None:
    store = SQLiteStore(tmp_path / "store.db", busy_seconds=0.05)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    run = make.run()
    with pytest.raises(StoreError) as caught:
        await store.create(run, make.input(run))
    assert caught.value.code == "store.busy"
    assert await store.runs() == []
    other.execute("ROLLBACK")
    other.close()
    await store.create(run, make.input(run))
    await store.close()


# the key


async def test_the_key_is_32_random_bytes_for_its_owner_only(sqlite: SQLiteStore) -> None:
    key = sqlite.path.parent / "key"
    assert len(key.read_bytes()) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert sorted(one.name for one in key.parent.iterdir() if one.name.startswith("key")) == ["key"]


async def test_two_stores_in_a_folder_share_the_key(tmp_path: Path) -> None:
    await SQLiteStore(tmp_path / "one.db").close()
    before = (tmp_path / "key").read_bytes()
    await SQLiteStore(tmp_path / "two.db").close()
    assert (tmp_path / "key").read_bytes() == before


@pytest.mark.parametrize("key", [None, b"short", b"x" * 32])
async def test_a_store_without_its_own_key_is_refused(tmp_path: Path, key: bytes | None) -> None:
    await SQLiteStore(tmp_path / "store.db").close()
    (tmp_path / "key").unlink()
    if key is not None:
        (tmp_path / "key").write_bytes(key)
    with pytest.raises(CorruptError) as caught:
        SQLiteStore(tmp_path / "store.db")
    assert caught.value.code == "store.key"
    assert (tmp_path / "key").exists() == (key is not None)


# size


async def test_ten_thousand_waiting_actions_are_paged_and_due_quickly(
    sqlite: SQLiteStore, make: Any, clock: Any
) -> None:
    await sqlite._writer.run(lambda db: fill(db, sqlite, make))
    start = time.perf_counter()
    assert len(await sqlite.pending(after="a-05000", limit=50)) == 50
    assert time.perf_counter() - start < 0.1
    start = time.perf_counter()
    assert await sqlite.due(1_999.0, 50) == []
    assert time.perf_counter() - start < 0.1
    await sqlite.decide("a-07000", 1, make.decision(), make.audit())
    assert await sqlite.due(1_999.0, 50) == ["r-07000"]
    assert len(await sqlite.due(2_000.0, 50)) == 50


def fill(db: sqlite3.Connection, store: SQLiteStore, make: Any) -> None:
    for n in range(10_000):
        run = make.run(f"r-{n:05}", None)
        row, first = row_of_run(run, 1.0), row_of_record(make.input(run))
        _, fence = creating.create(db, row, first, run.principal, None, ("w", 1.0), 1.0)
        assert fence is not None
        effects.keep_action(db, store._chain, run.root_id, make.action(run, f"a-{n:05}"))
        streams.give_back(db, fence, run.run_id, "waiting", None)


# doors


async def test_a_setting_names_a_store(tmp_path: Path) -> None:
    memory = open_store("memory:")
    assert isinstance(memory, MemoryStore)
    assert not memory.is_durable
    for where in (tmp_path / "a" / "b" / "one.db", f"sqlite:///{tmp_path}/c/two.db", str(tmp_path / "three.db")):
        store = open_store(where)
        assert store.is_durable
        await store.close()
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    assert (tmp_path / "c" / "two.db").exists()


@pytest.mark.parametrize("where", ["", "mysql://host/db", "http://x"])
def test_a_setting_that_names_no_store_is_said_so(where: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(where)
    assert caught.value.code == "store.url"


async def test_the_files_of_a_store_are_their_owners_alone(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "mine.db")
    for name in ("mine.db", "mine.db-wal", "mine.db-shm", "key"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0, name
    await store.close()


async def test_equal_bytes_are_one_row_and_go_with_the_last_session_that_holds_them(
    sqlite: SQLiteStore, started: Any
) -> None:
    def blobs() -> int:
        with sqlite3.connect(sqlite.path) as db:
            count: int = db.execute("SELECT count(*) FROM blobs").fetchone()[0]
        db.close()
        return count

    names = {"s-1": ("a.txt", "b.txt"), "s-2": ("c.txt",)}
    for number, (session, some) in enumerate(names.items()):
        _, fence = await started(sqlite, f"r-{number}", session)
        files = [(File(name, b"same").artifact(Label()), b"same") for name in some]
        await sqlite.append(fence, [], files=files)
    assert blobs() == 1
    await sqlite.forget("s-1")
    assert blobs() == 1
    await sqlite.forget("s-2")
    assert blobs() == 0
