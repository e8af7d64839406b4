"""An input for a session on which another run is at work waits, enters that run, goes ahead of it, or is refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backstay import Agent, Limits, Principal, RunResult, tool
from backstay.agents.drive import live
from backstay.boundary.constraints import Constraint
from backstay.boundary.halts import Halt
from backstay.core.errors import NotFoundError, SetupError, StoreError
from backstay.core.events import ModelStart, ToolStart
from backstay.core.messages import Label, Message, ModelRequest
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store import MemoryStore, SQLiteStore
from backstay.store.protocol import RunStore
from backstay.store.records import Input, Status
from backstay.testing.clock import FakeClock

ANN = Principal(id="ann", tenant="acme", kind="customer")
BOB = Principal(id="bob", tenant="acme", kind="customer")


class Gate:
    """Something that is under way until it is told to go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self.go.wait()


class Scene:
    """An agent whose model stops at one of its steps and whose tool stops at its gate."""

    def __init__(self, *lines: Any, stop_at: int = 0, **more: Any) -> None:
        self.gate, self.seen, self._lines = Gate(), list[ModelRequest](), list(lines)
        gate = self.gate

        @tool(risk="read")
        async def slow() -> str:
            """Take a while. Use it when asked."""
            await gate()
            return "found"

        @tool(risk="read")
        async def look(days: int = 30) -> str:
            """Look something up. Use it when asked."""
            return f"{days} days"

        async def model(request: ModelRequest, _ctx: Any) -> Any:
            self.seen.append(request)
            if len(self.seen) == stop_at:
                await gate()
            return self._lines[len(self.seen) - 1]

        self.agent: Agent[Any] = Agent(FunctionModel(model), name="a", tools=[slow, look], **more)

    def begin(self, store: RunStore, words: str = "begin", **more: Any) -> asyncio.Task[RunResult[Any]]:
        return asyncio.ensure_future(self.agent.run(words, session="s", store=store, **more))

    async def at_gate(self) -> None:
        async with asyncio.timeout(10):
            await self.gate.reached.wait()

    def words(self, number: int) -> list[str]:
        """Role and words of a request's messages, without the system text."""
        return [f"{one.role}: {one.text}" for one in self.seen[number].messages[1:]]


async def until(condition: Callable[[], Any]) -> None:
    """Give other tasks their turn until something is so."""
    async with asyncio.timeout(10):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.001)


async def the_run_at_work(store: RunStore) -> str:
    (row,) = await store.runs(status="running")
    return row.run_id


async def has_arrived(store: RunStore, count: int = 1) -> None:
    run_id = await the_run_at_work(store)

    async def enough() -> bool:
        return await store.arrived(run_id) == count

    await until(enough)


def check_valid(messages: tuple[Message, ...]) -> None:
    """Every call is followed at once by its result."""
    for at, message in enumerate(messages):
        if message.calls:
            assert [one.call_id for one in messages[at + 1].returns] == [one.id for one in message.calls]


# steer


async def test_steered_during_a_tool_the_model_reads_it_with_the_results(store: RunStore) -> None:
    scene = Scene(call("slow"), "both done")
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    scene.gate.go.set()
    one, two = await first, await second
    assert [one.run_id, one.output] == [two.run_id, two.output]
    assert (two.status, two.output, two.steps, two.session_id) == ("done", "both done", 2, "s")
    assert scene.words(1)[0] == "user: begin"
    assert scene.words(1)[-1] == "user: and hurry"
    check_valid(scene.seen[1].messages)
    assert [row.run_id for row in await store.runs()] == [one.run_id], "no second run was made"
    inputs = [record for record in await store.read("s") if isinstance(record.body, Input)]
    assert {record.run_id for record in inputs} == {one.run_id}


