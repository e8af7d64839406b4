"""Cases of the field about approvals and resuming: what must not happen, and what must."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backstay import Agent, Boundary, Constraint, tool
from backstay.boundary.checks import at_most
from backstay.core.errors import DecisionError
from backstay.core.messages import Message, Text, ToolCall
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.protocol import RunStore
from desk import Desk, propose


async def test_c47_a_run_that_waits_is_driven_again_without_running_anything_or_asking_the_model(
    store: RunStore,
) -> None:
    desk = Desk()
    agent = desk.agent(propose(), "wait")  # a third request would find no line
    waiting = await agent.run("refund 1001", session="s", store=store)
    again = await agent.resume(waiting.run_id, store=store)
    assert again is not None
    assert (again.status, again.pending, again.steps, desk.refunds) == ("waiting", waiting.pending, 2, [])


async def test_c47_a_history_that_ends_in_a_call_runs_nothing() -> None:
    desk = Desk()
    history = [
        Message(id="m-1", role="user", parts=(Text(text="refund 1001"),)),
        Message(
            id="m-2", role="assistant",
            parts=(ToolCall(id="c1", name="refund", args={"order_id": "1001", "amount": "5"}, proposed=True),),
        ),
    ]  # fmt: skip
    result = await desk.agent("nothing was done").run("go on", history=history)
    assert (result.status, desk.refunds, result.pending) == ("done", [], ())


async def test_c49_an_approved_call_that_failed_after_its_effect_is_not_run_again(store: RunStore) -> None:
    done: list[str] = []

    @tool(risk="high")
    async def pay(account: str) -> str:
        """Pay an account."""
        done.append(account)
        raise RuntimeError("the line broke after it was paid")

    action = {"name": "pay", "arguments": {"account": "DE1"}}
    agent = Agent(ScriptedModel(call("propose_action", action=action, reason=""), "wait", "in doubt"), tools=[pay])
    waiting = await agent.run("pay DE1", session="s", store=store)
    (asked,) = waiting.pending
    doubt = await agent.decide(asked, approve=True, by="bo", store=store)
    assert doubt is not None
    assert (doubt.pending[0].kind, done) == ("in_doubt", ["DE1"])
    for args in (None, {"account": "DE2"}):
        with pytest.raises(DecisionError) as again:
            await agent.decide(asked, approve=True, by="bo", args=args, store=store)
        assert again.value.code == "action.decided"
    await agent.resume(waiting.run_id, store=store)
    assert done == ["DE1"]


async def test_c49_other_arguments_under_the_same_call_are_another_question(store: RunStore) -> None:
    desk = Desk()
    agent = desk.agent(propose(amount="10"), "wait", propose(amount="20"), "wait", "paid", "more")
    first = await agent.run("refund 1001", session="s", store=store)
    second = await agent.run("refund 20 EUR for 1001 instead", session="s", store=store)
    assert len({one.args_digest for one in second.pending}) == 2
    await agent.decide(first.pending[0], approve=True, by="bo", store=store)
    assert desk.refunds == [("1001", Decimal(10))]


async def test_c51_three_calls_that_need_a_person_are_three_rows(store: RunStore) -> None:
    desk = Desk()
    calls = [propose("1001", "1"), propose("1002", "2"), propose("1003", "3")]
    result = await desk.agent(calls, "three wait").run("refund all", session="s", store=store)
    targets = [one.call.args["order_id"] for one in result.pending if one.call]
    assert targets == ["1001", "1002", "1003"]
    assert {one.id for one in await store.pending()} == {one.id for one in result.pending}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
async def test_c53_answers_in_any_order_reach_their_own_call(store: RunStore, order: tuple[int, ...]) -> None:
    desk = Desk()
    agent = desk.agent(
        [propose("1001", "1"), call("ask_user", question="Why?"), propose("1001", "2")], "wait", "all done", "more",
        ask_user=True,
    )  # fmt: skip
    rows = (await agent.run("refund 1001 twice", session="s", store=store)).pending
    (question,) = (row for row in rows if row.call is None)
    one, two = (row for row in rows if row.call is not None)
    told: dict[int, str] = {}
    for n in order:
        if n == 1:
            result = await agent.answer(question, "lost", by="local", store=store)
        else:
            result = await agent.decide((one, two)[n // 2], approve=n == 0, by="bo", store=store)
        assert result is not None
        told[n] = result.new_messages[0].text
    assert result is not None
    assert (result.status, result.output) == ("done", "all done")
    assert desk.refunds == [("1001", Decimal(1))]
    assert one.id in told[0]
    assert "lost" in told[1]
    assert "refused" in told[2]


async def test_c55_a_row_that_was_kept_does_not_run_a_finished_run_again(store: RunStore) -> None:
    desk = Desk()
    agent = desk.agent(propose(), "wait", "paid")
    waiting = await agent.run("refund 1001", session="s", store=store)
    kept = waiting.pending[0]
    done = await agent.decide(kept.id, approve=True, by="bo", store=store)
    assert done is not None
    assert done.status == "done"
    with pytest.raises(DecisionError) as again:
        await agent.decide(kept, approve=True, by="bo", store=store)
    assert again.value.code == "action.decided"
    assert await agent.resume(waiting.run_id, store=store) is None
    assert len(desk.refunds) == 1


async def test_c55_a_run_that_waits_is_stored_as_waiting_and_not_as_cancelled(store: RunStore) -> None:
    agent = Desk().agent(propose(), "wait")
    waiting = await agent.run("refund 1001", session="s", store=store)
    assert (await store.run(waiting.run_id)).status == "waiting"
    await agent.cancel(waiting.run_id, "not wanted", store=store)
    gone = await agent.resume(waiting.run_id, store=store)
    assert gone is not None
    assert gone.status == "cancelled"
    decided = await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert decided is None, "a cancelled run executes nothing any more"


async def test_c55_the_model_is_asked_after_the_approved_effect_and_never_before(store: RunStore) -> None:
    desk, seen = Desk(), list[tuple[int, bool]]()

    def brain(request: Any, ctx: Any) -> Any:
        is_told = any("paid 120.00 EUR" in message.text for message in request.messages)
        seen.append((len(desk.refunds), is_told))
        return propose() if ctx.step == 1 else "said"

    agent = Agent(FunctionModel(brain), tools=desk.tools())
    waiting = await agent.run("refund 1001", session="s", store=store)
    await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert seen == [(0, False), (0, False), (1, True)]


async def test_what_is_asked_again_shows_the_difference(store: RunStore) -> None:
    desk = Desk()
    asked = await desk.agent(propose(), "wait").run("Refund 120 EUR for order 1001", session="t", store=store)
    small = Constraint.of("small refunds", at_most(5, "EUR"), argument="amount", severity="confirm", id="small")
    stricter = Agent(
        ScriptedModel("-", "-", "asked again"), name="desk", tools=desk.tools(), boundary=Boundary(constraints=[small])
    )
    more = await stricter.decide(asked.pending[0], approve=True, by="bo", store=store)
    assert more is not None
    assert f"Instead of {asked.pending[0].id}: asked by small as well" in more.pending[0].question


async def test_the_difference_names_every_argument_that_was_changed(store: RunStore) -> None:
    desk = Desk()
    small = Constraint.of("small refunds", at_most(200, "EUR"), argument="amount", severity="confirm", id="small")
    agent = Agent(
        ScriptedModel(propose(), "wait", "asked again"), name="desk", tools=desk.tools(),
        boundary=Boundary(constraints=[small]),
    )  # fmt: skip
    asked = await agent.run("Refund 120 EUR for order 1001", session="s", store=store)
    edited = {"order_id": "1001", "amount": "500"}
    again = await agent.decide(asked.pending[0], approve=True, by="bo", args=edited, store=store)
    assert again is not None
    assert desk.refunds == []
    assert f"Instead of {asked.pending[0].id}: amount 120.00 → 500; asked by small as well" in again.pending[0].question
