"""Going on: after another process, after a crash, after a set-up error, after the end of a run."""

from __future__ import annotations

import asyncio
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from backstay import Agent, RunContext, tool
from backstay.agents import decide
from backstay.agents.drive import live
from backstay.agents.journal import SNAPSHOT_EVERY
from backstay.agents.state import SessionState
from backstay.core.errors import AppError, FencedError, SetupError
from backstay.core.messages import ModelRequest
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.open import open_store
from backstay.store.owners import is_gone, new_owner
from backstay.store.protocol import RunStore
from desk import Desk, propose


async def test_a_wish_to_cancel_ends_a_run_that_waits(store: RunStore) -> None:
    agent = Desk().agent(propose(), "wait", "never")
    waiting = await agent.run("refund", session="s", store=store)
    await agent.cancel(waiting.run_id, "the customer called it off", store=store)
    assert list(await store.due(waiting.pending[0].asked_at + 1, 5)) == [waiting.run_id]
    ended = await agent.resume(waiting.run_id, store=store)
    assert ended is not None
    assert (ended.status, ended.code, ended.reason) == ("cancelled", "run.cancelled", "the customer called it off")
    assert await agent.resume(waiting.run_id, store=store) is None


async def test_a_run_stays_due_after_a_set_up_error(store: RunStore) -> None:
    @tool(risk="high")
    async def pay(order: str, ctx: RunContext[str]) -> str:
        """Pay."""
        return f"paid with {ctx.deps}"

    action = {"name": "pay", "arguments": {"order": "1"}}
    lines = (call("propose_action", action=action, reason=""), "wait", "done")
    agent: Agent[str] = Agent(ScriptedModel(*lines), tools=[pay], name="a")
    waiting = await agent.run("pay", session="s", store=store, deps="the bank")
    await decide(store, waiting.pending[0], approve=True, by="bo", via="cli")
    with pytest.raises(SetupError) as missing:
        await agent.resume(waiting.run_id, store=store)
    assert missing.value.code == "deps.missing"
    assert list(await store.due(waiting.pending[0].asked_at + 1, 5)) == [waiting.run_id]
    with pytest.raises(AppError) as stranger:
        await Agent(ScriptedModel(*lines), name="b").resume(waiting.run_id, store=store)
    assert stranger.value.code == "app.agent"
    again: Agent[str] = Agent(
        ScriptedModel(*lines), tools=[pay], name="a", deps_for=lambda who, run: f"{who.id}'s bank"
    )
    done = await again.resume(waiting.run_id, store=store)
    assert done is not None
    assert "paid with local's bank" in done.new_messages[0].text


async def test_a_rule_confirmed_after_its_run_was_done_holds_from_the_next_run_on(store: RunStore) -> None:
    desk = Desk()
    agent = desk.agent("Fine.")
    done = await agent.run("Only look at the last 20 days, please", session="s", store=store)
    (question,) = done.pending
    assert (done.status, question.kind, question.call) == ("done", "question", None)
    broken = await agent.run(
        "list them", session="s", store=store, model=ScriptedModel(call("list_orders", days=25), "asked")
    )
    assert broken.new_messages[2].returns[0].result.via == "held", "while it is only proposed, a break asks"
    await decide(store, broken.pending[0], approve=False, by="local", via="cli")
    await agent.resume(broken.run_id, store=store)
    await decide(store, question, approve=True, by="local", via="cli")
    refused = await agent.run(
        "list more", session="s", store=store, model=ScriptedModel(call("list_orders", days=26), "refused")
    )
    results = [one.result for message in refused.new_messages for one in message.returns]
    assert [one.code for one in results] == ["constraint.broken"]
    assert desk.calls["list_orders"] == 0
    assert (await store.action(question.id)).state == "done"


async def test_a_run_that_is_left_goes_on_where_it_was(store: RunStore) -> None:
    started, asked = asyncio.Event(), list[int]()
    go = asyncio.Event()

    @tool(risk="read")
    async def look(n: int) -> int:
        """Look. Use it when asked."""
        asked.append(n)
        if n == 2:
            started.set()
            await go.wait()
        return n

    agent = Agent(ScriptedModel(call("look", n=1), call("look", n=2), "done"), tools=[look], name="a")
    task = asyncio.ensure_future(agent.run("go", session="s", store=store))
    await started.wait()
    assert live.leave("Ctrl-C") == 1
    left = await task
    assert (left.status, left.code) == ("waiting", "run.interrupted")
    assert (await store.run(left.run_id)).status == "running"
    assert list(await store.due(0, 5)) == [left.run_id]
    go.set()
    done = await agent.resume(left.run_id, store=store)
    assert done is not None
    assert (done.status, done.output, done.steps) == ("done", "done", 3)
    assert asked == [1, 2, 2], "the finished call was not repeated, the one that was cut off was"


