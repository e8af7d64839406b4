"""Reading a cut result again: pages under the same bound, matches, fields inside, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay import Agent, tool
from backstay.agents.journal import Journal
from backstay.agents.own_tools.recall import Wanted, page
from backstay.agents.state import SessionState
from backstay.core.canon import freeze
from backstay.core.errors import ToolInputError
from backstay.core.ids import new_id
from backstay.core.messages import Label, ModelRequest, ToolResult
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.models.scripted import PROFILE
from backstay.store.protocol import RunStore
from backstay.store.records import Record, RunRow, Snapshot
from backstay.tools.summary import weigh

ORDERS = [{"id": f"o-{n}", "state": "late" if n % 10 == 0 else "sent", "text": "x" * 300} for n in range(312)]


def read(data: Any, max_tokens: int = 1_000, **wanted: Any) -> ToolResult:
    result = ToolResult(ok=True, summary="cut", data=freeze(data), label=Label(trusted=False))
    return page(result, "r:1", Wanted(**wanted), max_tokens)


def test_pages_follow_each_other_until_every_row_was_read_once() -> None:
    rows: list[Any] = []
    wanted: str | None = None
    while True:
        shown = read(ORDERS, rows=wanted)
        assert weigh(shown.summary) <= 1_000
        head, *lines = shown.summary.split("\n")
        assert [json.loads(line) for line in lines] == list(shown.data)  # type: ignore[call-overload]  # a list
        assert head.startswith(f"rows {len(rows)}:{len(rows) + len(lines)} of 312")
        rows += shown.data  # type: ignore[operator]  # a list
        if "; next: rows=" not in head:
            break
        assert shown.ref == "r:1"
        wanted = head.partition("; next: rows=")[2]
    assert rows == [freeze(one) for one in ORDERS]


def test_a_range_that_does_not_fit_says_how_to_read_the_rest_of_it() -> None:
    head = read(ORDERS, rows="40:80").summary.partition("\n")[0]
    first, _, rest = head.partition("; next: rows=")
    end = first.split(":")[1].split()[0]
    assert (first, rest) == (f"rows 40:{end} of 312", f"{end}:80")
    assert read(ORDERS, rows="300:302").summary.startswith("rows 300:302 of 312; next: rows=302:\n")
    assert read(ORDERS, rows="311").summary.startswith("rows 311:312 of 312\n")


def test_matches_are_paged_and_carry_the_numbers_of_their_rows() -> None:
    head, first, *_ = read(ORDERS, grep="LATE").summary.split("\n")
    assert head.startswith("matches 0:")
    assert " of 32 in 312 rows; next: rows=" in head
    assert first.startswith('0: {"id":"o-0"')
    head, only = read(ORDERS, grep="late", rows="31:32").summary.split("\n")
    assert head == "matches 31:32 of 32 in 312 rows"
    assert only.startswith('310: {"id":"o-310"')
    assert read(ORDERS, grep="nobody").summary == "matches 0:0 of 0 in 312 rows"


def test_a_path_leads_through_objects_lists_and_keys_with_dots() -> None:
    data = {"orders": [{"lines": ["a", "b"]}, {"lines": ["c"]}], "v1.2": {"n": 7}, "text": "one\ntwo"}
    assert read(data, path="orders.1.lines").summary == "rows 0:1 of 1\nc"
    assert read(data, path="v1.2.n").summary == "value 0:1 of 1\n7"
    assert read(data, path="text", rows="1").summary == "lines 1:2 of 2\ntwo"
    assert read(data, path="orders.0").data == ({"lines": ("a", "b")},)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"path": "orders.9"}, "path: there is no '9' in 'orders.9'; a list of 1 rows is there, from 0"),
        ({"path": "order"}, "path: there is no 'order' in 'order'; the fields there are orders"),
        ({"path": "orders.0.id.x"}, "path: there is no 'x' in 'orders.0.id.x'; nothing is inside that"),
        ({"rows": "a:b"}, "rows: expected start:end such as 40:80, got 'a:b'"),
        ({"rows": ":"}, "rows: expected start:end such as 40:80, got ':'"),
        ({"rows": "-1:"}, "rows: expected start:end such as 40:80, got '-1:'"),
        ({"rows": "9:20", "path": "orders"}, "rows: there are 1, from 0; got '9:20'"),
        ({"rows": "5:2", "path": "orders"}, "rows: there are 1, from 0; got '5:2'"),
    ],
)
def test_what_leads_nowhere_is_refused_with_what_is_there(wanted: dict[str, str], told: str) -> None:
    with pytest.raises(ToolInputError) as caught:
        read({"orders": [{"id": "o-1"}]}, **wanted)
    assert caught.value.message == told


def test_a_row_that_is_too_long_for_a_page_names_the_path_into_it() -> None:
    data = {"orders": [{"id": 1}, {"id": 2, "items": [{"n": n, "text": "y" * 90} for n in range(200)]}]}
    head, told, *_ = read(data, 400, path="orders", rows="1").summary.split("\n")
    assert head == "rows 1:2 of 2"
    assert told == "this one is cut; read it with path=orders.1"
    assert read(data, 400, path="orders.1.items").summary.startswith("rows 0:")
    assert read(data, 400).summary.split("\n")[1] == "this one is cut; read it with path=orders"


def test_a_text_without_lines_is_read_in_pieces() -> None:
    text = "".join(f"{n:07}," for n in range(3_000))
    got, wanted = "", None
    while True:
        shown = read(text, rows=wanted)
        got += "".join(shown.data)  # type: ignore[arg-type]  # texts
        head = shown.summary.partition("\n")[0]
        if "next: rows=" not in head:
            break
        wanted = head.partition("next: rows=")[2]
    assert got == text


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=200),
        lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    ),
    st.integers(100, 500),
    st.none() | st.text(max_size=2),
)
def test_every_page_is_bounded_and_as_untrusted_as_the_whole(data: Any, max_tokens: int, grep: str | None) -> None:
    shown = read(data, max_tokens, grep=grep)
    assert weigh(shown.summary) <= max_tokens
    assert shown.label == Label(trusted=False)


@tool(risk="read", untrusted=True)
def list_orders() -> list[dict[str, Any]]:
    """All orders. Use it when the user asks for orders."""
    return ORDERS


def last(request: ModelRequest) -> ToolResult:
    return next(one.returns[0].result for one in reversed(request.messages) if one.role == "tool")


async def test_a_page_has_the_originals_reference_label_and_bound(store: RunStore) -> None:
    def model(request: ModelRequest, ctx: Any) -> Any:
        if ctx.step == 1:
            return call("list_orders")
        return call("recall", ref=last(request).ref, rows="100:") if ctx.step < 4 else "read"

    run = await Agent(FunctionModel(model), tools=[list_orders]).run("orders", session="s", store=store)
    whole, first, again = (one.returns[0].result for one in run.new_messages if one.role == "tool")
    assert whole.ref == first.ref == again.ref
    assert (first.label.trusted, first.ok) == (False, True)
    assert first.summary.startswith("rows 100:")
    assert first == again
    assert len(first.data) < 100  # type: ignore[arg-type]  # a list: the journal holds the page, not the whole again


async def test_a_result_is_recalled_by_its_calls_id_too(store: RunStore) -> None:
    run = await Agent(
        ScriptedModel(call("list_orders"), call("recall", ref="call-1-0", rows="5"), "read"), tools=[list_orders]
    ).run("orders", store=store)
    assert run.new_messages[1].calls[0].id == "call-1-0"
    assert run.new_messages[4].returns[0].result.data == (freeze(ORDERS[5]),)


async def test_a_reference_of_another_session_is_refused(store: RunStore) -> None:
    agent = Agent(ScriptedModel(call("list_orders"), "listed"), tools=[list_orders])
    other = await agent.run("orders", session="other", store=store)
    ref = other.new_messages[2].returns[0].result.ref
    mine = Agent(ScriptedModel(call("list_orders"), call("recall", ref=ref), "no"), tools=[list_orders])
    run = await mine.run("orders", session="mine", store=store)
    refused = run.new_messages[4].returns[0].result
    assert (refused.ok, refused.code) == (False, "tool.input")
    assert "no result" in refused.summary
    assert "o-1" not in refused.summary


async def test_a_later_run_of_the_session_recalls_what_an_earlier_one_has_read(store: RunStore) -> None:
    agent = Agent(ScriptedModel(call("list_orders"), "listed"), tools=[list_orders])
    before = await agent.run("orders", session="s", store=store)
    ref = before.new_messages[2].returns[0].result.ref
    again = Agent(ScriptedModel(call("recall", ref=ref, rows="7"), "read"), tools=[list_orders])
    run = await again.run("number 7", session="s", store=store)
    assert run.new_messages[2].returns[0].result.data == (freeze(ORDERS[7]),)


async def test_a_result_that_has_left_the_window_is_read_from_the_journal(store: RunStore) -> None:
    agent = Agent(ScriptedModel(call("list_orders"), "listed"), tools=[list_orders])
    before = await agent.run("orders", session="s", store=store)
    ref = before.new_messages[2].returns[0].result.ref
    await leave_window(store, "s")

    def model(request: ModelRequest, ctx: Any) -> Any:
        assert "recall" in [one.name for one in request.tools]
        return call("recall", ref=ref, rows="7") if ctx.step == 1 else "read"

    run = await Agent(FunctionModel(model), tools=[list_orders]).run("number 7", session="s", store=store)
    assert len(await store.load("s")) < len(await store.read("s"))
    assert run.new_messages[1].calls[0].name == "recall"
    assert run.new_messages[2].returns[0].result.data == (freeze(ORDERS[7]),)


async def leave_window(store: RunStore, session: str) -> None:
    """Write a snapshot after which none of the session's messages is wanted any more."""
    records = await store.read(session)
    row = await store.run(records[0].run_id)
    run = RunRow(
        run_id=new_id("r"), session_id=session, root_id=session, parent_id=None, agent=row.agent, agent_digest="",
        principal=row.principal, trace_id="t", status="running",
    )  # fmt: skip
    first = Record(session_id=session, seq=0, run_id=run.run_id, kind="input", at=0.0, body=records[0].body)
    made, fence = await store.create(run, first, claim=("test", 30.0))
    assert fence is not None
    state = SessionState(session)
    state.load(await store.load(session))
    state.tail = state.seq + 1
    journal = Journal(store, fence, made, state, lambda: 0.0)
    snapshot = state.snapshot()
    assert isinstance(snapshot, Snapshot)
    assert snapshot.has_refs
    await journal.release("done", ("snapshot", snapshot))


@pytest.mark.parametrize(("window", "most"), [(2_000, 200), (20_000, 2_000), (40_000, 4_000), (1_000_000, 4_000)])
async def test_a_result_has_a_tenth_of_the_window_of_the_model_that_runs_and_4000_tokens_at_most(
    window: int, most: int
) -> None:
    agent = Agent(ScriptedModel(), tools=[list_orders])
    script = iter([call("list_orders"), "read"])
    model = FunctionModel(lambda request, ctx: next(script), profile=replace(PROFILE, window=window))
    run = await agent.run("orders", model=model)
    assert 0.7 * most < weigh(run.new_messages[2].returns[0].result.summary) <= most
