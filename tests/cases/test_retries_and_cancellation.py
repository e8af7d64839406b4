"""Public reports about retries, timeouts and cancellation, as inputs. Facts are compared, not words."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from backstay import Agent, tool
from backstay.agents.drive import live
from backstay.core.errors import ModelError
from backstay.core.messages import ModelRequest
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.memory import MemoryStore
from backstay.tools.circuit import circuits


async def _no_wait(_seconds: float) -> None:
    return None


async def test_c57_a_retry_of_the_model_does_not_repeat_a_tool_that_has_succeeded() -> None:
    charged: list[int] = []
    asked: list[ModelRequest] = []

    @tool(risk="write", effect="once")
    async def charge(cents: int) -> str:
        """Charge. Use it when asked."""
        charged.append(cents)
        return "receipt 1"

    def model(request: ModelRequest, ctx: Any) -> Any:
        asked.append(request)
        if ctx.step == 1:
            return call("charge", cents=500)
        return ModelError("overloaded", retryable=True) if len(asked) < 4 else "Charged."

    agent: Agent[Any] = Agent(FunctionModel(model), tools=[charge])
    with agent.override(sleep=_no_wait):
        result = await agent.run("charge 500 cents", session="s")
    assert (result.status, result.output) == ("done", "Charged.")
    assert charged == [500]
    assert len(asked) == 4
    assert [request.messages[-1].returns[0].result.data for request in asked[1:]] == ["receipt 1"] * 3


async def test_c57_a_run_that_fails_at_the_model_and_is_taken_up_again_goes_on_from_the_stored_result() -> None:
    """The process that had charged is gone before the model has said anything; another one resumes the run."""
    charged: list[int] = []

    @tool(risk="write", effect="once")
    async def charge(cents: int) -> str:
        """Charge. Use it when asked."""
        charged.append(cents)
        return "receipt 1"

    store, seen = MemoryStore(), list[ModelRequest]()
    hangs = asyncio.Event()

    async def first(request: ModelRequest, ctx: Any) -> Any:
        if ctx.step == 1:
            return call("charge", cents=500)
        hangs.set()
        await asyncio.Event().wait()

    def second(request: ModelRequest, _ctx: Any) -> Any:
        seen.append(request)
        return "Charged."

    agent: Agent[Any] = Agent(FunctionModel(first), name="till", tools=[charge])
    task = asyncio.ensure_future(agent.run("charge 500 cents", session="s", store=store))
    await hangs.wait()
    live.leave("the process ends")
    left = await task
    again: Agent[Any] = Agent(FunctionModel(second), name="till", tools=[charge])
    result = await again.resume(left.run_id, store=store)
    assert result is not None
    assert (result.status, result.output, charged) == ("done", "Charged.", [500])
    assert seen[0].messages[-1].returns[0].result.data == "receipt 1"


async def test_c59_an_unknown_tool_eats_nobody_elses_budget() -> None:
    ran: list[int] = []

    @tool(risk="read")
    async def ok(number: int) -> int:
        """Look. Use it when asked."""
        ran.append(number)
        return number

    lines = [[call("unknown"), call("ok", number=n)] for n in range(1, 6)]
    result = await Agent(ScriptedModel(*lines, "Done."), tools=[ok]).run("look five times")
    first = result.new_messages[2].returns
    assert [(one.result.ok, one.result.code) for one in first] == [(False, "tool.unknown"), (True, None)]
    assert ran == [1, 2, 3, 4, 5], "the valid call of every reply is used"
    assert (result.status, result.output) == ("done", "Done.")


async def test_c59_the_budget_of_wrong_calls_is_kept_by_name() -> None:
    @tool(risk="read")
    async def ok(number: int) -> int:
        """Look. Use it when asked."""
        return number

    lines = [call("unknown_a"), call("ok", number="x"), call("unknown_b"), call("unknown_a"), call("ok", number="y")]
    result = await Agent(ScriptedModel(*lines, "Done."), tools=[ok]).run("look")
    assert (result.status, result.output) == ("done", "Done.")


async def test_c61_a_transport_that_cancels_itself_is_a_tools_error() -> None:
    @tool(risk="read", max_attempts=1)
    async def fetch() -> str:
        """Fetch. Use it when asked."""
        raise asyncio.CancelledError

    @tool(risk="read", max_attempts=1)
    async def fetch_below() -> str:
        """Fetch. Use it when asked."""
        inner = asyncio.ensure_future(asyncio.sleep(60))
        inner.cancel()
        await inner
        return "never"

    lines = [[call("fetch"), call("fetch_below")], "Both broke."]
    result = await Agent(ScriptedModel(*lines), tools=[fetch, fetch_below]).run("fetch")
    assert (result.status, result.output) == ("done", "Both broke.")
    assert [one.result.ok for one in result.new_messages[2].returns] == [False, False]
    assert circuits.of("fetch").faults == 1


async def test_c61_a_body_that_cancels_its_own_task_is_a_tools_error() -> None:
    @tool(risk="read", max_attempts=1)
    async def odd() -> str:
        """Odd. Use it when asked."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    result = await Agent(ScriptedModel(call("odd"), "It broke."), tools=[odd]).run("go")
    assert (result.status, result.output) == ("done", "It broke.")


async def test_c61_a_callers_cancellation_goes_through_and_resources_are_closed() -> None:
    began, closed = asyncio.Event(), list[str]()

    @tool(risk="read")
    async def fetch() -> str:
        """Fetch. Use it when asked."""
        try:
            began.set()
            await asyncio.sleep(60)
        finally:
            closed.append("connection")
        return "never"

    agent: Agent[Any] = Agent(ScriptedModel(call("fetch"), "never"), tools=[fetch])
    task = asyncio.ensure_future(agent.run("fetch", session="s"))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == ["connection"]
    assert [run.status for run in await agent.store.runs()] == ["cancelled"]
    assert circuits.of("fetch").faults == 0
    assert not [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]


async def test_c63_a_thread_that_sleeps_longer_than_the_timeout_does_not_hold_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release, late = threading.Event(), list[str]()

    @tool(risk="read", timeout=0.1, max_attempts=1)
    def slow() -> str:
        """Slow. Use it when asked."""
        release.wait(60)
        late.append("late")
        return "late"

    seconds: list[float] = []
    began = time.monotonic()

    def model(_request: ModelRequest, ctx: Any) -> Any:
        seconds.append(time.monotonic() - began)
        return call("slow") if ctx.step == 1 else "It was too slow."

    with caplog.at_level(logging.WARNING, "backstay.tools"):
        result = await Agent(FunctionModel(model), tools=[slow]).run("go")
        returned = result.new_messages[2].returns[0].result
        assert (returned.code, returned.retryable) == ("tool.timeout", True)
        assert seconds[1] - seconds[0] < 1
        release.set()
        async with asyncio.timeout(5):
            while "discarded" not in caplog.text:  # noqa: ASYNC110  (a thread sets no event of this loop)
                await asyncio.sleep(0.005)
    assert late == ["late"]
    assert result.output == "It was too slow."
