"""A model that insists on what a rule forbids is stopped, and a person is told."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import pytest

from backstay import Agent, Boundary, Constraint, Id, Money, Quantity, tool
from backstay.agents.state import SessionState
from backstay.agents.tallies.insistence import counted
from backstay.boundary import checks
from backstay.core.messages import ToolResult, ToolReturn
from backstay.models import ScriptedModel, call
from backstay.store.protocol import RunStore

PAID: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    PAID.clear()


@tool(risk="write", effect="once")
async def refund(order: Annotated[str, Id("order")], amount: Annotated[Decimal, Money("EUR")]) -> str:
    """Pay back. Use it when the user asks for it."""
    PAID.append(order)
    return "paid"


@tool(risk="read")
async def find(days: Annotated[int, Quantity("days")]) -> list[str]:
    """Find orders. Use it when the user asks for them."""
    return []


CAP = Constraint.of("at most 200 EUR", checks.at_most(200, "EUR"), meaning="money", id="cap")


def agent(*lines: Any, rules: Any = (CAP,), **more: Any) -> Agent[Any]:
    boundary = Boundary(constraints=rules, provenance="off")
    return Agent(ScriptedModel(*lines), tools=[refund, find], boundary=boundary, **more)


def breaks(*amounts: str, order: str = "1001") -> list[Any]:
    return [call("refund", order=order, amount=amount) for amount in amounts]


async def test_three_breaks_of_one_rule_on_one_target_end_the_run_and_a_person_finds_them_in_the_inbox(
    store: RunStore,
) -> None:
    result = await agent(*breaks("300", "250", "201"), "never asked").run("refund", session="s", store=store)
    assert (result.status, result.code, PAID) == ("stopped", "constraint.insisted", [])
    assert result.reason == "the model broke rule cap ('at most 200 EUR') 3 times on '1001'"
    (row,) = await store.pending()
    assert (row.kind, row.targets, row.holds_run) == ("question", ("1001",), False)
    assert "'at most 200 EUR'" in row.question
    assert [one.id for one in result.pending] == [row.id]


async def test_the_session_goes_on_and_deciding_the_row_only_says_that_it_was_seen(store: RunStore) -> None:
    one = agent(*breaks("300", "250", "201"))
    stopped = await one.run("refund", session="s", store=store)
    await one.decide(stopped.pending[0], approve=False, by="bo", store=store)
    again = await agent(*breaks("300", "120"), "done").run("then 120", session="s", store=store)
    assert (again.status, PAID) == ("done", ["1001"])
    assert await store.pending() == []
    assert "A person has seen" in again.new_messages[0].text or "A person has seen" in "".join(
        message.text for message in again.new_messages
    )


async def test_other_targets_and_other_rules_are_counted_apart(store: RunStore) -> None:
    lines = [*breaks("300", "250"), *breaks("300", "250", order="1002"), "I give up."]
    assert (await agent(*lines).run("refund", store=store)).status == "done"


async def test_a_call_without_a_destination_counts_for_its_tool(store: RunStore) -> None:
    looks = [call("find", days=days) for days in (90, 60, 31)]
    result = await agent(*looks, "no", rules=["only the last 30 days"]).run("find", store=store)
    assert (result.code, "'find'" in result.reason) == ("constraint.insisted", True)


async def test_calls_beside_each_other_count_once_since_no_refusal_was_seen_between(store: RunStore) -> None:
    result = await agent(breaks("300", "250", "201"), "I see.").run("refund", store=store)
    assert result.status == "done"


async def test_a_new_message_of_the_user_begins_anew(store: RunStore) -> None:
    for _ in range(2):
        result = await agent(*breaks("300", "250"), "no").run("refund", session="s", store=store)
        assert result.status == "done"


async def test_where_nothing_is_kept_no_row_is_left_behind() -> None:
    one = agent(*breaks("300", "250", "201"))
    result = await one.run("refund")
    assert (result.code, result.pending, await one.store.pending()) == ("constraint.insisted", (), [])


async def test_a_refused_result_names_rules_and_targets_for_programs(store: RunStore) -> None:
    result = await agent(*breaks("300"), "no").run("refund", store=store)
    data = result.new_messages[2].returns[0].result.data
    assert data == {"tool": "refund", "rules": ("cap",), "targets": ("1001",)}


async def test_the_breaks_are_folded_from_the_records_and_survive_a_snapshot(store: RunStore) -> None:
    await agent(*breaks("300", "250"), "no").run("refund", session="s", store=store)
    state = SessionState("s")
    state.load(await store.load("s"))
    assert state.breaks == {"cap\n1001": 2}
    assert state.snapshot().breaks == {"cap\n1001": 2}


def test_only_a_refusal_by_a_rule_counts() -> None:
    def came(code: str, via: Any = "refused", **data: Any) -> ToolReturn:
        result = ToolResult(ok=False, summary="", code=code, via=via, data=data or None)
        return ToolReturn(call_id="c", name="t", result=result)

    others = [
        came("tool.input", rules=("r",)),
        came("constraint.broken"),
        came("constraint.broken", "ran", rules=("r",)),
    ]
    assert counted({}, others) == {}
    assert counted({"r\nt": 1}, [came("constraint.broken", rules=("r",))]) == {"r\nt": 2}