async def test_a_lost_lease_fences_the_first_driver_out(tmp_path: Path) -> None:
    from backstay.store.sqlite import SQLiteStore

    now = [1_800_000_000.0]
    store = SQLiteStore(tmp_path / "s.db", clock=lambda: now[0])
    began, go = asyncio.Event(), asyncio.Event()

    @tool(risk="read")
    async def look() -> str:
        """Look. Use it when asked."""
        began.set()
        await go.wait()
        return "seen"

    agent = Agent(ScriptedModel(call("look"), "done"), tools=[look], name="a")
    first = asyncio.ensure_future(agent.run("go", session="s", store=store))
    await began.wait()
    now[0] += 3600
    go.set()
    (run,) = await store.runs()
    second = await store.claim(run.run_id, owner="somebody else", ttl=30)
    assert second is not None
    with pytest.raises(FencedError):
        await first
    await store.close()


def _die(path: str) -> None:
    async def work() -> None:
        store = open_store(path)

        @tool(risk="read")
        async def hang() -> None:
            """Hang. Use it when asked."""
            import os

            os._exit(9)

        await Agent(ScriptedModel(call("hang"), "done"), tools=[hang], name="a").run("go", session="s", store=store)

    asyncio.run(work())


async def test_the_session_of_a_dead_process_is_free_at_once(tmp_path: Path) -> None:
    process = multiprocessing.get_context("forkserver").Process(target=_die, args=(str(tmp_path / "s.db"),))
    process.start()
    await asyncio.to_thread(process.join)
    assert process.exitcode == 9
    process.close()

    @tool(risk="read")
    async def hang() -> str:
        """Hang. Use it when asked."""
        return "not any more"

    store = open_store(tmp_path / "s.db")
    (run_id,) = await store.due(0, 5)
    done = await Agent(ScriptedModel(call("hang"), "done"), tools=[hang], name="a").resume(run_id, store=store)
    assert done is not None
    assert done.output == "done"
    await store.close()


def test_an_owner_tells_whether_its_process_lives() -> None:
    assert not is_gone(new_owner())
    assert not is_gone("somebody else")
    assert not is_gone("another-boot+1/1/1/abcd")
    place, pid, started, nonce = new_owner().split("/")
    assert is_gone(f"{place}/{pid}/{int(started) - 1}/{nonce}"), "another process had the number before"
    assert is_gone(f"{place}/4194304/{started}/{nonce}")


async def test_a_snapshot_and_what_follows_fold_into_the_same_state_as_everything(store: RunStore) -> None:
    seen: list[ModelRequest] = []

    def model(request: ModelRequest, ctx: RunContext[Any]) -> Any:
        seen.append(request)
        return call("list_orders", days=2) if ctx.step % 12 else "so far"

    desk = Desk()
    agent = desk.agent(constraints=("only the last 30 days",))
    for number in range(8):
        await agent.run(
            f"turn {number}, only the last {25 - number} days", session="s", store=store, model=FunctionModel(model)
        )
    await agent.run("refund", session="s", store=store, model=ScriptedModel(propose(), "waits"))
    await agent.run("and?", session="s", store=store, model=FunctionModel(lambda _r, _c: "still waiting"))
    records = [record for page in (0, 200) for record in await store.read("s", after=page, limit=200)]
    assert any(record.kind == "snapshot" for record in records)
    assert len(records) > SNAPSHOT_EVERY
    whole, quick = SessionState("s"), SessionState("s")
    for record in records:
        whole.fold(record)
    quick.load(await store.load("s"))
    for name in ("seq", "instructions", "messages", "constraints", "label", "done", "open", "decided", "refused"):
        assert getattr(quick, name) == getattr(whole, name), name
    assert {key: run.count() for key, run in quick.runs.items()} == {
        key: run.count() for key, run in whole.runs.items()
    }


async def test_the_second_start_with_one_key_is_the_first(store: RunStore) -> None:
    desk = Desk()
    agent = desk.agent(call("find_order", order_id="1"), "found")
    first = await agent.run("go", store=store, session="s", dedup="order-7")
    second = await agent.run("go", store=store, session="s", dedup="order-7")
    assert (second.run_id, second.status, second.output) == (first.run_id, "done", "found")
    assert desk.calls["find_order"] == 1


async def test_a_rule_stated_as_such_is_in_force_at_once_and_for_the_whole_session(store: RunStore) -> None:
    desk = Desk()
    agent = desk.agent(call("list_orders", days=20), "no")
    first = await agent.run("list them", session="s", store=store, rules=["only the last 10 days", "be kind"])
    again = await agent.run(
        "once more", session="s", store=store, model=ScriptedModel(call("list_orders", days=11), "no")
    )
    codes = [one.result.code for run in (first, again) for message in run.new_messages for one in message.returns]
    assert codes == ["constraint.broken", "constraint.broken"]
    assert (first.pending, desk.calls["list_orders"]) == ((), 0)
    seen: list[ModelRequest] = []

    def watch(request: ModelRequest, _ctx: RunContext[Any]) -> Any:
        seen.append(request)
        return "ok"

    await agent.run("and now?", session="s", store=store, model=FunctionModel(watch))
    assert "be kind" in seen[0].messages[0].text
    with pytest.raises(SetupError, match="one text"):
        await agent.run("go", store=store, rules="only the last 10 days")
