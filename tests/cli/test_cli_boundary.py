"""`backstay boundary`: what an agent may do, and why one call would run or not."""

from __future__ import annotations

import pytest

from cli.command import Command

APP = """
from decimal import Decimal
from typing import Annotated
from backstay import Agent, Boundary, FreeText, Id, Money, Quantity, tool
from backstay.models.scripted import ScriptedModel

@tool(risk="read")
def list_orders(days: Annotated[int, Quantity("days")] = 30) -> list[str]:
    "List orders. Use it when the user asks for orders."
    return []

@tool(risk="write")
def note(order_id: Annotated[str, Id("order")], text: Annotated[str, FreeText()]) -> str:
    "Note something. Use it when the user wants a note."
    return "ok"

@tool(risk="high")
def refund(order_id: Annotated[str, Id("order")], amount: Annotated[Decimal, Money("EUR")]) -> str:
    "Pay an order back. Use it when the user wants money back."
    return "paid"

agent = Agent(ScriptedModel("hi"), name="desk", tools=[list_orders, note, refund],
              boundary=Boundary(constraints=["only the last 30 days", "at most 200 EUR a refund", "be kind"]))
"""


@pytest.fixture
def desk(backstay: Command) -> Command:
    (backstay.folder / "desk.py").write_text(APP)
    return backstay


def test_it_prints_tiers_rules_limits_and_what_can_never_happen(desk: Command) -> None:
    said = desk("boundary", "desk.py")
    assert said.code == 0, said.err
    assert "refund       high   a person; never shown to the model" in said.out
    assert "advisory: shown, not enforced" in said.out
    assert "run refund by itself: no model is shown them" in said.out
    assert "break rule c1" in said.out
    (agent,) = desk("boundary", "desk.py", "--json").json["agents"]
    assert {tool["name"]: tool["tier"] for tool in agent["tools"]}["note"] == "write"
    assert [(rule["id"], rule["binds"]) for rule in agent["rules"]] == [
        ("c1", ["list_orders"]), ("c2", ["refund"]), ("c3", []),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "more", "outcome", "code"),
    [
        ("list_orders(days=30)", (), "allow", ""),
        ("list_orders(days=90)", (), "deny", "constraint.broken"),
        ("refund(order_id=1001, amount=120)", ("--said", "refund 1001"), "ask", "action.waiting"),
        ("refund(order_id=1001, amount=250)", ("--said", "refund 1001"), "deny", "constraint.broken"),
        ("refund(order_id=1001, amount=1)", ("--said", "refund 1001", "--unattended"), "deny", "action.unattended"),
        ("note(order_id=1001, text='late, sorry')", ("--said", "note on 1001"), "allow", ""),
        ("note(order_id=1001, text=late)", (), "ask", "provenance.untraced"),
        ("note(order_id=1001, text=late)", ("--said", "1001", "--untrusted"), "ask", "provenance.untraced"),
        ("note(order_id=1001, text=late)", ("--said", "1001", "--secret"), "deny", "provenance.secret"),
    ],
)
def test_why_says_what_would_become_of_one_call(
    desk: Command, call: str, more: tuple[str, ...], outcome: str, code: str
) -> None:
    found = desk("boundary", "why", call, "desk.py", "--json", *more).json
    assert (found["outcome"], found["code"]) == (outcome, code)


def test_why_in_words_names_rule_and_origin(desk: Command) -> None:
    said = desk("boundary", "why", "refund(order_id=1001, amount=250)", "desk.py", "--said", "refund 1001")
    assert "REFUSED" in said.out
    assert "amount is 250, allowed is at most 200 EUR" in said.out
    assert "order_id = 1001: the user's words" in said.out


@pytest.mark.parametrize("call", ["refund", "refund(1001)", "nope(a=1)", "refund(order_id=1001)"])
def test_what_is_no_call_of_a_tool_is_told(desk: Command, call: str) -> None:
    said = desk("boundary", "why", call, "desk.py")
    assert said.code != 0
    assert "Traceback" not in said.err
    assert "code: " in said.err
