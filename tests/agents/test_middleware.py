"""Middleware around requests, calls and runs; one test or more for each that is shipped."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from backstay import Agent, Middleware, RunResult, tool
from backstay.agents.middleware import (
    ContentFilter,
    RateLimiter,
    ResponseCache,
    SecretFilter,
    TrajectoryPrinter,
)
from backstay.core.errors import ModelError
from backstay.core.events import ModelDelta
from backstay.core.messages import ModelReply, Text, Usage
from backstay.models import FunctionModel, RateLimit, ScriptedModel, call
from backstay.testing import FakeClock
from desk import Desk

KEY = "sk-abcdefghijklmnopqrstuvwx"


async def streamed(agent: Agent[Any], text: str = "go") -> tuple[RunResult[Any], str]:
    """The result, and all words that were heard while it came."""
    async with agent.run_stream(text) as stream:
        words = [one.delta.text async for one in stream if isinstance(one, ModelDelta)]
        return await stream.result(), "".join(words)


class Wrapper(Middleware):
    """Writes down when it is entered and left."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    async def run(self, turn: Any, ctx: Any, next: Any) -> Any:
        self.log.append(f"{self.name} in {ctx.agent}")
        try:
            return await next(replace(turn, input=f"{turn.input}{self.name}"), ctx)
        finally:
            self.log.append(f"{self.name} out")


async def test_a_run_is_wrapped_with_the_first_outermost_and_its_input_may_be_another() -> None:
    log: list[str] = []
    agent = Agent(ScriptedModel("hi"), name="a", middleware=[Wrapper("1", log), Wrapper("2", log)])
    result = await agent.run("go")
    assert log == ["1 in a", "2 in a", "2 out", "1 out"]
    assert result.new_messages[0].text == "go12"
    assert (await streamed(agent))[0].output == "hi"


async def test_a_middleware_may_answer_a_run_in_its_place_and_change_its_result() -> None:
    class Never(Middleware):
        kept: Any = None

        async def run(self, turn: Any, ctx: Any, next: Any) -> Any:
            self.kept = self.kept or replace(await next(turn, ctx), output="changed")
            return self.kept

    asked: list[int] = []
    agent = Agent(FunctionModel(lambda _r, ctx: str(asked.append(1))), middleware=[Never()])
    assert [(await agent.run("go")).output for _ in range(2)] == ["changed", "changed"]
    assert len(asked) == 1


async def test_leaving_the_stream_unwinds_the_middleware_around_the_run() -> None:
    log: list[str] = []
    async with Agent(ScriptedModel("hi"), name="a", middleware=[Wrapper("1", log)]).run_stream("go") as stream:
        async for _ in stream:
            break
    assert log[-1] == "1 out"


async def test_the_trajectory_is_printed_without_credentials() -> None:
    file = io.StringIO()
    desk = Desk()
    agent = desk.agent(call("find_order", order_id="1001"), "It is lost.", middleware=[TrajectoryPrinter(file)])
    await agent.run(f"Where is 1001? {KEY}")
    lines = file.getvalue().splitlines()
    assert [line.strip().split(" ")[0] for line in lines] == [
        "run",
        "step",
        'find_order({"order_id":"1001"})',
        "→",
        "step",
        "done",
    ]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 4, 4, 2, 0]
    assert KEY not in file.getvalue()


async def test_a_run_that_is_asked_for_twice_is_printed_once_each() -> None:
    class Twice(Middleware):
        async def run(self, turn: Any, ctx: Any, next: Any) -> Any:
            await next(turn, ctx)
            return await next(turn, ctx)

    file = io.StringIO()
    await Agent(ScriptedModel("hi"), middleware=[Twice(), TrajectoryPrinter(file)]).run("go")
    assert file.getvalue().count("run agent: go") == 2


async def test_a_content_filter_is_heard_before_anybody_else(run_events: list[Any]) -> None:
    agent = Agent(
        ScriptedModel("the secret word"), middleware=[ContentFilter(lambda said: said.replace("secret", "###"))]
    )
    result, heard = await streamed(agent)
    assert (result.output, heard) == ("the ### word", "the ### word")
    assert not any("secret" in str(one) for one in run_events)


async def test_what_a_filter_forbids_is_a_refusal_and_its_calls_do_not_run() -> None:
    desk = Desk()
    lines = (["drop it", call("find_order", order_id="1")], "never")
    result, heard = await streamed(desk.agent(*lines, middleware=[ContentFilter(lambda said: None)]))
    assert (result.status, result.code, heard) == ("failed", "model.refused", "")
    assert desk.calls["find_order"] == 0


async def test_what_a_filter_lets_through_is_streamed_whole() -> None:
    agent = Agent(ScriptedModel("one two three four five"), middleware=[ContentFilter(lambda said: said)])
    assert (await streamed(agent))[1] == "one two three four five"


