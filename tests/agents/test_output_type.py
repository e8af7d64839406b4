"""Answers of a type: by the final-answer tool, under a provider's schema, validated, given back, resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, Field, field_validator

from backstay import Agent, Boundary, ConditionalRequirement, Limits, tool
from backstay.core.errors import OutputError, SetupError
from backstay.core.messages import ModelRequest
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.models.scripted import PROFILE
from backstay.store.protocol import RunStore

HELD = replace(PROFILE, schema_output=True)


class Status(BaseModel):
    order: str = Field(description="the order's number")
    days: int

    @field_validator("days")
    @classmethod
    def _not_below_0(cls, days: int) -> int:
        if days < 0:
            raise ValueError("days is below 0")
        return days


@dataclass
class Point:
    x: int
    y: int


class Named(TypedDict):
    name: str


@tool(risk="read")
async def look(x: int = 0) -> int:
    """Look. Use it when asked."""
    return x


def final(**args: Any) -> Any:
    return call("final_answer", **args)


def agent(kind: Any, *lines: Any, held: bool = False, **more: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(*lines, profile=HELD if held else PROFILE), output_type=kind, tools=[look], **more)


CASES = [
    (Status, {"order": "7", "days": 3}, Status(order="7", days=3)),
    (Point, {"value": {"x": 1, "y": 2}}, Point(1, 2)),
    (Named, {"value": {"name": "Ann"}}, {"name": "Ann"}),
    (list[int], {"value": [1, 2]}, [1, 2]),
    (list[Status], {"value": [{"order": "7", "days": 3}]}, [Status(order="7", days=3)]),
    (Status | Point, {"value": {"x": 1, "y": 2}}, Point(1, 2)),
    (int, {"value": 42}, 42),
    (bool | None, {"value": None}, None),
]


@pytest.mark.parametrize(("kind", "args", "value"), CASES, ids=lambda one: str(one)[:20])
async def test_the_final_answer_tool_gives_a_value_of_the_type(kind: Any, args: Any, value: Any) -> None:
    result = await agent(kind, call("look"), final(**args)).run("go")
    assert (result.status, result.output, result.steps) == ("done", value, 2)


@pytest.mark.parametrize(("kind", "args", "value"), CASES, ids=lambda one: str(one)[:20])
async def test_a_provider_that_holds_to_a_schema_gives_the_same(kind: Any, args: Any, value: Any) -> None:
    from backstay.core.canon import canonical, freeze

    result = await agent(kind, call("look"), canonical(freeze(args)), held=True).run("go")
    assert (result.status, result.output, result.steps) == ("done", value, 2)


async def test_the_tool_is_offered_only_to_an_agent_with_a_type_and_a_model_without_schemas() -> None:
    seen: list[ModelRequest] = []

    def watch(request: ModelRequest, ctx: Any) -> Any:
        seen.append(request)
        return final(order="1", days=1) if ctx.run_id and request.output_schema is None else '{"order":"1","days":1}'

    await Agent(FunctionModel(watch), output_type=Status).run("go")
    await Agent(FunctionModel(watch, profile=HELD), output_type=Status).run("go")
    await Agent(FunctionModel(lambda request, ctx: seen.append(request) or "x")).run("go")  # type: ignore[func-returns-value]
    shown = [([one.name for one in each.tools], each.tool_choice, each.output_schema is not None) for each in seen]
    assert shown == [(["final_answer"], "tool:final_answer", False), ([], "auto", True), ([], "auto", False)]
    assert "the order's number" in str(seen[0].tools[0].schema)
    assert "the order's number" in str(seen[1].output_schema)


async def test_what_is_wrong_goes_back_to_the_model_field_by_field() -> None:
    result = await agent(Status, final(order="7", days="x"), final(order="7", days=-1), final(order="7", days=1)).run(
        "go"
    )
    assert (result.status, result.output) == ("done", Status(order="7", days=1))
    told = [one.result.summary for message in result.new_messages for one in message.returns]
    assert "days" in told[0]
    assert "days is below 0" in told[1]


async def test_under_a_schema_what_is_wrong_goes_back_as_a_notice() -> None:
    result = await agent(Status, "not JSON", '{"order": "7", "days": -1}', '{"order": "7", "days": 1}', held=True).run(
        "go"
    )
    assert result.output == Status(order="7", days=1)
    notices = [message.text for message in result.new_messages if message.role == "notice"]
    assert "is not JSON" in notices[0]
    assert "days is below 0" in notices[1]


@pytest.mark.parametrize("held", [False, True])
async def test_after_three_wrong_answers_the_run_ends_failed(held: bool) -> None:
    wrong: Any = '{"order": "7", "days": "x"}' if held else final(order="7", days="x")
    result = await agent(Status, *[wrong] * 9, held=held).run("go")
    assert (result.status, result.code, result.output, result.steps) == ("failed", "output.invalid", None, 3)
    assert "days" in result.reason


async def test_words_alone_are_not_taken_where_a_type_is_wanted() -> None:
    result = await agent(Status, 'It is {"order": "7", "days": 3}.', final(order="8", days=1)).run("go")
    assert result.output == Status(order="8", days=1)


async def test_words_are_an_answer_where_the_type_says_so() -> None:
    said = 'Use {"value": "HACK"}'
    assert (await agent(str | Status, said).run("go")).output == said
    assert (await agent(str | Status, final(value={"order": "7", "days": 3})).run("go")).output == Status(
        order="7", days=3
    )


@pytest.mark.parametrize(
    "said", ["In CSS write a { color: red } rule.", 'Use {"response": "HACK", "x": 1}', '{"a": 1}']
)
async def test_text_with_braces_stays_text(said: str) -> None:
    """The notes' bug inputs 2 and 3."""
    result = await Agent(ScriptedModel(said)).run("go")
    assert (result.output, result.steps) == (said, 1)


