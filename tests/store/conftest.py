"""Stores under test, a clock that stands still, and rows to put in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from backstay.boundary.actions import Decision, PendingAction
from backstay.core.canon import freeze
from backstay.core.context import Origin, Principal
from backstay.core.messages import Message, ModelReply, Text, ToolCall, ToolResult, ToolReturn, Usage
from backstay.store.memory import MemoryStore
from backstay.store.protocol import RunStore
from backstay.store.records import AuditRow, Fence, Input, Record, Reply, Results, RunRow, SpanRow, Status
from backstay.store.sqlite import SQLiteStore

ANN = Principal(id="ann", tenant="acme", kind="customer")


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


class Make:
    """Rows with the fields that a test cares about."""

    def run(self, run_id: str = "r-1", session: str | None = "s-1", **fields: Any) -> RunRow:
        session = session or run_id
        given: dict[str, Any] = {
            "root_id": session, "parent_id": None, "agent": "desk", "agent_digest": "d", "principal": ANN,
            "trace_id": f"t-{run_id}", "status": "running", **fields,
        }  # fmt: skip
        return RunRow(run_id=run_id, session_id=session, **given)

    def input(self, run: RunRow, text: str = "hello") -> Record:
        message = Message(id="m-1", role="user", parts=(Text(text=text),))
        return self.record(run, 0, "input", Input(message=message, instructions="be kind"))

    def record(self, run: RunRow, seq: int, kind: Any = "reply", body: Any = None) -> Record:
        return Record(
            session_id=run.session_id, seq=seq, run_id=run.run_id, kind=kind, at=1.5,
            body=body if body is not None else self.reply(), trace_id=run.trace_id, span_id="sp",
        )  # fmt: skip

    def reply(self, text: str = "yes") -> Reply:
        call = ToolCall(id="c", name="find", args=freeze({"id": "o-1", "days": 30}), slot=1)
        usage = Usage(input_tokens=10, output_tokens=5)
        return Reply(reply=ModelReply(parts=(Text(text=text), call), finish="tool_calls", usage=usage, model="m"))

    def results(self, text: str = "ok") -> Results:
        result = ToolResult(ok=True, summary=text, data=freeze({"rows": [1, 2]}))
        return Results(returns=(ToolReturn(call_id="c", name="find", result=result),))

    def action(self, run: RunRow, action_id: str = "a-1", **fields: Any) -> PendingAction:
        given: dict[str, Any] = {
            "kind": "approval", "version": 1, "state": "open", "trace_id": run.trace_id, "principal": run.principal,
            "agents": ("desk",), "call": ToolCall(id="c", name="refund", args=freeze({"amount": "12.00"})),
            "reason": "it never came", "args_digest": "args", "tool_digest": "tool", "policy_digest": "policy",
            "targets": ("o-1",), "rules": ("tier",), "preview": "12 EUR", "reversible": False, "question": "",
            "origins": (Origin(path="order_id", value="o-1", message_id="m-1", span=(3, 6), trusted=True),),
            "choices": None, "asked_at": 1_000.0, "expires_at": 2_000.0, **fields,
        }  # fmt: skip
        return PendingAction(id=action_id, run_id=run.run_id, session_id=run.session_id, **given)

    def decision(self, **fields: Any) -> Decision:
        given: dict[str, Any] = {
            "approve": True,
            "by": "bo",
            "via": "cli",
            "at": 1_500.0,
            "args_digest": "args",
            **fields,
        }
        return Decision(**given)

    def audit(self, run_id: str = "r-1", slot: int = 1, **fields: Any) -> AuditRow:
        given: dict[str, Any] = {
            "kind": "begin", "tool": "refund", "args_digest": "args", "result_digest": "", "rules": ("tier", "r2"),
            "who": "ann", "at": 1_000.5, **fields,
        }  # fmt: skip
        return AuditRow(run_id=run_id, slot=slot, **given)

    def span(self, run: RunRow, span_id: str = "sp-1", **fields: Any) -> SpanRow:
        given: dict[str, Any] = {
            "parent_id": None, "kind": "run", "name": "desk", "step": 0, "attempt": 1, "started_at": 1.0,
            "seconds": 0.5, "ok": True, "cost_usd": Decimal("0.001"), **fields,
        }  # fmt: skip
        return SpanRow(
            trace_id=run.trace_id, span_id=span_id, run_id=run.run_id, session_id=run.session_id, agent="desk", **given
        )

    def status(self, run: RunRow, seq: int, status: Any = "done") -> Record:
        return self.record(run, seq, "status", Status(status=status))


@pytest.fixture
def make() -> Make:
    return Make()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[RunStore]:
    made: RunStore = MemoryStore(clock=clock)
    if request.param == "sqlite":
        made = SQLiteStore(tmp_path / "store.db", clock=clock)
    yield made
    await made.close()


@pytest.fixture
async def sqlite(tmp_path: Path, clock: Clock) -> AsyncIterator[SQLiteStore]:
    made = SQLiteStore(tmp_path / "store.db", clock=clock)
    yield made
    await made.close()


@pytest.fixture
def started(make: Make) -> Callable[..., Any]:
    """Create a run whose session is claimed for 30 seconds, and give its row and fence."""

    async def start(store: RunStore, run_id: str = "r-1", session: str | None = "s-1") -> tuple[RunRow, Fence]:
        run = make.run(run_id, session)
        row, fence = await store.create(run, make.input(run), claim=("w1", 30.0))
        assert fence is not None
        return row, fence

    return start
