"""Jobs on what an effect leaves: its row, the ledger, the audit chain; on actions, decisions and boards."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal

from backstay.boundary.actions import Decision, PendingAction
from backstay.core.context import Effect, Reserve, is_shared
from backstay.core.errors import DecisionError
from backstay.core.messages import ToolResult
from backstay.store import checks, codec
from backstay.store.chain import Chain, Head, Link
from backstay.store.checks import Amounts, EffectRow, Held
from backstay.store.records import AuditRow, Fence
from backstay.store.sqlite import streams
from backstay.store.sqlite.rows import ACTION, Row, action_of, row_of_action, row_of_record, text
from backstay.store.sqlite.writer import Kept

_EFFECT = "SELECT effect, digest, attempt, epoch, reserve, outcome FROM effects WHERE session_id = ? AND key = ?"
_BEGIN = """INSERT INTO effects (session_id, key, effect, digest, attempt, epoch, reserve) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (session_id, key) DO UPDATE SET effect = excluded.effect, attempt = excluded.attempt,
    epoch = excluded.epoch"""
_INSIDE = "SELECT key FROM effects WHERE session_id = ? AND (key = ? OR (key >= ? AND key < ?)) AND reserve <> '[]'"
_FINISH = "UPDATE effects SET outcome = ? WHERE session_id = ? AND key = ?"
_HOLD = "INSERT OR REPLACE INTO ledger (session_id, key, reserved, committed) VALUES (?, ?, ?, ?)"
_HEAD = "SELECT n, hash, seal FROM heads WHERE session_id = ?"
_AUDIT = "n, run_id, slot, kind, tool, args_digest, result_digest, rules, who, at, hash"
_CHAIN = f"INSERT INTO audit (session_id, {_AUDIT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LINKS = f"SELECT {_AUDIT} FROM audit WHERE session_id = ? ORDER BY n"
_SET_HEAD = "INSERT OR REPLACE INTO heads (session_id, n, hash, seal) VALUES (?, ?, ?, ?)"
_ACTION = f"SELECT {ACTION} FROM actions WHERE id = ?"
_ACTIONS_OF = f"SELECT {ACTION} FROM actions WHERE root_id = ? ORDER BY id"
_KEEP = f"INSERT OR REPLACE INTO actions ({ACTION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DECIDE = (
    "UPDATE actions SET version = ?, state = ?, body = ?, seal = ? WHERE id = ? AND state = 'open' AND version = ?"
)


def begin(
    db: sqlite3.Connection,
    chain: Chain,
    fence: Fence,
    key: str,
    effect: Effect,
    digest: str,
    attempt: int,
    reserve: Sequence[Reserve],
    audit: AuditRow,
) -> Literal["new", "started"] | ToolResult:
    """`RunStore.begin_effect`."""
    streams.hold(db, fence)
    row = _effect(db, fence.root_id, key)
    answer = checks.begin(row, fence, key, digest)
    if answer != "new":
        return answer
    full = None if row else checks.over(reserve, lambda name: _held(db, fence.root_id, name))
    if full is not None:
        return full
    amounts = json.dumps([[name, str(amount)] for name, amount, _ in reserve]) if reserve else "[]"
    db.execute(_BEGIN, (fence.root_id, key, effect, digest, attempt, fence.epoch, amounts))
    for name, amount, _ in () if row else reserve:
        held = _held(db, fence.root_id, name)
        _keep_held(db, fence.root_id, name, Held(held.reserved + amount, held.committed))
    write_audit(db, chain, fence.root_id, (audit,))
    return "new"


def _effect(db: sqlite3.Connection, session_id: str, key: str) -> EffectRow | None:
    row = db.execute(_EFFECT, (session_id, key)).fetchone()
    if row is None:
        return None
    effect, digest, attempt, epoch, reserve, outcome = row
    return EffectRow(
        effect=effect,
        digest=digest,
        attempt=attempt,
        epoch=epoch,
        reserve=tuple([(name, Decimal(amount)) for name, amount in json.loads(reserve)]),
        outcome=None if outcome is None else codec.load(ToolResult, outcome),
    )


def _held(db: sqlite3.Connection, session_id: str, key: str) -> Held:
    row = db.execute(
        "SELECT reserved, committed FROM ledger WHERE session_id = ? AND key = ?", (_scope(session_id, key), key)
    ).fetchone()
    return Held(Decimal(row[0]), Decimal(row[1])) if row else Held()


def _keep_held(db: sqlite3.Connection, session_id: str, key: str, held: Held) -> None:
    db.execute(_HOLD, (_scope(session_id, key), key, str(held.reserved), str(held.committed)))


def _scope(session_id: str, key: str) -> str:
    """Whose a key of the ledger is: a session's, or everybody's, which no session's id is."""
    return "" if is_shared(key) else session_id


def reserved(db: sqlite3.Connection, session_id: str, keys: Sequence[str]) -> dict[str, Amounts]:
    """`RunStore.reserved`."""
    found: dict[str, Amounts] = {}
    for key in keys:
        # What was begun inside an effect follows its key and a slash; after the slash comes "0".
        for (name,) in db.execute(_INSIDE, (session_id, key, f"{key}/", f"{key}0")).fetchall():
            row = _effect(db, session_id, name)
            if row is not None and row.holds:
                found[name] = row.reserve
    return found


def charge(db: sqlite3.Connection, fence: Fence, amounts: Sequence[Reserve]) -> str | None:
    """`RunStore.charge`."""
    streams.hold(db, fence)
    found = {one.key: _held(db, "", one.key) for one in amounts}
    full = checks.full(amounts, found)
    for key, held in () if full else checks.charged(amounts, found).items():
        _keep_held(db, "", key, held)
    return full


