"""What a standing grant covers, as `judge` sees it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from backstay.boundary.grants import Grant
from backstay.boundary.judge import judge
from backstay.boundary.policy import Boundary
from boundary.judging import LINES, NOW, REFUND, call, rule, state

DAY = {"op": "sum", "max": "100", "money": "EUR", "per": "day"}
HIGH = replace(REFUND, risk="high")


def grant(*rules: Any, tool: str = "refund") -> Grant:
    return Grant(id="g1", agent="desk", tool=tool, rules=rules, tenant="", person="", by="bo", at=NOW, until=NOW + 60)


def test_a_covered_call_holds_its_amount_under_the_cap_of_the_grant() -> None:
    for policy in (Boundary(provenance="off"), Boundary(provenance="off", mode="observe")):
        given = state(grants=(grant(rule(DAY)),))
        found = judge(call(HIGH, amount="40", to="x", order_id="1"), HIGH, policy, given)
        assert (found.outcome, found.rules) == ("allow", ("granted:g1",))
        ((_, amount, cap),) = found.reserve
        assert (amount, cap) == (Decimal(40), Decimal(100))


def test_a_call_with_nothing_that_a_rule_could_look_at_is_not_covered() -> None:
    lines = replace(LINES, risk="high")
    given = state(grants=(grant(rule(DAY), tool="order"),))
    assert judge(call(lines, lines=[]), lines, Boundary(provenance="off"), given).outcome == "ask"
    covered = judge(call(lines, lines=[{"sku": "a", "price": "5"}]), lines, Boundary(provenance="off"), given)
    assert covered.outcome == "allow"


def test_a_grant_whose_rule_does_not_reach_the_tool_covers_nothing() -> None:
    given = state(grants=(grant(rule(DAY), rule({"op": "forbid"}, bind={}, tools=("other",), id="c2")),))
    assert judge(call(HIGH, amount="40"), HIGH, Boundary(provenance="off"), given).outcome == "ask"


def test_a_grant_is_for_one_agent_one_tenant_and_a_time() -> None:
    one = grant(rule(DAY))
    for other in (
        replace(one, agent="another"),
        replace(one, tenant="acme"),
        replace(one, person="bea"),
        replace(one, tool="ship"),
        replace(one, until=NOW),
    ):
        found = judge(call(HIGH, amount="40"), HIGH, Boundary(provenance="off"), state(grants=(other,)))
        assert found.outcome == "ask"