async def test_a_secret_reaches_no_model_no_journal_and_no_listener_of_pieces() -> None:
    seen: list[str] = []

    @tool(risk="read")
    async def config() -> str:
        """Read the configuration. Use it when asked."""
        return f"token {KEY}"

    def brain(request: Any, ctx: Any) -> Any:
        seen.append(str(request))
        return call("config") if ctx.step == 1 else f"it is {KEY}"

    agent = Agent(FunctionModel(brain), tools=[config], middleware=[SecretFilter()])
    result, heard = await streamed(agent, f"my key is {KEY}")
    assert KEY not in "".join(seen)
    assert KEY not in heard
    assert result.output is not None
    assert "[redacted:" in result.output
    assert KEY not in result.new_messages[0].text
    assert KEY not in str(result.new_messages)


async def test_an_equal_request_is_answered_from_the_cache_streamed_or_not() -> None:
    asked: list[int] = []

    def brain(_request: Any, _ctx: Any) -> Any:
        asked.append(1)
        return ModelReply(
            parts=(Text(text=f"answer {len(asked)}"),), finish="stop", usage=Usage(input_tokens=9), model="m"
        )

    cache = ResponseCache()
    agent = Agent(FunctionModel(brain), middleware=[cache])
    first = await agent.run("go")
    again, heard = await streamed(agent)
    assert (first.output, again.output, heard) == ("answer 1", "answer 1", "answer 1")
    assert (first.usage.input_tokens, again.usage.input_tokens, again.cost_usd, cache.hits) == (9, 0, 0, 1)
    assert (await agent.run("other")).output == "answer 2"
    assert (await agent.run("go", model=ScriptedModel("another model"))).output == "another model"


async def test_the_cache_forgets_in_time_and_beyond_its_size(fake_clock: FakeClock) -> None:
    cache = ResponseCache(2, seconds=60)
    agent = Agent(FunctionModel(lambda request, _c: request.messages[-1].text), middleware=[cache])
    with agent.override(clock=fake_clock, sleep=fake_clock.sleep):
        for text in ("a", "b", "a", "c", "a", "b"):
            await agent.run(text)
        assert cache.hits == 2  # b was the one used longest ago when c came
        fake_clock.now += 61
        await agent.run("b")
    assert cache.hits == 2


@pytest.mark.parametrize("finish", ["refusal", "length"])
async def test_a_reply_that_is_no_answer_is_not_kept(finish: Any) -> None:
    asked: list[int] = []

    def brain(_request: Any, _ctx: Any) -> Any:
        asked.append(1)
        return ModelReply(parts=(Text(text="no"),), finish=finish, usage=None, model="m")

    agent = Agent(FunctionModel(brain), middleware=[ResponseCache()])
    await agent.run("go")
    await agent.run("go")
    assert len(asked) >= 2


async def test_calls_of_a_kept_reply_run_anew_and_are_judged(run_events: list[Any]) -> None:
    desk, cache = Desk(), ResponseCache()
    for _ in range(2):
        await desk.agent(call("find_order", order_id="1"), "ok", middleware=[cache]).run("go")
    assert (cache.hits, desk.calls["find_order"]) == (2, 2)
    assert [one.name for one in run_events].count("boundary.verdict") == 2


async def test_a_rate_limiter_lets_requests_wait(fake_clock: FakeClock) -> None:
    limiter = RateLimiter(RateLimit(1, seconds=30))
    one, other = (Agent(ScriptedModel("hi"), middleware=[limiter]) for _ in range(2))
    for agent in (one, other):
        with agent.override(clock=fake_clock, sleep=fake_clock.sleep):
            assert (await streamed(agent))[1] == "hi"
    assert fake_clock.slept == [30]


async def test_without_a_middleware_that_holds_it_the_stream_is_told_once() -> None:
    class Looks(Middleware):
        async def model(self, request: Any, ctx: Any, next: Any) -> Any:
            return await next(request, ctx)

    assert (await streamed(Agent(ScriptedModel("one two three four"), middleware=[Looks()])))[1] == "one two three four"


async def test_a_model_that_cannot_stream_is_streamed_all_the_same() -> None:
    class Whole(FunctionModel):
        async def request(self, request: Any, ctx: Any, on_delta: Any = None) -> Any:
            return await super().request(request, ctx, None)

    assert (await streamed(Agent(Whole(lambda _r, _c: "all at once"))))[1] == "all at once"


async def test_an_error_under_a_filter_is_the_runs() -> None:
    broken = ScriptedModel(ModelError("no", retryable=False))
    assert (await Agent(broken, middleware=[ContentFilter(str)]).run("go")).code == "model.failed"
