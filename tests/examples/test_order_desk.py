"""The order desk from end to end: one process proposes, another decides, a third executes, once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from examples.order_desk.app import agent
from examples.order_desk.data import ORDERS, build
from examples.order_desk.wishes import read_wish

from backstay import RunResult
from backstay.core.events import ModelStart
from cli.command import ROOT, Command

APP = str(ROOT / "examples/order_desk/app.py")
REFUND = "Refund order 1001, it never came"


def refunds(backstay: Command) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(backstay.folder / ".backstay/order_desk.db")) as db:
        return db.execute("SELECT order_id, amount FROM refunds").fetchall()


def test_a_refund_is_proposed_decided_and_executed_by_three_processes_exactly_once(backstay: Command) -> None:
    said = backstay("run", APP, REFUND)
    assert said.code == 3
    assert "> find_order(order_id=1001)" in said.out
    assert "refund(order_id=1001, amount=120.00)" in said.out
    assert "Order 1001 of Ann Berg: rain jacket, 120.00 EUR, shipped, 0.00 paid back so far" in said.out
    assert 'order_id = 1001: the user\'s words "Refund order [1001], it never came"' in said.out
    assert "amount = 120.00: the result of find_order (message m" in said.out
    assert refunds(backstay) == []

    (action,) = backstay.pending()
    assert backstay("decide", action["id"], "--approve", "--by", "bo").code == 0
    assert refunds(backstay) == []

    said = backstay("resume", "--due", "--app", APP)
    assert said.code == 0
    assert "Done: refund(order_id=1001, amount=120.00) was approved and done" in said.out
    assert refunds(backstay) == [("1001", "120.00")]

    for words in (["resume", "--due"], ["resume", action["run_id"]]):
        assert backstay(*words, "--app", APP).code == 0
    said = backstay("decide", action["id"], "--approve", "--execute", "--app", APP)
    assert said.code == 4
    assert "code: action.decided" in said.err
    assert refunds(backstay) == [("1001", "120.00")]


def test_an_edited_amount_over_the_limit_is_not_executed(backstay: Command) -> None:
    backstay("run", APP, "Refund 150 EUR on order 1002")
    (action,) = backstay.pending()
    said = backstay("decide", action["id"], "--approve", "--edit", "amount=250", "--execute", "--app", APP)
    assert said.code == 4
    assert "code: action.stale" in said.err
    assert "is refused now: Refused by rule c2 ('at most 200 EUR a refund')" in said.out
    assert refunds(backstay) == []


def test_an_edited_amount_inside_the_limit_is_executed_as_edited(backstay: Command) -> None:
    backstay("run", APP, "Refund 150 EUR on order 1002")
    (action,) = backstay.pending()
    assert action["origins"][0]["trusted"] is True
    assert backstay("decide", action["id"], "--approve", "--edit", "amount=99.50", "--execute", "--app", APP).code == 0
    assert refunds(backstay) == [("1002", "99.50")]


def test_a_refund_over_the_limit_is_never_put_to_a_person(backstay: Command) -> None:
    said = backstay("run", APP, "退款订单1002")
    assert said.code == 0
    assert "< refund refused [constraint.broken]" in said.out
    assert "规则不允许" in said.out
    assert backstay.pending() == []


def test_a_refused_refund_is_told_in_the_users_language(backstay: Command) -> None:
    said = backstay("run", APP, "请给订单1001退款")
    assert said.code == 3
    (action,) = backstay.pending()
    said = backstay("decide", action["id"], "--deny", "--reason", "先查物流", "--execute", "--app", APP)
    assert said.code == 0
    assert "人工已拒绝" in said.out
    assert "先查物流" in said.out
    assert refunds(backstay) == []


def test_a_tampered_proposal_is_never_executed(backstay: Command) -> None:
    backstay("run", APP, REFUND)
    (action,) = backstay.pending()
    with closing(sqlite3.connect(backstay.folder / ".backstay/store.db")) as db, db:
        db.execute("UPDATE actions SET body = replace(body, '120.00', '999.00')")
    said = backstay("decide", action["id"], "--approve", "--execute", "--app", APP)
    assert said.code == 4
    assert "code: action.tampered" in said.err
    assert refunds(backstay) == []


def test_the_audit_chain_of_a_refund_holds_and_a_flipped_byte_is_found(backstay: Command) -> None:
    backstay("run", APP, REFUND)
    (action,) = backstay.pending()
    backstay("decide", action["id"], "--approve", "--execute", "--app", APP)
    assert backstay("audit", "verify").out == "1 chain holds\n"
    store = backstay.folder / ".backstay/store.db"
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((digest,),) = db.execute("SELECT args_digest FROM audit WHERE kind = 'decision'").fetchall()
        ((size,),) = db.execute("PRAGMA page_size").fetchall()
        ((root,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'audit'").fetchall()
    content = bytearray(store.read_bytes())
    at = content.index(digest.encode(), (root - 1) * size)
    content[at] ^= 1
    store.write_bytes(content)
    said = backstay("audit", "verify")
    assert said.code == 5
    assert "code: audit.broken" in said.err


def test_the_demo_shows_four_requests_and_the_command_that_decides_the_refund(tmp_path: Path) -> None:
    command = Command(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "examples.order_desk.demo"],
        cwd=tmp_path,
        env=command.env | {"PYTHONPATH": f"{ROOT}:{command.env.get('PYTHONPATH', '')}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("$ backstay run ") == 4
    assert done.stdout.count(" USD · run r-") == 4
    assert "refused [constraint.broken]" in done.stdout
    (action,) = command.pending()
    assert f"backstay decide {action['id']} --approve --execute --app {APP} --store {tmp_path}" in done.stdout


@pytest.fixture
def queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that reaches the desk's database, as SQLite itself traces them."""
    path = build(tmp_path / "desk.db")
    seen: list[str] = []
    connect = sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.set_trace_callback(seen.append)
        return connection

    monkeypatch.setenv("ORDER_DESK_DB", str(path))
    monkeypatch.setattr(sqlite3, "connect", traced)
    return seen


