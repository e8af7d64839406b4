"""A conversation with the brain alone: every tool answers `ok`, every action waits; what was called is what counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from backstay.core.messages import Message, ModelRequest, Text, ToolCall, ToolResult, ToolReturn, ToolSpec
from backstay.models.embedded.brain import Brain
from backstay.models.embedded.encoder import shared_encoder
from backstay.models.embedded.proposals import PROPOSE, unwrap
from backstay.models.embedded.router import ToolRouter
from backstay.models.embedded.runtime import open_runtime
from backstay.models.embedded.weights import locate

DAY = date(2026, 11, 30)


@dataclass
class Talk:
    """Turns with one brain over one set of tools."""

    tools: tuple[ToolSpec, ...]
    results: Mapping[str, ToolResult] = field(default_factory=dict)
    """Results by tool, for those that do not simply answer ok."""
    messages: list[Message] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Of the last turn, proposals unwrapped."""

    def say(self, text: str) -> str:
        """One turn up to its answer."""
        brain = Brain(ToolRouter(), shared_encoder(), lambda: open_runtime(locate(), threads=1))
        self.calls = []
        self._add("user", Text(text=text))
        for step in range(9):
            request = ModelRequest(messages=tuple(self.messages), tools=self.tools)
            reply = brain.reply(request, today=DAY, call_id=f"c{len(self.messages)}-{step}", model="m")
            self._add("assistant", *reply.parts)
            if not reply.calls:
                return reply.text
            self._answer(reply.calls[0])
        raise AssertionError(f"no end: {self.calls}")

    def _answer(self, call: ToolCall) -> None:
        name, args = (unwrap(call.args) or (call.name, call.args)) if call.name == PROPOSE else (call.name, call.args)
        self.calls.append((name, dict(args)))
        waits = ToolResult(ok=True, summary="waits", code="action.waiting", data={"action": f"a-{name}"})
        data = {"order_id": args.get("order_id"), "amount": "120.00"}
        done = ToolResult(ok=True, summary=f"{name} ok", data=data)
        result = self.results.get(name) or (waits if call.name == PROPOSE else done)
        self._add("tool", ToolReturn(call_id=call.id, name=call.name, result=result))

    def _add(self, role: Any, *parts: Any) -> None:
        self.messages.append(Message(id=f"m{len(self.messages)}", role=role, parts=parts))