def spent(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Decimal]:
    """`RunStore.spent`."""
    held = {key: _held(db, "", key) for key in keys}
    return {key: one.reserved + one.committed for key, one in held.items()}


def finish(db: sqlite3.Connection, session_id: str, key: str, result: ToolResult, outcome: str) -> None:
    """Keep the outcome of an effect and settle what it had reserved."""
    row = _effect(db, session_id, key)
    if row is None:
        raise checks.no_effect(key)
    for name, amount in row.reserve if row.is_unsettled else ():
        _keep_held(db, session_id, name, checks.settle(_held(db, session_id, name), amount, result))
    db.execute(_FINISH, (text(outcome), session_id, key))


def write_audit(db: sqlite3.Connection, chain: Chain, session_id: str, rows: Sequence[AuditRow]) -> None:
    """Chain audit rows to a session's."""
    if not rows:
        return
    links, head = chain.extend(session_id, head_of(db, session_id), rows)
    db.executemany(_CHAIN, [_row_of_link(session_id, link) for link in links])
    if head is not None:
        db.execute(_SET_HEAD, (session_id, head.n, head.hash, head.seal))


def head_of(db: sqlite3.Connection, session_id: str) -> Head | None:
    """Where a session's chain ends."""
    row = db.execute(_HEAD, (session_id,)).fetchone()
    return Head(*row) if row else None


def _row_of_link(session_id: str, link: Link) -> Row:
    row = link.row
    rules = _rules(row.rules)
    return (
        session_id, link.n, row.run_id, row.slot, row.kind, row.tool, row.args_digest, row.result_digest, rules,
        row.who, row.at, link.hash,
    )  # fmt: skip


def _rules(rules: Sequence[str]) -> str:
    return json.dumps(rules, separators=(",", ":"))


def links_of(db: sqlite3.Connection, session_id: str) -> list[Link]:
    """A session's audit rows, oldest first. Rules that are not as written are shown as the text they are."""
    return [_link_of(row) for row in db.execute(_LINKS, (session_id,)).fetchall()]


def _link_of(row: Row) -> Link:
    n, run_id, slot, kind, tool, args_digest, result_digest, rules, who, at, mark = row
    try:
        named = tuple(json.loads(rules))
    except (ValueError, TypeError):
        named = ()
    if _rules(named) != rules:
        named = (str(rules),)
    return Link(
        n,
        AuditRow(
            run_id=run_id,
            slot=slot,
            kind=kind,
            tool=tool,
            args_digest=args_digest,
            result_digest=result_digest,
            rules=named,
            who=who,
            at=at,
        ),
        mark,
    )


def verify(db: sqlite3.Connection, chain: Chain, session_id: str | None) -> list[str]:
    """What is wrong with one chain and the actions it speaks of, or with all."""
    if session_id is not None:
        wrong = chain.verify(session_id, links_of(db, session_id), head_of(db, session_id))
        return [*wrong, *_tampered(db, chain, session_id)]
    sessions = db.execute(
        "SELECT session_id FROM heads UNION SELECT session_id FROM audit UNION SELECT root_id FROM actions ORDER BY 1"
    ).fetchall()
    return [wrong for (one,) in sessions for wrong in verify(db, chain, one)]


def _tampered(db: sqlite3.Connection, chain: Chain, session_id: str) -> Iterator[str]:
    for row in db.execute(_ACTIONS_OF, (session_id,)):
        try:
            action_of(chain, row)
        except DecisionError as error:
            yield error.message


def keep_action(db: sqlite3.Connection, chain: Chain, root_id: str, action: PendingAction) -> None:
    """Keep a driver's action, new or a later version."""
    old = db.execute("SELECT version, state FROM actions WHERE id = ?", (action.id,)).fetchone()
    if old is None or checks.replaces(action.id, old[0], old[1], action):
        db.execute(_KEEP, row_of_action(chain, action, root_id))


def action_row(db: sqlite3.Connection, action_id: str) -> Row:
    """An action's columns, or NotFoundError."""
    row: Row | None = db.execute(_ACTION, (action_id,)).fetchone()
    if row is None:
        raise checks.no_action(action_id)
    return row


def decide(
    db: sqlite3.Connection, chain: Chain, action_id: str, version: int, decision: Decision, audit: AuditRow
) -> PendingAction | Kept:
    """`RunStore.decide`; too late, the row is kept as `expired` although the decision is refused."""
    row = action_row(db, action_id)
    action = action_of(chain, row)
    after = checks.judged(action, version, decision)
    run = streams.run_row(db, action.run_id)
    *_, body, seal = row_of_action(chain, after, row[5])
    db.execute(_DECIDE, (after.version, after.state, body, seal, action_id, version))
    if after.state == "expired":
        db.execute("UPDATE runs SET wake_at = ? WHERE run_id = ?", (decision.at, action.run_id))
        return Kept(checks.expired(action))
    if after.state != "open":
        streams.leave(db, row_of_record(checks.arrival_of_decision(action, decision)), run[2])
    write_audit(db, chain, run[2], (audit,))
    return after


def board_put(db: sqlite3.Connection, fence: Fence, scope: str, key: str, value: str, expect: int) -> int:
    """`RunStore.board_put`."""
    streams.hold(db, fence)
    row = db.execute("SELECT version FROM board WHERE scope = ? AND key = ?", (scope, key)).fetchone()
    version = row[0] if row else 0
    if version != expect:
        raise checks.conflict(scope, key, version, expect)
    db.execute(
        "INSERT OR REPLACE INTO board (scope, key, version, value) VALUES (?, ?, ?, ?)",
        (scope, key, version + 1, text(value)),
    )
    return int(version) + 1
