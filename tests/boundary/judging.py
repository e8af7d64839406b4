"""A tool, a rule, a state, a call: what the tests of `judge` are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.policy import Boundary
from backstay.boundary.provenance import SessionSources
from backstay.core.canon import FrozenDict, freeze
from backstay.core.context import Principal, ToolFacts, Verdict
from backstay.core.messages import ToolCall

NOW = 1_781_524_800.0
"""15 June 2026, 12:00 UTC."""
ME = Principal(id="ann", zone="UTC")
REFUND = ToolFacts(
    name="refund",
    digest="d" * 64,
    risk="write",
    effect="once",
    sinks=frozenset({"to", "order_id"}),
    meanings={"amount": "money:EUR", "since": "date_range:start", "to": "recipient", "order_id": "id:order"},
)
LINES = ToolFacts(
    name="order",
    digest="e" * 64,
    risk="write",
    effect="once",
    sinks=frozenset({"lines.sku"}),
    meanings={"lines.price": "money:EUR", "lines.sku": "id:article"},
)
EUR_200 = {"op": "le", "money": "200", "currency": "EUR"}
ENFORCE = Boundary(provenance="off")
"""Rules and tiers alone; tracing has tests of its own."""


def rule(check: Any = EUR_200, bind: Mapping[str, str] | None = None, **more: Any) -> Constraint:
    bound = FrozenDict({"meaning": "money"} if bind is None else bind)
    frozen = None if check is None else freeze(check)
    return Constraint(**{"id": "c1", "text": "at most 200 EUR", "render": "", "bind": bound, "check": frozen, **more})


def state(*constraints: Constraint, **more: Any) -> JudgeState:
    given = {"now": NOW, "principal": ME, "agents": ("desk",), "sources": SessionSources(), **more}
    return JudgeState(constraints=constraints, **given)


def call(tool: ToolFacts = REFUND, **args: Any) -> ToolCall:
    return ToolCall(id="call-1", name=tool.name, args=args, slot=1)


def verdict(
    *rules: Constraint,
    tool: ToolFacts = REFUND,
    policy: Boundary = ENFORCE,
    at: Mapping[str, Any] | None = None,
    **args: Any,
) -> Verdict:
    return judge(call(tool, **args), tool, policy, state(*rules, **(at or {})))


def decided(of: Verdict, tool: ToolFacts, **more: Any) -> PendingAction:
    given = {
        "id": "a1",
        "kind": "approval",
        "version": 1,
        "state": "open",
        "run_id": "r",
        "session_id": "s",
        "trace_id": "t",
        "principal": ME,
        "agents": ("desk",),
        "call": of.call,
        "reason": "",
        "args_digest": of.digest,
        "tool_digest": tool.digest,
        "policy_digest": "",
        "targets": (),
        "origins": (),
        "rules": of.rules,
        "preview": "",
        "reversible": False,
        "question": "",
        "choices": None,
        "asked_at": NOW,
        "expires_at": NOW + 60,
    }
    return PendingAction(**{**given, **more})


HIGH = replace(REFUND, risk="high")
