"""Recorded calls meet the state that they met, and the boundary as it is now says what it would have said."""

from __future__ import annotations

from typing import Annotated, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backstay import Agent, Boundary, Constraint, FreeText, Id, Principal, tool
from backstay.agents.rejudge import Rejudged, rejudge
from backstay.boundary import checks
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store import MemoryStore
from backstay.store.protocol import RunStore
from desk import Desk, propose

ANN = Principal(id="ann", kind="customer")


def agent_of(desk: Desk, *lines: Any, **boundary: Any) -> Agent[Any]:
    return Agent(ScriptedModel(*lines), name="desk", tools=desk.tools(), boundary=Boundary(**boundary))


async def replayed(store: RunStore, agent: Agent[Any], **more: Any) -> list[Rejudged | None]:
    runs = {row.run_id: row for row in await store.runs(limit=500)}
    return [one async for one in rejudge(store, {agent.name: agent.definition}, runs, **more)]


def told(found: list[Rejudged | None]) -> list[tuple[str, str, str]]:
    return [(one.call.name, one.then, one.now.outcome) for one in found if one is not None]


LINES = (
    [call("find_order", order_id="1001"), call("list_orders", days=90)],
    call("add_note", order_id="1001", text="late"),
    propose("1001", "120.00"),
    "done",
)


async def test_a_draft_says_what_it_would_have_asked_and_refused(store: RunStore) -> None:
    desk = Desk()
    await agent_of(desk, *LINES).run("refund 1001 120.00 EUR", store=store)
    before, counted = (
        [repr(await store.runs()), desk.calls.copy()],
        await store.read((await store.runs())[0].session_id),
    )
    draft = agent_of(desk, constraints=[
        "only the last 30 days", "at most 100 EUR a refund",
        Constraint.of("notes are asked for", checks.never(), tools=["add_note"], severity="confirm", id="n"),
    ])  # fmt: skip
    found = await replayed(store, draft)
    assert told(found) == [
        ("find_order", "allow", "allow"), ("list_orders", "allow", "deny"), ("add_note", "allow", "ask"),
        ("refund", "ask", "deny"),
    ]  # fmt: skip
    assert [one.now.rules for one in found if one] == [(), ("c1",), ("n",), ("c2",)]
    assert [repr(await store.runs()), desk.calls] == before
    assert await store.read((await store.runs())[0].session_id) == counted


async def test_what_never_came_to_be_judged_is_left_out(store: RunStore) -> None:
    lines = ([call("find_order"), call("no_such_tool"), call("refund", order_id="1", amount="1")], "done")
    agent = agent_of(Desk(), *lines)
    await agent.run("go", store=store)
    assert await replayed(store, agent) == [None, None, None]


async def test_a_tool_that_the_draft_has_not_got_is_refused_by_it(store: RunStore) -> None:
    await agent_of(Desk(), call("find_order", order_id="1001"), "done").run("order 1001", store=store)
    (one,) = await replayed(store, Agent(ScriptedModel("x"), name="desk"))
    assert one is not None
    assert (one.then, one.now.outcome, one.now.code) == ("allow", "deny", "tool.unknown")


async def test_an_approved_action_is_judged_as_it_was_carried_out(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, propose("1001", "120.00"), "waiting", "paid")
    result = await agent.run("refund 1001 120.00 EUR", store=store, session="s")
    await agent.decide(
        result.pending[0], approve=True, by="bo", args={"order_id": "1001", "amount": "90.00"}, store=store
    )
    assert len(desk.refunds) == 1
    assert told(await replayed(store, agent)) == [("refund", "ask", "ask"), ("refund", "allow", "allow")]
    found = await replayed(store, agent_of(desk, constraints=["at most 80 EUR a refund"]))
    assert told(found) == [("refund", "ask", "deny"), ("refund", "allow", "deny")]
    assert [one.is_decided for one in found if one] == [False, True]
    assert desk.refunds[0][1] == 90


async def test_an_approval_that_went_stale_was_asked_again_or_refused_and_is_told_as_that(store: RunStore) -> None:
    agent = agent_of(Desk(), propose("1001", "120.00"), "waiting", "ok", "ok", "ok")
    first = await agent.run("refund 1001 120.00 EUR", store=store, session="s")
    await agent.run("at most 50 EUR", store=store, session="s")  # only proposed: a break of it asks
    asked = await agent.decide(first.pending[0], approve=True, by="bo", store=store)
    assert asked is not None
    again, rule = sorted(asked.pending, key=lambda one: one.kind)
    assert told(await replayed(store, agent)) == [("refund", "ask", "ask"), ("refund", "ask", "ask")]
    await agent.decide(rule, approve=True, by="local", store=store)  # confirmed: a break of it is refused
    await agent.decide(again, approve=True, by="bo", store=store)
    found = await replayed(store, agent)
    assert told(found)[2:] == [("refund", "deny", "deny")]
    assert all(one.is_same for one in found if one)


