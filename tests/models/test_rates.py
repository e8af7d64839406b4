"""A rate limit: places in order, waits that can be cancelled, nothing after the deadline."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backstay import Agent, Limits
from backstay.core.errors import ModelError, SetupError
from backstay.core.messages import Message, ModelRequest, Text, ToolSpec, Usage
from backstay.models import FallbackModel, RateLimit, RateLimitedModel, ScriptedModel
from backstay.models.rates import estimate
from backstay.testing import FakeClock
from workbench import Bench


def words(count: int) -> ModelRequest:
    return ModelRequest(messages=(Message(id="m", role="user", parts=(Text(text="x" * 4 * (count - 1)),)),))


async def times(limit: RateLimit, clock: FakeClock, *requests: ModelRequest) -> list[float]:
    """When each of several requests, made at once and in turn, goes out: seconds after the first."""
    began, found = clock.now, list[float]()
    for request in requests:
        ctx = Bench().context(clock=lambda: began, sleep=clock.sleep)
        clock.slept.clear()
        await limit.enter(request, ctx)
        found.append(sum(clock.slept))
    return found


async def test_so_many_requests_go_out_in_a_span(fake_clock: FakeClock) -> None:
    limit = RateLimit(2, seconds=10)
    assert await times(limit, fake_clock, *[words(1)] * 5) == [0, 0, 10, 10, 20]


async def test_so_many_tokens_go_out_in_a_span(fake_clock: FakeClock) -> None:
    limit = RateLimit(tokens=100, seconds=10)
    assert await times(limit, fake_clock, words(60), words(40), words(60), words(60)) == [0, 0, 10, 20]


async def test_a_request_above_the_limit_goes_out_alone(fake_clock: FakeClock) -> None:
    limit = RateLimit(tokens=100, seconds=10)
    assert await times(limit, fake_clock, words(50), words(500), words(1)) == [0, 10, 20]


async def test_what_was_really_used_counts(fake_clock: FakeClock) -> None:
    limit = RateLimit(tokens=100, seconds=10)
    ctx = Bench().context(clock=fake_clock, sleep=fake_clock.sleep)
    place = await limit.enter(words(1), ctx)
    limit.settle(place, Usage(input_tokens=10, output_tokens=90))
    await limit.enter(words(1), ctx)
    assert fake_clock.slept == [10]


async def test_who_gives_up_waiting_frees_the_place() -> None:
    limit = RateLimit(1, seconds=100)

    async def for_ever(_seconds: float) -> None:
        await asyncio.Event().wait()

    ctx = Bench().context(clock=lambda: 0.0, sleep=for_ever)
    await limit.enter(words(1), ctx)
    waiting = asyncio.ensure_future(limit.enter(words(1), ctx))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    await limit.enter(words(1), Bench().context(clock=lambda: 0.0, sleep=sleep))
    assert slept == [100]  # 200, if the place of the one who left were still taken


async def test_a_place_after_the_deadline_is_refused_at_once(fake_clock: FakeClock) -> None:
    limit = RateLimit(1, seconds=100)
    ctx = Bench().context(clock=fake_clock, sleep=fake_clock.sleep, deadline=fake_clock.now + 50)
    await limit.enter(words(1), ctx)
    for _ in range(3):
        with pytest.raises(ModelError, match="rate limit") as raised:
            await limit.enter(words(1), ctx)
        assert (raised.value.code, fake_clock.slept) == ("model.rate_limit", [])


async def test_agents_share_a_limit_and_each_attempt_takes_a_place(fake_clock: FakeClock) -> None:
    limit = RateLimit(2, seconds=60)
    flaky = ScriptedModel(ModelError("busy", retryable=True))
    one, other = Agent(RateLimitedModel(flaky, limit)), Agent(RateLimitedModel(ScriptedModel("hi"), limit))
    with one.override(clock=fake_clock, sleep=fake_clock.sleep):
        await one.run("go", limits=Limits(seconds=600))
    before = list(fake_clock.slept)
    assert max(before) > 50  # the third attempt has waited
    with other.override(clock=fake_clock, sleep=fake_clock.sleep):
        assert (await other.run("go")).status == "done"
    assert len(fake_clock.slept) > len(before) or fake_clock.now > 1_750_000_060


async def test_a_full_limit_asks_the_next_model(fake_clock: FakeClock) -> None:
    limit = RateLimit(1, seconds=10_000)
    model = FallbackModel(RateLimitedModel(ScriptedModel("first"), limit), ScriptedModel("second"))
    agent = Agent(model)
    with agent.override(clock=fake_clock, sleep=fake_clock.sleep):
        answers = [(await agent.run("go")).output for _ in range(2)]
    assert answers == ["first", "second"]


def test_tools_and_instructions_are_counted() -> None:
    spec = ToolSpec(name="t", description="d" * 400, schema={"type": "object", "title": "x" * 4_000})
    assert estimate(ModelRequest(messages=words(10).messages, tools=(spec,) * 30)) > 30 * 1_000


@pytest.mark.parametrize("given", [{}, {"requests": 0}, {"tokens": -1}, {"requests": 1, "seconds": 0}])
def test_a_limit_that_is_none_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match="RateLimit"):
        RateLimit(**given)
