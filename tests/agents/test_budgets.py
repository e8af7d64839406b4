"""Budgets span runs, sessions and workers of one store; limits and budgets end a run with a valid history."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from backstay import Agent, Boundary, Limits, Principal, tool
from backstay.agents.journal import Journal
from backstay.agents.purse import Purse
from backstay.agents.state import SessionState
from backstay.boundary import Budget
from backstay.core.errors import ModelError, SetupError
from backstay.core.messages import ModelReply, ModelRequest, Text, Usage
from backstay.memory.history import make_valid
from backstay.models import ScriptedModel, call
from backstay.models.model import ModelProfile
from backstay.models.scripted import FunctionModel
from backstay.store.protocol import RunStore
from backstay.store.records import Record, RunRow

NOON = 1_781_524_800.0
"""15 June 2026, 12:00 UTC."""
PRICED = ModelProfile(family="scripted", window=128_000, price={"input": "1000", "output": "1000"})
"""1 USD for 1,000 tokens."""
ANN, BOB = Principal(id="ann", tenant="acme"), Principal(id="bob", tenant="acme")
LOOKED: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    LOOKED.clear()


@tool(risk="read")
async def look(word: str) -> str:
    """Look something up. Use it when asked."""
    LOOKED.append(word)
    return word


def reply(*parts: Any, used: int = 100) -> ModelReply:
    said = tuple(Text(text=one) if isinstance(one, str) else one for one in parts)
    has_calls = any(not isinstance(one, Text) for one in said)
    usage = Usage(input_tokens=used // 2, output_tokens=used - used // 2)
    return ModelReply(parts=said, finish="tool_calls" if has_calls else "stop", usage=usage, model="m")


def agent(*lines: Any, budgets: Any = (), limits: Limits | None = None, name: str = "desk", **more: Any) -> Agent[Any]:
    model = ScriptedModel(*lines, **more)
    return Agent(model, name=name, tools=[look], boundary=Boundary(budgets=budgets, limits=limits or Limits()))


async def spent(store: RunStore, per: str, who: str, unit: str) -> Decimal:
    key = f"day:2026-06-15:budget:{per}:{who}:{unit}"
    return (await store.spent([key]))[key]


async def run(one: Agent[Any], store: RunStore, principal: Principal = ANN, **more: Any) -> Any:
    with one.override(clock=lambda: NOON):
        return await one.run("hello", store=store, principal=principal, **more)


async def test_what_a_run_used_counts_against_the_next_one_of_the_same_person(store: RunStore) -> None:
    budgets = [Budget(per="principal", tokens=150)]
    first = await run(agent(reply("hi"), budgets=budgets), store)
    assert first.status == "done"
    assert await spent(store, "principal", "acme/ann", "tokens") == 100
    second = await run(agent(reply("hi"), budgets=budgets), store)
    assert second.status == "done"
    third = await run(agent(reply("hi"), budgets=budgets), store)
    assert (third.status, third.code, third.steps) == ("stopped", "budget.tokens", 0)
    assert third.reason == "the budget of 150 tokens of the day for this principal is used up"
    assert (await run(agent(reply("hi"), budgets=budgets), store, BOB)).status == "done"


@pytest.mark.parametrize(("per", "is_bound"), [("tenant", True), ("agent", True), ("principal", False)])
async def test_a_tenants_and_an_agents_budget_bind_everybody(store: RunStore, per: Any, is_bound: bool) -> None:
    budgets = [Budget(per=per, tokens=100)]
    await run(agent(reply("hi"), budgets=budgets), store)
    other = await run(agent(reply("hi"), budgets=budgets), store, BOB)
    assert other.status == ("stopped" if is_bound else "done")


async def test_a_new_day_begins_at_nothing(store: RunStore) -> None:
    budgets = [Budget(per="principal", tokens=100)]
    await run(agent(reply("hi"), budgets=budgets), store)
    one = agent(reply("hi"), budgets=budgets)
    with one.override(clock=lambda: NOON + 86_400):
        assert (await one.run("hello", store=store, principal=ANN)).status == "done"


async def test_dollars_are_charged_from_usage_and_end_the_run_between_two_requests(store: RunStore) -> None:
    budgets = [Budget(per="agent", usd=Decimal("0.1"))]
    result = await run(agent(reply(call("look", word="a")), reply("hi"), budgets=budgets, profile=PRICED), store)
    assert (result.status, result.code, result.steps) == ("stopped", "budget.usd", 1)
    assert await spent(store, "agent", "desk", "usd") == Decimal("0.1")
    assert make_valid(result.new_messages) == result.new_messages


async def test_a_parallel_batch_over_the_budget_of_calls_is_refused_before_any_of_it_runs(store: RunStore) -> None:
    budgets = [Budget(per="principal", calls=3)]
    batch = [call("look", word=word) for word in "ab"]
    assert (await run(agent(batch, "done", budgets=budgets), store)).status == "done"
    result = await run(agent(batch, "never", budgets=budgets), store)
    assert (result.status, result.code, LOOKED) == ("stopped", "budget.calls", ["a", "b"])
    assert {one.result.code for one in result.new_messages[-1].returns} == {"budget.calls"}
    assert (await run(agent(call("look", word="c"), "done", budgets=budgets), store)).status == "done"


async def test_workers_at_once_get_through_only_as_far_as_there_is_room(store: RunStore) -> None:
    """Twenty runs begin in the same moment; each holds what its input has at least before it asks."""
    asked, stopped = 0, 0
    held, is_full = asyncio.Event(), asyncio.Event()

    async def answer(_request: ModelRequest, _ctx: Any) -> ModelReply:
        nonlocal asked
        asked += 1
        await held.wait()
        return reply("hi", used=620)

    def ended_one(_task: object) -> None:
        nonlocal stopped
        stopped += 1
        if stopped == 17:
            is_full.set()

    text = "word " * 400  # 501 tokens by the rule of thumb, and up to 99 of the system text
    budgets = [Budget(per="agent", tokens=1_800)]
    one = Agent(FunctionModel(answer), name="desk", boundary=Boundary(budgets=budgets))
    with one.override(clock=lambda: NOON):
        runs = [asyncio.ensure_future(one.run(text, store=store, principal=ANN)) for _ in range(20)]
        for task in runs:
            task.add_done_callback(ended_one)
        try:
            async with asyncio.timeout(10):
                await is_full.wait()
        finally:
            held.set()
        ended = await asyncio.gather(*runs)
    assert asked == 3
    assert [one.code for one in ended].count("budget.tokens") == 17
    assert await spent(store, "agent", "desk", "tokens") == 1_860, "what was really used"


async def test_a_second_reply_to_what_was_held_once_is_charged_whole(store: RunStore) -> None:
    """A summary of old turns is asked for inside a step, before the step's own reply comes."""
    _, fence = await store.create(
        RunRow(
            run_id="r", session_id="s", root_id="s", parent_id=None, agent="desk", agent_digest="", principal=ANN,
            trace_id="t", status="running",
        ),
        Record(session_id="s", seq=0, run_id="r", kind="input", at=NOON, body=None),
        claim=("w", 1e9),
    )  # fmt: skip
    assert fence is not None
    journal = Journal(store, fence, await store.run("r"), SessionState("s"), lambda: NOON)
    purse = Purse([Budget(per="agent", tokens=1_000)], journal, "desk", lambda: NOON)
    assert await purse.hold(50, Decimal(0)) is None
    await purse.settle(Usage(input_tokens=20, output_tokens=10), None)
    await purse.settle(Usage(input_tokens=60, output_tokens=40), None)
    assert await spent(store, "agent", "desk", "tokens") == 130
    await purse.hold(50, Decimal(0))
    await purse.settle(None, None)
    assert await spent(store, "agent", "desk", "tokens") == 180, "of what is unknown the hold stays"


