"""The desk's database: reads and the few changes, each in a transaction. Knows nothing of agents."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from examples.order_desk.data import build

DEFAULT = ".backstay/order_desk.db"
_ORDER = """SELECT o.id, c.name AS customer, o.customer_id, o.placed_on, o.item, o.amount, o.currency, o.status
    FROM orders o JOIN customers c ON c.id = o.customer_id"""
_CUSTOMER = "SELECT id FROM customers WHERE id = ? OR name = ? COLLATE NOCASE"


class Refused(Exception):
    """The desk does not do this; nothing was changed."""


@contextmanager
def opened() -> Iterator[sqlite3.Connection]:
    """A connection in one transaction; the database is made if it is not there. Path: ORDER_DESK_DB."""
    path = Path(os.environ.get("ORDER_DESK_DB", DEFAULT))
    if not path.exists():
        build(path)
    with closing(sqlite3.connect(path, timeout=10)) as db, db:
        db.row_factory = sqlite3.Row
        yield db


def order(db: sqlite3.Connection, order_id: str) -> dict[str, Any]:
    """One order with what has been paid back. Raises `Refused` if there is none of that number."""
    row = db.execute(f"{_ORDER} WHERE o.id = ?", (order_id,)).fetchone()
    if row is None:
        raise Refused(f"there is no order {order_id!r}")
    return {**dict(row), "refunded": str(refunded(db, order_id))}


def owner_of_order(order_id: str) -> str | None:
    """The number of the customer whose order it is; None where there is no such order."""
    with opened() as db:
        row = db.execute("SELECT customer_id FROM orders WHERE id = ?", (order_id,)).fetchone()
    return str(row["customer_id"]) if row else None


def customer_of(customer: str) -> str | None:
    """The number of a customer named by number or name; None where there is none."""
    with opened() as db:
        row = db.execute(_CUSTOMER, (customer, customer)).fetchone()
    return str(row["id"]) if row else None


def refunded(db: sqlite3.Connection, order_id: str) -> Decimal:
    """What has been paid back of an order so far."""
    rows = db.execute("SELECT amount FROM refunds WHERE order_id = ?", (order_id,)).fetchall()
    return sum((Decimal(row["amount"]) for row in rows), Decimal("0.00"))


def orders(db: sqlite3.Connection, customer: str, since: date) -> list[dict[str, Any]]:
    """The orders of a customer, named by number or name, newest first. Raises `Refused` for an unknown customer."""
    found = db.execute(_CUSTOMER, (customer, customer)).fetchone()
    if found is None:
        raise Refused(f"there is no customer {customer!r}")
    rows = db.execute(
        f"{_ORDER} WHERE o.customer_id = ? AND o.placed_on >= ? ORDER BY o.placed_on DESC, o.id",
        (found["id"], since.isoformat()),
    )
    return [dict(row) for row in rows]


def events(db: sqlite3.Connection, order_id: str) -> list[dict[str, Any]]:
    """What the carrier reported, oldest first."""
    rows = db.execute("SELECT at, place, event FROM tracking WHERE order_id = ? ORDER BY at", (order_id,))
    return [dict(row) for row in rows]


def add_note(db: sqlite3.Connection, key: str, order_id: str, text: str, at: str) -> None:
    """Keep a note. The same key again changes nothing."""
    order(db, order_id)
    db.execute("INSERT OR IGNORE INTO notes VALUES (?, ?, ?, ?)", (key, order_id, text, at))


def refund(db: sqlite3.Connection, key: str, order_id: str, amount: Decimal, at: str) -> dict[str, Any]:
    """Pay an order back, in whole or in part. The same key again pays nothing more and gives the same receipt."""
    db.execute("BEGIN IMMEDIATE")
    if db.execute("SELECT 1 FROM refunds WHERE key = ?", (key,)).fetchone() is None:
        _check_refund(order(db, order_id), amount)
        db.execute("INSERT INTO refunds VALUES (?, ?, ?, ?)", (key, order_id, str(amount), at))
    return {"order_id": order_id, "refunded": str(amount), "refunded_in_all": str(refunded(db, order_id))}


def _check_refund(found: dict[str, Any], amount: Decimal) -> None:
    left = Decimal(found["amount"]) - Decimal(found["refunded"])
    if found["status"] == "cancelled":
        raise Refused(f"order {found['id']} is cancelled; there is nothing to pay back")
    if amount <= 0 or amount > left:
        raise Refused(f"order {found['id']}: at most {left} {found['currency']} can still be paid back, not {amount}")


def cancel(db: sqlite3.Connection, order_id: str) -> dict[str, Any]:
    """Cancel an order that has not left the house."""
    db.execute("BEGIN IMMEDIATE")
    found = order(db, order_id)
    if found["status"] not in ("paid", "cancelled"):
        raise Refused(f"order {order_id} is {found['status']} and cannot be cancelled any more")
    db.execute("UPDATE orders SET status = 'cancelled' WHERE id = ?", (order_id,))
    return {"order_id": order_id, "status": "cancelled"}
