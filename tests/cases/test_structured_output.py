"""Reports about structured output, as inputs. SPEC G4."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from backstay import Agent
from backstay.core.messages import ModelReply, Text, ToolCall
from backstay.models import ScriptedModel
from backstay.models.scripted import PROFILE

HELD = replace(PROFILE, schema_output=True)


class Answer(BaseModel):
    response: str


def reply(*texts: str, finish: Any = "stop") -> ModelReply:
    return ModelReply(parts=tuple(Text(text=text) for text in texts), finish=finish, usage=None, model="m")


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_c75_json_in_two_text_parts_is_one_value_and_the_words_stay_as_they_were(is_streamed: bool) -> None:
    parts = ('{ "respon', 'se": "Hello" }')
    agent = Agent(ScriptedModel(reply(*parts), profile=HELD), output_type=Answer)
    if is_streamed:
        async with agent.run_stream("hi") as stream:
            async for _ in stream:
                pass
            result: Any = await stream.result()
    else:
        result = await agent.run("hi")
    assert result.output == Answer(response="Hello")
    assert result.new_messages[-1].text == "".join(parts)


async def test_c77_half_an_answer_is_incomplete_not_malformed() -> None:
    half = reply('{"response": "Hel', finish="length")
    result = await Agent(ScriptedModel(half, half, half, profile=HELD), output_type=Answer).run("hi")
    assert (result.status, result.code, result.output) == ("failed", "output.incomplete", None)
    assert "cut off at the token limit" in result.reason
    assert "JSON" not in result.reason


async def test_c77_the_next_whole_answer_is_taken() -> None:
    half = reply('{"response": "Hel', finish="length")
    result = await Agent(ScriptedModel(half, '{"response": "Hi"}', profile=HELD), output_type=Answer).run("hi")
    assert (result.status, result.output) == ("done", Answer(response="Hi"))


async def test_c77_half_a_final_answer_never_runs_and_says_why() -> None:
    cut = ModelReply(
        parts=(ToolCall(id="c", name="final_answer", args={}, raw='{"response": "Hel'),),
        finish="length",
        usage=None,
        model="m",
    )
    result = await Agent(ScriptedModel(cut, cut, cut), output_type=Answer).run("hi")
    assert (result.status, result.code) == ("failed", "output.incomplete")
