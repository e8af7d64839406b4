"""A process that can be killed at any boundary of a run, and the world outside in which its effects are counted.

`live` does what a user's process would do: start the run unless it was started, decide what waits, drive what is due.
It is called again in a fresh process until it comes to its end. Nothing here is imported by the library.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstay import Agent, RunContext, tool
from backstay.agents import decide
from backstay.core.context import Effect
from backstay.models import FunctionModel, call
from backstay.store.sqlite import SQLiteStore

KILLED = 137


@dataclass
class Boundaries:
    """Counts the boundaries of this process and kills it at one of them; each is noted on disk before."""

    log: Path
    kill_at: int
    passed: int = 0

    def __call__(self, name: str) -> None:
        self.passed += 1
        with self.log.open("a") as log:
            log.write(f"{name}\n")
        if self.passed == self.kill_at:
            os._exit(KILLED)


class WatchedStore:
    """A real store whose every writing operation is a boundary before and after."""

    def __init__(self, inner: Any, boundary: Boundaries) -> None:
        self._inner = inner
        self._boundary = boundary

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in ("create", "claim", "arrivals", "append", "begin_effect", "release", "decide", "load"):
            return found

        async def watched(*args: Any, **kwargs: Any) -> Any:
            self._boundary(f"{name}:before")
            result = await found(*args, **kwargs)
            self._boundary(f"{name}:after")
            return result

        return watched


def _effect(world: Path, kind: str, key: str, *, dedups: bool) -> None:
    with sqlite3.connect(world) as db:
        verb = "INSERT OR IGNORE" if dedups else "INSERT"
        db.execute(f"{verb} INTO effects(kind, key) VALUES (?, ?)", (kind, key if dedups else None))
    db.close()


def make_world(world: Path) -> None:
    """The tables outside: what tools did, and what the model was asked."""
    with sqlite3.connect(world) as db:
        db.execute("CREATE TABLE effects(kind TEXT, key TEXT UNIQUE)")
        db.execute("CREATE TABLE asked(step INTEGER)")
    db.close()


def make_agent(world: Path, boundary: Callable[[str], None], effect: Effect) -> Agent[Any]:
    """An agent that notes something, then wants money back, then says so."""

    @tool(risk="read" if effect == "none" else "write", effect=effect, name="note")
    async def note(text: str, ctx: RunContext[None]) -> str:
        """Note something. Use it when asked."""
        boundary("tool:before")
        _effect(world, "note", ctx.idempotency_key or "", dedups=effect == "keyed")
        boundary("tool:after")
        return "noted"

    @tool(risk="high", effect="once")
    async def refund(order: str, ctx: RunContext[None]) -> str:
        """Pay an order back."""
        boundary("tool:before")
        _effect(world, "refund", ctx.idempotency_key or "", dedups=False)
        boundary("tool:after")
        return "paid"

    def model(_request: Any, ctx: RunContext[Any]) -> Any:
        boundary("model:before")
        with sqlite3.connect(world) as db:
            db.execute("INSERT INTO asked VALUES (?)", (ctx.step,))
        db.close()
        lines = [
            [call("note", text="late")],
            [call("propose_action", action={"name": "refund", "arguments": {"order": "1001"}}, reason="late")],
            ["A person decides."],
            ["It is settled."],
        ]
        boundary("model:after")
        return lines[ctx.step - 1]

    return Agent(FunctionModel(model), name="desk", tools=[note, refund])


def live(folder: str, kill_at: int, restart: int, effect: Effect) -> None:
    """One life of the process: until its work is done, or until it is killed."""
    asyncio.run(_live(Path(folder), kill_at, restart, effect))
    (Path(folder) / f"ended-{restart}").touch()
    os._exit(0)


async def _live(folder: Path, kill_at: int, restart: int, effect: Effect) -> None:
    boundary = Boundaries(folder / "log", kill_at)

    def clock() -> float:
        return time.time() + 3600 * restart

    inner = SQLiteStore(folder / "store.db", clock=clock)
    store: Any = WatchedStore(inner, boundary)
    agent = make_agent(folder / "world.db", boundary, effect)
    with agent.override(clock=clock):
        if not await inner.runs():
            await agent.run("Note it and pay 1001 back", session="s", store=store, dedup="this")
        await _drive_due(agent, store, clock)
        for action in await inner.pending():
            if action.kind == "approval":
                await decide(store, action, approve=True, by="bo", via="test", at=clock())
        await _drive_due(agent, store, clock)
    await inner.close()


async def _drive_due(agent: Agent[Any], store: Any, clock: Callable[[], float]) -> None:
    for _ in range(5):
        due = await store.due(clock(), 10)
        if not due:
            return
        for run_id in due:
            await agent.resume(run_id, store=store)
    raise AssertionError(f"{due} stays due")
