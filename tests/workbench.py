"""A workbench for tools: a context with a clock that only `sleep` moves, a guard that writes everything down."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from backstay.boundary.judge import call_digest
from backstay.core.canon import freeze
from backstay.core.context import Principal, RunContext, ToolFacts, Verdict
from backstay.core.events import Emitter, Event
from backstay.core.messages import Json, ToolCall, ToolResult

Outcome = Literal["allow", "ask", "deny"]


@dataclass
class RecordingGuard:
    """Allows everything unless told otherwise, and keeps a list of what it was asked."""

    rule: Callable[[ToolCall, ToolFacts], Outcome] = lambda _call, _tool: "allow"
    known: ToolResult | None = None
    log: list[tuple[Any, ...]] = field(default_factory=list)

    def judge(self, call: ToolCall, tool: ToolFacts) -> Verdict:
        outcome = self.rule(call, tool)
        self.log.append(("judge", call.name, dict(call.args), outcome))
        digest = call_digest(call.name, freeze(call.args))
        return Verdict(
            outcome=outcome, call=call, digest=digest, risk=tool.risk, code=f"test.{outcome}", message=f"said {outcome}"
        )

    async def begin(self, verdict: Verdict, tool: ToolFacts, attempt: int) -> ToolResult | None:
        self.log.append(("begin", verdict.call.name, attempt))
        return self.known

    async def halted(self, tool: str = "") -> ToolResult | None:
        return None

    async def finish(self, verdict: Verdict, tool: ToolFacts, result: ToolResult, attempt: int, last: bool) -> None:
        self.log.append(("finish", verdict.call.name, attempt, result.ok, result.via, last))

    async def defer(self, verdict: Verdict, tool: ToolFacts, action_id: str, expires_at: float) -> ToolResult:
        raise NotImplementedError

    async def hold(self, verdict: Verdict, tool: ToolFacts, preview: str, reversible: bool) -> ToolResult:
        self.log.append(("hold", verdict.call.name, preview, reversible))
        return ToolResult(ok=True, summary="waiting for a person", code="action.waiting", via="held")

    def kinds(self) -> list[str]:
        return [entry[0] for entry in self.log]


class NoHost:
    async def recall(self, ref: str, **how: Json) -> Json:
        raise NotImplementedError

    async def remember(self, text: str, source: str) -> None:
        raise NotImplementedError

    async def ask(self, question: str, choices: Json) -> ToolResult:
        raise NotImplementedError

    def sign(self, token: str) -> str:
        return ""

    async def spawn(self, task: object) -> ToolResult:
        raise NotImplementedError


class Bench:
    """Everything one test needs around a tool."""

    def __init__(self, guard: RecordingGuard | None = None, around: Any = None, **more: Any) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self.guard = guard or RecordingGuard()
        self.heard: list[Event] = []
        self.emit = Emitter()
        self.emit.on("**", self.heard.append)
        self.around = around
        self.more = more
        self._slot = 0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def context(self, name: str = "t", args: Any = None, **more: Any) -> RunContext[Any]:
        """The context of one more call in the run."""
        self._slot += 1
        call = ToolCall(id=f"c{self._slot}", name=name, args={} if args is None else args, slot=self._slot)
        settings: dict[str, Any] = {
            "run_id": "run", "session_id": "s", "trace_id": "t" * 32, "span_id": f"{self._slot:016x}",
            "parent_id": None,
            "step": 1, "attempt": 1, "agents": ("a",), "principal": Principal(id="ann"), "deps": None,
            "clock": lambda: self.now, "new_id": lambda prefix: f"{prefix}-{self._slot}",
            "logger": logging.getLogger("test"), "emit": self.emit, "guard": self.guard, "host": NoHost(),
            "call": call, "idempotency_key": f"run:{self._slot}", "sleep": self.sleep, "around": self.around,
        }  # fmt: skip
        return RunContext(**(settings | self.more | more))

    async def run(self, tool: Any, args: Any = None, **more: Any) -> ToolResult:
        """Take one call of a model to the tool."""
        args = {} if args is None else args
        result: ToolResult = await tool.run(args, self.context(tool.name, args, **more))
        return result

    @property
    def names(self) -> list[str]:
        """Names of the events in order."""
        return [event.name for event in self.heard]
