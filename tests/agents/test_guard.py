"""The guard keeps the books of effects, also of those that a tool's body begins through another tool."""

from __future__ import annotations

from typing import Any

import pytest

from backstay import Agent, RunContext, ToolError, tool
from backstay.core.messages import ToolResult
from backstay.models import ScriptedModel, call
from backstay.store.protocol import RunStore


async def _no_wait(_seconds: float) -> None:
    return None


@pytest.mark.parametrize("effect", ["once", "keyed"])
async def test_a_second_attempt_of_a_body_does_not_repeat_what_it_has_done_through_another_tool(
    store: RunStore, effect: Any
) -> None:
    """Both attempts are in one drive, and the first outcome is not written yet when the second one asks."""
    packed: list[int] = []
    inside: list[ToolResult] = []

    @tool(risk="write", effect=effect)
    async def pack(number: int) -> str:
        """Pack. Use it when asked."""
        packed.append(number)
        return f"packed {number}"

    @tool(risk="write", effect="keyed", max_attempts=2)
    async def ship(number: int, ctx: RunContext[None]) -> str:
        """Ship. Use it when asked."""
        inside.append(await pack.run({"number": number}, ctx))
        if len(inside) == 1:
            raise ToolError("the carrier is busy", retryable=True)
        return "shipped"

    agent = Agent(ScriptedModel(call("ship", number=7), "ok"), tools=[pack, ship])
    with agent.override(sleep=_no_wait):
        result = await agent.run("ship 7", session="s", store=store)
    assert result.new_messages[2].returns[0].result.data == "shipped"
    assert packed == [7]
    assert [one.data for one in inside] == ["packed 7"] * 2, "the second attempt is told what the first has done"
    assert list(await store.verify_audit("s")) == []


async def test_a_second_attempt_of_a_body_tries_again_what_had_failed_and_may_repeat(store: RunStore) -> None:
    packed: list[int] = []
    inside: list[ToolResult] = []

    @tool(risk="write", effect="keyed", max_attempts=1)
    async def pack(number: int) -> str:
        """Pack. Use it when asked."""
        packed.append(number)
        if len(packed) == 1:
            raise ToolError("no paper", applied=False)
        return f"packed {number}"

    @tool(risk="write", effect="keyed", max_attempts=2)
    async def ship(number: int, ctx: RunContext[None]) -> str:
        """Ship. Use it when asked."""
        inside.append(await pack.run({"number": number}, ctx))
        if not inside[-1].ok:
            raise ToolError("nothing to ship", retryable=True)
        return "shipped"

    agent = Agent(ScriptedModel(call("ship", number=7), "ok"), tools=[pack, ship])
    with agent.override(sleep=_no_wait):
        result = await agent.run("ship 7", session="s", store=store)
    assert [one.ok for one in inside] == [False, True]
    assert result.new_messages[2].returns[0].result.data == "shipped"
    assert list(await store.verify_audit("s")) == []
