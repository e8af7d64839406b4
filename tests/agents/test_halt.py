"""A halt stops an agent, a tool, a tenant or everything before the next model request or tool call."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backstay import Agent, Principal, tool
from backstay.boundary.halts import Halt
from backstay.core.errors import ModelError
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.protocol import RunStore
from desk import Desk, propose


async def halt(store: RunStore, scope: Any, name: str = "") -> None:
    assert await store.standing.halt(Halt(scope=scope, name=name, by="bo", at=1.0, reason="an incident"))


async def lift(store: RunStore, scope: Any, name: str = "") -> None:
    assert await store.standing.lift(scope, name, by="bo", at=2.0)


@pytest.mark.parametrize(("scope", "name"), [("agent", "desk"), ("tenant", "acme"), ("all", "")])
async def test_a_halted_run_parks_before_the_model_is_asked_and_goes_on_when_it_is_lifted(
    store: RunStore, scope: str, name: str
) -> None:
    ann = Principal(id="ann", tenant="acme", kind="customer")
    await halt(store, scope, name)
    agent = Desk().agent("hello")
    parked = await agent.run("hi", store=store, principal=ann)
    assert (parked.status, parked.code, parked.steps) == ("waiting", "halted", 0)
    assert "an incident" in parked.reason
    assert list(await store.due(9e9, 10)) == []
    assert (await store.run(parked.run_id)).status == "waiting"
    await lift(store, scope, name)
    assert list(await store.due(9e9, 10)) == [parked.run_id]
    done = await agent.resume(parked.run_id, store=store)
    assert done is not None
    assert (done.status, done.output) == ("done", "hello")


async def test_what_is_halted_is_another_agents_business_alone(store: RunStore) -> None:
    await halt(store, "agent", "another")
    await halt(store, "tenant", "elsewhere")
    await halt(store, "tool", "refund")
    assert (await Desk().agent("hello").run("hi", store=store)).status == "done"


async def test_a_halt_during_a_run_stops_it_before_its_next_request(store: RunStore) -> None:
    @tool(risk="read")
    async def look() -> str:
        """Look. Use it when asked."""
        await halt(store, "all")
        return "seen"

    agent = Agent(ScriptedModel(call("look"), "done"), tools=[look])
    parked = await agent.run("look", store=store)
    assert (parked.status, parked.code, parked.steps) == ("waiting", "halted", 1)
    assert parked.new_messages[-1].returns[0].result.ok
    await lift(store, "all")
    done = await agent.resume(parked.run_id, store=store)
    assert done is not None
    assert done.output == "done"


async def test_a_halted_tool_does_not_run_and_runs_when_the_model_asks_again_later(store: RunStore) -> None:
    desk = Desk()
    await halt(store, "tool", "find_order")
    agent = desk.agent(call("find_order", order_id="1001"), call("find_order", order_id="1001"), "lost")
    parked = await agent.run("where is 1001?", store=store)
    assert (parked.status, parked.code, desk.calls["find_order"]) == ("waiting", "halted", 0)
    assert parked.new_messages[-1].returns[0].result.code == "halted"
    await lift(store, "tool", "find_order")
    done = await agent.resume(parked.run_id, store=store)
    assert done is not None
    assert (done.output, desk.calls["find_order"]) == ("lost", 1)


@pytest.mark.parametrize("effect", ["none", "once"])
async def test_a_tool_that_is_halted_while_its_step_is_under_way_does_not_begin(store: RunStore, effect: Any) -> None:
    ran: list[str] = []

    @tool(risk="read", sequential=True)
    async def first() -> str:
        """Look first. Use it when asked."""
        await halt(store, "tool", "second")
        return "ok"

    @tool(risk="read" if effect == "none" else "write", effect=effect, sequential=True)
    async def second() -> str:
        """Look second. Use it when asked."""
        ran.append("second")
        return "ok"

    agent = Agent(ScriptedModel([call("first"), call("second")], "end"), tools=[first, second])
    result = await agent.run("both", store=store)
    told = result.new_messages[2].returns[1].result
    assert (told.code, told.via, ran) == ("halted", "refused", [])


async def test_an_approved_action_of_a_halted_tool_stays_approved_and_is_executed_later(store: RunStore) -> None:
    desk = Desk()
    agent = desk.agent(propose(), "A person decides.", "It is paid.")
    waiting = await agent.run("Refund 120 EUR for order 1001", store=store)
    await halt(store, "tool", "refund")
    parked = await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert parked is not None
    assert (parked.status, parked.code, desk.refunds) == ("waiting", "halted", [])
    assert (await store.action(waiting.pending[0].id)).state == "approved"
    await lift(store, "tool", "refund")
    done = await agent.resume(waiting.run_id, store=store)
    assert done is not None
    assert (done.output, desk.refunds) == ("It is paid.", [("1001", Decimal("120.00"))])


async def test_another_attempt_at_a_model_request_is_one_that_a_halt_stops(store: RunStore) -> None:
    asked: list[int] = []

    async def brain(_request: Any, _ctx: Any) -> str:
        asked.append(1)
        await halt(store, "all")
        raise ModelError("overloaded", retryable=True)

    async def at_once(_seconds: float) -> None:
        return None

    agent = Agent(FunctionModel(brain))
    with agent.override(sleep=at_once):
        parked = await agent.run("hi", store=store)
    assert (parked.status, parked.code, len(asked)) == ("waiting", "halted", 1)


async def test_a_wish_to_cancel_is_heard_while_a_run_is_parked(store: RunStore) -> None:
    await halt(store, "all")
    agent = Desk().agent("hello")
    parked = await agent.run("hi", store=store)
    await agent.cancel(parked.run_id, "not wanted", store=store)
    gone = await agent.resume(parked.run_id, store=store)
    assert gone is not None
    assert gone.status == "cancelled"
