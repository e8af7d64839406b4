"""A wish for a tool that a model has no word for becomes a schema over the tools that are allowed."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.core.messages import Message, ModelReply, ModelRequest, Reasoning, Text, ToolSpec, Usage
from backstay.models.choices import as_calls, understood
from backstay.models.model import ModelProfile

LINE = {"type": "object", "properties": {"sku": {"type": "string"}}}
ORDER = ToolSpec(
    name="order",
    description="Order something.",
    schema={
        "type": "object",
        "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}}},
        "$defs": {"Line": LINE},
    },
)
LOOK = ToolSpec(name="look", description="Look.", schema={"type": "object", "properties": {}, "$defs": {"Line": {}}})


def asked(choice: str, **more: Any) -> ModelRequest:
    user = Message(id="m", role="user", parts=(Text(text="hi"),))
    return ModelRequest(messages=(user,), tools=(ORDER, LOOK), tool_choice=choice, **more)


def knows(*choices: str) -> ModelProfile:
    return ModelProfile(family="f", window=1_000, choices=frozenset(choices))


@pytest.mark.parametrize("choice", ["auto", "none", "required", "tool:look"])
def test_what_a_model_understands_goes_as_it_is(choice: str) -> None:
    request = asked(choice)
    assert understood(request, knows("auto", "none", "required", "tool")) == (request, False)


def test_one_tool_is_required_by_offering_it_alone() -> None:
    request, is_written = understood(asked("tool:look"), knows("auto", "required"))
    assert (request.tools, request.tool_choice, is_written) == ((LOOK,), "required", False)


def test_none_is_brought_about_by_offering_nothing() -> None:
    request, is_written = understood(asked("none"), knows("auto"))
    assert (request.tools, request.tool_choice, is_written) == ((), "auto", False)


def test_a_required_call_is_asked_for_as_an_object() -> None:
    request, is_written = understood(asked("required"), knows("auto"))
    assert (request.tools, request.tool_choice, is_written) == ((), "auto", True)
    assert request.output_schema is not None
    schema: Any = request.output_schema
    branches = schema["properties"]["call"]["anyOf"]
    assert [one["properties"]["name"]["const"] for one in branches] == ["order", "look"]
    # Two tools may use one name for two types.
    assert branches[0]["properties"]["arguments"]["properties"]["lines"]["items"]["$ref"] == "#/$defs/order.Line"
    assert (schema["$defs"]["order.Line"], schema["$defs"]["look.Line"]) == (LINE, {})


def test_an_answer_that_is_held_to_a_schema_already_keeps_it() -> None:
    request, is_written = understood(asked("required", output_schema={"type": "object"}), knows("auto"))
    assert (request.output_schema, is_written) == ({"type": "object"}, False)


def reply(text: str, finish: Any = "stop") -> ModelReply:
    return ModelReply(parts=(Reasoning(text="hm"), Text(text=text)), finish=finish, usage=Usage(), model="m")


@pytest.mark.parametrize("text", ['{"call": {"name": "look", "arguments": {}}}', "{'call': {'name': 'look',}}"])
def test_the_object_that_comes_back_is_the_call(text: str) -> None:
    made = as_calls(reply(text))
    assert ([one.name for one in made.calls], made.text, made.finish) == (["look"], "", "tool_calls")
    assert made.parts[0] == Reasoning(text="hm")


@pytest.mark.parametrize("text", ["", "no", "[]", '{"call": 1}', '{"call": {"name": 1}}', '{"call": {"name": "look"'])
def test_anything_else_stays_what_it_is(text: str) -> None:
    assert as_calls(reply(text)) == reply(text)


def test_an_object_that_was_cut_off_is_no_call() -> None:
    cut = reply('{"call": {"name": "look", "arguments": {}}}', finish="length")
    assert as_calls(cut) == cut
