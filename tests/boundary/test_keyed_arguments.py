"""Rules reach what stands in an object with keys of its own: its values, its keys, and the extra keys of a tool."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import pytest
from judging import rule, state
from pydantic import BaseModel, RootModel
from typing_extensions import TypeAliasType

from backstay.boundary import Boundary, judge
from backstay.core.canon import freeze
from backstay.core.meanings import FreeText, Id, Money, Quantity
from backstay.core.messages import ToolCall
from backstay.tools import FunctionTool, tool

Euro = TypeAliasType("Euro", Annotated[Decimal, Money("EUR")])


class Line(BaseModel):
    price: Annotated[Decimal, Money("EUR")]
    parts: dict[str, Annotated[int, Quantity("items")]] = {}


class Basket(RootModel[dict[str, Line]]):
    pass


@tool(risk="read")
def by_name(lines: dict[str, Line], n: int = 1) -> None:
    """Do."""


@tool(risk="read")
def basket(basket: Basket, n: int = 1) -> None:
    """Do."""


@tool(risk="read")
def refunds(amounts: dict[Annotated[str, Id("order")], Euro], n: int = 1) -> None:
    """Do."""


@tool(risk="read")
def outside(amounts: Annotated[dict[str, Decimal] | None, Money("EUR")] = None) -> None:
    """Do."""


@tool(risk="read")
def extra(order_number: int, **amounts: Annotated[Decimal, Money("EUR")]) -> None:
    """Do."""


@tool(risk="read")
def in_lists(orders: list[dict[str, list[Line]]]) -> None:
    """Do."""


AT_MOST = rule(bind={"meaning": "money"}, check=freeze({"op": "le", "money": "200", "currency": "EUR"}))


def outcome(made: FunctionTool[Any, Any], args: dict[str, Any], of: Any = AT_MOST) -> str:
    call = ToolCall(id="c1", name=made.name, args=freeze(args), slot=1)
    return judge(call, made.facts(None), Boundary(), state(of)).outcome


@pytest.mark.parametrize(
    ("made", "args"),
    [
        (by_name, {"lines": {"a": {"price": "%s"}}, "n": 1}),
        (by_name, {"lines": {"b": {"price": "1"}, "a": {"price": "%s"}}, "n": 500}),
        (by_name, {"lines": {"a.b": {"price": "1"}, "a": {"price": "%s"}}, "n": 1}),
        (by_name, {"lines": {"a": {"price": "1"}, "a.b": {"price": "%s"}}, "n": 1}),
        (basket, {"basket": {"a": {"price": "%s"}}, "n": 1}),
        (refunds, {"amounts": {"A-1": "1", "A-2": "%s"}, "n": 500}),
        (outside, {"amounts": {"A-1": "%s"}}),
        (extra, {"order_number": 1001, "shipping": "%s"}),
        (in_lists, {"orders": [{}, {"a": [{"price": "1"}, {"price": "%s"}]}]}),
    ],
)
def test_a_rule_holds_for_each_value(made: FunctionTool[Any, Any], args: dict[str, Any]) -> None:
    assert outcome(made, _with(args, "150")) == "allow"
    assert outcome(made, _with(args, "250")) == "deny"


def _with(args: Any, amount: str) -> Any:
    if isinstance(args, dict):
        return {key: _with(value, amount) for key, value in args.items()}
    if isinstance(args, list):
        return [_with(value, amount) for value in args]
    return amount if args == "%s" else args


def test_a_rule_holds_for_each_key() -> None:
    only = rule(bind={"meaning": "id:order"}, check=freeze({"op": "in", "values": ["A-1"]}))
    assert outcome(refunds, {"amounts": {"A-1": "1"}, "n": 1}, only) == "allow"
    assert outcome(refunds, {"amounts": {"A-1": "1", "A-2": "1"}, "n": 1}, only) == "deny"


def test_a_rule_about_an_unrelated_value_is_no_denial() -> None:
    items = rule(bind={"meaning": "quantity:items"}, check=freeze({"op": "le", "number": "5", "unit": "items"}))
    assert outcome(by_name, {"lines": {"a": {"price": "999", "parts": {"x": 5}}}}, items) == "allow"
    assert outcome(by_name, {"lines": {"a": {"price": "1", "parts": {"x": 6}}}}, items) == "deny"


def test_free_text_by_name_is_no_destination() -> None:
    @tool(risk="write")
    def note(notes: dict[str, Annotated[str, FreeText]], to: dict[str, str]) -> None:
        """Do."""

    assert note.facts(None).sinks == {"to"}


class Offer(BaseModel):
    price: Annotated[Decimal | None, Money("EUR")] = None


@tool(risk="read")
def offers(offers: dict[str, Offer], n: int = 1) -> None:
    """Do."""


@pytest.mark.parametrize("given", [{"a": {}, "a.b": {"price": "1"}}, {"a": {"price": "1"}, "a.b": {}}, {"a": {}}])
def test_what_one_value_lacks_does_not_hide_behind_another(given: dict[str, Any]) -> None:
    needed = rule(
        bind={"meaning": "money"},
        check=freeze({"op": "le", "money": "200", "currency": "EUR"}),
        on_missing="deny",
    )
    assert outcome(offers, {"offers": {"a": {"price": "1"}}}, needed) == "allow"
    assert outcome(offers, {"offers": given}, needed) == "deny"


def test_an_object_without_entries_has_nothing_to_judge() -> None:
    assert outcome(offers, {"offers": {}}) == "allow"
