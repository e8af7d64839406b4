"""The cache on disk: what every cache does, several processes, damage, other people's files."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from backstay import RunContext, tool
from backstay.core.canon import freeze
from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import Artifact, Label, ToolResult
from backstay.tools import Cache, DiskCache, MemoryCache
from workbench import Bench

Make = Callable[..., Cache]


def result(data: Any = None, **fields: Any) -> ToolResult:
    return ToolResult(ok=True, summary="s", data=freeze(data), **fields)


@pytest.fixture(params=["memory", "disk"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[DiskCache] = []

    def cache(**bounds: Any) -> Cache:
        if request.param == "memory":
            return MemoryCache(**bounds)
        made.append(DiskCache(tmp_path / f"cache-{len(made)}.db", **bounds))
        return made[-1]

    yield cache
    for one in made:
        one.close()


# what every cache does


@pytest.mark.parametrize("data", [None, 0, False, "", (), {}])
def test_a_falsy_hit_is_a_hit(make: Make, data: Any) -> None:
    cache = make()
    cache.put("k", result(data), 0)
    assert cache.get("k", 1) == result(data)


def test_a_hit_is_equal_in_every_field(make: Make) -> None:
    cache = make()
    kept = result(
        {"rows": [{"id": 1, "text": "\ud800 删 \u202e"}], "x": 1.5},
        keep=("id",),
        ref="r:1",
        label=Label(trusted=False, secrecy="internal"),
        labels=(("rows.text", Label(trusted=False)),),
    )
    cache.put("k", kept, 0)
    assert cache.get("k", 1) == kept
    assert hash(cache.get("k", 1)) == hash(kept)


def test_results_end_with_their_time_and_the_one_used_longest_ago_goes_first(make: Make) -> None:
    cache = make(size=2, ttl=10)
    cache.put("a", result(1), 0)
    cache.put("b", result(2), 5)
    assert cache.get("a", 9) is not None
    cache.put("c", result(3), 9)
    assert cache.get("b", 9) is None
    assert cache.get("a", 10) is None
    assert cache.get("c", 10) == result(3)
    assert cache.get("never", 10) is None


def test_a_later_result_takes_the_place_of_an_earlier_one(make: Make) -> None:
    cache = make(size=1)
    cache.put("k", result(1), 0)
    cache.put("k", result(2), 1)
    assert cache.get("k", 2) == result(2)


def test_a_result_with_files_is_not_kept(make: Make) -> None:
    cache = make()
    cache.put("k", result(1, artifacts=(Artifact(ref="artifact:0", name="a", mime="m/m", size=1),)), 0)
    assert cache.get("k", 0) is None


@pytest.mark.parametrize(("size", "ttl"), [(0, 1), (1, 0), (1, float("nan"))])
def test_a_cache_that_could_hold_nothing_is_refused(make: Make, size: int, ttl: float) -> None:
    with pytest.raises(ToolDefinitionError):
        make(size=size, ttl=ttl)


# equal calls


def counted(cache: Cache, **options: Any) -> tuple[Any, list[Any]]:
    ran: list[Any] = []

    @tool(risk="read", cache=cache, **options)
    async def look(x: int, where: dict[str, int] | None = None, deep: bool = False) -> list[int]:
        """Look. Use it when asked."""
        ran.append((x, where, deep))
        await asyncio.sleep(0)
        return [x]

    return look, ran


@pytest.mark.parametrize(
    "calls",
    [
        [{"x": 1}, {"x": "1"}, {"x": 1.0}],
        [{"x": 1, "where": {"a": 1, "b": 2}}, {"where": {"b": 2, "a": 1}, "x": 1}],
        [{"x": 1}, {"x": 1, "deep": False}, {"x": 1, "where": None}, {"x": 1, "deep": "false"}],
    ],
    ids=["coerced", "reordered", "defaults left out"],
)
async def test_calls_that_mean_the_same_run_once(make: Make, calls: list[dict[str, Any]]) -> None:
    look, ran = counted(make())
    bench = Bench()
    results = [await bench.run(look, one) for one in calls]
    assert len(ran) == 1
    assert [one.via for one in results] == ["ran", *["cached"] * (len(calls) - 1)]
    assert len({one.data for one in results}) == 1


async def test_five_equal_calls_at_once_run_once(make: Make) -> None:
    look, ran = counted(make())
    bench = Bench()
    results = await asyncio.gather(*(bench.run(look, {"x": 1}) for _ in range(5)))
    assert len(ran) == 1
    assert sorted(one.via for one in results) == ["cached"] * 4 + ["ran"]


async def test_deadline_attempts_and_timeout_are_no_part_of_the_key(make: Make) -> None:
    cache = make()
    look, ran = counted(cache)
    bench = Bench()
    await bench.run(look, {"x": 1})
    await bench.run(look, {"x": 1}, deadline=5_000.0, attempt=2, idempotency_key="other", step=7)
    look.timeout, look.max_attempts = 1.0, 5
    await bench.run(look, {"x": 1})
    assert len(ran) == 1


async def test_what_changes_a_result_is_a_part_of_the_key(make: Make) -> None:
    cache = make()
    look, ran = counted(cache)
    bench = Bench()
    await bench.run(look, {"x": 1})
    await bench.run(look, {"x": 2})
    await bench.run(look, {"x": 1}, result_tokens=10)
    look.version = "2"
    await bench.run(look, {"x": 1})
    assert len(ran) == 4


async def test_a_tool_that_takes_the_context_is_cached_for_each_person(make: Make) -> None:
    from backstay.core.context import Principal

    ran: list[str] = []

    @tool(risk="read", cache=make())
    def mine(ctx: RunContext[None]) -> str:
        """Mine. Use it when asked."""
        ran.append(ctx.principal.id)
        return ctx.principal.id

    bench = Bench()
    for who in ("ann", "bo", "ann"):
        assert (await bench.run(mine, {}, principal=Principal(id=who))).data == who
    assert ran == ["ann", "bo"]


async def test_a_failure_is_not_kept(make: Make) -> None:
    ran: list[int] = []

    @tool(risk="read", cache=make())
    def flaky() -> str:
        """Flaky. Use it when asked."""
        ran.append(1)
        if len(ran) == 1:
            raise ValueError("no")
        return "yes"

    bench = Bench()
    assert [(await bench.run(flaky)).ok for _ in range(3)] == [False, True, True]
    assert len(ran) == 2


# the file


def test_a_result_outlives_its_process_and_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = DiskCache(path)
    cache.put("k", result({"n": 1}), 0)
    assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o600}
    cache.close()
    path.chmod(0o644)
    DiskCache(path).close()
    for one in tmp_path.iterdir():
        assert stat.S_IMODE(one.stat().st_mode) == 0o600
    code = (
        "import sys; from backstay.tools import DiskCache;"
        "c = DiskCache(sys.argv[1]); print(c.get('k', 1).data, c.get('x', 1)); c.close()"
    )
    said = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    assert (said.stdout, said.stderr) == ("{'n': 1} None\n", "")


def test_several_processes_write_at_once_and_every_hit_is_right(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    code = """
import random, sys
from backstay.core.messages import ToolResult
from backstay.tools import DiskCache
cache, hits, chance = DiskCache(sys.argv[1], size=50), 0, random.Random(7)
for n in range(400):
    key = str(chance.randrange(60))
    found = cache.get(key, n)
    if found is None:
        cache.put(key, ToolResult(ok=True, summary=key, data=key), n)
    else:
        assert found.data == key, (found.data, key)
        hits += 1
