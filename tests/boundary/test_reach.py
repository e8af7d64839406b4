"""What is told of rules when an agent is built: names nobody has are errors, what can only ever refuse is a report."""

from __future__ import annotations

from typing import Any

import pytest
from judging import LINES, REFUND

from backstay.boundary import Boundary, Constraint, checks
from backstay.boundary.reach import Shape, has_argument, reports
from backstay.core.context import ToolFacts
from backstay.core.errors import ConstraintError

LOOK = ToolFacts(name="look", digest="", risk="read", effect="none")
ITEM = {"type": "object", "properties": {"sku": {"type": "string"}, "price": {"type": "string"}}}
SCHEMAS: dict[str, Any] = {
    "refund": {"properties": {"amount": {}, "since": {}, "to": {}, "order_id": {}, "sender": {}}},
    "order": {"properties": {"lines": {"items": {"$ref": "#/$defs/Item"}}}, "$defs": {"Item": ITEM}},
    "look": {"properties": {"word": {"anyOf": [{"type": "string"}, {"properties": {"deep": {}}}]}}},
}
SHAPES = [Shape(facts, SCHEMAS[facts.name]) for facts in (REFUND, LINES, LOOK)]
PLAIN = Boundary()


def made(check: Any, **more: Any) -> Constraint:
    return Constraint.of("a rule", check, id="c1", **more)


@pytest.mark.parametrize(
    ("path", "found"),
    [("lines", True), ("lines.sku", True), ("lines.size", False), ("sku", False), ("lines.sku.x", False)],
)
def test_arguments_are_found_through_lists_and_references(path: str, found: bool) -> None:
    assert has_argument(SCHEMAS["order"], path) is found
    assert has_argument(SCHEMAS["look"], "word.deep")
    assert has_argument({"properties": {"a": {"additionalProperties": {"properties": {"b": {}}}}}}, "a.any.b")
    endless: dict[str, Any] = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}
    assert not has_argument(endless, "x")


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (made(checks.never(), tools=["pay"]), "the tool 'pay'"),
        (made(checks.at_most(3), argument="rows"), "the argument 'rows'"),
        (made(checks.one_of("a"), argument="lines.size"), "the argument 'lines.size'"),
        (made(checks.after("check_stock"), tools=["refund"]), "waits for the tool 'check_stock'"),
        (made(checks.function("fair"), tools=["refund"]), "the function 'fair'"),
        (made(checks.any_of(checks.function("fair")), tools=["refund"]), "the function 'fair'"),
        (made(checks.owned("order"), argument="order_id"), "asks whose 'order' is"),
    ],
)
def test_a_name_that_nobody_has_is_an_error(rule: Constraint, told: str) -> None:
    with pytest.raises(ConstraintError) as error:
        reports(rule, SHAPES, PLAIN)
    assert told in error.value.message


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            made(checks.at_most(9, "EUR"), meaning="money", tools=["look"]),
            "it has no argument that means money at look",
        ),
        (made(checks.at_most(9, "USD"), meaning="money"), "amount of refund is in EUR, and the rule is in USD"),
        (made(checks.at_most(9, "EUR"), argument="to"), "to of refund is not in EUR, but 'recipient'"),
        (made(checks.last(days=3), argument="amount"), "amount of refund is no span of time, but 'money:EUR'"),
        (made(checks.total(9, "items", per="day"), argument="amount"), "amount of refund is not in items"),
        (made(checks.same_as("from"), argument="to"), "refund has no argument 'from' to compare with"),
        (made(checks.owned(), argument="order_id"), "nobody has said whose order is"),
    ],
)
def test_where_a_rule_can_only_refuse_is_told(rule: Constraint, told: str) -> None:
    said = " ".join(reports(rule, SHAPES, PLAIN))
    assert told in said
    assert "every call there is refused" in said


@pytest.mark.parametrize(
    "rule",
    [
        made(checks.at_most(9, "EUR"), meaning="money"), made(checks.one_of("a"), argument="lines.sku"),
        made(checks.same_as("sender"), argument="to"), made(checks.never(), tools=["look"]),
        made(checks.calls(3, per="day"), tools=["look"]), made(checks.last(days=3), meaning="window", tools=["refund"]),
        made(checks.owned(), argument="order_id"), made(checks.function("fair")), made(checks.after("look")),
    ],
)  # fmt: skip
def test_a_rule_that_can_hold_is_not_spoken_of(rule: Constraint) -> None:
    policy = Boundary(functions={"fair": lambda _args, _who: True}, owners={"order": lambda _id: None})
    assert reports(rule, SHAPES, policy) == []


def test_an_advisory_rule_and_one_that_reaches_nothing_are_told() -> None:
    advisory = Constraint(id="c1", text="be polite", render="")
    assert "is advisory" in reports(advisory, SHAPES, PLAIN)[0]
    assert "reaches no tool" in reports(made(checks.under("/srv"), meaning="path"), SHAPES, PLAIN)[0]
