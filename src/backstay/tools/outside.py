"""The guard of a call outside any run: the developer's own call in a script or a test.

It executes at once and journals nothing; a high tool runs too, because nobody but the program asked. Source: TYPES.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from backstay.boundary.judge import call_digest
from backstay.core.canon import freeze
from backstay.core.context import Principal, RunContext, ToolFacts, Verdict
from backstay.core.errors import ToolError, ToolInputError
from backstay.core.events import Emitter, events
from backstay.core.files import File
from backstay.core.ids import new_id, new_span_id, new_trace_id
from backstay.core.logs import logger
from backstay.core.messages import Args, Artifact, Json, Label, ToolCall, ToolResult

LOCAL = Principal(id="local", kind="developer")
"""Who a program is that names nobody."""


class _Outside:
    def judge(self, call: ToolCall, tool: ToolFacts) -> Verdict:
        args = freeze(call.args)
        return Verdict(outcome="allow", call=call, digest=call_digest(call.name, args), risk=tool.risk)

    async def begin(self, verdict: Verdict, tool: ToolFacts, attempt: int) -> ToolResult | None:
        return None

    async def halted(self, tool: str = "") -> ToolResult | None:
        return None

    async def finish(self, verdict: Verdict, tool: ToolFacts, result: ToolResult, attempt: int, last: bool) -> None:
        return None

    async def defer(self, verdict: Verdict, tool: ToolFacts, action_id: str, expires_at: float) -> ToolResult:
        raise ToolError("nothing can be waited for outside a run")

    async def hold(self, verdict: Verdict, tool: ToolFacts, preview: str, reversible: bool) -> ToolResult:
        raise ToolError("nothing can wait for a person outside a run")

    async def recall(self, ref: str, **how: Json) -> Json:
        raise ToolError("there is no run whose results could be recalled")

    async def remember(self, text: str, source: str) -> None:
        raise ToolError("there is no run that could remember")

    async def ask(self, question: str, choices: Json) -> ToolResult:
        raise ToolError("there is no run in which somebody could be asked")

    def sign(self, token: str) -> str:
        return ""

    async def spawn(self, task: object) -> ToolResult:
        raise ToolError("there is no run that could start another")

    def attach(self, file: File, label: Label) -> Artifact:
        return file.artifact(label)

    async def artifact(self, ref: str) -> tuple[Artifact, bytes]:
        raise ToolInputError(f"there is no run whose file {ref} could be; give the File itself")


_outside = _Outside()


def outside_context(name: str, args: Args) -> RunContext[Any]:
    """A context for one call that belongs to no run."""
    call = ToolCall(id=new_id("c"), name=name, args=args)
    emit = Emitter(events)
    emit.bind(asyncio.get_running_loop())
    return RunContext(
        run_id="",
        session_id="",
        trace_id=new_trace_id(),
        span_id=new_span_id(),
        parent_id=None,
        step=0,
        attempt=1,
        agents=(),
        principal=LOCAL,
        deps=None,
        clock=time.time,
        new_id=new_id,
        logger=logger("backstay.tools"),
        emit=emit,
        guard=_outside,
        host=_outside,
        call=call,
        idempotency_key=call.id,
    )
