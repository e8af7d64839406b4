"""`backstay boundary replay`, and listings for one principal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from shutil import copytree

import pytest

from backstay.core.context import Principal
from backstay.core.messages import Message, Text
from backstay.store.records import Input, Record, RunRow
from backstay.store.sqlite import SQLiteStore
from cli.command import Command

APP = """
from decimal import Decimal
from typing import Annotated
from backstay import Agent, Boundary, Id, Money, Quantity, tool
from backstay.models.scripted import FunctionModel, call

@tool(risk="read")
def list_orders(days: Annotated[int, Quantity("days")] = 30) -> list[str]:
    "List orders. Use it when the user asks for orders."
    open("touched", "a").write("x")
    return []

@tool(risk="high")
def refund(order_id: Annotated[str, Id("order")], amount: Annotated[Decimal, Money("EUR")]) -> str:
    "Pay an order back. Use it when the user wants money back."
    return "paid"

def brain(request, ctx):
    if ctx.step > 1:
        return "done"
    if "refund" in request.messages[-1].text:
        action = {"name": "refund", "arguments": {"order_id": "1001", "amount": "120.00"}}
        return call("propose_action", action=action, reason="so")
    return [call("list_orders", days=90), call("list_orders", days=10), call("list_orders", days="x")]

agent = Agent(FunctionModel(brain), name="desk", tools=[list_orders, refund], boundary=Boundary(constraints=RULES))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = Command(tmp_path_factory.mktemp("recorded"))
    write(desk)
    assert desk("run", "desk.py", "orders please", "--as", "ann:customer", "--session", "s").code == 0
    assert desk("run", "desk.py", "refund 1001 with 120.00 EUR").code == 3
    return desk.folder


@pytest.fixture
def desk(recorded: Path, tmp_path: Path) -> Command:
    """Two runs were recorded here, with three calls that came to be judged."""
    return Command(Path(copytree(recorded, tmp_path / "desk")))


def write(desk: Command, *rules: str, mode: str = "enforce") -> None:
    app = APP.replace("constraints=RULES", f"constraints={list(rules)}, mode={mode!r}")
    (desk.folder / "desk.py").write_text(app, "utf-8")


def test_a_draft_that_changes_nothing_says_so_and_exits_0(desk: Command) -> None:
    said = desk("boundary", "replay", "desk.py")
    assert (said.code, said.out.splitlines()[0]) == (0, "3 calls of 2 runs judged; 0 differ")
    assert "1 call had never come to be judged" in said.out


def test_a_stricter_draft_shows_what_it_would_have_refused_and_exits_1(desk: Command) -> None:
    before, touched = desk("trace", "ls", "--json").json, (desk.folder / "touched").read_text()
    write(desk, "only the last 30 days", "at most 100 EUR a refund")
    said = desk("boundary", "replay", "desk.py", "--traces", "all")
    assert said.code == 1
    assert "3 calls of 2 runs judged; 2 differ" in said.out
    assert "ran, and now is refused: 1" in said.out
    assert "asked, and now is refused: 1" in said.out
    assert "list_orders(days=90)" in said.out
    assert "asked [action.waiting]" in said.out
    found = desk("boundary", "replay", "desk.py", "--json").json
    assert (found["judged"], found["not_judged"], found["changes"]) == (3, 1, {"allow->deny": 1, "ask->deny": 1})
    assert [(one["call"], one["rules"], one["code"]) for one in found["differences"]] == [
        ("list_orders(days=90)", ["c1"], "constraint.broken"),
        ("refund(order_id=1001, amount=120.00)", ["c2"], "constraint.broken"),
    ]
    assert desk("trace", "ls", "--json").json == before
    assert (desk.folder / "touched").read_text() == touched
    assert len(desk.pending()) == 1


