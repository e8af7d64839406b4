"""The embedded model inside an agent: real encoder, real loop, real boundary; nothing is stood in for."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest

from backstay import Agent, Boundary, FreeText, Id, Money, Quantity, ToolInputError, tool
from backstay.core.canon import freeze
from backstay.core.messages import Delta, Media, Message, ModelRequest, Text, ToolCall, ToolResult, ToolReturn, ToolSpec
from backstay.models import resolve
from backstay.models.assembler import Assembler
from backstay.models.embedded import EmbeddedModel
from backstay.models.embedded.runtime import Runtime
from backstay.toolkit.think import ThinkTool
from workbench import Bench

NOW = datetime(2026, 11, 30, 11, tzinfo=UTC).timestamp()


@tool(risk="read")
def find_order(order_id: Annotated[str, Id("order")]) -> dict[str, Any]:
    """One order: status and amount. Use it when the user names an order.

    Args:
        order_id: the order's number, such as 1001
    """
    if order_id != "1001":
        raise ToolInputError(f"there is no order {order_id!r}")
    return {"id": order_id, "status": "shipped", "amount": "120.00"}


@tool(risk="read")
def list_orders(
    customer: Annotated[str, Id("customer")], days: Annotated[int, Quantity("days")] = 30
) -> list[dict[str, str]]:
    """The orders of one customer. Use it when the user asks what somebody ordered.

    Args:
        customer: the customer's full name
        days: how far back to look, in days
    """
    return [{"customer": customer, "days": str(days)}]


@tool(risk="write", effect="keyed")
def add_note(order_id: Annotated[str, Id("order")], text: Annotated[str, FreeText()]) -> str:
    """Keep a note on an order. Use it when the user wants something written down.

    Args:
        order_id: the order's number
        text: the note
    """
    return f"noted on {order_id}: {text}"


@tool(risk="high", effect="keyed")
def refund(order_id: Annotated[str, Id("order")], amount: Annotated[Decimal, Money("EUR")]) -> str:
    """Pay an order back to the customer.

    Args:
        order_id: the order's number
        amount: how much, in EUR
    """
    return f"paid back {amount} of {order_id}"


def desk(**more: Any) -> Agent[None]:
    return Agent(
        EmbeddedModel(threads=1),
        name="desk",
        tools=[find_order, list_orders, add_note, refund],
        boundary=Boundary(constraints=["only the last 30 days", "at most 200 EUR a refund"]),
        **more,
    )


async def said(text: str) -> str:
    result = await desk().run(text)
    return str(result.output)


async def test_the_answer_carries_the_fact() -> None:
    assert "shipped" in await said("What is the status of order 1001?")
    assert "shipped" in await said("查一下订单1001")


async def test_rules_of_the_boundary_are_told_in_the_users_language() -> None:
    assert "only the last 30 days" in await said("What did Ann Berg order in the last 90 days?")
    assert (await said("李雷最近90天买了什么？")).startswith("规则不允许")


async def test_an_argument_that_a_tool_refuses_is_told_plainly() -> None:
    assert "there is no order '9999'" in await said("What is the status of order 9999?")


async def test_a_picture_that_it_cannot_see_is_no_answer() -> None:
    result = await desk().run([Text(text="What is on it?"), Media(mime="image/png", data=b"png")], session="s")
    assert (result.status, result.code) == ("failed", "model.unfit")
    assert "image/png" in result.reason
    assert "shipped" in str((await desk().run("What is the status of order 1001?", session="s")).output)


async def test_a_missing_argument_is_asked_for_and_the_answer_understood() -> None:
    agent = desk()
    asked = await agent.run("Show me my order", session="s")
    assert "order id" in str(asked.output)
    assert "?" in str(asked.output)
    assert "shipped" in str((await agent.run("1001", session="s")).output)


@pytest.mark.parametrize(
    ("told", "asked"),
    [("Remember: my order is 1001.", "What is the status of my order?"), ("记住，我的订单是1001。", "查一下我的订单")],
)
async def test_an_identifier_that_the_user_has_told_to_remember_is_known_many_turns_later(
    told: str, asked: str
) -> None:
    agent = desk()
    await agent.run(told, session="s")
    for text in ("hello", "thanks", "hello", "thanks", "hello", "thanks"):
        await agent.run(text, session="s")
    assert "shipped" in str((await agent.run(asked, session="s")).output)
    other = await agent.run("What is the status of order 9999?", session="s")
    assert "9999" in str(other.output), "what is said now comes first"


async def test_a_high_action_is_proposed_and_its_outcome_told() -> None:
    agent = desk()
    waiting = await agent.run("Refund 50 EUR of order 1001", session="s")
    assert waiting.status == "waiting"
    assert waiting.pending[0].call is not None
    assert dict(waiting.pending[0].call.args) == {"order_id": "1001", "amount": "50"}
    assert "has not happened yet" in str(waiting.output)
    done = await agent.decide(waiting.pending[0], approve=True, by="bo")
    assert done.status == "done"
    assert "paid back 50 of 1001" in str(done.output)


async def test_what_a_proposal_lacks_is_looked_up_first() -> None:
    waiting = await desk().run("Refund order 1001, it never came")
    assert waiting.pending[0].call is not None
    assert waiting.pending[0].call.args["amount"] == "120.00"


async def test_a_refund_over_the_limit_is_refused_and_said() -> None:
    result = await desk().run("Refund 500 EUR of order 1001")
    assert not result.pending
    assert "at most 200 EUR" in str(result.output)


async def test_out_of_scope_gets_what_can_be_done() -> None:
    for text in ("Write a poem about the sea", "hello"):
        assert "find order" in await said(text)
    assert "find order" in await said("你好")


async def test_a_follow_up_keeps_what_was_said() -> None:
    agent = desk()
    await agent.run("What did Ann Berg order in the last two weeks?", session="s")
    assert "Bo Lind" in str((await agent.run("And Bo Lind?", session="s")).output)
    assert "days: 14" in str((await agent.run("And Eva Novak?", session="s")).output)


SPEC = ToolSpec(name="find_order", description=find_order.description, schema=find_order.spec.schema)


def ask(text: str, **more: Any) -> ModelRequest:
    return ModelRequest(messages=(Message(id="u", role="user", parts=(Text(text=text),)),), **more)


def context() -> Any:
    bench = Bench()
    bench.now = NOW
    return bench.context()


async def test_streamed_and_unstreamed_replies_are_equal() -> None:
    model = EmbeddedModel(threads=1)
    for request in (ask("Show me order 1001", tools=(SPEC,)), ask("Write a poem", tools=(SPEC,))):
        whole = await model.request(request, context())
        pieces: list[Delta] = []
        streamed = await model.request(request, context(), pieces.append)
        assembler = Assembler()
        for piece in pieces:
            assembler.add(piece)
        assert streamed == whole
        assert assembler.reply(finish=whole.finish, usage=whole.usage, model=whole.model) == whole


async def test_a_forced_tool_is_called_whatever_was_said() -> None:
    model = EmbeddedModel(threads=1)
    think = ThinkTool().spec
    reply = await model.request(ask("Where do I start?", tools=(SPEC, think), tool_choice="tool:think"), context())
    assert reply.calls[0].name == "think"
    assert reply.calls[0].args["thoughts"] == "Where do I start?"
    forced = await model.request(ask("1001", tools=(SPEC,), tool_choice="required"), context())
    assert forced.calls[0].args == {"order_id": "1001"}


async def test_no_tool_is_called_where_none_may_be() -> None:
    reply = await EmbeddedModel(threads=1).request(
        ask("Show me order 1001", tools=(SPEC,), tool_choice="none"), context()
    )
    assert not reply.calls


ASKING = ToolSpec(
    name="ask_user",
    description="Ask the user.",
    schema=freeze(  # type: ignore[arg-type]  # an object
        {
            "type": "object",
            "properties": {"question": {"type": "string"}, "choices": {"type": "array", "items": {"type": "string"}}},
            "required": ["question"],
        }
    ),
)
MOOD = ToolSpec(
    name="set_mood",
    description="Keep the mood of the day.",
    schema=freeze(  # type: ignore[arg-type]  # an object
        {"type": "object", "properties": {"mood": {"enum": ["glad", "angry", "neutral"]}}, "required": ["mood"]}
    ),
)


async def test_a_question_is_text_although_a_tool_for_questions_is_offered() -> None:
    for text in ("Show me my order", "查一下我的订单"):
        reply = await EmbeddedModel(threads=1).request(ask(text, tools=(SPEC, ASKING)), context())
        assert not reply.calls
        assert "order id" in reply.text


@pytest.mark.parametrize("choice", ["tool:ask_user", "required"])
@pytest.mark.parametrize(("text", "word"), [("Show me my order", "need to know"), ("查一下我的订单", "还需要知道")])
async def test_the_tool_for_questions_is_called_where_it_is_forced(choice: str, text: str, word: str) -> None:
    model = EmbeddedModel(threads=1)
    asked = (await model.request(ask(text, tools=(SPEC, ASKING), tool_choice=choice), context())).calls[0]
    assert asked.name == "ask_user"
    assert word in str(asked.args["question"])
    back = ToolReturn(call_id=asked.id, name="ask_user", result=ToolResult(ok=True, summary="1001"))
    messages = (
        *ask(text).messages,
        Message(id="a", role="assistant", parts=(asked,)),
        Message(id="t", role="tool", parts=(back,)),
    )
    reply = await model.request(ModelRequest(messages=messages, tools=(SPEC, ASKING)), context())
    assert reply.calls[0].args == {"order_id": "1001"}


async def test_a_forced_tool_is_called_far_below_the_threshold() -> None:
    model = EmbeddedModel(threads=1, threshold=9.0)
    for choice in ("required", "tool:set_mood"):
        for text in ("The sea is wide", "天空很蓝"):
            call = (await model.request(ask(text, tools=(MOOD,), tool_choice=choice), context())).calls[0]
            assert call.name == "set_mood"
            assert call.args["mood"] in ("glad", "angry", "neutral")
    only = ask("1001", tools=(MOOD, SPEC), tool_choice="tool:find_order")
    assert (await model.request(only, context())).calls[0].args == {"order_id": "1001"}


async def test_a_forced_tool_gets_no_invented_identifier() -> None:
    request = ask("Show me my order", tools=(SPEC,), tool_choice="tool:find_order")
    reply = await EmbeddedModel(threads=1).request(request, context())
    assert not reply.calls
    assert "order id" in reply.text


async def test_a_chinese_request_is_answered_in_the_asked_shape(runtime: Runtime) -> None:
    schema = {
        "type": "object",
        "properties": {
            "department": {"type": "string", "enum": ["物流", "退款", "其他"]},
            "urgent": {"type": "boolean"},
        },
        "required": ["department", "urgent"],
    }
    model = EmbeddedModel(runtime.path, threads=1)
    for tools in ((), (SPEC,)):
        reply = await model.request(ask("天空为什么是蓝色的", tools=tools, output_schema=schema), context())
        found = json.loads(reply.text)
        assert found["department"] in ("物流", "退款", "其他")
        assert isinstance(found["urgent"], bool)
        assert reply.usage is not None
        assert reply.usage.output_tokens > 0


async def test_an_output_schema_is_answered_by_one_constrained_call(runtime: Runtime) -> None:
    schema = {
        "type": "object",
        "properties": {"mood": {"type": "string", "enum": ["glad", "angry"]}},
        "required": ["mood"],
    }
    reply = await EmbeddedModel(runtime.path, threads=1).request(ask("I am furious", output_schema=schema), context())
    assert json.loads(reply.text)["mood"] in ("glad", "angry")
    assert reply.usage is not None
    assert reply.usage.output_tokens > 0


async def test_one_more_try_after_an_argument_error() -> None:
    schema = freeze({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
    weather = ToolSpec(name="get_weather", description="Weather in a city.", schema=schema)  # type: ignore[arg-type]  # an object
    call = ToolCall(id="c", name="get_weather", args={"city": "Will"})
    result = ToolResult(ok=False, summary="city: no such place 'Will'", error="x", code="tool.input")
    messages = (
        Message(id="u", role="user", parts=(Text(text="Will the weather be fine in Oslo?"),)),
        Message(id="a", role="assistant", parts=(call,)),
        Message(id="t", role="tool", parts=(ToolReturn(call_id="c", name="get_weather", result=result),)),
    )
    model = EmbeddedModel(threads=1)
    retried = await model.request(ModelRequest(messages=messages, tools=(weather,)), context())
    assert retried.calls[0].args == {"city": "Oslo"}
    again = ToolCall(id="d", name="get_weather", args={"city": "Oslo"})
    more = (
        Message(id="a2", role="assistant", parts=(again,)),
        Message(id="t2", role="tool", parts=(ToolReturn(call_id="d", name="get_weather", result=result),)),
    )
    ended = await model.request(ModelRequest(messages=messages + more, tools=(weather,)), context())
    assert not ended.calls
    assert "no such place" in ended.text


@pytest.mark.parametrize("name", [None, "embedded", "embedded:smollm2-135m"])
def test_names_lead_to_it(name: str | None) -> None:
    model = resolve(name)
    assert model.name == "embedded:smollm2-135m"
    assert (model.profile.family, model.profile.parallel, model.profile.price) == (
        "smollm", False, {"input": "0", "cached": "0", "output": "0"},
    )  # fmt: skip


def test_a_path_leads_to_any_file() -> None:
    assert resolve("embedded:some/Qwen2.5.gguf").name == "embedded:qwen2.5"
