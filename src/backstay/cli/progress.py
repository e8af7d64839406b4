"""A run on the screen while it works: every call with its arguments, its result or refusal, the words as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backstay.agents.guard import describe
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.cli.printing import Printer, clean, one_line, took
from backstay.core.canon import thaw
from backstay.core.events import (
    ActionDone,
    ConstraintProposed,
    Emitter,
    ModelDelta,
    ModelFallback,
    ModelRetry,
    RunStart,
    ToolFinish,
    ToolRetry,
    ToolStart,
)
from backstay.core.messages import ToolCall, ToolResult

_STYLES = {"ok": "green", "waits": "yellow", "refused": "red", "failed": "red", "in doubt": "bold red"}


class Progress:
    """Listens to the runs of this process and prints them.

    Args:
        out: where to.
        stream: whether the model's words are printed as they come.
    """

    def __init__(self, out: Printer, *, stream: bool = False) -> None:
        self._out = out
        self._stream = stream
        self._is_mid_line = False
        self.streamed = ""
        """What has been printed of the model's words since the last call."""
        self.calls: list[dict[str, Any]] = []
        """Every call that has finished, for the JSON document."""
        self.outcomes: dict[tuple[str, int], ToolResult] = {}
        """The last result of each call, by run and slot."""

    def attach(self, emitter: Emitter) -> Callable[[], None]:
        """Start to listen; the returned function ends it."""
        offs = [
            emitter.on(RunStart, self._run_start),
            emitter.on(ToolStart, self._tool_start),
            emitter.on(ToolRetry, self._tool_retry),
            emitter.on(ToolFinish, self._tool_finish),
            emitter.on(ModelRetry, self._model_retry),
            emitter.on(ModelFallback, self._model_fallback),
            emitter.on(ConstraintProposed, self._rule),
            emitter.on(ActionDone, self._action),
        ]
        if self._stream:
            offs.append(emitter.on(ModelDelta, self._delta))

        def off() -> None:
            for one in offs:
                one()

        return off

    def end_line(self) -> None:
        """Leave a line that is being streamed."""
        if self._is_mid_line:
            self._out.line()
            self._is_mid_line = False

    def _run_start(self, _event: RunStart) -> None:
        self.streamed = ""

    def _delta(self, event: ModelDelta) -> None:
        if event.delta.kind == "text" and event.delta.text:
            self._out.piece(event.delta.text)
            self.streamed += event.delta.text
            self._is_mid_line = True

    def _model_retry(self, event: ModelRetry) -> None:
        self.end_line()
        self.streamed = ""
        self._out.line(f"! the model failed [{event.code}] {one_line(event.error)}; asking again", "yellow")

    def _model_fallback(self, event: ModelFallback) -> None:
        self.end_line()
        self.streamed = ""
        self._out.line(
            f"! {event.model} could not answer [{event.code}] {one_line(event.error)}; asking {event.next}", "yellow"
        )

    def _tool_start(self, event: ToolStart) -> None:
        self.end_line()
        self.streamed = ""
        self._out.line(f"> {shown(event.call)}", "bold")

    def _tool_retry(self, event: ToolRetry) -> None:
        self._out.line(f"! {event.call.name} failed: {one_line(event.error)}; trying again", "yellow")

    def _tool_finish(self, event: ToolFinish) -> None:
        call, result = event.call, event.result
        self.outcomes[event.run_id, call.slot] = result
        self.calls.append(
            {
                "name": call.name,
                "args": thaw(call.args),
                "ok": result.ok,
                "via": result.via,
                "code": result.code,
                "summary": result.summary,
                "seconds": round(event.seconds, 6),
            }
        )
        how = outcome_of(result)
        code = f" [{result.code}]" if result.code and not result.ok else ""
        seconds = f" in {took(event.seconds)}" if result.via == "ran" else ""
        self._out.line(f"< {call.name} {how}{code}{seconds}: {one_line(result.summary)}", _STYLES[how])

    def _rule(self, event: ConstraintProposed) -> None:
        rule: Constraint = event.constraint
        self._out.line(f"! read from your words as a rule: {one_line(rule.text)!r} ({one_line(rule.render)})", "yellow")

    def _action(self, event: ActionDone) -> None:
        action: PendingAction = event.action
        self._out.line(f"= {action.id} is {action.state}", "bold")


def shown(call: ToolCall) -> str:
    """A call on one line, for the screen; what is longer than 2,000 characters is cut and says so."""
    return one_line(clean(describe(call)), 2_000)


def outcome_of(result: ToolResult) -> str:
    """What became of a call, in one or two words."""
    match result.via:
        case "held":
            return "waits"
        case "in_doubt":
            return "in doubt"
        case "refused":
            return "refused"
        case _:
            return "ok" if result.ok else "failed"
