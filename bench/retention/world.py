"""What the tools of a session do, for Backstay's agents and for the peers' alike. Standard library only.

Reads answer out of the order desk's database, the same rows for everybody. Whatever is done is written down in order,
so that it can be told what really happened from what somebody says has happened.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date
from functools import cache
from typing import Any, TypeAlias

from examples.order_desk.data import FIRST_ID, ORDERS, SCHEMA, fill

Args: TypeAlias = "dict[str, Any]"
Call: TypeAlias = "tuple[str, Args]"
"""A tool's name and its arguments."""

DAY = date(2026, 6, 15)
"""The day on which every session happens: a Monday."""
LOOK = "show_rows"
"""The tool that pads: no rule of `rules.py` reaches it."""
_ROWS = """SELECT o.id, c.name AS customer, c.email, o.placed_on, o.item, o.amount, o.currency, o.status
    FROM orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.id"""
_EVENTS = "SELECT order_id, at, place, event FROM tracking ORDER BY order_id, at"


@cache
def book() -> tuple[str, ...]:
    """All orders of the desk, each a line with what the carrier reported."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        fill(db, DAY, random.Random(7))
        events: dict[str, str] = {}
        for order, *event in db.execute(_EVENTS):
            events[order] = f"{events.get(order, '')} | {' '.join(event)}"
        return tuple([" | ".join(row) + events.get(row[0], "") for row in db.execute(_ROWS)])


class World:
    """One session's world."""

    def __init__(self) -> None:
        self.done: list[Call] = []
        """Calls that were carried out, looking at rows apart, in order."""

    def call(self, name: str, args: Mapping[str, Any]) -> Any:
        """Do it, and return what the tool says."""
        if name == LOOK:
            return rows(**args)
        self.done.append((name, dict(args)))
        return f"{name}: done"


def rows(first: int, count: int) -> list[str]:
    """So many rows of the book from the order of this number on."""
    at = first - FIRST_ID
    return list(book()[at : at + count])


def drawn_rows(dice: random.Random, most: int) -> Args:
    """The arguments of a look at between 2 and `most` rows."""
    count = dice.randint(2, most)
    return {"first": FIRST_ID + dice.randrange(ORDERS - count), "count": count}
