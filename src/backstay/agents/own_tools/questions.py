"""`ask_user`: a question of the model to the person the run is for. It waits in the inbox like an approval.

The framework's own tool, for agents that say `ask_user=True`, offered only where somebody can answer. The answer enters
as a notice; its words are the user's where the principal has answered, else a person's. Source: SPEC G11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from backstay.agents.deciding.inbox import asked, question_row
from backstay.agents.journal import Journal
from backstay.boundary.actions import PendingAction
from backstay.boundary.answers import shape_problems
from backstay.boundary.policy import Boundary
from backstay.core.canon import canonical, digest, freeze
from backstay.core.context import RunContext
from backstay.core.errors import ToolInputError
from backstay.core.hiding import hide_json
from backstay.core.messages import Json, ToolResult
from backstay.core.redaction import hide
from backstay.store.records import Asked
from backstay.tools.tool import Tool

ASK_USER = "ask_user"


class AskInput(BaseModel):
    """A question for the user."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    question: str = Field(min_length=1, max_length=2_000, description="one question, in the user's language")
    choices: list[str | int | float | bool] | None = Field(None, description="what may be answered, if it is a choice")
    answer_schema: dict[str, Any] | None = Field(
        None, description="or a JSON Schema of the answer (type, enum, properties, items, minimum, maximum)"
    )


class AskUserTool(Tool):
    """Puts a question into the inbox; the run goes on with what else it can do and then waits."""

    name = ASK_USER
    description = (
        "Ask the user one question. Use it when you cannot go on without knowing something that only the user can say."
        " The answer comes later, as a notice; do not ask the same again."
    )
    input_schema = AskInput
    risk = "read"

    async def _run(self, input: AskInput, context: RunContext[Any]) -> object:
        if input.choices is not None and input.answer_schema is not None:
            raise ToolInputError("give choices or answer_schema, not both")
        asked: Json = freeze(input.choices if input.choices is not None else input.answer_schema)
        return await context.host.ask(input.question, asked)


class Questions:
    """Poses the questions of one run."""

    def __init__(
        self,
        journal: Journal,
        policy: Boundary,
        agents: tuple[str, ...],
        *,
        clock: Callable[[], float],
        new_id: Callable[[str], str],
    ) -> None:
        self._agents = agents
        self._journal = journal
        self._policy = policy
        self._clock = clock
        self._new_id = new_id

    def ask(self, question: str, choices: Json) -> ToolResult:
        """Queue a question for the step's one write; asking the same again names the one that waits already.

        Raises:
            ToolInputError: for choices that nobody could answer.
        """
        told = shape_problems(choices)
        if told:
            raise ToolInputError("; ".join(told))
        question, choices = hide(question), hide_json(choices)
        key, row = digest(["question", question, choices]), self._journal.row
        waiting = [
            one
            for one in (*self._journal.state.open.values(), *self._journal.queue.pending)
            if one.run_id == row.run_id and one.state == "open"
        ]
        known = next((one for one in waiting if one.args_digest == key), None)
        if known is not None:
            return _waits(known)
        number = asked(self._journal.state.run(row.run_id), self._journal.queue.pending)
        if number >= self._policy.questions:
            many = f"{number} questions were put to people already, and no further one can be. End with what you know."
            return ToolResult(ok=False, summary=many, error=many, code="action.too_many", via="refused")
        action = self._action(question, choices, key)
        self._journal.queue.pending.append(action)
        self._journal.queue.records.append(("asked", Asked(action=action)))
        return _waits(action)

    def _action(self, question: str, choices: Json, key: str) -> PendingAction:
        return question_row(
            self._journal.row,
            self._agents,
            id=self._new_id("a"),
            question=question,
            key=key,
            now=self._clock(),
            seconds=self._policy.ask_seconds,
            choices=choices,
        )


def answered(action: PendingAction, answer: Json) -> str:
    """What the model is told of an answer. The question is the model's own text and is not said again as a fact."""
    return f"Answer to {action.id}: {answer if isinstance(answer, str) and answer else canonical(answer)}"


def _waits(action: PendingAction) -> ToolResult:
    told = f"Waiting for an answer: {action.id}. It comes as a notice; do not ask it again."
    return ToolResult(ok=True, summary=told, data={"action": action.id}, code="action.waiting", via="held")
