"""The framework's own tools, offered only when they can do something (here: `recall`), and what the run answers them.

Source: SPEC K9, T4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from backstay.agents.journal import Journal
from backstay.agents.own_tools.questions import Questions
from backstay.agents.own_tools.recall import Wanted, page
from backstay.boundary.plan import PlanGrant
from backstay.core.context import RunContext
from backstay.core.errors import NotFoundError, SetupError, ToolError, ToolInputError
from backstay.core.files import MAX_FILE_BYTES, MAX_SESSION_BYTES, File
from backstay.core.messages import Args, Artifact, Json, Label, Message, ToolResult
from backstay.memory.longterm.entry import LongTermMemory
from backstay.store.records import Input, Record, Results
from backstay.tools.tool import Tool

RECALL = "recall"
_PAGE = 200
"""Records read at once while an old result is looked for."""


class RecallInput(BaseModel):
    """Which part of a cut result to read."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    ref: str = Field(description="the reference given with the cut result, such as run:3")
    rows: str | None = Field(None, description="rows or lines to read, from 0, end excluded: 40:80; with grep, matches")
    grep: str | None = Field(None, description="only rows or lines that contain this text, in any case")
    path: str | None = Field(None, description="a field inside the result, dotted: orders.0.lines")


class RecallTool(Tool):
    """Reads a cut result again, in pages, under the same bound and with the same labels."""

    name = RECALL
    description = "Read more of an earlier result that was cut. Use it when the rows you need were not shown."
    input_schema = RecallInput
    risk = "read"

    async def _run(self, input: RecallInput, context: RunContext[Any]) -> object:
        how: Args = {"rows": input.rows, "grep": input.grep, "path": input.path, "max_tokens": context.result_tokens}
        return await context.host.recall(input.ref, **how)


class RunHost:
    """What a run answers to the framework's own tools, and where its files go."""

    def __init__(
        self, journal: Journal, long_term: LongTermMemory | None = None, questions: Questions | None = None
    ) -> None:
        self._journal = journal
        self._long_term = long_term
        self._questions = questions

    async def recall(self, ref: str, **how: Json) -> Any:
        """A page of an earlier result of this session, with its label.

        Args:
            ref: `run:slot` as the cut result has it, or the id of a call of this session.
            **how: `rows`, `grep`, `path` as in `RecallInput`; `max_tokens` of the page, 4,000 where it is left out.

        Raises:
            ToolInputError: for a reference this session does not have, or rows and paths that lead nowhere.
        """
        found = self._shown(ref) or await self._journalled(ref)
        if found is None:
            raise ToolInputError(f"ref: no result {ref[:80]!r} in this conversation")
        rows, grep, path = (_text(how.get(name)) for name in ("rows", "grep", "path"))
        tokens = how.get("max_tokens")
        return page(found, ref, Wanted(rows=rows, grep=grep, path=path), tokens if isinstance(tokens, int) else 4_000)

    def _shown(self, ref: str) -> ToolResult | None:
        return next((one for message in reversed(self._journal.state.messages) for one in _named(message, ref)), None)

    async def _journalled(self, ref: str) -> ToolResult | None:
        """A result whose message has left the window, newest page of the session first."""
        journal, upto = self._journal, self._journal.state.seq
        while upto > 0:
            after = max(0, upto - _PAGE)
            records = await journal.store.read(journal.row.session_id, after=after, limit=upto - after)
            for record in reversed(records):
                for message in _messages_of(record):
                    for one in _named(message, ref):
                        return one
            upto = after
        return None

    def fix_plan(self, plan: PlanGrant) -> bool:
        """Queue a plan for the step's one write; False if it comes too late."""
        state = self._journal.state
        if not state.label.trusted or (state.plan is not None and state.plan.by == "program"):
            return False
        self._journal.queue.records.append(("grant", plan))
        return True

    def attach(self, file: File, label: Label) -> Artifact:
        """Queue a file; it is written with the outcome or the result of its call, in one transaction.

        Raises:
            ToolError: code `artifact.too_large`, for a file or a session above its bound.
        """
        size, files = len(file.data), self._journal.queue.files
        held = self._journal.state.file_bytes + sum(len(data) for _, data in files)
        if size > MAX_FILE_BYTES or held + size > MAX_SESSION_BYTES:
            told = f"the file {file.name!r} has {size:,} bytes: at most {MAX_FILE_BYTES:,} may one have"
            raise ToolError(
                f"{told}, and {MAX_SESSION_BYTES:,} all of a conversation, which has {held:,}",
                code="artifact.too_large",
            )
        artifact = file.artifact(label)
        files.append((artifact, file.data))
        return artifact

    async def artifact(self, ref: str) -> tuple[Artifact, bytes]:
        """A file of this session, also one of this step that is not written yet.

        Raises:
            ToolInputError: for any other.
        """
        for artifact, data in reversed(self._journal.queue.files):
            if artifact.ref == ref:
                return artifact, data
        try:
            return await self._journal.store.artifact(self._journal.row.session_id, ref)
        except NotFoundError:
            raise ToolInputError(f"there is no file {ref[:80]!r} in this conversation") from None

    async def remember(self, text: str, source: str) -> None:
        """Keep a text in long-term memory, under the principal and with the label of this conversation.

        It counts as the user's words if it stands in a trusted message of theirs, else as the model's, which nobody
        believes later.

        Args:
            text: what is to be kept.
            source: the call that asks for it, as `run:slot`.

        Raises:
            ToolError: where the agent has no long-term memory, or nobody is named whose it is.
        """
        if self._long_term is None:
            raise ToolError("this agent has no long-term memory")
        row, state = self._journal.row, self._journal.state
        is_said = state.sources.is_said(text, exact=False)
        try:
            await self._long_term.add(
                text,
                principal=row.principal,
                source=f"{row.session_id}#{source}",
                author="user" if is_said else "model",
                label=state.label,
            )
        except SetupError as error:
            raise ToolError(error.message, code=error.code) from error

    async def ask(self, question: str, choices: Json) -> ToolResult:
        """Put a question into the inbox; the result says under which id. See `Questions.ask`."""
        if self._questions is None:
            raise ToolError("nobody can be asked here")
        return self._questions.ask(question, choices)

    def sign(self, token: str) -> str:
        """What the other side has to bring back with a deferred call's result: keyed by the store."""
        return self._journal.store.sign(token)

    async def spawn(self, task: object) -> ToolResult:
        """Not there yet."""
        raise ToolError("this agent cannot start another")


def _named(message: Message, ref: str) -> Iterator[ToolResult]:
    """Results of a message that go by this reference; a page of one carries it too and is not meant."""
    for one in message.returns:
        if one.name != RECALL and ref in (one.result.ref, one.call_id):
            yield one.result


def _messages_of(record: Record) -> Iterator[Message]:
    body = record.body
    if isinstance(body, Results):
        yield Message(id="", role="tool", parts=body.returns)
    elif isinstance(body, Input):
        yield from reversed(body.history)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
