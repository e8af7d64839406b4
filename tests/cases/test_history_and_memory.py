"""Public reports about histories that were cut, folded or emptied wrongly (C31 to C41), as inputs tried here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backstay import Agent, SlidingMemory, SummarizeMemory, TokenMemory, UnconstrainedMemory, tool
from backstay.core.canon import freeze
from backstay.core.messages import Message, ModelReply, ModelRequest, Reasoning, ToolCall
from backstay.memory.history import make_valid
from backstay.models.scripted import FunctionModel, ScriptedModel, call
from memory.messages import called, gave, is_paired, said


def pairs(messages: tuple[Message, ...]) -> tuple[list[str], list[str]]:
    """Ids of calls and of results, in order."""
    calls = [one.id for message in messages for one in message.calls]
    return calls, [one.call_id for message in messages for one in message.returns]


@pytest.mark.parametrize("most", [1, 2, 3, 4])
async def test_c31_a_limit_never_falls_between_a_call_and_its_result(most: int) -> None:
    memory = SlidingMemory(most)
    await memory.add_many([said("go"), called("c1"), gave("c1"), said("done", "assistant")])
    calls, results = pairs(memory.messages)
    assert calls == results
    assert memory.messages[-1].text == "done"
    assert make_valid(memory.messages) == memory.messages


async def test_c31_nor_does_a_number_of_tokens() -> None:
    for size in range(80, 200, 10):
        memory = TokenMemory(size)
        await memory.add_many([said("go"), called("c1"), gave("c1"), said("done", "assistant"), said("on")])
        assert is_paired(memory.messages)


async def test_c33_reasoning_goes_with_the_call_it_led_to() -> None:
    thought = Message(
        id="m", role="assistant",
        parts=(Reasoning(text="hm", signature="s"), ToolCall(id="c1", name="find", args=freeze({}))),
    )  # fmt: skip
    memory = UnconstrainedMemory()
    await memory.add_many([said("go"), thought, gave("c1")])
    await memory.delete(memory.messages[-1])
    assert [one.role for one in memory.messages] == ["user"]
    valid = make_valid([said("go"), thought])
    assert pairs(valid) == (["c1"], ["c1"])
    alone = Message(id="m", role="assistant", parts=(Reasoning(text="hm", signature="s"),))
    assert [one.role for one in make_valid([said("go"), alone])] == ["user"]


async def test_c35_calls_without_ids_of_one_tool_get_their_own() -> None:
    seen: list[str] = []

    @tool(risk="read")
    async def search(text: str) -> str:
        """Search. Use it when the user looks for something."""
        seen.append(text)
        return f"found {text}"

    def brain(request: ModelRequest, _ctx: Any) -> Any:
        if any(message.returns for message in request.messages):
            return "done"
        parts = tuple(ToolCall(id="", name="search", args={"text": text}) for text in ("a", "b"))
        return ModelReply(parts=parts, finish="tool_calls", usage=None, model="m")

    done = await Agent(FunctionModel(brain), tools=[search]).run("a and b")
    calls, results = pairs(done.new_messages)
    assert calls == results
    assert len(set(calls)) == 2
    found = [one.result.summary for message in done.new_messages for one in message.returns]
    assert (sorted(seen), found) == (["a", "b"], ["found a", "found b"])


async def test_c37_without_a_real_summary_nothing_is_replaced_by_words_about_none() -> None:
    """A run of tools alone, and a summariser that only ever fails."""

    async def failing(_request: ModelRequest) -> str:
        raise RuntimeError("Error generating summary")

    memory = SummarizeMemory(failing, max_tokens=2_000)
    for n in range(60):
        await memory.add_many([called(f"c{n}"), gave(f"c{n}", text=f"row {n} of the table " * 8)])
    assert len(memory.log) == 120
    text = memory.messages[0].text
    assert "Error generating" not in text
    assert "find gave" in text
    assert is_paired(memory.messages)
    assert memory.messages[-1].returns[0].result.summary.startswith("row 59")


@pytest.mark.parametrize("when", [1, 2])
async def test_c39_a_cancellation_while_it_folds_leaves_all_that_was_there(when: int) -> None:
    asked, begun = 0, asyncio.Event()

    async def slow(_request: ModelRequest) -> str:
        nonlocal asked
        asked += 1
        if asked < when:
            return ""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    memory = SummarizeMemory(slow, max_tokens=1_000)
    turns = [said(f"turn {n}: {'word ' * 60}") for n in range(30)]
    adding = asyncio.create_task(memory.add_many(turns))
    await begun.wait()
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert memory.messages == memory.log
    assert list(memory.log) == turns[: len(memory.log)]
    await memory.delete(memory.messages[0])
    assert memory.messages == memory.log[1:]


@pytest.mark.parametrize("nothing", [[], (), None, 0, "", {}])
async def test_c41_a_result_of_nothing_is_a_result(nothing: Any) -> None:
    @tool(risk="read")
    async def look() -> Any:
        """Look. Use it when the user asks."""
        return nothing

    done = await Agent(ScriptedModel(call("look"), "done"), tools=[look]).run("look")
    memory = UnconstrainedMemory()
    await memory.add_many(done.new_messages)
    (result,) = [one.result for message in memory.messages for one in message.returns]
    assert result.ok
    assert result.summary
    assert make_valid(memory.messages) == memory.messages
