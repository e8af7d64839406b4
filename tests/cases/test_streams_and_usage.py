"""Public reports of other frameworks about streams, usage and tokens, restated as tests."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from backstay import Agent
from backstay.core.messages import Message, ModelReply, ModelRequest, Text, ToolCall, ToolSpec, Usage
from backstay.models import FunctionModel
from backstay.models.assembler import parse_call
from backstay.models.rates import estimate
from backstay.wire.openai_chat import StreamDecoder
from desk import Desk


def chunk(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, **choice}]}


def args(text: str, **more: Any) -> dict[str, Any]:
    return chunk(delta={"tool_calls": [{"index": 0, "function": {"arguments": text, **more}, "id": "c"}]})


def received(*chunks: dict[str, Any], done: bool = True) -> tuple[StreamDecoder, list[Any]]:
    decoder, deltas = StreamDecoder(), []
    for one in chunks:
        deltas += decoder.feed(f"data: {json.dumps(one)}\n\n".encode())
    deltas += decoder.feed(b"data: [DONE]\n\n") if done else []
    return decoder, deltas + decoder.close()


@pytest.mark.parametrize("again", ['{"city":"X"}', ' {"city": "X"} '])
def test_c65_full_arguments_after_their_pieces_are_read_once(again: str) -> None:
    _, deltas = received(args('{"ci', name="weather"), args('ty":"X"}'), args(again), chunk(finish_reason="tool_calls"))
    made = parse_call("c", "weather", "".join(one.text for one in deltas))
    assert (made.args, made.raw) == ({"city": "X"}, None)


def test_c65_other_arguments_after_them_are_no_call_at_all() -> None:
    made = parse_call("c", "weather", '{"city":"X"}{"city":"Y"}')
    assert (made.args, made.raw) == ({}, '{"city":"X"}{"city":"Y"}')


@pytest.mark.parametrize("text", ['{"order_id": "10",', '{"order_id": "1001"}'])
@pytest.mark.parametrize("streamed", [False, True])
async def test_c67_a_call_at_the_token_limit_is_told_and_never_runs(text: str, streamed: bool) -> None:
    desk = Desk()
    cut = ModelReply(
        parts=(ToolCall(id="c", name="find_order", args={}, raw=text),), finish="length", usage=None, model="m"
    )
    agent = desk.agent(cut, "sorry")
    if streamed:
        async with agent.run_stream("go") as stream:
            result = await stream.result()
    else:
        result = await agent.run("go")
    (told,) = [part.result for message in result.new_messages for part in message.returns]
    assert (told.code, desk.calls["find_order"], result.steps, result.output) == ("model.cut_off", 0, 2, "sorry")


def test_c69_usage_that_is_sent_as_a_state_is_not_summed() -> None:
    def usage(**counts: int) -> dict[str, Any]:
        return {"choices": [], "usage": counts}

    decoder, _ = received(
        usage(prompt_tokens=10, completion_tokens=1),
        usage(completion_tokens=25),
        usage(prompt_tokens=10, completion_tokens=25),
        chunk(finish_reason="stop", delta={}),
    )
    assert decoder.usage == Usage(input_tokens=10, output_tokens=25)


def test_c71_adding_usages_changes_neither() -> None:
    one, other = Usage(input_tokens=1, cached_tokens=1), Usage(input_tokens=2, reasoning_tokens=3)
    before = dataclasses.asdict(one), dataclasses.asdict(other)
    assert one + other == Usage(input_tokens=3, cached_tokens=1, reasoning_tokens=3)
    assert (dataclasses.asdict(one), dataclasses.asdict(other)) == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.input_tokens = 9  # type: ignore[misc]


async def test_c71_two_runs_from_one_history_count_apart() -> None:
    spent = Usage(input_tokens=5, output_tokens=1)
    reply = ModelReply(parts=(Text(text="hi"),), finish="stop", usage=spent, model="m")
    agent = Agent(FunctionModel(lambda _r, _c: reply))
    first = await agent.run("go")
    branches = [await agent.run("and", history=first.new_messages) for _ in range(2)]
    assert [one.usage for one in (first, *branches)] == [spent] * 3
    assert [one.models[0].usage for one in branches] == [spent] * 2


def test_c73_tools_and_instructions_are_counted_before_a_request_goes_out() -> None:
    schema = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(50)}}
    tools = tuple(ToolSpec(name=f"tool_{n}", description="x" * 100, schema=schema) for n in range(30))
    chat = (Message(id="m", role="user", parts=(Text(text="hi"),)),)
    system = (Message(id="s", role="system", parts=(Text(text="x" * 4_000),)),)
    bare, with_tools = estimate(ModelRequest(messages=chat)), estimate(ModelRequest(messages=chat, tools=tools))
    assert with_tools > bare + len(json.dumps(schema)) * 30 // 5
    assert estimate(ModelRequest(messages=system + chat)) >= bare + 1_000
