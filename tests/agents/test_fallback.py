"""Several models in a row: the next is asked where it can help, and everybody can see who answered."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backstay import Agent, Limits, tool
from backstay.core.errors import ModelError, SetupError
from backstay.core.events import ModelAnswered, ModelDelta, ModelFallback
from backstay.core.messages import Media, ModelReply, ModelRequest, Text, Usage
from backstay.models import FallbackModel, FunctionModel, ScriptedModel, call
from backstay.models.model import ModelProfile
from backstay.store import MemoryStore
from backstay.testing import FakeClock
from backstay.trace.recorder import Recorder

PRICED = {"input": "1", "output": "10"}


def model(name: str, *lines: Any, **profile: Any) -> FunctionModel:
    """A model of that name that says the same lines over and over, and counts its requests."""
    asked: list[ModelRequest] = []

    def brain(request: ModelRequest, _ctx: Any) -> Any:
        asked.append(request)
        line = lines[(len(asked) - 1) % len(lines)]
        if isinstance(line, str):
            usage = Usage(input_tokens=1_000_000, output_tokens=100_000)
            return ModelReply(parts=(Text(text=line),), finish="stop", usage=usage, model=name)
        return line

    made = FunctionModel(brain, profile=ModelProfile(**{"family": "f", "window": 10_000, **profile}), name=name)
    made.asked = asked  # type: ignore[attr-defined]
    return made


def down(name: str, code: str = "model.failed", *, retryable: bool = True, **profile: Any) -> Any:
    return model(name, ModelError(f"{name} is down", retryable=retryable, code=code), **profile)


async def ran(agent: Agent[Any], clock: FakeClock, **more: Any) -> Any:
    with agent.override(clock=clock, sleep=clock.sleep):
        return await agent.run("hi", **more)


async def test_the_next_model_answers_and_the_result_says_which(fake_clock: FakeClock) -> None:
    first, second = down("a:1"), model("b:2", "from b")
    agent, heard = Agent(FallbackModel(first, second)), list[Any]()
    agent.on("*", heard.append)
    result = await ran(agent, fake_clock)
    assert (result.output, [one.model for one in result.models]) == ("from b", ["b:2"])
    assert (len(first.asked), len(second.asked)) == (3, 1)  # each has its own attempts
    fell = [one for one in heard if isinstance(one, ModelFallback)]
    assert [(one.model, one.next, one.code) for one in fell] == [("a:1", "b:2", "model.failed")]
    assert [one.model for one in heard if isinstance(one, ModelAnswered)] == ["b:2"]


async def test_usage_and_cost_are_of_the_model_that_answered(fake_clock: FakeClock) -> None:
    @tool(risk="read")
    async def look() -> str:
        """Look. Use it when asked."""
        return "seen"

    first = model("a:1", call("look"), ModelError("down", retryable=False), price=PRICED)
    agent = Agent(FallbackModel(first, model("b:2", "from b", price={"input": "3", "output": "0"})), tools=[look])
    result = await ran(agent, fake_clock, limits=Limits(tokens=10_000_000, usd=100))
    assert [(one.model, one.requests) for one in result.models] == [("a:1", 1), ("b:2", 1)]
    assert result.models[1].cost_usd == Decimal(3)
    assert result.cost_usd == sum(one.cost_usd for one in result.models)


async def test_an_unknown_price_of_one_makes_the_sum_unknown_and_not_the_other(fake_clock: FakeClock) -> None:
    result = await ran(Agent(FallbackModel(down("a:1", price=PRICED), model("b:2", "hi"))), fake_clock)
    assert (result.cost_usd, result.models[0].cost_usd) == (None, None)
    with pytest.raises(SetupError, match="price"):
        await Agent(FallbackModel(down("a:1", price=PRICED), model("b:2", "hi"))).run("hi", limits=Limits(usd=1))


@pytest.mark.parametrize("code", ["model.failed", "model.auth", "model.quota", "model.incomplete", "model.no_network"])
async def test_another_model_helps_with_what_is_the_providers(fake_clock: FakeClock, code: str) -> None:
    result = await ran(Agent(FallbackModel(down("a:1", code, retryable=False), model("b:2", "hi"))), fake_clock)
    assert result.output == "hi"


@pytest.mark.parametrize("code", ["model.script", "model.not_recorded"])
async def test_no_model_hides_what_is_the_tests_own(fake_clock: FakeClock, code: str) -> None:
    result = await ran(Agent(FallbackModel(down("a:1", code, retryable=False), model("b:2", "hi"))), fake_clock)
    assert (result.status, result.code) == ("failed", code)


async def test_a_refusal_is_an_answer(fake_clock: FakeClock) -> None:
    no = ModelReply(parts=(Text(text="No."),), finish="refusal", usage=None, model="a:1")
    second = model("b:2", "yes")
    result = await ran(Agent(FallbackModel(model("a:1", no), second)), fake_clock)
    assert (result.code, len(second.asked)) == ("model.refused", 0)  # type: ignore[attr-defined]


async def test_a_window_too_short_is_helped_by_a_longer_one_alone(fake_clock: FakeClock) -> None:
    short = down("a:1", "model.too_long", retryable=False, window=1_000)
    equal, longer = model("b:2", "no", window=1_000), model("c:3", "yes", window=2_000)
    assert (await ran(Agent(FallbackModel(short, equal, longer)), fake_clock)).output == "yes"
    assert equal.asked == []  # type: ignore[attr-defined]


async def test_a_model_is_not_sent_what_it_cannot_take(fake_clock: FakeClock) -> None:
    blind, seeing = model("a:1", "blind"), model("b:2", "seen", media=frozenset({"image"}))
    agent = Agent(FallbackModel(blind, seeing))
    with agent.override(clock=fake_clock, sleep=fake_clock.sleep):
        image = [Text(text="what is it?"), Media(mime="image/png", data=b"x")]
        assert (await agent.run(image)).output == "seen"
        sound = [Text(text="what is it?"), Media(mime="audio/wav", data=b"x")]
        result = await agent.run(sound)
    assert (result.status, result.code) == ("failed", "model.unfit")
    assert "a:1 takes no audio/wav" in result.reason
    assert blind.asked == []  # type: ignore[attr-defined]


async def test_the_users_own_rule_decides(fake_clock: FakeClock) -> None:
    never = FallbackModel(down("a:1"), model("b:2", "hi"), fallback_on=lambda error: error.code == "model.auth")
    assert (await ran(Agent(never), fake_clock)).status == "failed"


async def test_when_all_are_down_the_last_error_is_the_reason(fake_clock: FakeClock) -> None:
    result = await ran(Agent(FallbackModel(down("a:1"), down("b:2", "model.quota"))), fake_clock)
    assert (result.status, result.code, result.reason) == ("failed", "model.quota", "b:2 is down")


async def test_pieces_of_the_model_that_failed_are_of_another_attempt() -> None:
    class Breaks(FunctionModel):
        async def request(self, request: Any, ctx: Any, on_delta: Any = None) -> Any:
            await super().request(request, ctx, on_delta)
            raise ModelError("broke off", retryable=False)

    agent = Agent(FallbackModel(Breaks(lambda _r, _c: "half an answer"), ScriptedModel("whole")))
    async with agent.run_stream("hi") as stream:
        pieces = [(one.attempt, one.delta.text) async for one in stream if isinstance(one, ModelDelta)]
    last = max(attempt for attempt, _ in pieces)
    assert "".join(text for attempt, text in pieces if attempt == last) == "whole"
    assert {attempt for attempt, _ in pieces} == {1, 2}


async def test_a_wish_is_put_to_each_model_as_it_understands_it(fake_clock: FakeClock) -> None:
    request = ModelRequest(messages=(), tool_choice="none")
    plain = model("b:2", "hi", choices=frozenset({"auto"}))
    from backstay.agents.ask import ask
    from backstay.agents.middleware import Chains
    from workbench import Bench

    ctx = Bench().context(clock=fake_clock, sleep=fake_clock.sleep)
    ctx.guard.halted = _never  # type: ignore[attr-defined]
    answer = await ask(FallbackModel(down("a:1"), plain), Chains(()), request, ctx)
    assert answer.model is plain
    assert plain.asked[0].tool_choice == "auto"  # type: ignore[attr-defined]


async def _never() -> None:
    return None


def test_a_fallback_without_a_model_is_refused_and_one_in_another_is_flat() -> None:
    with pytest.raises(SetupError, match="at least one"):
        FallbackModel()
    a, b, c = model("a:1", ""), model("b:2", ""), model("c:3", "")
    assert FallbackModel(a, FallbackModel(b, c)).models == (a, b, c)


async def test_the_trace_has_a_row_for_each_model(fake_clock: FakeClock) -> None:
    store = MemoryStore()
    recorder = Recorder(store)
    agent = Agent(FallbackModel(down("a:1"), model("b:2", "from b")))
    recorder.attach(agent._emitter)
    result = await ran(agent, fake_clock, store=store)
    await recorder.close()
    rows = [one for one in await store.spans(result.trace_id) if one.kind == "model"]
    assert [(one.name, one.ok) for one in rows] == [("a:1", False), ("b:2", True)]
