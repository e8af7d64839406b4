"""What `backstay doctor APP` says of tools: declarations, defaults, and descriptions that leave a model guessing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from backstay.cli.declarations import advices, declared, told
from backstay.core.meanings import FreeText, Money
from backstay.tools import FunctionTool, tool
from cli.command import Command


class Line(BaseModel):
    sku: str
    count: int = Field(description="how many")
    inner: list[Line] = []


def described(description: str, *, risk: Literal["read", "write", "high"] = "read") -> FunctionTool[Any, Any]:
    return tool(name="t", description=description, risk=risk)(lambda: 1)


def told_of(made: FunctionTool[Any, Any]) -> list[str]:
    return list(advices(made, declared(made)))


@pytest.mark.parametrize(
    "description",
    [
        "Orders. Use it when the user asks.", "Orders. Use this tool whenever a number is given.",
        "Call it before paying.", "Use it to find orders.", "Orders, for when the user asks.", "Useful for dates.",
        "Use when lost.",
        "查询订单。当用户询问订单时使用。", "用于查询订单", "用户问退款时使用", "适用于退货", "需要查询物流时调用",
    ],
)  # fmt: skip
def test_a_description_that_says_when_is_enough(description: str) -> None:
    assert told_of(described(description)) == []


@pytest.mark.parametrize(
    "description", ["Orders of a customer.", "Adds two numbers.", "查询当前订单。", "查询订单", "Used."]
)
def test_a_description_that_does_not_is_named(description: str) -> None:
    (advice,) = told_of(described(description))
    assert "does not say when to use it" in advice


def test_of_a_high_tool_only_the_first_line_counts() -> None:
    (advice,) = told_of(described("Pay.\n\nUse it when the user asks.", risk="high"))
    assert "first line" in advice
    assert told_of(described("Pay. Use it when the user asks.", risk="high")) == []


def test_parameters_without_description_are_named_however_deep() -> None:
    @tool(risk="read")
    def buy(lines: dict[str, Line], first: Line | None, n: Annotated[int, Field(description="how many")] = 1) -> None:
        """Use it when needed.

        Args:
            first: the first one
        """

    (advice,) = told_of(buy)
    assert advice == ("parameters without description: lines, lines.sku, lines.inner, first.sku, first.inner")


def test_defaults_are_told_from_declarations() -> None:
    def act(to: str, words: Annotated[str, FreeText], amount: Annotated[int, Money("EUR")] = 1) -> None:
        """Use it when needed.

        Args:
            to: who
            words: what
            amount: how much
        """

    bare = declared(tool(act))
    assert told(bare) == "write (by default); effect once (by default); destinations: to (by default)"
    assert told_of(tool(act)) == [
        "declares no risk and counts as write; say risk='read', 'write' or 'high'",
    ]
    full = tool(risk="read", effect="none", sinks=["to"], egress=True)(act)
    assert told(declared(full)) == "read; effect none; carries data out; destinations: to"
    assert told_of(full) == []
    assert declared(tool(risk=lambda _args: "high")(act))["risk"] == "depends on the arguments"


def test_doctor_says_it_and_gives_it_as_data(backstay: Command) -> None:
    (backstay.folder / "app.py").write_text(
        "from backstay import Agent, tool\n"
        "from backstay.models import ScriptedModel\n"
        "@tool\n"
        "def jot(text: str) -> str:\n"
        "    'Write something.'\n"
        "    return text\n"
        "agent = Agent(ScriptedModel('x'), name='a', tools=[jot])\n"
    )
    said = backstay("doctor", "app.py")
    assert "tool jot: write (by default); effect once (by default); destinations: text (by default)" in said.out
    assert "parameters without description: text" in said.out
    found = [one for one in backstay("doctor", "app.py", "--json").json if one["about"] == "tool jot"]
    assert [one["verdict"] for one in found] == ["ok", "note", "note", "note"]
    assert found[0]["facts"] == {
        "risk": "write", "risk_by_default": True, "effect": "once", "effect_by_default": True, "sinks": ["text"],
        "sinks_by_default": True, "egress": False, "says_when": False, "undescribed": ["text"],
    }  # fmt: skip
