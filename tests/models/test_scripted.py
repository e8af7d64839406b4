"""Scripted replies: streamed they are what they are unstreamed, and they depend on nothing but step and request."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from backstay.core.errors import AppError, ModelError
from backstay.core.messages import Delta, Message, ModelReply, ModelRequest, Reasoning, Text, ToolCall, Usage
from backstay.models import FunctionModel, ScriptedModel, call, resolve
from backstay.models.model import Price
from workbench import Bench

REQUEST = ModelRequest(messages=(Message(id="m", role="user", parts=(Text(text="hi"),)),))
REPLY = ModelReply(
    parts=(
        Reasoning(text="a thought that is longer than a piece", signature="opaque"),
        Reasoning(text="", signature="redacted"),
        Text(text=""),
        Text(text="words, 中文 and 🙂 over several pieces"),
        ToolCall(id="c1", name="find", args={"a": [1, {"b": None}], "c": 1.5}),
        ToolCall(id="c2", name="find", args={}, raw='{"broken": '),
        ToolCall(id="c3", name="find", args={}, raw='{"a": 1}{"a": 1}'),
        ToolCall(id="", name="bare", args={}),
    ),
    finish="tool_calls",
    usage=Usage(input_tokens=3, output_tokens=4, reasoning_tokens=1),
    model="m",
)


@pytest.mark.parametrize(
    "line", ["words " * 30, "", call("find", a=[1, 2]), ["text", call("f"), call("g", {"x": {}})], REPLY]
)
async def test_streamed_and_unstreamed_replies_are_equal(line: Any) -> None:
    model, pieces = ScriptedModel(line), list[Delta]()
    whole = await model.request(REQUEST, Bench().context())
    streamed = await model.request(REQUEST, Bench().context(), pieces.append)
    assert streamed == whole
    assert "".join(piece.text for piece in pieces if piece.kind == "text") == whole.text
    assert [type(one.args) for one in streamed.calls] == [type(one.args) for one in whole.calls]


async def test_a_hand_written_reply_is_as_a_client_would_have_made_it() -> None:
    reply = await ScriptedModel(REPLY).request(REQUEST, Bench().context())
    assert [part for part in reply.parts if isinstance(part, Text)] == [REPLY.parts[3]]
    assert [one.raw for one in reply.calls] == [None, '{"broken": ', None, None]
    assert reply.calls[2].args == {"a": 1}


async def test_a_line_belongs_to_its_step() -> None:
    model = ScriptedModel("one", "two")
    assert [(await model.request(REQUEST, Bench().context(step=n))).text for n in (2, 1, 2)] == ["two", "one", "two"]
    with pytest.raises(ModelError) as beyond:
        await model.request(REQUEST, Bench().context(step=3))
    assert beyond.value.code == "model.script"
    assert not beyond.value.retryable


@pytest.mark.parametrize("error", [ModelError("no", retryable=True), ValueError("x"), asyncio.CancelledError()])
async def test_an_exception_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)):
        await ScriptedModel(error).request(REQUEST, Bench().context())


async def test_a_function_may_be_async_and_must_return_a_line() -> None:
    async def said(request: ModelRequest, ctx: Any) -> str:
        return f"{len(request.messages)} at {ctx.step}"

    assert (await FunctionModel(said).request(REQUEST, Bench().context())).text == "1 at 1"
    with pytest.raises(TypeError, match="a line is"):
        await FunctionModel(lambda _r, _c: None).request(REQUEST, Bench().context())  # type: ignore[arg-type,return-value]  # a mistake


async def test_calls_get_ids_of_their_own() -> None:
    reply = await ScriptedModel([call("a"), call("a"), "text"]).request(REQUEST, Bench().context())
    assert len({one.id for one in reply.calls}) == 2
    assert reply.finish == "tool_calls"


def test_a_price_that_is_not_whole_is_unknown_and_never_nothing() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000, cached_tokens=400_000)
    assert Price({"input": "1", "output": "2", "cached": "0.5"}).cost_usd(usage) == Decimal("2.8")
    assert Price({"input": "1", "output": "2"}).cost_usd(usage) == 3
    for price in (None, {"input": "1"}, {"output": "1"}, {}):
        assert Price(price).cost_usd(usage) is None
    assert Price({"input": "1", "output": "2"}).cost_usd(None) is None
    assert Price({"input": "0", "output": "0"}).cost_usd(usage) == 0
    more_cached = Usage(input_tokens=1, cached_tokens=1_000_000)
    assert Price({"input": "1", "output": "1", "cached": "0"}).cost_usd(more_cached) == 0


@pytest.mark.parametrize("name", ["gpt", "openai:", ":x", "nobody:model"])
def test_an_unknown_model_name_is_a_set_up_error(name: str) -> None:
    with pytest.raises(AppError) as unknown:
        resolve(name)
    assert unknown.value.code == "model.unknown"
