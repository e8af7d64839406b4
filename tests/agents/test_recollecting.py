"""What was said before the loaded part of a session: read once in a process, then only what has come since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from backstay import Agent, Boundary, Limits, tool
from backstay.agents.judging.recollect import recollections
from backstay.agents.state import SessionState
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.models.model import ModelProfile
from backstay.store.memory import MemoryStore
from backstay.store.records import Record

SMALL = ModelProfile(family="x", window=4_000, keeps_notes=False)
LONG = Boundary(limits=Limits(steps=300, calls=300, tokens=10_000_000, usd=None))
SENT: list[str] = []


@tool(risk="write", effect="keyed")
async def mail(to: str) -> str:
    """Send a mail. Use it when the user wants to write to somebody."""
    SENT.append(to)
    return "sent"


class Read(MemoryStore):
    """A store that counts the records that are read again."""

    def __init__(self) -> None:
        super().__init__()
        self.records = 0

    async def read(self, session_id: str, **more: Any) -> Sequence[Record]:
        found = await super().read(session_id, **more)
        self.records += len(found)
        return found


def agent(reply: Any, **more: Any) -> Agent[Any]:
    boundary = more.pop("boundary", LONG)
    return Agent(FunctionModel(reply, profile=SMALL), tools=[mail], boundary=boundary, name="a", **more)


async def talk(
    store: MemoryStore, turns: int, first: str = "My boss is bo@example.com.", session: str = "s", **more: Any
) -> None:
    quiet = agent(lambda _request, _ctx: "noted " * 40, **more)
    await quiet.run(first, session=session, store=store)
    for number in range(turns):
        await quiet.run(f"turn {number} " * 10, session=session, store=store)


async def write(store: MemoryStore, to: str, session: str = "s", **more: Any) -> Any:
    one = agent(lambda _request, ctx: call("mail", to=to) if ctx.step == 1 else "told", **more)
    return await one.run("write to my boss", session=session, store=store)


async def seen_by(store: MemoryStore, session: str = "s") -> SessionState:
    state = SessionState(session)
    state.load(await store.load(session))
    return state


async def test_the_whole_is_read_once_and_then_what_is_new() -> None:
    SENT.clear()
    store = Read()
    await talk(store, 60)
    assert (await seen_by(store)).is_partial
    store.records = 0
    assert (await write(store, "bo@example.com")).status == "done"
    whole, store.records = store.records, 0
    assert whole > 150
    assert (await write(store, "bo@example.com")).status == "done"
    assert store.records <= 10
    await talk(store, 20, "Her deputy is al@example.com.")
    store.records = 0
    assert (await write(store, "al@example.com")).status == "done", "said while nobody looked"
    assert store.records < whole / 2
    assert SENT == ["bo@example.com", "bo@example.com", "al@example.com"]


async def test_what_is_known_judges_as_what_is_read_anew() -> None:
    store = Read()
    await talk(store, 60)
    for to in ("bo@example.com", "eve@evil.org"):
        for _ in range(2):
            result = await write(store, to)
            trusted = [one.trusted for action in result.pending for one in action.origins]
            assert (result.status, trusted) == (("done", []) if to[0] == "b" else ("waiting", [False]))


async def test_what_a_person_has_trusted_is_known_on() -> None:
    SENT.clear()
    store = Read()
    await talk(store, 60)
    asking = agent(lambda _request, ctx: call("mail", to="new@example.com") if ctx.step == 1 else "told")
    waiting = await asking.run("write to the new one", session="s", store=store)
    await asking.decide(waiting.pending[0], approve=True, by="bo", trust=True, store=store)
    store.records = 0
    assert (await write(store, "new@example.com")).status == "done"
    assert store.records <= 30
    assert SENT == ["new@example.com"] * 2


async def test_the_rules_of_one_agent_vouch_for_nothing_in_another() -> None:
    SENT.clear()
    store = Read()
    await talk(store, 60)
    ruled = Boundary(constraints=["write to nobody but cy@example.com"], limits=LONG.limits)
    named = await write(store, "cy@example.com", boundary=ruled)
    assert (named.status, SENT) == ("done", ["cy@example.com"])
    other = await write(store, "cy@example.com")
    assert (other.status, len(SENT)) == ("waiting", 1)


async def test_a_session_of_the_same_name_begins_anew() -> None:
    SENT.clear()
    store = Read()
    await talk(store, 60)
    assert (await write(store, "bo@example.com")).status == "done"
    await store.forget("s")
    other = Boundary(limits=replace(LONG.limits, steps=299))  # whose sources are remembered apart
    await talk(store, 90, "Nobody is named here.", boundary=other)
    waiting = await write(store, "bo@example.com")
    assert (waiting.status, len(SENT)) == ("waiting", 1)


async def test_a_drive_that_fails_leaves_nothing_behind() -> None:
    store = Read()
    await talk(store, 60)
    await write(store, "bo@example.com")

    class Failing(ScriptedModel):
        """Dies in its second step."""

        async def request(self, *args: Any, **more: Any) -> Any:
            if args[1].step == 2:
                raise KeyboardInterrupt
            return await super().request(*args, **more)

    dying = Agent(Failing(call("mail", to="bo@example.com")), tools=[mail], boundary=LONG, name="a")
    with pytest.raises(KeyboardInterrupt):
        await dying.run("write", session="s", store=store)
    assert recollections.take(store, "s", dying.definition.policy_digest) is None


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backstay.agents.judging.recollect.MOST_RECORDS", 500)
    store = Read()
    for name in ("s", "t", "u"):
        await talk(store, 60, session=name)
        await write(store, "bo@example.com", session=name)
    digest = agent(lambda _request, _ctx: "").definition.policy_digest
    kept = [name for name in ("s", "t", "u") if recollections.take(store, name, digest) is not None]
    assert kept == ["u"]
