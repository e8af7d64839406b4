"""The framework's own tools, offered only when they can do something. Here: `recall`. Source: SPEC K9, T4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from backstay.agents.journal import Journal
from backstay.core.canon import canonical
from backstay.core.context import RunContext
from backstay.core.errors import ToolError, ToolInputError
from backstay.core.messages import Json, ToolResult
from backstay.tools.tool import Tool

RECALL = "recall"


class RecallInput(BaseModel):
    """Which part of a cut result to read."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    ref: str = Field(description="the reference given with the cut result, such as run:3")
    rows: str | None = Field(None, description="rows or lines to read, from 0, end excluded: 40:80")
    grep: str | None = Field(None, description="only rows or lines that contain this text")
    path: str | None = Field(None, description="a field inside the result, dotted: orders.0.lines")


class RecallTool(Tool):
    """Reads a cut result again, in pages, under the same bound and with the same labels."""

    name = RECALL
    description = "Read more of an earlier result that was cut. Use it when the rows you need were not shown."
    input_schema = RecallInput
    risk = "read"

    async def _run(self, input: RecallInput, context: RunContext[Any]) -> object:
        return await context.host.recall(input.ref, rows=input.rows, grep=input.grep, path=input.path)


class RunHost:
    """What a run answers to the framework's own tools."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def recall(self, ref: str, **how: Json) -> Any:
        """The wanted part of an earlier result of this session, with its label.

        Raises:
            ToolInputError: for a reference this session does not have, or rows and paths that lead nowhere.
        """
        found = self._find(ref)
        data = _at(found.data, how.get("path"))
        rows: list[Json] = list(data.splitlines()) if isinstance(data, str) else _listed(data)
        wanted = how.get("grep")
        if isinstance(wanted, str):
            rows = [row for row in rows if wanted.casefold() in _text(row).casefold()]
        cut = rows[_rows(how.get("rows"))]
        return ToolResult(ok=True, summary="", data=cut, label=found.label)

    def _find(self, ref: str) -> ToolResult:
        for message in reversed(self._journal.state.messages):
            for one in message.returns:
                if one.result.ref == ref:
                    return one.result
        raise ToolInputError(f"ref: no result {ref!r} in this conversation")

    async def remember(self, text: str, source: str) -> None:
        """Not there yet."""
        raise ToolError("this agent has no long-term memory")

    async def ask(self, question: str, choices: Json) -> ToolResult:
        """Not there yet."""
        raise ToolError("this agent cannot ask")

    async def spawn(self, task: object) -> ToolResult:
        """Not there yet."""
        raise ToolError("this agent cannot start another")


def _text(row: Json) -> str:
    return row if isinstance(row, str) else canonical(row)


def _listed(data: Json) -> list[Json]:
    if isinstance(data, list | tuple):
        return list(data)
    return [{key: value} for key, value in data.items()] if isinstance(data, Mapping) else [data]


def _at(data: Json, path: Json) -> Json:
    for key in path.split(".") if isinstance(path, str) and path else ():
        if isinstance(data, Mapping) and key in data:
            data = data[key]
        elif isinstance(data, list | tuple) and key.isdecimal() and int(key) < len(data):
            data = data[int(key)]
        else:
            raise ToolInputError(f"path: there is no {key!r} in {path!r}")
    return data


def _rows(wanted: Json) -> slice:
    if not isinstance(wanted, str) or not wanted:
        return slice(None)
    start, colon, end = wanted.partition(":")
    if not (start or end) or not (start or "0").isdecimal() or not (end or "0").isdecimal():
        raise ToolInputError(f"rows: expected start:end such as 40:80, got {wanted!r}")
    first = int(start or 0)
    return slice(first, int(end) if end else (None if colon else first + 1))
