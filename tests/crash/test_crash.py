"""Forced exit at every boundary of a run, then a fresh process on the same file: nothing lost, nothing doubled."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from backstay.core.context import Effect
from backstay.store.open import open_store

from . import world

_fork = multiprocessing.get_context("forkserver")
_fork.set_forkserver_preload([world.__name__])

# What multiprocessing says where its fork server lost a child's status, which happens under load; the disk tells then.
_STATUS_LOST = 255

# Between these two an effect has been begun and its outcome is not written: nobody can know.
_IN_WINDOW = ("begin_effect:after", "tool:before", "tool:after")


def _life(folder: Path, kill_at: int, restart: int, effect: Effect) -> int:
    process = _fork.Process(target=world.live, args=(str(folder), kill_at, restart, effect))
    process.start()
    process.join(60)
    code = process.exitcode
    process.close()
    assert code is not None, "the process hangs"
    if code != _STATUS_LOST:
        return code
    return 0 if (folder / f"ended-{restart}").exists() else world.KILLED


def _effects(folder: Path) -> tuple[Counter[str], Counter[int]]:
    with sqlite3.connect(folder / "world.db") as db:
        effects = Counter(kind for (kind,) in db.execute("SELECT kind FROM effects"))
        asked = Counter(step for (step,) in db.execute("SELECT step FROM asked"))
    db.close()
    return effects, asked


async def _end(folder: Path) -> tuple[str, list[Any], list[str], list[str]]:
    store = open_store(folder / "store.db")
    (run,) = await store.runs()
    doubts = [one for one in await store.pending() if one.kind == "in_doubt"]
    kinds = [record.kind for record in await store.read("s", limit=200)]
    problems = list(await store.verify_audit())
    await store.close()
    return run.status, doubts, kinds, problems


def _is_in_doubt(log: list[str]) -> bool:
    """Whether the process was killed after an effect had begun and before its outcome was durable."""
    last = log[-1]
    return last in _IN_WINDOW or (last == "append:before" and log[-2] == "tool:after")


def _is_reply_lost(log: list[str]) -> bool:
    """Whether it was killed after the model had spoken and before that was durable: nothing is built on it yet."""
    return log[-1] == "model:after" or (log[-1] in ("append:before", "release:before") and log[-2] == "model:after")


def _check(folder: Path, effect: Effect, log: list[str]) -> str:
    status, doubts, kinds, problems = asyncio.run(_end(folder))
    effects, asked = _effects(folder)
    where = f"killed at {log[-1]} ({len(log)}): {status}, {dict(effects)}, {kinds}"
    begun = log.count("begin_effect:after")
    is_note = effect != "none" and begun == 1
    doubtful = _is_in_doubt(log) and begun > 0 and not (is_note and effect == "keyed")
    assert problems == [], where
    assert len(doubts) == int(doubtful), where
    assert status == ("waiting" if doubtful else "done"), where
    in_doubt = doubts[0].call.name if doubts else ""
    for kind in ("note", "refund"):
        if kind == in_doubt:
            assert effects[kind] <= 1, where
        elif kind == "note" and effect == "none":
            assert effects[kind] in (1, 2), where
        else:
            assert effects[kind] == 1, where
    replies = (3 if doubtful else 4) + int(_is_reply_lost(log))
    assert sum(asked.values()) == replies, f"{where}: a reply that was journalled was asked for again"
    assert kinds.count("reply") == 4 or doubtful, where
    return "in doubt" if doubtful else "done"


def _crash_and_resume(folder: Path, kill_at: int, effect: Effect) -> str:
    """Kill a first process at one boundary, let a second one finish, and check the world."""
    folder.mkdir()
    world.make_world(folder / "world.db")
    code = _life(folder, kill_at, 0, effect)
    log = (folder / "log").read_text().split()
    assert code == world.KILLED
    assert _life(folder, 0, 1, effect) == 0, f"the second life failed after a kill at {log[-1]} ({kill_at})"
    return _check(folder, effect, log)


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a killed process needs no disk that keeps its word on a power cut."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize("effect", ["none", "keyed", "once"])
def test_a_forced_exit_at_every_boundary_loses_and_doubles_nothing(quick_folder: Path, effect: Effect) -> None:
    whole = quick_folder / "whole"
    whole.mkdir()
    world.make_world(whole / "world.db")
    assert _life(whole, 0, 0, effect) == 0
    boundaries = len((whole / "log").read_text().split())
    assert boundaries > 30, "a run has more boundaries than that"
    with ThreadPoolExecutor(3) as seats:
        outcomes = Counter(
            seats.map(lambda at: _crash_and_resume(quick_folder / str(at), at, effect), range(1, boundaries + 1))
        )
    # Four boundaries lie inside the window of each once effect: begun, before the body, after it, outcome not written.
    assert outcomes["in doubt"] == (8 if effect == "once" else 4), outcomes


def test_the_harness_would_see_a_doubled_effect(tmp_path: Path) -> None:
    """The check itself can fail: two effects under a class that allows one are found."""
    world.make_world(tmp_path / "world.db")
    assert _life(tmp_path, 0, 0, "once") == 0
    log = (tmp_path / "log").read_text().split()
    assert _check(tmp_path, "once", [*log, "release:after"]) == "done"
    with sqlite3.connect(tmp_path / "world.db") as db:
        db.execute("INSERT INTO effects(kind) VALUES ('refund')")
    db.close()
    with pytest.raises(AssertionError, match="refund"):
        _check(tmp_path, "once", [*log, "release:after"])
