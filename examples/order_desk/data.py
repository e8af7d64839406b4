"""Makes the order desk's database: about 300 orders, the same ones for the same seed and day.

python -m examples.order_desk.data PATH [--day 2026-11-30] [--seed 7]
"""

from __future__ import annotations

import argparse
import random
import sqlite3
from contextlib import closing
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TypeAlias

ORDERS = 300
FIRST_ID = 1001
SPAN_DAYS = 120
"""How far back orders go."""

Row: TypeAlias = "tuple[str | int, ...]"

SCHEMA = """
CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, email TEXT NOT NULL);
CREATE TABLE orders (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id), placed_on TEXT NOT NULL,
    item TEXT NOT NULL, amount TEXT NOT NULL, currency TEXT NOT NULL, status TEXT NOT NULL);
CREATE INDEX orders_customer ON orders (customer_id, placed_on);
CREATE TABLE tracking (order_id TEXT NOT NULL REFERENCES orders (id), at TEXT NOT NULL, place TEXT NOT NULL,
    event TEXT NOT NULL);
CREATE INDEX tracking_order ON tracking (order_id, at);
CREATE TABLE refunds (key TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id), amount TEXT NOT NULL,
    at TEXT NOT NULL);
CREATE TABLE notes (key TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id), text TEXT NOT NULL,
    at TEXT NOT NULL);
"""
CUSTOMERS = (
    "Ann Berg", "Bo Lind", "Carla Reyes", "Dev Patel", "Eva Novak", "Finn Olsen", "Greta Weiss", "Hugo Martin",
    "李雷", "韩梅梅", "王芳", "张伟",
)  # fmt: skip
ITEMS = (
    ("tea kettle", "39.90"), ("desk lamp", "59.00"), ("rain jacket", "120.00"), ("running shoes", "89.95"),
    ("bookshelf", "149.00"), ("headphones", "179.00"), ("coffee machine", "349.00"), ("office chair", "420.00"),
)  # fmt: skip
PLACES = ("Leipzig", "Rotterdam", "Lyon", "Milan", "Vienna")
FIXED = (
    # customer, days ago, item, amount, status: the orders that the examples and tests speak of
    ("Ann Berg", 12, "rain jacket", "120.00", "shipped"),
    ("Ann Berg", 9, "coffee machine", "349.00", "delivered"),
    ("李雷", 6, "running shoes", "89.95", "shipped"),
    ("Ann Berg", 2, "tea kettle", "39.90", "paid"),
    ("Ann Berg", 75, "bookshelf", "149.00", "delivered"),
)


def build(path: str | Path, *, day: date | None = None, seed: int = 7) -> Path:
    """Make the database anew and return its path.

    Args:
        path: the file; one that is there is replaced.
        day: the day that orders are counted back from; today where it is left out.
        seed: the same seed and day give the same database.
    """
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    with closing(sqlite3.connect(place)) as db, db:
        db.executescript(SCHEMA)
        fill(db, day or date.today(), random.Random(seed))
    return place


def fill(db: sqlite3.Connection, day: date, dice: random.Random) -> None:
    """Insert customers, orders and tracking events."""
    people = {name: f"C-{number}" for number, name in enumerate(CUSTOMERS, 101)}
    db.executemany(
        "INSERT INTO customers VALUES (?, ?, ?)",
        [(id_, name, f"{id_.lower()}@example.com") for name, id_ in people.items()],
    )
    for number in range(ORDERS):
        order_id = str(FIRST_ID + number)
        who, ago, item, amount, status = FIXED[number] if number < len(FIXED) else _drawn(dice)
        placed = day - timedelta(days=ago)
        order: Row = (order_id, people[who], placed.isoformat(), item, amount, "EUR", status)
        db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", order)
        db.executemany("INSERT INTO tracking VALUES (?, ?, ?, ?)", _events(order_id, placed, status, day, dice))


def _drawn(dice: random.Random) -> tuple[str, int, str, str, str]:
    ago = dice.randrange(SPAN_DAYS)
    item, amount = dice.choice(ITEMS)
    early = ("paid", "shipped") if ago < 5 else ("shipped", "delivered", "delivered", "delivered", "cancelled")
    return dice.choice(CUSTOMERS), ago, item, amount, dice.choice(early)


def _events(order_id: str, placed: date, status: str, day: date, dice: random.Random) -> list[Row]:
    """What the carrier reported: nothing before it was handed over, an end only where it was delivered."""
    if status in ("paid", "cancelled"):
        return []
    steps = [(1, "Hamburg", "handed to the carrier"), (2, dice.choice(PLACES), "in transit")]
    if status == "delivered":
        steps.append((4, "door", "delivered"))
    at = [(datetime.combine(placed, time(9)) + timedelta(days=days), where, what) for days, where, what in steps]
    return [(order_id, when.isoformat(" ", "minutes"), where, what) for when, where, what in at if when.date() <= day]


def main() -> None:
    """Read the command line and build."""
    reader = argparse.ArgumentParser(description="Make the order desk's database.")
    reader.add_argument("path")
    reader.add_argument("--day", type=date.fromisoformat, default=None, help="count back from this day; today")
    reader.add_argument("--seed", type=int, default=7)
    given = reader.parse_args()
    print(f"{build(given.path, day=given.day, seed=given.seed)}: {ORDERS} orders of {len(CUSTOMERS)} customers")


if __name__ == "__main__":
    main()