def test_a_draft_that_only_observes_names_what_it_would_note(desk: Command) -> None:
    write(desk, "only the last 30 days", mode="observe")
    said = desk("boundary", "replay", "desk.py")
    assert said.code == 0
    assert "noted:c1: 1" in said.out


@pytest.mark.parametrize(
    ("query", "judged"),
    [("session:s", 2), ("session:none", 0), ("agent:desk", 3), ("agent:other", 0), ("all", 3)],
)
def test_a_query_chooses_runs(desk: Command, query: str, judged: int) -> None:
    assert desk("boundary", "replay", "desk.py", "--traces", query, "--json").json["judged"] == judged


def test_a_run_a_time_and_a_principal_choose_too(desk: Command) -> None:
    run = desk.pending()[0]["run_id"]
    assert desk("boundary", "replay", "desk.py", "--traces", f"run:{run}", "--json").json["judged"] == 1
    assert desk("boundary", "replay", "desk.py", "--since", "7d", "--json").json["judged"] == 3
    assert desk("boundary", "replay", "desk.py", "--as", "ann:customer", "--json").json["judged"] == 2
    assert desk("boundary", "replay", "desk.py", "--as", "acme/ann:operator", "--json").json["judged"] == 0


def test_runs_of_other_agents_are_left_out_and_named(desk: Command) -> None:
    app = (desk.folder / "desk.py").read_text("utf-8").replace('name="desk"', 'name="shop"')
    (desk.folder / "desk.py").write_text(app, "utf-8")
    said = desk("boundary", "replay", "desk.py")
    assert said.code == 0
    assert "2 runs of 'desk' left out: this app has no such agent" in said.out


@pytest.mark.parametrize("words", [("--traces", "tool:x"), ("--traces", "run:"), ("--since", "7y"), ("--since", "d")])
def test_what_cannot_be_read_is_a_usage_error(desk: Command, words: tuple[str, str]) -> None:
    said = desk("boundary", "replay", "desk.py", *words)
    assert said.code == 2
    assert "code: cli.usage" in said.err


async def _of_another_tenant(desk: Command) -> None:
    store = SQLiteStore(desk.folder / ".backstay/store.db")
    row = RunRow(
        run_id="r-other", session_id="bolt", root_id="bolt", parent_id=None, agent="desk", agent_digest="",
        principal=Principal(id="ann", tenant="bolt", kind="customer"), trace_id="t" * 32, status="running",
    )  # fmt: skip
    message = Message(id="m", role="user", parts=(Text(text="hello"),))
    body = Input(message=message, instructions="")
    first = Record(session_id="bolt", seq=0, run_id="r-other", kind="input", at=1.0, body=body)
    await store.create(row, first)
    await store.close()


def test_pending_and_traces_are_listed_for_one_principal(desk: Command) -> None:
    asyncio.run(_of_another_tenant(desk))
    for who, waiting, traced in (
        ("ann:customer", 0, 1), ("bo:operator", 1, 2), ("bolt/ann:operator", 0, 0), ("bo:customer", 0, 0),
    ):  # fmt: skip
        assert len(desk("pending", "--as", who, "--json").json["pending"]) == waiting, who
        traces = desk("trace", "ls", "--as", who, "--json").json["traces"]
        assert len(traces) == traced, who
    assert len(desk("trace", "ls", "--json").json["traces"]) == 2
    trace = desk("trace", "ls", "--as", "ann:customer", "--json").json["traces"][0]["trace_id"]
    assert desk("trace", "show", trace, "--as", "ann:customer").code == 0
    assert "code: store.not_found" in desk("trace", "show", trace, "--as", "bo:customer").err


def test_a_session_of_somebody_else_cannot_be_spoken_in(desk: Command) -> None:
    said = desk("run", "desk.py", "orders please", "--as", "bo:customer", "--session", "s")
    assert said.code == 2
    assert "code: session.owner" in said.err
    assert desk("run", "desk.py", "orders please", "--as", "bo:operator", "--session", "s").code == 0