async def test_steered_during_a_request_that_asks_for_a_tool_it_enters_after_the_results(store: RunStore) -> None:
    scene = Scene(call("look"), "both done", stop_at=1)
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    scene.gate.go.set()
    assert (await first).output == (await second).output == "both done"
    roles = [message.role for message in scene.seen[1].messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    check_valid(scene.seen[1].messages)


async def test_steered_during_the_last_request_the_run_goes_on_and_answers_it(store: RunStore) -> None:
    scene = Scene("the first answer", "both answers", stop_at=1)
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    scene.gate.go.set()
    one, two = await first, await second
    assert one.run_id == two.run_id
    assert one.output == two.output == "both answers"
    assert scene.words(1) == ["user: begin", "assistant: the first answer", "user: and hurry"]
    assert len(await store.runs()) == 1


async def test_two_steer_at_once_and_both_enter_in_their_order(store: RunStore) -> None:
    scene = Scene(call("slow"), "all done")
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "one more", on_busy="steer")
    await has_arrived(store, 1)
    third = scene.begin(store, "and another", on_busy="steer")
    await has_arrived(store, 2)
    scene.gate.go.set()
    results = await asyncio.gather(first, second, third)
    assert {one.run_id for one in results} == {results[0].run_id}
    assert [one.output for one in results] == ["all done"] * 3
    assert scene.words(1)[-2:] == ["user: one more", "user: and another"]
    assert len(scene.seen) == 2


async def test_a_run_that_ends_before_leaves_the_input_a_run_of_its_own(store: RunStore) -> None:
    scene = Scene(call("slow"), "its own answer")
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    await scene.agent.cancel((await the_run_at_work(store)), "enough", store=store)
    one, two = await first, await second
    assert (one.status, two.status) == ("cancelled", "done")
    assert one.run_id != two.run_id
    assert two.output == "its own answer"
    check_valid(scene.seen[1].messages)
    assert scene.words(1)[-1] == "user: and hurry"


async def test_steering_a_session_whose_run_has_just_ended_makes_a_run(store: RunStore) -> None:
    scene = Scene("one", "two")
    first = await scene.begin(store)
    second = await scene.begin(store, "again", on_busy="steer")
    assert (first.output, second.output) == ("one", "two")
    assert first.run_id != second.run_id


async def test_an_input_that_comes_between_the_last_look_and_the_end_is_not_lost(tmp_path: Path) -> None:
    """The store itself brings it in the one place where nobody looks any more."""
    other: list[asyncio.Task[Any]] = []

    class Late(MemoryStore):
        async def release(self, *args: Any, **more: Any) -> None:
            if not other:
                other.append(scene.begin(self, "and hurry", on_busy="steer"))
                await has_arrived(self)
            await super().release(*args, **more)

    scene, store = Scene("one", "two"), Late()
    first = await scene.begin(store)
    second = await other[0]
    assert (first.output, second.output) == ("one", "two")
    assert first.run_id != second.run_id
    assert scene.words(1) == ["user: begin", "assistant: one", "user: and hurry"]


async def test_steered_across_two_stores_on_one_file(tmp_path: Path) -> None:
    one, other = SQLiteStore(tmp_path / "s.db"), SQLiteStore(tmp_path / "s.db")
    scene = Scene(call("slow"), "both done")
    elsewhere = Scene("never")
    first = scene.begin(one)
    await scene.at_gate()
    second = elsewhere.begin(other, "and hurry", on_busy="steer")
    await has_arrived(one)
    scene.gate.go.set()
    assert (await first).run_id == (await second).run_id
    assert (await second).output == "both done"
    assert elsewhere.seen == []
    await one.close()
    await other.close()


async def test_rules_in_what_steers_hold_from_then_on_each_of_its_own_message(store: RunStore) -> None:
    scene = Scene(call("slow"), call("look", days=25), "done")
    first = scene.begin(store)
    await scene.at_gate()
    others = [scene.begin(store, "only look at the last 20 days", on_busy="steer")]
    await has_arrived(store, 1)
    others.append(scene.begin(store, "hurry", on_busy="steer", rules=["never use slow again"]))
    await has_arrived(store, 2)
    scene.gate.go.set()
    await asyncio.gather(first, *others)
    records = await store.read("s")
    said = {one.body.message.id: one.body.message.text for one in records if isinstance(one.body, Input)}
    rules = [one.body for one in records if isinstance(one.body, Constraint)]
    assert [(said[one.message_id or ""], one.status) for one in rules] == [
        ("only look at the last 20 days", "proposed"),
        ("hurry", "confirmed"),
    ]
    kinds = [one.kind for one in records if one.kind in ("input", "constraint")]
    assert kinds == ["input", "input", "constraint", "input", "constraint"]


