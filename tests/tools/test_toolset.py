"""A toolset: names, declared risks, what a model is offered, and the way from a proposal to the real call."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import ToolCall, ToolResult
from backstay.tools import PROPOSE, FunctionTool, Tool, Toolset, tool
from backstay.tools.toolset import proposal_reason
from workbench import Bench, RecordingGuard


@tool(risk="read")
async def find(order_id: str) -> str:
    """Find an order."""
    return order_id


@tool(risk="high")
async def pay(account: str, cents: int = 1) -> str:
    """Pay somebody.

    More words that a model does not need in the list.
    """
    return f"{account}:{cents}"


async def call(tools: Toolset, bench: Bench, name: str, args: Any, **more: Any) -> ToolResult:
    ctx = bench.context(name, args)
    return await tools.run(ToolCall(id="c1", name=name, args=args, slot=1, **more), ctx)


def test_names_are_unique_and_fit_for_providers() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools named"):
        Toolset([find, find])
    for name in ("", "a b", "a.b", "ä", "x" * 65, "a\n", "propose_action"):
        named = tool(risk="read", name=name or "x", description="d")(lambda: 1)
        named.name = name
        with pytest.raises(ToolDefinitionError):
            Toolset([named])
    with pytest.raises(ToolDefinitionError, match="no tool"):
        Toolset([print])  # type: ignore[list-item]  # a mistake


def test_an_undeclared_danger_is_refused_where_the_agent_is_built() -> None:
    @tool
    async def tidy(folder: str) -> str:
        """Tidy a folder.

        Removes everything older than a year.
        """
        return folder

    with pytest.raises(ToolDefinitionError) as refused:
        Toolset([tidy])
    assert refused.value.code == "tool.risk_undeclared"
    tidy.risk = "write"
    assert len(Toolset([tidy])) == 1


def test_high_tools_are_never_offered_but_as_branches_of_one() -> None:
    tools = Toolset([find, pay])
    assert tools.names == {"find", PROPOSE}
    offered = tools.offered(tools.names)
    assert [spec.name for spec in offered] == ["find", PROPOSE]
    (branch,) = offered[1].schema["properties"]["action"]["anyOf"]  # type: ignore[index,call-overload]  # a schema
    assert branch["properties"]["name"] == {"const": "pay"}
    assert "- pay: Pay somebody." in offered[1].description
    assert "More words" not in offered[1].description
    assert tools.offered(tools.names) is offered
    assert tools.offered(frozenset({"pay", "find"})) == (find.spec,)
    assert PROPOSE not in Toolset([find]).names
    assert set(tools) == {find, pay}


def test_two_types_of_one_name_in_high_tools_are_refused_at_once() -> None:
    def made(*values: str) -> FunctionTool[Any, Any]:
        kind: Any = Enum("Kind", {value: value for value in values})

        async def act(kind: Any) -> str:
            return ""

        act.__annotations__["kind"] = kind
        return tool(risk="high", name=f"act_{len(values)}", description="Act.")(act)

    with pytest.raises(ToolDefinitionError, match="rename one"):
        Toolset([made("a", "b"), made("c", "d", "e")])


async def test_a_proposal_becomes_the_real_call() -> None:
    bench = Bench(RecordingGuard(rule=lambda c, _t: "ask" if c.proposed else "deny"))
    args = {"action": {"name": "pay", "arguments": {"account": "DE1", "cents": "5"}}, "reason": "owed"}
    result = await call(Toolset([find, pay]), bench, PROPOSE, args)
    assert result.via == "held"
    assert bench.guard.log[0] == ("judge", "pay", {"account": "DE1", "cents": 5}, "ask")
    assert proposal_reason(ToolCall(id="", name=PROPOSE, args=args)) == "owed"
    assert proposal_reason(ToolCall(id="", name="find", args=args)) == ""
    assert proposal_reason(ToolCall(id="", name=PROPOSE, args={"reason": 3})) == ""


@pytest.mark.parametrize(
    "args",
    [
        {}, {"action": "pay"}, {"action": {"name": "find", "arguments": {}}}, {"action": {"name": ["pay"]}},
        {"action": {"name": "pay", "arguments": "x"}}, {"action": {"arguments": {}}}, {"action": {"name": "pay"}},
    ],
)  # fmt: skip
async def test_a_proposal_that_says_nothing_clear_is_refused(args: Any) -> None:
    bench = Bench()
    result = await call(Toolset([find, pay]), bench, PROPOSE, args)
    assert (result.ok, result.via, result.code) == (False, "refused", "tool.input")
    assert bench.guard.log == []
    assert bench.names.count("tool.start") == bench.names.count("tool.finish") == 1


async def test_a_direct_call_of_a_high_tool_and_an_unknown_one_are_refused() -> None:
    bench = Bench()
    tools = Toolset([find, pay])
    assert (await call(tools, bench, "pay", {"account": "DE1"})).code == "tool.high"
    unknown = await call(tools, bench, "fnid", {})
    assert unknown.code == "tool.unknown"
    assert "find" in unknown.summary
    assert "pay" not in unknown.summary
    assert (await call(Toolset([find]), bench, PROPOSE, {})).code == "tool.unknown"
    assert bench.guard.log == []
    assert bench.names == ["tool.start", "tool.error", "tool.finish"] * 3


async def test_an_ordinary_call_reaches_its_tool() -> None:
    bench = Bench()
    result = await call(Toolset([find]), bench, "find", {"order_id": "7"})
    assert result.data == "7"


def test_declarations_of_a_class_are_checked_when_it_joins() -> None:
    for wrong in (
        {"risk": "hihg"},
        {"effect": "twice"},
        {"timeout": 0.0},
        {"max_attempts": 0},
        {"sinks": frozenset({"q"})},
    ):
        made: Any = type("Odd", (Tool,), {
            "name": "odd", "description": "Odd.", "input_schema": find.input_schema, "risk": "read",
            "_run": lambda self, input, context: None, **wrong,
        })  # fmt: skip
        with pytest.raises(ToolDefinitionError, match="odd"):
            Toolset([made()])