LONG_AGO = ("Show me the orders of Ann Berg from the last 90 days", "最近90天李雷的订单有哪些？")


@pytest.mark.parametrize("words", LONG_AGO)
async def test_the_last_90_days_are_refused_before_the_database_is_touched(words: str, queries: list[str]) -> None:
    result = await agent.run(words)
    assert result.status == "done"
    assert queries == []
    assert "only the last 30 days" in str(result.output)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("What did Ann Berg order in the last two weeks?", "1001 · "),
        ("李雷最近20天的订单", "1003 · "),
        ("Which orders does C-101 have?", "1002 · "),
        ("Where is the parcel of order 1001?", "handed to the carrier"),
        ("订单1003的包裹到哪了？", "订单 1003 状态：shipped"),
        ("What about order 1004?", "Order 1004: tea kettle, 39.90 EUR, placed by Ann Berg"),
        ("订单1004", "订单 1004：tea kettle"),
        ("Where is order 2999?", "there is no order '2999'"),
        ("Put a note on order 1001: call back", "Noted on order 1001: call back"),
        ("What can you do?", "I can look up an order"),
    ],
)
async def test_answers_are_built_from_what_the_tools_say(words: str, part: str, queries: list[str]) -> None:
    result = await agent.run(words)
    assert result.status == "done"
    assert part in str(result.output)
    assert bool(queries) is ("can you do" not in words)


async def test_a_later_turn_may_leave_out_the_order(queries: list[str]) -> None:
    await agent.run("Where is order 1001?", session="talk")
    result = await agent.run("Then please refund it", session="talk")
    assert [one.targets for one in result.pending] == [("120.00", "1001")]


async def test_a_cancellation_is_proposed_with_the_live_state(queries: list[str]) -> None:
    result: RunResult[str] = await agent.run("Cancel order 1004")
    (action,) = result.pending
    assert action.preview == "Order 1004 of Ann Berg (tea kettle, 39.90 EUR) is paid now."
    decided = await agent.decide(action, approve=True, by="bo")
    assert decided is not None
    assert "cancelled" in str(decided.output)
    again = await agent.run("Cancel order 1001")
    refused = await agent.decide(again.pending[0], approve=True, by="bo")
    assert refused is not None
    assert "is shipped and cannot be cancelled any more" in str(refused.output)


async def test_a_refund_of_more_than_was_paid_fails_and_changes_nothing(queries: list[str]) -> None:
    for answer in ("was approved and done", "at most 60.00 EUR can still be paid back"):
        result = await agent.run("Refund 60 EUR on order 1001" if "done" in answer else "Refund 61 EUR on order 1001")
        decided = await agent.decide(result.pending[0], approve=True, by="bo")
        assert decided is not None
        assert answer in str(decided.output)


async def test_no_request_ever_offers_a_high_tool(queries: list[str]) -> None:
    offered: set[str] = set()

    def listen(event: object) -> None:
        if isinstance(event, ModelStart):
            offered.update(spec.name for spec in event.request.tools)

    await agent.run(REFUND, on=listen)
    assert offered == {"find_order", "list_orders", "track_parcel", "add_note", "propose_action"}


def test_the_same_seed_and_day_give_the_same_orders(tmp_path: Path) -> None:
    def rows(name: str, seed: int) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(build(tmp_path / name, day=date(2026, 3, 1), seed=seed))) as db:
            return db.execute("SELECT * FROM orders").fetchall() + db.execute("SELECT * FROM tracking").fetchall()

    assert rows("a.db", 7) == rows("b.db", 7)
    assert rows("a.db", 7) != rows("c.db", 8)
    assert sum(len(row) == 7 for row in rows("a.db", 7)) == ORDERS


@pytest.mark.parametrize(
    ("text", "kind", "order", "customer", "days", "amount"),
    [
        ("Refund 12.50 EUR on order 1002", "refund", "1002", "", 0, "12.50"),
        ("orders of Bo Lind in the past 3 months", "list", "", "Bo Lind", 90, None),
        ("Show Bo Lind's orders from last quarter", "list", "", "Bo Lind", 90, None),
        ("看一下韩梅梅最近两周的订单", "list", "", "韩梅梅", 14, None),
        ("退款50欧元，订单1003", "refund", "1003", "", 0, "50"),
        ("C-101's orders", "list", "", "C-101", 0, None),
    ],
)
def test_wishes_are_read(text: str, kind: str, order: str, customer: str, days: int, amount: str | None) -> None:
    wish = read_wish([text])
    expected = (kind, order, customer, days, None if amount is None else Decimal(amount))
    assert (wish.kind, wish.order, wish.customer, wish.days, wish.amount) == expected


def test_the_demo_answers_from_the_database_on_the_embedded_model(tmp_path: Path) -> None:
    env = {**os.environ, "ORDER_DESK_MODEL": "embedded", "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [sys.executable, "-m", "examples.order_desk.demo"],
        cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    for fact in (
        "track_parcel(order_id=1001)",
        "handed to the carrier",
        'list_orders(customer="Ann Berg", days=14)',
        "coffee machine",
        "refused [constraint.broken]",
        "refund(order_id=1001, amount=120.00)",
        "Waiting for a person",
    ):
        assert fact in said.stdout, fact