async def test_a_request_without_a_reply_gives_back_what_it_held(store: RunStore) -> None:
    failing = agent(ModelError("down", retryable=False), budgets=[Budget(per="principal", tokens=150)])
    assert (await run(failing, store)).status == "failed"
    assert await spent(store, "principal", "acme/ann", "tokens") == 0


async def test_a_cancelled_request_gives_back_what_it_held(store: RunStore) -> None:
    asked = asyncio.Event()

    async def never(_request: ModelRequest, _ctx: Any) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    one = Agent(FunctionModel(never), name="desk", boundary=Boundary(budgets=[Budget(per="principal", tokens=150)]))
    task = asyncio.ensure_future(run(one, store))
    await asked.wait()
    assert await spent(store, "principal", "acme/ann", "tokens") > 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await spent(store, "principal", "acme/ann", "tokens") == 0


async def test_the_model_is_warned_when_four_fifths_of_a_budget_are_used(store: RunStore) -> None:
    told: list[str] = []

    def answer(request: ModelRequest, ctx: Any) -> Any:
        told.append(request.messages[-1].text)
        return reply("hi", used=90)

    one = Agent(FunctionModel(answer), name="desk", boundary=Boundary(budgets=[Budget(per="principal", tokens=100)]))
    for _ in range(2):
        await run(one, store)
    assert told == ["hello", "Nearly used up: 90 of 100 tokens of the day for this principal. Come to an end."]


def test_a_budget_of_dollars_on_a_model_without_a_price_is_an_error_at_build_time() -> None:
    unpriced = ModelProfile(family="scripted", window=1000, price=None)
    with pytest.raises(SetupError, match="price of scripted:lines is unknown") as raised:
        agent("hi", budgets=[Budget(per="tenant", usd=1)], profile=unpriced)
    assert raised.value.code == "limits"


# limits of one input


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(tokens=100), "limit.tokens"),
        (Limits(usd=Decimal("0.1")), "limit.usd"),
        (Limits(calls=1), "limit.calls"),
    ],
)
async def test_a_batch_that_comes_too_late_is_refused_before_any_of_it_runs(limits: Limits, code: str) -> None:
    LOOKED.clear()
    batch = reply(call("look", word="a"), call("look", word="b"))
    result = await agent(batch, "never", limits=limits, profile=PRICED).run("hello")
    assert (result.status, result.code, LOOKED) == ("stopped", code, [])
    assert [one.result.code for one in result.new_messages[-1].returns] == [code, code]
    assert make_valid(result.new_messages) == result.new_messages


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(steps=5), "4 of 5 steps"),
        (Limits(calls=5), "4 of 5 calls"),
        (Limits(tokens=500), "400 of 500 tokens"),
        (Limits(usd=Decimal("0.5")), "0.4 of 0.5 usd"),
    ],
)
async def test_the_model_is_warned_when_four_fifths_of_a_limit_are_used(limits: Limits, told: str) -> None:
    seen: list[str] = []

    def answer(request: ModelRequest, ctx: Any) -> Any:
        seen.append(request.messages[-1].text)
        return reply("end") if ctx.step == 5 else reply(call("look", word=str(ctx.step)))

    model = FunctionModel(answer, profile=PRICED)
    result = await Agent(model, tools=[look], boundary=Boundary(limits=limits)).run("hello")
    assert result.status == "done"
    assert ["Nearly" in text for text in seen] == [False] * 4 + [True]
    assert told in seen[-1]
