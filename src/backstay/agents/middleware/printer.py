"""The trajectory printer: a run as an indented tree of lines, while it happens. Source: SPEC G8."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from backstay.agents.middleware.chain import Middleware, RunNext
from backstay.agents.result import RunResult
from backstay.agents.turn import Turn
from backstay.core.canon import canonical
from backstay.core.context import RunContext
from backstay.core.events import (
    ActionAsked,
    Emitter,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelFallback,
    ModelRetry,
    RunFinish,
    RunStart,
    ToolFinish,
    ToolStart,
)
from backstay.core.messages import Args
from backstay.core.redaction import redact, redact_json

_MOST = 120


class TrajectoryPrinter(Middleware):
    """Prints a line for each thing that happens in a run: who was asked, what was called, what came of it.

    Credentials are redacted and lines cut at 120 characters; pieces of replies are not printed.

    Args:
        file: where to; standard error by default.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file

    async def run(self, turn: Turn, ctx: RunContext[Any], next: RunNext) -> RunResult[Any]:
        """Listen as long as the run is driven."""
        off = ctx.emit.on(Event, self._print) if isinstance(ctx.emit, Emitter) else None
        try:
            return await next(turn, ctx)
        finally:
            if off is not None:
                off()

    def _print(self, event: Event) -> None:
        told = _told(event)
        if told is not None:
            depth, text = told
            line = " ".join(redact(text).split())
            line = line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"
            (self._file or sys.stderr).write(f"{'  ' * depth}{line}\n")


def _told(event: Event) -> tuple[int, str] | None:
    """Depth and words of an event; None for those that say nothing new."""
    match event:
        case RunStart():
            return 0, f"run {event.agent}: {event.input}"
        case ModelRetry() | ModelFailed():
            return 1, f"{event.name} {event.code}: {event.error}"
        case ModelFallback():
            return 1, f"{event.model} could not answer ({event.code}); asking {event.next}"
        case ModelAnswered():
            return 1, f"step {event.step} {event.reply.model}: {event.reply.text or event.reply.finish}"
        case ToolStart():
            return 2, f"{event.call.name}({_args(event.call.args)})"
        case ToolFinish():
            return 2, f"→ {event.result.code or event.result.via}: {event.result.summary}"
        case ActionAsked():
            return 2, f"waits for a person: {event.action.id}"
        case RunFinish():
            return 0, f"{event.status} {event.code} {event.reason}".rstrip()
    return None


def _args(args: Args) -> str:
    try:
        return canonical(redact_json(args))
    except (TypeError, ValueError):
        return "…"
