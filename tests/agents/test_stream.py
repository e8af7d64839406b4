"""Streamed and unstreamed runs are one path; stopping a run stops its tools and leaves a valid history."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Sequence
from typing import Any

import pytest

from backstay import Agent, Boundary, Limits, Middleware, RunContext, tool
from backstay.core.canon import freeze
from backstay.core.errors import ModelError, SetupError
from backstay.core.events import (
    ActionAsked,
    Event,
    MemoryWritten,
    ModelAnswered,
    ModelDelta,
    RunAnswer,
    RunFinish,
    ToolFinish,
    ToolStart,
)
from backstay.core.messages import Message, ModelReply, ModelRequest, Reasoning, Text, ToolCall, Usage
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.memory import MemoryStore
from backstay.store.records import Record
from desk import Desk, propose

EMPTY = ModelReply(parts=(), finish="stop", usage=None, model="m")
LOOK = call("find_order", order_id="1001")
CASES: list[tuple[Any, ...]] = [
    ("hello",),
    ("",),
    ("a longer answer that is cut into several pieces, 也有中文，还有 emoji 🙂",),
    (LOOK, "found"),
    (["I look", LOOK], "found"),
    ([LOOK, LOOK], "found"),
    ([LOOK, call("list_orders", days=3), call("list_orders", days=40)], "three"),
    (call("list_orders"), call("list_orders", days=2), "done"),
    (call("list_orders", days="two"), call("list_orders", days=2), "done"),
    (call("nothing_like_it", x=1), "no such tool"),
    (call("refund", order_id="1", amount="1"), "refused"),
    (propose(), "waiting"),
    ([propose(), LOOK], "waiting"),
    ([propose("1", "5"), propose("2", "6")], "two wait"),
    (propose(amount="900"), "too much"),
    (propose(amount="much"), "not a number"),
    (call("propose_action", action="refund", reason="x"), "malformed"),
    (call("propose_action", action={"name": "fire"}, reason="x"), "unknown action"),
    (call("add_note", order_id="1", text="late"), "noted"),
    ([call("add_note", order_id="1", text="a"), call("add_note", order_id="1", text="b")], "noted twice"),
    (EMPTY, "second time"),
    (EMPTY, EMPTY),
    (ModelError("down", retryable=False),),
    (LOOK, ModelError("down", retryable=False)),
    (ModelReply(parts=(LOOK,), finish="length", usage=None, model="m"), "cut"),
    (ModelReply(parts=(Reasoning(text="hm"), Text(text="so")), finish="stop", usage=Usage(input_tokens=1), model="m"),),
    (ModelReply(parts=(Text(text="no."),), finish="refusal", usage=None, model="m"),),
    (ToolCall(id="x", name="find_order", args={}, raw='{"order_id": '), "broken json"),
    (ToolCall(id="x", name="find_order", args={}, raw="[1]"), "no object"),
    (call("list_orders", days=90), "refused by the rule"),
    (LOOK,) * 12,
]


def _comparable(records: Sequence[Record]) -> list[Any]:
    """A journal without what differs from run to run: times, ids made for this run, durations."""
    rows = []
    for record in records:
        text = repr(record.body)
        for unique in (record.run_id, record.trace_id):
            text = text.replace(unique, "…")
        rows.append((record.seq, record.kind, _without_ids(text)))
    return rows


def _without_ids(text: str) -> str:
    text = re.sub(r"\b[a-z]-[0-9a-f]{20,22}\b", "ID", text)
    text = re.sub(r"[0-9a-f]{32,64}", "DIGEST", text)
    return re.sub(r"(asked_at|expires_at|active_seconds|started_at)=[0-9.e+-]+", r"\1=T", text)


async def _run(lines: tuple[Any, ...], *, streamed: bool) -> tuple[list[Any], list[Any], list[Event], Any]:
    store = MemoryStore()
    agent = Desk().agent(
        *lines, constraints=("only the last 30 days", "at most 200 EUR a refund"), limits=Limits(steps=10)
    )
    heard: list[Event] = []
    if streamed:
        async with agent.run_stream("Refund 1001, only the last 20 days", session="s", store=store) as stream:
            async for event in stream:
                heard.append(event)
            result = await stream.result()
    else:
        result = await agent.run("Refund 1001, only the last 20 days", session="s", store=store)
    messages = [_without_ids(repr(message)) for message in result.new_messages]
    return messages, _comparable(await store.read("s", limit=500)), heard, result


@pytest.mark.parametrize("lines", CASES, ids=range(len(CASES)))
async def test_streamed_and_unstreamed_give_equal_messages_and_journals(lines: tuple[Any, ...]) -> None:
    plain, plain_journal, _, one = await _run(lines, streamed=False)
    streamed, streamed_journal, heard, two = await _run(lines, streamed=True)
    assert streamed == plain
    assert streamed_journal == plain_journal
    assert (one.status, one.code, one.output) == (two.status, two.code, two.output)
    answers = [event for event in heard if isinstance(event, ModelAnswered)]
    for answer in answers:
        pieces = [e.delta for e in heard if isinstance(e, ModelDelta) and e.step == answer.step]
        assert "".join(d.text for d in pieces if d.kind == "text") == answer.reply.text
        assert answer.seq is not None
    assert [type(e) for e in heard].count(ToolStart) == [type(e) for e in heard].count(ToolFinish)
    assert isinstance(heard[-1], RunFinish)


def _valid(messages: Sequence[Message]) -> bool:
    waiting: list[str] = []
    for message in messages:
        if waiting:
            assert [one.call_id for one in message.returns] == waiting
            waiting = []
        elif message.role == "tool":
            return False
        waiting = [one.id for one in message.calls]
    return not waiting


class _Slow:
    """A tool that notes how it ended."""

    def __init__(self) -> None:
        self.started, self.ended = asyncio.Event(), list[str]()

    def tools(self) -> list[Any]:
        slow = self

        @tool(risk="read")
        async def wait(seconds: float) -> str:
            """Wait. Use it when asked."""
            slow.started.set()
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                slow.ended.append("cancelled")
                raise
            slow.ended.append("returned")
            return "waited"

        return [wait]


async def test_leaving_a_stream_stops_the_tools_and_leaves_a_valid_history() -> None:
    slow = _Slow()
    agent = Agent(ScriptedModel([call("wait", seconds=0), call("wait", seconds=60)], "never"), tools=slow.tools())
    async with agent.run_stream("go", session="s") as stream:
        async for event in stream:
            if isinstance(event, ToolFinish):
                break
    assert sorted(slow.ended) == ["cancelled", "returned"]
    seen: list[ModelRequest] = []

    def watch(request: ModelRequest, _ctx: Any) -> Any:
        seen.append(request)
        return "fresh"

    after = await agent.run("again", session="s", model=FunctionModel(watch))
    assert after.output == "fresh"
    assert _valid(seen[0].messages)
    returned = [one.result for message in seen[0].messages for one in message.returns]
    assert [one.ok for one in returned] == [True, False]
    assert returned[1].code == "run.cancelled"


async def test_a_stream_that_was_left_early_still_has_its_result() -> None:
    slow = _Slow()
    agent = Agent(ScriptedModel([call("wait", seconds=0), call("wait", seconds=60)], "never"), tools=slow.tools())
    async with agent.run_stream("go", session="s") as stream:
        async for event in stream:
            if isinstance(event, ToolFinish):
                break
    result = await stream.result()
    assert (result.status, result.code, result.reason) == ("cancelled", "run.cancelled", "the stream was left")
    assert (result.output, result.steps, result.run_id, result.session_id) == (None, 1, stream.run_id, "s")
    assert [message.role for message in result.new_messages] == ["user", "assistant", "tool"]
    assert (await agent.store.run(stream.run_id)).status == "cancelled"
    assert await stream.result() == result


async def test_a_stream_that_was_left_at_once_has_a_result_too() -> None:
    agent = Desk().agent("never")
    async with agent.run_stream("go") as stream:
        pass
    result = await stream.result()
    assert (result.status, result.code, result.steps, result.run_id) == ("cancelled", "run.cancelled", 0, "")
    assert await agent.store.runs() == []


async def test_a_stream_that_was_left_in_the_queue_of_its_session_has_a_result_too() -> None:
    slow = _Slow()
    agent = Agent(ScriptedModel(call("wait", seconds=60), "never"), tools=slow.tools())
    async with agent.run_stream("go", session="s") as first:
        await slow.started.wait()
        async with agent.run_stream("and this", session="s") as second:
            for _ in range(20):
                await asyncio.sleep(0)
        assert len(await agent.store.runs()) == 2
        assert (await second.result()).status == "cancelled"
        assert not first._running().done()
    assert (await first.result()).status == "cancelled"


async def test_a_stream_whose_task_was_cancelled_tells_what_the_journal_holds() -> None:
    slow = _Slow()
    agent = Agent(ScriptedModel(call("wait", seconds=60), "never"), tools=slow.tools())
    async with agent.run_stream("go", session="s") as stream:
        await slow.started.wait()
        stream._running().cancel()
        result = await stream.result()
    assert (result.status, result.code, result.steps) == ("cancelled", "run.cancelled", 1)
    assert result.reason == "the task that drove the run was cancelled"
    assert slow.ended == ["cancelled"]


async def test_whoever_waits_for_a_result_can_be_cancelled_alone() -> None:
    slow = _Slow()
    agent = Agent(ScriptedModel(call("wait", seconds=60), "never"), tools=slow.tools())
    async with agent.run_stream("go") as stream:
        waiter = asyncio.ensure_future(stream.result())
        await slow.started.wait()
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert not stream._running().done()


async def test_a_middleware_that_begins_again_does_not_outlive_its_stream() -> None:
    slow = _Slow()

    class Again(Middleware):
        async def run(self, turn: Any, ctx: Any, next: Any) -> Any:
            while True:
                result = await next(turn, ctx)
                if result.status == "done":
                    return result

    agent = Agent(
        FunctionModel(lambda request, ctx: call("wait", seconds=60)), tools=slow.tools(), middleware=[Again()]
    )
    async with asyncio.timeout(10):
        async with agent.run_stream("go") as stream:
            await slow.started.wait()
    assert (await stream.result()).status == "cancelled"
    assert set(slow.ended) == {"cancelled"}
    assert {run.status for run in await agent.store.runs()} == {"cancelled"}


async def test_a_detached_stream_goes_on() -> None:
    slow = _Slow()
    agent = Agent(ScriptedModel(call("wait", seconds=0.05), "done"), tools=slow.tools())
    async with agent.run_stream("go", session="s") as stream:
        await slow.started.wait()
        stream.detach()
    assert slow.ended == []
    assert (await stream.result()).output == "done"


async def test_cancelling_by_id_stops_that_run_alone() -> None:
    slow, other = _Slow(), _Slow()
    agent = Agent(ScriptedModel(call("wait", seconds=60), "never"), tools=slow.tools())
    beside = Agent(ScriptedModel(call("wait", seconds=0.2), "beside"), tools=other.tools())
    started: list[str] = []
    agent.on("run.start", lambda event: started.append(event.run_id))
    async with asyncio.TaskGroup() as group:
        one = group.create_task(agent.run("go", session="s"))
        two = group.create_task(beside.run("go"))
        await slow.started.wait()
        await agent.cancel(started[0], "the user closed the window")
    result = one.result()
    assert (result.status, result.code, result.reason) == ("cancelled", "run.cancelled", "the user closed the window")
    assert slow.ended == ["cancelled"]
    assert _valid(result.new_messages)
    assert two.result().output == "beside"


async def test_a_deadline_stops_the_tools_and_ends_the_run_stopped() -> None:
    slow = _Slow()
    agent = Agent(
        ScriptedModel(call("wait", seconds=60), "never"),
        tools=slow.tools(),
        boundary=Boundary(limits=Limits(seconds=0.1)),
    )
    result = await agent.run("go", session="s")
    assert (result.status, result.code) == ("stopped", "limit.seconds")
    assert slow.ended in (["cancelled"], [])
    assert _valid(result.new_messages)


async def test_cancelling_the_task_journals_the_open_calls_and_raises() -> None:
    slow = _Slow()
    agent = Agent(ScriptedModel(call("wait", seconds=60), "never"), tools=slow.tools())
    task = asyncio.ensure_future(agent.run("go", session="s"))
    await slow.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    records = await agent.store.read("s", limit=100)
    assert [record.kind for record in records] == ["input", "reply", "results", "memory", "status"]
    assert (await agent.store.runs(status="cancelled"))[0].session_id == "s"


async def test_a_once_effect_that_is_cut_off_is_in_doubt_and_a_person_is_asked() -> None:
    began = asyncio.Event()

    @tool(risk="write")
    async def pay(account: str) -> str:
        """Send a letter. Use it when asked."""
        began.set()
        await asyncio.sleep(60)
        return "paid"

    agent = Agent(ScriptedModel(call("pay", account="DE1"), "never"), tools=[pay])
    task = asyncio.ensure_future(agent.run("pay DE1", session="s"))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (action,) = await agent.store.pending()
    assert action.kind == "in_doubt"
    assert await agent.store.verify_audit("s") == []


async def test_a_tool_that_cancels_itself_is_an_error_and_not_the_end_of_the_run() -> None:
    @tool(risk="read")
    async def odd() -> None:
        """Fail oddly. Use it when asked."""
        raise asyncio.CancelledError

    result = await Agent(ScriptedModel([call("odd"), call("odd")], "went on"), tools=[odd]).run("go")
    assert result.output == "went on"
    assert "cancelled from within" in result.new_messages[2].returns[0].result.summary


async def test_a_failing_tool_among_siblings_never_cancels_the_consumer() -> None:
    @tool(risk="read")
    async def bad() -> None:
        """Fail. Use it when asked."""
        raise ValueError("no")

    slow = _Slow()
    agent = Agent(ScriptedModel([call("bad"), call("wait", seconds=0.02)], "done"), tools=[bad, *slow.tools()])
    async with agent.run_stream("go") as stream:
        names = [event.name async for event in stream]
        result = await stream.result()
    assert (result.output, slow.ended, names[-1]) == ("done", ["returned"], "run.finish")


async def test_listeners_hear_by_class_name_star_and_predicate_and_once() -> None:
    agent = Desk().agent(LOOK, LOOK, "done")
    heard: dict[str, int] = {}

    def count(key: str) -> Any:
        def listen(_event: Event) -> None:
            heard[key] = heard.get(key, 0) + 1

        return listen

    agent.on(ToolFinish, count("class"))
    agent.on("tool.finish", count("name"))
    agent.on("**", count("all"))
    agent.on(lambda event: event.name == "tool.start", count("predicate"))
    agent.on("model.reply", count("once"), once=True)
    off = agent.on("run.finish", count("removed"))
    off()

    @agent.on("tool.start")
    def decorated(_event: Event) -> None:
        heard["decorated"] = heard.get("decorated", 0) + 1
        raise RuntimeError("a listener is never fatal")

    result = await agent.run("go")
    assert result.output == "done"
    assert {key: heard.get(key) for key in ("class", "name", "predicate", "once", "removed", "decorated")} == {
        "class": 2,
        "name": 2,
        "predicate": 2,
        "once": 1,
        "removed": None,
        "decorated": 2,
    }


async def test_events_carry_seq_only_where_journalled() -> None:
    agent, events = Desk().agent(propose(), "waiting"), list[Event]()
    agent.on("**", events.append)
    await agent.run("refund", session="s")
    for event in events:
        assert event.run_id
        assert event.trace_id
        assert (event.seq is not None) == isinstance(event, ModelAnswered | MemoryWritten | RunFinish), event.name
    order = [event.name for event in events if event.name not in ("model.delta",)]
    assert order == [
        "run.start",
        "model.start",
        "model.reply",
        "tool.start",
        "boundary.verdict",
        "tool.success",
        "tool.finish",
        "action.asked",
        "model.start",
        "model.reply",
        "run.answer",
        "memory.written",
        "run.finish",
    ]
    assert any(isinstance(event, ActionAsked) for event in events)
    assert any(isinstance(event, RunAnswer) for event in events)


async def test_runs_leave_no_task_and_no_listener() -> None:
    agent = Desk().agent(LOOK, "done")
    for number in range(50):
        await agent.run("go", on=lambda _event: None, session=f"s{number}")
    gc.collect()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert agent._emitter._subscriptions == []
    assert agent._emitter._nested == []


async def test_a_sync_tool_may_speak_from_its_thread() -> None:
    @tool(risk="read")
    def compute(n: int, ctx: RunContext[None]) -> int:
        """Compute. Use it when asked."""
        ctx.emit(ToolStart(*ctx.head(), call=ToolCall(id="inner", name="inner", args=freeze({}))))  # type: ignore[arg-type]
        return n * 2

    heard: list[str] = []
    agent = Agent(ScriptedModel(call("compute", n=4), "8"), tools=[compute])
    agent.on(ToolStart, lambda event: heard.append(event.call.id))
    result = await agent.run("go")
    assert result.new_messages[2].returns[0].result.data == 8
    await asyncio.sleep(0)
    assert "inner" in heard


async def test_a_stream_that_is_not_open_says_how_to_open_it() -> None:
    with pytest.raises(SetupError, match="async with"):
        await Desk().agent("x").run_stream("go").result()


async def test_what_the_run_raises_is_raised_by_the_stream() -> None:
    async def read() -> None:
        async with Desk().agent("x").run_stream("   ") as stream:
            async for _ in stream:
                pass

    with pytest.raises(SetupError):
        await read()