async def test_limits_are_per_input_also_for_what_steers() -> None:
    clock, store = FakeClock(), MemoryStore()
    scene = Scene(call("slow"), call("look"), "done")
    with scene.agent.override(clock=clock):
        first = scene.begin(store, limits=Limits(steps=1, seconds=100))
        await scene.at_gate()
        clock.now += 60
        second = scene.begin(store, "go on", on_busy="steer", limits=Limits(steps=2, seconds=100))
        await has_arrived(store)
        scene.gate.go.set()
        one = await first
    assert (one.status, one.output, one.steps) == ("done", "done", 3)
    assert (await second).run_id == one.run_id
    worked = [record.body.active_seconds for record in await store.read("s") if isinstance(record.body, Status)]
    assert worked == [60.0, 0.0]


async def test_the_seconds_of_what_steers_begin_when_it_is_taken_in() -> None:
    """Without that the run would have ended with its first input's second."""
    store = MemoryStore()
    scene = Scene(call("slow"), "done", stop_at=2)
    first = scene.begin(store, limits=Limits(seconds=1e6))
    await scene.at_gate()
    second = scene.begin(store, "go on", on_busy="steer", limits=Limits(seconds=0.05))
    await has_arrived(store)
    scene.gate.go.set()
    scene.gate.go = asyncio.Event()
    assert [one.code for one in (await first, await second)] == ["limit.seconds"] * 2


async def test_a_run_that_was_started_with_deps_needs_them_after_it_was_steered_without(store: RunStore) -> None:
    scene = Scene(call("look"), call("look"), "done", stop_at=1)
    first = scene.begin(store, deps="a bank")
    await scene.at_gate()
    second = scene.begin(store, "go on", on_busy="steer")
    await has_arrived(store)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    scene.agent.on(ModelStart, lambda event: live.leave("Ctrl-C") if event.step == 2 else None)
    scene.gate.go.set()
    left = await first
    assert [one.kind for one in await store.read("s")].count("input") == 2
    with pytest.raises(SetupError) as caught:
        await scene.agent.resume(left.run_id, store=store)
    assert caught.value.code == "deps.missing"


async def test_a_label_of_what_steers_is_the_runs_from_then_on(store: RunStore) -> None:
    scene = Scene(call("slow"), "done")
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "a forwarded mail", on_busy="steer", label=Label(trusted=False))
    await has_arrived(store)
    scene.gate.go.set()
    assert not (await first).label.trusted
    assert not (await second).label.trusted


async def test_what_may_not_enter_waits_for_its_turn(store: RunStore) -> None:
    scene, another = Scene(call("slow"), "one"), Agent(ScriptedModel("two"), name="b")
    first = scene.begin(store)
    await scene.at_gate()
    second = asyncio.ensure_future(another.run("hi", session="s", store=store, on_busy="steer"))

    async def is_queued() -> bool:
        return len(await store.runs(status="queued")) == 1

    await until(is_queued)
    scene.gate.go.set()
    assert ((await first).output, (await second).output) == ("one", "two")


async def test_a_run_that_waits_for_a_person_gives_both_callers_its_state(store: RunStore) -> None:
    scene = Scene(call("slow"), call("ask_user", question="Which?"), "I wait.", ask_user=True)
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    scene.gate.go.set()
    one, two = await first, await second
    assert (one.run_id, one.status) == (two.run_id, two.status)
    assert two.status == "waiting"
    assert [action.question for action in two.pending] == ["Which?"]