async def test_an_answer_beside_other_calls_waits_for_them() -> None:
    result = await agent(Status, [final(order="7", days=1), call("look", x=1)], final(order="7", days=2)).run("go")
    assert result.output == Status(order="7", days=2)
    assert [one.result.code for one in result.new_messages[2].returns] == ["output.early", None]


async def test_an_answer_does_not_count_as_a_call_of_a_tool() -> None:
    boundary = Boundary(limits=Limits(calls=1))
    assert (await agent(Status, call("look"), final(order="7", days=1), boundary=boundary).run("go")).status == "done"


async def test_an_answer_comes_when_the_requirements_let_the_run_end() -> None:
    needs = [ConditionalRequirement(look, min_invocations=1)]
    lines = (final(order="7", days=1), call("look"), final(order="7", days=2))
    result = await agent(Status, *lines, requirements=needs).run("go")
    assert result.output == Status(order="7", days=2)
    assert result.new_messages[2].returns[0].result.code == "requirement.refused"


@tool(risk="high")
async def pay(amount: int) -> str:
    """Pay. Use it when asked."""
    return f"paid {amount}"


@pytest.mark.parametrize("held", [False, True])
async def test_an_answer_of_a_waiting_run_and_of_the_one_that_goes_on_is_typed(store: RunStore, held: bool) -> None:
    def again() -> Agent[Any, Any]:
        action = call("propose_action", action={"name": "pay", "arguments": {"amount": 3}}, reason="asked")
        ends: list[Any] = [final(order="7", days=1), final(order="7", days=2)]
        if held:
            ends = ['{"order": "7", "days": 1}', '{"order": "7", "days": 2}']
        model = ScriptedModel(action, *ends, profile=HELD if held else PROFILE)
        return Agent(model, output_type=Status, tools=[pay])

    waiting = await again().run("go", session="s", store=store)
    assert (waiting.status, waiting.output) == ("waiting", Status(order="7", days=1))
    done = await again().decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert done is not None
    assert (done.status, done.output) == ("done", Status(order="7", days=2))


async def test_a_second_call_with_one_dedup_key_gets_the_typed_answer_of_the_first(store: RunStore) -> None:
    for _ in range(2):
        result = await agent(Status, final(order="7", days=1)).run("go", session="s", store=store, dedup="k")
        assert result.output == Status(order="7", days=1)


async def test_what_the_model_answers_is_nobodys_word(store: RunStore) -> None:
    """An address that only the model's own answer has named is not known in the next turn."""

    @tool(risk="write", effect="keyed")
    async def mail(to: str) -> str:
        """Mail. Use it when asked."""
        return "sent"

    class Contact(BaseModel):
        address: str

        @field_validator("address")
        @classmethod
        def _mended(cls, address: str) -> str:
            return address.replace(" at ", "@")  # what is journalled is not what the model has written in its call

    answer = final(address="a at evil.example")
    one: Agent[Any, Any] = Agent(ScriptedModel(answer), output_type=Contact, tools=[mail])
    first = await one.run("go", session="s", store=store)
    assert first.output == Contact(address="a@evil.example")
    lines = (call("mail", to="a@evil.example"), answer)
    result = await one.run("and now", session="s", store=store, model=ScriptedModel(*lines))
    assert result.status == "waiting"


async def test_an_answer_can_be_had_as_json_and_as_words() -> None:
    typed = await agent(Status, final(order="7", days=1)).run("go")
    assert (typed.output_json, typed.output_text) == ({"order": "7", "days": 1}, '{"days":1,"order":"7"}')
    words = await Agent(ScriptedModel("hi")).run("go")
    assert (words.output_json, words.output_text) == ("hi", "hi")


async def test_the_embedded_model_is_held_to_the_schema() -> None:
    pytest.importorskip("xllamacpp")

    class Wish(BaseModel):
        city: str

    result = await Agent("embedded", output_type=Wish).run("I live in Paris")
    assert isinstance(result.output, Wish)


@pytest.mark.parametrize("kind", [lambda: 1, "Nobody", 7])
def test_a_type_that_nobody_can_be_held_to_is_an_error(kind: Any) -> None:
    with pytest.raises(OutputError) as raised:
        Agent(ScriptedModel("x"), output_type=kind)
    assert raised.value.code == "output.type"


def test_the_tools_name_is_the_frameworks() -> None:
    @tool(name="final_answer", risk="read")
    async def mine() -> int:
        """Answer. Use it when asked."""
        return 1

    with pytest.raises(SetupError, match="final_answer"):
        Agent(ScriptedModel("x"), tools=[mine])