cache.close()
print(hits > 0)
"""
    command = [sys.executable, "-c", code, str(path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [one.communicate(timeout=120) for one in running] == [("True\n", "")] * 3
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM results").fetchone()[0] <= 50
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("where", ["the page of the table", "the middle", "everything behind the header"])
def test_a_damaged_file_gives_misses_and_is_made_anew_with_a_warning(
    tmp_path: Path, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "cache.db"
    cache = DiskCache(path)
    for n in range(200):
        cache.put(str(n), result("x" * 400 + str(n)), 0)
    cache.close()
    raw = bytearray(path.read_bytes())
    if where == "the page of the table":
        raw[100:4_000] = b"\xff" * 3_900
    elif where == "the middle":
        raw[len(raw) // 2 : len(raw) // 2 + 8_000] = b"\xa5" * 8_000
    else:
        raw[100:] = os.urandom(len(raw) - 100)
    path.write_bytes(raw)
    again = DiskCache(path)
    for n in range(200):
        assert again.get(str(n), 1) in (None, result("x" * 400 + str(n)))
    again.put("new", result("new"), 1)
    for n in range(200):
        again.put(str(n), result(n), 1)
    assert [again.get(str(n), 2) for n in range(200)] == [result(n) for n in range(200)]
    again.close()
    assert "is damaged" in caplog.text
    assert caplog.records[0].levelno == logging.WARNING


def test_a_row_that_was_changed_is_a_miss(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = DiskCache(path)
    cache.put("k", result("right"), 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE results SET body = replace(body, 'right', 'wrong')")
    assert cache.get("k", 1) is None
    cache.close()


@pytest.mark.parametrize("kind", ["text", "database"])
def test_another_programs_file_is_refused_and_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mine"
    if kind == "text":
        path.write_text("my notes")
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE t (x)")
    before = path.read_bytes()
    with pytest.raises(ToolDefinitionError) as caught:
        DiskCache(path)
    assert caught.value.code == "cache.file"
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_an_error_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        DiskCache(tmp_path / "none" / "cache.db")
    assert caught.value.code == "cache.file"
    assert str(tmp_path / "none") in caught.value.message


def test_a_secret_and_a_call_are_not_written_in_clear(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    cache = DiskCache(path)
    cache.put("what-was-asked", result("open"), 0)
    cache.put("k", result("hush", label=Label(secrecy="secret")), 0)
    assert cache.get("k", 1) is None
    cache.close()
    raw = path.read_bytes()
    assert b"open" in raw
    assert b"hush" not in raw
    assert b"what-was-asked" not in raw


def test_a_lock_that_another_program_holds_costs_a_result_and_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backstay.tools.cache.disk._BUSY_SECONDS", 0.01)
    cache = DiskCache(tmp_path / "cache.db")
    cache.put("k", result(1), 0)
    with closing(sqlite3.connect(tmp_path / "cache.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        assert cache.get("k", 1) == result(1)
        cache.put("k", result(2), 1)
        db.execute("ROLLBACK")
    assert "could not be used" in caplog.text
    assert cache.get("k", 2) == result(1)
    cache.close()


def test_a_forked_process_opens_the_file_for_itself(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache.db")
    cache.put("k", result(1), 0)
    code = """
import os, sys
from backstay.core.messages import ToolResult
from backstay.tools import DiskCache
cache = DiskCache(sys.argv[1])
child = os.fork()
if child == 0:
    cache.put("child", ToolResult(ok=True, summary="", data=2), 0)
    os._exit(0 if cache.get("k", 1).data == 1 else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(code, cache.get("child", 1).data)
cache.close()
"""
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cache.db")], capture_output=True, text=True, timeout=60
    )
    assert (said.stdout, said.stderr) == ("0 2\n", "")
    cache.close()
