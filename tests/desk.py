"""A small desk that many tests sit at: tools of every tier over a dictionary, with every call counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from backstay import Agent, Boundary, FreeText, Id, Limits, Money, Quantity, tool
from backstay.models import ScriptedModel, call


@dataclass
class Desk:
    """What the tools have done."""

    calls: Counter[str] = field(default_factory=Counter)
    refunds: list[tuple[str, Decimal]] = field(default_factory=list)

    def tools(self) -> list[Any]:
        desk = self

        @tool(risk="read")
        async def find_order(order_id: Annotated[str, Id("order")]) -> dict[str, str]:
            """Look up one order. Use it when the user names an order."""
            desk.calls["find_order"] += 1
            return {"id": order_id, "status": "lost"}

        @tool(risk="read")
        async def list_orders(days: Annotated[int, Quantity("days")] = 30) -> list[str]:
            """List recent orders. Use it when the user asks for several."""
            desk.calls["list_orders"] += 1
            return [f"order {n}" for n in range(days)]

        @tool(risk="write", effect="once")
        async def add_note(order_id: Annotated[str, Id("order")], text: Annotated[str, FreeText]) -> str:
            """Write a note on an order. Use it when the user wants something noted."""
            desk.calls["add_note"] += 1
            return "noted"

        @tool(risk="high")
        async def refund(order_id: Annotated[str, Id("order")], amount: Annotated[Decimal, Money("EUR")]) -> str:
            """Pay an order back."""
            desk.calls["refund"] += 1
            desk.refunds.append((order_id, amount))
            return f"paid {amount} EUR for {order_id}"

        return [find_order, list_orders, add_note, refund]

    def agent(
        self, *lines: Any, constraints: tuple[str, ...] = (), limits: Limits | None = None, **more: Any
    ) -> Agent[Any]:
        boundary = Boundary(constraints=constraints, limits=limits or Limits())
        return Agent(ScriptedModel(*lines), name="desk", tools=self.tools(), boundary=boundary, **more)


def propose(order_id: str = "1001", amount: str = "120.00", reason: str = "it never came") -> Any:
    """The model's proposal of a refund."""
    action = {"name": "refund", "arguments": {"order_id": order_id, "amount": amount}}
    return call("propose_action", action=action, reason=reason)
