"""Free text that a step of the plan fixes is that step's, and no other call's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from judging import ENFORCE, REFUND, call, state

from backstay.boundary.judge import judge
from backstay.boundary.plan import Plan, PlanStep
from backstay.boundary.provenance import SessionSources
from backstay.core.context import Verdict
from backstay.core.messages import PLAIN, Label

NOTE = replace(REFUND, sinks=frozenset({"to"}), texts=frozenset({"text"}), meanings={"to": "recipient", "text": "text"})
NEWS, WEATHER = "The shop opens at nine", "It will rain"
ASKS = replace(ENFORCE, provenance="confirm", plan="ask")


def verdict(plan: Plan, text: str) -> Verdict:
    sources = SessionSources()
    sources.say("m1", "to ann and bob", PLAIN, "user")
    at: dict[str, Any] = {"sources": sources, "label": Label(trusted=False), "plan": plan, "key": "r:9"}
    return judge(call(NOTE, to="ann", text=text), NOTE, ASKS, state(**at))


def test_a_call_outside_the_plan_has_none_of_its_texts() -> None:
    step = PlanStep(tool="refund", args={"to": "ann", "text": NEWS})
    assert verdict(Plan(steps=(step,)), NEWS).outcome == "allow"
    used = Plan(steps=(step,)).after("r:1", 1)
    assert verdict(used, NEWS).rules == ("plan", "provenance.text")


def test_each_step_has_its_own_text() -> None:
    fixed = PlanStep(tool="refund", args={"to": "ann", "text": NEWS})
    free = PlanStep(tool="refund", args={"to": "ann"})
    assert verdict(Plan(steps=(fixed, free)), NEWS).outcome == "allow"
    assert verdict(Plan(steps=(free, fixed)), WEATHER).rules == ("provenance.text",)
