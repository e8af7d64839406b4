"""`ThinkTool`: a place to think, without any effect. Source: SPEC K1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from backstay.core.context import RunContext
from backstay.core.meanings import FreeText
from backstay.tools.tool import Tool


class ThinkSchema(BaseModel):
    """A thought."""

    model_config = ConfigDict(extra="forbid")

    # one field on purpose: a `next_step` beside it was tried upstream and did not perform well (SPEC K1)
    thoughts: Annotated[str, FreeText()] = Field(
        description="What is known, what is missing, and what follows from it, in your own words."
    )


class ThinkTool(Tool):
    """Lets a model think in words before it acts; nothing happens. Requirements hold on to it to force a thought.

    Args:
        tool_output: what the model reads back: a text, or a function of what it thought.
    """

    name = "think"
    description = (
        "Think in words; nothing is looked up and nothing happens. Use it when a question has several parts, when "
        "results contradict each other, or before you choose between actions."
    )
    input_schema = ThinkSchema
    risk = "read"
    timeout = 10.0
    examples = (
        (
            "Which of my two orders arrives first, and can I still change the other one?",
            {"thoughts": "Two questions. I need both delivery dates, then whether the later order is packed."},
        ),
        (
            "The invoice says 120 EUR but I paid 100 EUR.",
            {"thoughts": "A discount or a partial payment would explain it. I look at the payments before I answer."},
        ),
        (
            "周五之前能办完吗？",
            {"thoughts": "今天是周三，审批要两个工作日，所以最早周五；先查审批是否已经开始。"},
        ),
    )

    def __init__(self, tool_output: str | Callable[[ThinkSchema], str] = "OK") -> None:
        self.tool_output = tool_output

    async def _run(self, input: ThinkSchema, context: RunContext[Any]) -> str:
        return self.tool_output if isinstance(self.tool_output, str) else self.tool_output(input)