async def test_sums_of_the_draft_count_from_the_first_recorded_call_over_all_sessions(store: RunStore) -> None:
    @tool(risk="write")
    def add_note(order_id: Annotated[str, Id("order")], text: Annotated[str, FreeText] = "") -> str:
        """Write a note. Use it when asked."""
        return "noted"

    def with_rules(*rules: Constraint) -> Agent[Any]:
        lines = (call("add_note", order_id="1001"), call("add_note", order_id="1001"), "done")
        return Agent(ScriptedModel(*lines), name="desk", tools=[add_note], boundary=Boundary(constraints=rules))

    for session in ("a", "b"):
        await with_rules().run("note on 1001", session=session, store=store, principal=ANN)
    for per, outcomes in (("session", "allow deny allow deny"), ("day", "allow deny deny deny")):
        cap = Constraint.of("one note", checks.calls(1, per=per), tools=["add_note"], id="cap")
        assert " ".join(now for _, _, now in told(await replayed(store, with_rules(cap)))) == outcomes
    assert await replayed(store, with_rules(), since=4e9) == []


async def test_where_nobody_could_be_asked_nobody_is(store: RunStore) -> None:
    agent = agent_of(Desk(), propose("1001", "120.00"), "no")
    await agent.run("refund 1001 with 120.00 EUR", presence="unattended", store=store)
    assert told(await replayed(store, agent)) == [("refund", "deny", "deny")]


async def test_rules_of_the_user_hold_in_the_replay_too(store: RunStore) -> None:
    agent = agent_of(Desk(), call("list_orders", days=90), "done", call("list_orders", days=90), "done")
    await agent.run("list them, only the last 30 days", session="s", store=store)
    assert told(await replayed(store, agent)) == [("list_orders", "ask", "ask")]


WORDS = ("note on 1001", "refund 1002 for 120.00 EUR", "only the last 30 days please", "at most 50 EUR", "hello")
CALLS = (
    call("find_order", order_id="1001"), call("list_orders", days=90), call("list_orders", days=10),
    call("add_note", order_id="1001", text="x"), call("add_note", order_id="eve", text="x"),
    propose("1002", "120.00"), propose("1001", "20.00"), call("find_order"), call("nothing"),
)  # fmt: skip
RULES: tuple[Any, ...] = (
    "only the last 30 days", "at most 100 EUR a refund",
    Constraint.of("two notes", checks.calls(2, per="session"), tools=["add_note"], id="two"),
    Constraint.of("three a day", checks.calls(3, per="day"), tools=["list_orders"], id="day"),
    Constraint.of("look first", checks.after("find_order"), tools=["add_note"], id="first"),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(
        st.tuples(
            st.sampled_from(WORDS), st.lists(st.lists(st.sampled_from(CALLS), max_size=3), max_size=2),
            st.sampled_from(["inbox", "unattended"]), st.sampled_from([True, False, None]), st.sampled_from("ab"),
        ), min_size=1, max_size=5,
    ),
    rules=st.lists(st.sampled_from(RULES), unique_by=repr, max_size=4),
    mode=st.sampled_from(["enforce", "enforce", "observe"]),
)  # fmt: skip
async def test_the_same_boundary_says_the_same_of_every_call(turns: Any, rules: Any, mode: Any) -> None:
    store, plan = MemoryStore(), iter([line for _, calls, *_ in turns for line in (*filter(None, calls), "ok")])
    model = FunctionModel(lambda _request, _ctx: next(plan, "ok"))
    agent: Agent[Any] = Agent(model, name="desk", tools=Desk().tools(), boundary=Boundary(constraints=rules, mode=mode))
    for words, _, presence, decision, session in turns:
        result = await agent.run(words, session=session, store=store, presence=presence)
        for action in result.pending:
            if decision is not None and (await store.action(action.id)).state == "open":
                await agent.decide(action, approve=decision, by="bo", store=store)
    found = [one for one in await replayed(store, agent) if one is not None]
    assert [one for one in found if not one.is_same] == []
