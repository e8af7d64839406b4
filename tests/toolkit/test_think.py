"""A thought has no effect, and what the model reads back is the developer's choice."""

import pytest

from backstay.toolkit import ThinkSchema, ThinkTool
from backstay.tools import Toolset


async def test_a_thought_is_answered_with_ok() -> None:
    result = await ThinkTool().run({"thoughts": "Two orders, one late."})
    assert result.ok
    assert (result.data, result.summary) == ("OK", "OK")


async def test_the_answer_may_be_a_text_or_a_function_of_the_thought() -> None:
    assert (await ThinkTool("Go on.").run({"thoughts": "x"})).data == "Go on."
    tool = ThinkTool(lambda thought: f"You thought: {thought.thoughts}")
    assert (await tool.run(ThinkSchema(thoughts="late"))).summary == "You thought: late"


def test_thoughts_alone_are_asked_for() -> None:
    schema = ThinkTool().spec.schema
    assert list(schema["properties"]) == ["thoughts"]  # type: ignore[arg-type]
    assert schema["required"] in (["thoughts"], ("thoughts",))


@pytest.mark.parametrize("args", [{}, {"thoughts": 1}, {"thoughts": "x", "next_step": "y"}])
async def test_other_arguments_are_refused(args: dict[str, object]) -> None:
    result = await ThinkTool().run(args)  # type: ignore[arg-type]
    assert result.code == "tool.input"


def test_it_is_a_read_without_effect_that_says_when_to_use_it() -> None:
    tool = ThinkTool()
    facts = tool.facts(None)
    assert (facts.risk, facts.effect, facts.egress, facts.sinks) == ("read", "none", False, frozenset())
    assert facts.texts == {"thoughts"}
    assert "Use it when" in tool.description
    assert Toolset([tool]).names == {"think"}


@pytest.mark.parametrize(("text", "args"), ThinkTool.examples)
def test_its_examples_are_valid(text: str, args: dict[str, object]) -> None:
    assert ThinkTool().validate(args) == []  # type: ignore[arg-type]
    assert text


async def test_an_answer_that_fails_is_a_failed_call() -> None:
    def broken(thought: ThinkSchema) -> str:
        raise ValueError("no template")

    result = await ThinkTool(broken).run({"thoughts": "x"})
    assert not result.ok
    assert result.error == "ValueError: no template"
