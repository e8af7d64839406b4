"""An order desk with two rules: look-ups only in the last 30 days, at most 200 EUR a refund.

    backstay run examples/order_desk/app.py "Refund order 1001, it never came"

Whoever works here sees every order. A customer (a principal of that kind, whose id is the customer's number) sees and
changes their own alone, whatever they say or a model writes: `--as C-101:customer`.

Reads run. A note is a write: audited, kept at most once. Refunds and cancellations are high: the model can only
propose them, and a person decides. The model is the embedded one, or a script (`script.py`) where
ORDER_DESK_MODEL=scripted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from backstay import Agent, Boundary, Constraint, FreeText, Id, Money, Quantity, RunContext, ToolInputError, tool
from backstay.boundary import checks
from backstay.models import FunctionModel
from examples.order_desk import desk
from examples.order_desk.script import desk_script


@contextmanager
def _told() -> Iterator[None]:
    """What the desk refuses is the model's to mend: nothing was changed."""
    try:
        yield
    except desk.Refused as refused:
        raise ToolInputError(str(refused)) from None


@tool(risk="read", keep=("id", "status"))
def find_order(order_id: Annotated[str, Id("order")]) -> dict[str, Any]:
    """One order: customer, day, item, amount, status, what was paid back. Use it when the user names an order.

    Args:
        order_id: the order's number, such as 1001
    """
    with _told(), desk.opened() as db:
        return desk.order(db, order_id)


@tool(risk="read")
def list_orders(
    customer: Annotated[str, Id("customer")], ctx: RunContext[None], days: Annotated[int, Quantity("days")] = 30
) -> list[dict[str, Any]]:
    """The orders of one customer, newest first. Use it when the user asks what somebody ordered.

    Args:
        customer: the customer's number (C-101) or full name
        days: how far back to look, in days
    """
    today = datetime.fromtimestamp(ctx.clock(), ZoneInfo(ctx.principal.zone)).date()
    with _told(), desk.opened() as db:
        return desk.orders(db, customer, today - timedelta(days=days))


@tool(risk="read")
def track_parcel(order_id: Annotated[str, Id("order")]) -> dict[str, Any]:
    """Where an order's parcel is, as the carrier reports it. Use it when the user asks where a parcel is.

    Args:
        order_id: the order's number
    """
    with _told(), desk.opened() as db:
        found = desk.order(db, order_id)
        return {"order_id": order_id, "status": found["status"], "events": desk.events(db, order_id)}


@tool(risk="write", effect="keyed")
def add_note(order_id: Annotated[str, Id("order")], text: Annotated[str, FreeText()], ctx: RunContext[None]) -> str:
    """Keep a note on an order for colleagues. Use it when the user wants something written down.

    Args:
        order_id: the order's number
        text: the note
    """
    with _told(), desk.opened() as db:
        desk.add_note(db, str(ctx.idempotency_key), order_id, text, _now(ctx))
    return f"noted on order {order_id}"


def _refund_preview(order_id: str, amount: Decimal, ctx: RunContext[None]) -> str:
    with desk.opened() as db:
        found = desk.order(db, order_id)
    left = Decimal(found["amount"]) - Decimal(found["refunded"])
    return (
        f"Order {order_id} of {found['customer']}: {found['item']}, {found['amount']} {found['currency']}, "
        f"{found['status']}, {found['refunded']} paid back so far. After this {left - amount} would be left."
    )


@tool(risk="high", effect="keyed", sinks=("order_id", "amount"), preview=_refund_preview)
def refund(
    order_id: Annotated[str, Id("order")], amount: Annotated[Decimal, Money("EUR")], ctx: RunContext[None]
) -> dict[str, Any]:
    """Pay an order back to the customer, in whole or in part.

    Args:
        order_id: the order's number
        amount: how much, in EUR
    """
    with _told(), desk.opened() as db:
        return desk.refund(db, str(ctx.idempotency_key), order_id, amount, _now(ctx))


def _cancel_preview(order_id: str) -> str:
    with desk.opened() as db:
        found = desk.order(db, order_id)
    return f"Order {order_id} of {found['customer']} ({found['item']}, {found['amount']} EUR) is {found['status']} now."


@tool(risk="high", preview=_cancel_preview)
def cancel_order(order_id: Annotated[str, Id("order")]) -> dict[str, Any]:
    """Cancel an order that has not been sent yet.

    Args:
        order_id: the order's number
    """
    with _told(), desk.opened() as db:
        return desk.cancel(db, order_id)


def _now(ctx: RunContext[None]) -> str:
    return datetime.fromtimestamp(ctx.clock(), UTC).isoformat(" ", "seconds")


_MINE_OR_STAFF = checks.any_of(checks.function("works_here"), checks.owned())
_OWN_ORDERS = Constraint.of(
    "customers see and change their own orders only", _MINE_OR_STAFF, meaning="id:order", id="own-orders"
)
_OWN_LISTS = Constraint.of("customers see their own lists only", _MINE_OR_STAFF, meaning="id:customer", id="own-lists")

agent: Agent[None] = Agent(
    FunctionModel(desk_script, name="scripted:order-desk")
    if os.environ.get("ORDER_DESK_MODEL") == "scripted"
    else None,
    name="order_desk",
    description="Answers questions about orders; refunds and cancellations wait for a person.",
    instructions="You answer for the order desk, in the customer's language, from what the tools say and nothing else.",
    tools=[find_order, list_orders, track_parcel, add_note, refund, cancel_order],
    boundary=Boundary(
        constraints=["only the last 30 days", "at most 200 EUR a refund", _OWN_ORDERS, _OWN_LISTS],
        owners={"order": desk.owner_of_order, "customer": desk.customer_of},
        functions={"works_here": lambda _args, who: who.kind in ("developer", "operator", "member")},
    ),
)