async def test_a_halted_run_keeps_what_steers_it_until_the_halt_is_lifted(store: RunStore) -> None:
    scene = Scene(call("slow"), "done", stop_at=1)
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    await store.standing.halt(Halt(scope="all", name="", by="bo", at=1.0, reason="an incident"))
    scene.gate.go.set()
    one, two = await first, await second
    assert (one.code, two.code) == ("halted", "halted")
    assert list(await store.due(9e9, 5)) == []
    await store.standing.lift("all", "", by="bo", at=2.0)
    assert list(await store.due(9e9, 5)) == [one.run_id]
    done = await scene.agent.resume(one.run_id, store=store)
    assert done is not None
    assert done.output == "done"
    assert scene.words(1)[-1] == "user: and hurry"
    check_valid(scene.seen[1].messages)


async def test_a_cancelled_wait_takes_nothing_back_and_stops_nobody(store: RunStore) -> None:
    scene = Scene(call("slow"), "done")
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    scene.gate.go.set()
    assert (await first).status == "done"
    assert scene.words(1)[-1] == "user: and hurry"


DIES = textwrap.dedent("""
    import asyncio, os, sys
    from backstay import Agent, tool
    from backstay.models import ScriptedModel, call
    from backstay.store import SQLiteStore

    async def main(path):
        store = SQLiteStore(path)

        @tool(risk="read")
        async def slow() -> str:
            "Take a while. Use it when asked."
            asyncio.ensure_future(agent.run("and hurry", session="s", store=store, on_busy="steer"))
            (row,) = await store.runs()
            while not await store.arrived(row.run_id):
                await asyncio.sleep(0.001)
            os.kill(os.getpid(), 9)

        agent = Agent(ScriptedModel(call("slow"), "never"), name="a", tools=[slow])
        await agent.run("begin", session="s", store=store)

    asyncio.run(main(sys.argv[1]))
""")


async def test_what_steers_survives_kill_9_and_is_taken_in_by_the_resume(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    command = [sys.executable, "-c", DIES, str(path)]
    killed = await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
    assert killed.returncode == -9
    store = SQLiteStore(path)
    (run_id,) = await store.due(9e9, 5)
    scene = Scene("both done")
    scene.gate.go.set()
    done = await scene.agent.resume(run_id, store=store)
    assert done is not None
    assert (done.output, done.run_id) == ("both done", run_id)
    roles = [message.role for message in scene.seen[0].messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert scene.words(0)[-1] == "user: and hurry"
    check_valid(scene.seen[0].messages)
    assert [row.run_id for row in await store.runs()] == [run_id]
    await store.close()


class Killed(BaseException):
    """The process is gone."""


class Dying:
    """A real store whose process dies at one of its writes, before or after it."""

    WRITES = ("create", "claim", "arrivals", "next_input", "append", "begin_effect", "release")

    def __init__(self, inner: SQLiteStore, at: int) -> None:
        self._inner, self._left = inner, at

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._watched(found) if name in self.WRITES else found

    def _watched(self, function: Any) -> Any:
        async def watched(*args: Any, **more: Any) -> Any:
            self._pass()
            result = await function(*args, **more)
            self._pass()
            return result

        return watched

    def _pass(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise Killed


async def steered_until_killed(path: Path, at: int) -> bool:
    """One life of a process in which a run is steered, with words that hold a rule; True if it died."""
    inner = SQLiteStore(path)
    store: Any = Dying(inner, at)
    scene = Scene(call("slow"), "both done")
    first = scene.begin(store)
    done, _ = await asyncio.wait({first, asyncio.ensure_future(scene.at_gate())}, return_when="FIRST_COMPLETED")
    if first not in done:
        waits = asyncio.ensure_future(
            scene.agent.run("only look at the last 20 days", session="s", store=inner, on_busy="steer")
        )
        await has_arrived(inner)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        scene.gate.go.set()
    try:
        await first
    except Killed:
        return True
    finally:
        scene.gate.go.set()
        await inner.close()
    return False


async def test_killed_at_any_write_what_steers_is_taken_in_once_with_its_rule(tmp_path: Path) -> None:
    at = 0
    while True:
        at += 1
        path = tmp_path / f"{at}" / "s.db"
        path.parent.mkdir()
        is_dead = await steered_until_killed(path, at)
        store = SQLiteStore(path, clock=lambda: 9e9)
        scene = Scene("both done", "both done", "both done")
        scene.gate.go.set()
        for run_id in await store.due(9e9, 5):
            await scene.agent.resume(run_id, store=store)
        assert await store.due(9e9, 5) == []
        records = await store.read("s", limit=500)
        said = [one.body.message.text for one in records if isinstance(one.body, Input)]
        assert said in ([], ["begin"], ["begin", "only look at the last 20 days"]), at
        rules = [one for one in records if isinstance(one.body, Constraint)]
        assert len(rules) == (len(said) == 2), at
        assert len(await store.runs()) == (len(said) > 0)
        for request in scene.seen:
            check_valid(request.messages)
        await store.close()
        if not is_dead:
            break
    assert at > 12, "the test has seen the writes of such a run"


async def test_whoever_waits_goes_on_with_the_run_when_its_driver_dies(tmp_path: Path) -> None:
    now = [1_800_000_000.0]
    one, other = (SQLiteStore(tmp_path / "s.db", clock=lambda: now[0]) for _ in range(2))
    scene, elsewhere = Scene(call("slow"), "never"), Scene("taken over")
    elsewhere.gate.go.set()
    first = scene.begin(one)
    await scene.at_gate()
    second = elsewhere.begin(other, "and hurry", on_busy="steer")
    await has_arrived(one)
    now[0] += 31  # the first is as good as dead
    two = await second
    assert (two.status, two.output) == ("done", "taken over")
    assert elsewhere.words(0)[-1] == "user: and hurry"
    check_valid(elsewhere.seen[0].messages)
    scene.gate.go.set()
    await asyncio.gather(first, return_exceptions=True)
    assert [row.status for row in await one.runs()] == ["done"]
    await one.close()
    await other.close()


# reject


async def test_reject_raises_at_once_and_stores_nothing(store: RunStore) -> None:
    scene = Scene(call("slow"), "one", "two", on_busy="reject")
    first = scene.begin(store)
    await scene.at_gate()
    before = await store.read("s")
    with pytest.raises(StoreError) as caught:
        await scene.begin(store, "too much")
    assert caught.value.code == "session.busy"
    assert await the_run_at_work(store) in caught.value.message
    assert await store.read("s") == before
    assert len(await store.runs()) == 1
    scene.gate.go.set()
    await first
    assert (await scene.begin(store, "now")).output == "two"


async def test_reject_sees_a_session_that_another_process_holds(tmp_path: Path) -> None:
    one, other = SQLiteStore(tmp_path / "s.db"), SQLiteStore(tmp_path / "s.db")
    scene = Scene(call("slow"), "one")
    first = scene.begin(one)
    await scene.at_gate()
    with pytest.raises(StoreError) as caught:
        await Scene("never").begin(other, "too much", on_busy="reject")
    assert caught.value.code == "session.busy"
    scene.gate.go.set()
    await first
    await one.close()
    await other.close()


# interrupt


@pytest.mark.parametrize("during", ["request", "tool"])
async def test_interrupt_cancels_the_run_at_work_at_once_and_then_runs(store: RunStore, during: str) -> None:
    scene = Scene(call("slow"), "the other", stop_at=1 if during == "request" else 0)
    first = scene.begin(store)
    await scene.at_gate()
    async with asyncio.timeout(4):  # less than a beat of the lease
        two = await scene.begin(store, "stop, do this", on_busy="interrupt")
    one = await first
    assert (one.status, one.code, one.reason) == ("cancelled", "run.cancelled", f"run {two.run_id} interrupts it")
    assert two.status == "done"
    assert scene.words(1)[0] == "user: begin"
    assert scene.words(1)[-1] == "user: stop, do this"
    check_valid(scene.seen[1].messages)
    assert (await store.run(one.run_id)).status == "cancelled"


async def test_interrupt_goes_ahead_of_what_is_queued(store: RunStore) -> None:
    scene = Scene(call("slow"), "urgent", "later")
    first = scene.begin(store)
    await scene.at_gate()
    queued = scene.begin(store, "when you have time")

    async def is_queued() -> bool:
        return len(await store.runs(status="queued")) == 1

    await until(is_queued)
    urgent = scene.begin(store, "now", on_busy="interrupt")
    assert ((await urgent).output, (await queued).output) == ("urgent", "later")
    assert (await first).status == "cancelled"


async def test_what_steers_a_run_that_is_interrupted_is_not_lost(store: RunStore) -> None:
    scene = Scene(call("slow"), "one answer", "another answer")
    first = scene.begin(store)
    await scene.at_gate()
    steering = scene.begin(store, "and hurry", on_busy="steer")
    await has_arrived(store)
    urgent = scene.begin(store, "stop, do this", on_busy="interrupt")
    one, two, three = await first, await steering, await urgent
    assert one.status == "cancelled"
    assert (three.output, two.output) == ("one answer", "another answer"), "what interrupts goes first"
    assert len({one.run_id, two.run_id, three.run_id}) == 3


async def test_interrupt_of_another_process_is_noticed_at_the_next_border_where_nothing_more_is_taken_in(
    tmp_path: Path,
) -> None:
    one, other = SQLiteStore(tmp_path / "s.db"), SQLiteStore(tmp_path / "s.db")
    scene, elsewhere = Scene(call("slow"), "never"), Scene("one of two", "two of two")
    first = scene.begin(one)
    await scene.at_gate()
    steers = elsewhere.begin(other, "and hurry", on_busy="steer")
    await has_arrived(one, 1)
    stops = elsewhere.begin(other, "stop", on_busy="interrupt")
    await has_arrived(one, 2)
    scene.gate.go.set()
    cancelled, second, third = await first, await steers, await stops
    assert (cancelled.status, cancelled.reason) == ("cancelled", f"run {third.run_id} interrupts it")
    assert (third.output, second.output) == ("one of two", "two of two"), "what interrupts goes first"
    check_valid(elsewhere.seen[1].messages)
    await one.close()
    await other.close()


async def test_cancelled_while_it_is_being_written_a_run_is_closed_and_its_session_is_free(tmp_path: Path) -> None:
    """The cancellation lands in a write that is under way and that is done nevertheless."""

    class Stopping(SQLiteStore):
        stop_at = 0
        count = 0

        async def append(self, fence: Any, records: Any, **more: Any) -> int:
            self.count += 1
            if self.count == self.stop_at:
                asyncio.get_running_loop().call_soon(live.cancel, await the_run_at_work(self), "enough")
            return await super().append(fence, records, **more)

    for stop_at in (1, 2, 3, 4):
        store = Stopping(tmp_path / f"{stop_at}.db")
        store.stop_at = stop_at
        scene = Scene(call("look"), call("look"), "done", "again")
        scene.gate.go.set()
        one = await scene.begin(store)
        assert (one.status, one.reason) == ("cancelled", "enough")
        records = await store.read("s")
        assert [one.kind for one in records if one.kind == "results"] == ["results"] * ((stop_at + 1) // 2)
        async with asyncio.timeout(5):  # a session that is left held is so for 30 seconds
            again = await scene.begin(store, "again", model=ScriptedModel("again"))
        assert again.output == "again"
        check_valid(tuple(message for message in one.new_messages))
        await store.close()


async def test_a_wish_to_cancel_that_comes_during_the_last_request_is_heard_at_the_end(store: RunStore) -> None:
    scene = Scene("the answer", stop_at=1)
    first = scene.begin(store)
    await scene.at_gate()
    await store.cancel(await the_run_at_work(store), "enough")
    scene.gate.go.set()
    one = await first
    assert (one.status, one.reason, one.output) == ("cancelled", "enough", "the answer")
    kinds = [record.kind for record in await store.read("s")]
    assert kinds[:3] == ["input", "reply", "status"]


# the rest


async def test_queue_is_the_default_and_the_agents_way_can_be_named_anew_for_each_run(store: RunStore) -> None:
    scene = Scene(call("slow"), "one", "two", on_busy="reject")
    first = scene.begin(store)
    await scene.at_gate()
    second = scene.begin(store, "then this", on_busy="queue")

    async def is_queued() -> bool:
        return len(await store.runs(status="queued")) == 1

    await until(is_queued)
    scene.gate.go.set()
    assert ((await first).output, (await second).output) == ("one", "two")
    assert Agent(ScriptedModel("x")).on_busy == "queue"


async def test_a_stream_that_steers_gives_the_result_of_the_run_at_work(store: RunStore) -> None:
    scene = Scene(call("slow"), "both done")
    first = scene.begin(store)
    await scene.at_gate()
    async with scene.agent.run_stream("and hurry", session="s", store=store, on_busy="steer") as stream:
        await has_arrived(store)
        scene.gate.go.set()
        assert (await stream.result()).run_id == (await first).run_id


async def test_another_word_is_an_error_before_anything_runs() -> None:
    with pytest.raises(SetupError, match="queue, steer, reject, interrupt"):
        Agent(ScriptedModel("x"), on_busy="wait")  # type: ignore[arg-type]  # a typing error of the caller
    with pytest.raises(SetupError):
        await Agent(ScriptedModel("x")).run("hi", on_busy="wait")  # type: ignore[arg-type]  # a typing error of the caller


async def test_what_steers_ten_times_while_tools_run_keeps_every_history_valid(store: RunStore) -> None:
    seen: list[tuple[Message, ...]] = []
    steering: list[asyncio.Task[Any]] = []

    @tool(risk="read")
    async def look(n: int) -> str:
        """Look. Use it when asked."""
        return str(n)

    def model(request: ModelRequest, _ctx: Any) -> Any:
        seen.append(request.messages)
        n = len(seen)
        return [call("look", n=n), call("look", n=-n)] if n < 12 else "done"

    agent: Agent[Any] = Agent(FunctionModel(model), name="a", tools=[look])

    def bring(_event: Any) -> None:
        if len(steering) < 10:
            words = f"word {len(steering)}"
            steering.append(asyncio.ensure_future(agent.run(words, session="s", store=store, on_busy="steer")))

    agent.on(ToolStart, bring)
    result = await agent.run("begin", session="s", store=store)
    others = await asyncio.gather(*steering)
    for messages in seen:
        check_valid(messages)
    said = [one.text for messages in seen[-1:] for one in messages if one.role == "user"]
    assert set(said) >= {"begin"}
    taken = [one.run_id == result.run_id for one in others]
    assert len(taken) == 10
    every = [record.body.message.text for record in await store.read("s", limit=500) if isinstance(record.body, Input)]
    assert sorted(every) == sorted(["begin", *(f"word {n}" for n in range(10))]), "each was taken in exactly once"


# whose runs are decided, resumed and cancelled


async def test_decide_resume_and_cancel_find_only_what_their_principal_may_see(store: RunStore) -> None:
    scene = Scene(call("ask_user", question="Which?"), "I wait.", "thanks", ask_user=True)
    waiting = await scene.agent.run("go", session="s", store=store, principal=ANN)
    (action,) = waiting.pending
    attempts: list[Callable[[], Any]] = [
        lambda: scene.agent.decide(action, approve=False, by=BOB, principal=BOB, store=store),
        lambda: scene.agent.decide(action.id, approve=False, by=BOB, principal=BOB, store=store),
        lambda: scene.agent.answer(action, "x", by=BOB, principal=BOB, store=store),
        lambda: scene.agent.resume(waiting.run_id, principal=BOB, store=store),
        lambda: scene.agent.cancel(waiting.run_id, principal=BOB, store=store),
    ]
    for attempt in attempts:
        with pytest.raises(NotFoundError):
            await attempt()
    assert (await store.action(action.id)).state == "open"
    assert await store.arrived(waiting.run_id) == 0
    done = await scene.agent.answer(action, "this", by=ANN, principal=ANN, store=store)
    assert done is not None
    assert done.output == "thanks"


async def test_a_principal_does_not_cancel_what_another_has_at_work(store: RunStore) -> None:
    scene = Scene(call("slow"), "done")
    first = scene.begin(store, principal=ANN)
    await scene.at_gate()
    run_id = await the_run_at_work(store)
    with pytest.raises(NotFoundError):
        await scene.agent.cancel(run_id, principal=BOB, store=store)
    await scene.agent.cancel(run_id, principal=ANN, store=store)
    assert (await first).status == "cancelled"
