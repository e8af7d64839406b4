"""Reads of pages and of traces. Statements are put together from constants only; values are always bound."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

from backstay.core.context import Principal
from backstay.store.access import STAFF
from backstay.store.sqlite.rows import ACTION, RECORD, RUN, Row

Values: TypeAlias = "tuple[str, ...]"

_RECORDS = f"SELECT {RECORD} FROM records WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"
_ONE_TRACE = "SELECT body FROM spans s WHERE trace_id = ?{seen} ORDER BY started_at, span_id"
_TRACE_OF_RUN = """SELECT body FROM spans s WHERE trace_id IN (SELECT trace_id FROM spans WHERE run_id = ?){seen}
    ORDER BY started_at, span_id"""
_PUT_SPAN = """INSERT OR REPLACE INTO spans (trace_id, span_id, run_id, session_id, is_root, started_at, body)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_FIRST = """NOT EXISTS (SELECT 1 FROM spans e WHERE e.trace_id = s.trace_id AND e.is_root = 1
    AND (e.started_at, e.span_id) < (s.started_at, s.span_id))"""
_TRACES = f"""SELECT body FROM spans s WHERE is_root = 1 AND {_FIRST}{{seen}}
    ORDER BY started_at DESC, trace_id DESC LIMIT ?"""
_TRACES_AFTER = f"""SELECT body FROM spans s WHERE (started_at, trace_id) < (?, ?) AND is_root = 1 AND {_FIRST}{{seen}}
    ORDER BY started_at DESC, trace_id DESC LIMIT ?"""
_START = "SELECT min(started_at) FROM spans WHERE trace_id = ? AND is_root = 1"


def seen_by(principal: Principal | None) -> tuple[str, Values]:
    """What a row's columns `tenant` and `person` must be for somebody to see it, and the values to bind."""
    if principal is None:
        return "", ()
    if principal.kind in STAFF:
        return " AND tenant = ?", (principal.tenant,)
    return " AND tenant = ? AND person = ?", (principal.tenant, principal.id)


def _spans_seen_by(principal: Principal | None) -> tuple[str, Values]:
    """A span is its session's owner's."""
    clause, values = seen_by(principal)
    return clause and f" AND s.session_id IN (SELECT session_id FROM sessions WHERE 1{clause})", values


def start_of(db: sqlite3.Connection, session_id: str) -> tuple[int, int] | None:
    """Seq of the newest snapshot (0: none) and of the first record wanted."""
    row: tuple[int, int] | None = db.execute(
        "SELECT snapshot, tail FROM sessions WHERE session_id = ?", (session_id,)
    ).fetchone()
    return row


def records(db: sqlite3.Connection, session_id: str, after: int, limit: int) -> list[Row]:
    """A page of a session."""
    return db.execute(_RECORDS, (session_id, after, limit)).fetchall()


def actions(db: sqlite3.Connection, principal: Principal | None, state: str, after: str, limit: int) -> list[Row]:
    """A page of actions."""
    return _page(db, f"SELECT {ACTION} FROM actions", "id", "state", principal, state, after, limit)


def runs(db: sqlite3.Connection, principal: Principal | None, status: str, after: str, limit: int) -> list[Row]:
    """A page of runs."""
    return _page(db, f"SELECT {RUN} FROM runs", "run_id", "status", principal, status, after, limit)


def _page(
    db: sqlite3.Connection,
    select: str,
    key: str,
    field: str,
    principal: Principal | None,
    state: str,
    after: str,
    limit: int,
) -> list[Row]:
    """`select`, `key` and `field` are constants of this module."""
    seen, values = seen_by(principal)
    where, bound = f"{key} > ?{seen}", [after, *values]
    if state:
        # The index on a run's status leaves out the runs that are done, which are nearly all.
        where += f" AND {field} = ?" if state == "done" else f" AND {field} = ? AND {field} <> 'done'"
        bound.append(state)
    return db.execute(f"{select} WHERE {where} ORDER BY {key} LIMIT ?", (*bound, max(limit, 0))).fetchall()


def board_value(db: sqlite3.Connection, scope: str, key: str) -> Row | None:
    """Value and version."""
    row: Row | None = db.execute(
        "SELECT value, version FROM board WHERE scope = ? AND key = ?", (scope, key)
    ).fetchone()
    return row


def put_spans(db: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write spans; one that is written again is replaced."""
    db.executemany(_PUT_SPAN, rows)


def spans(db: sqlite3.Connection, trace_id: str, principal: Principal | None) -> list[Row]:
    """The bodies of a trace's spans, or of those of a run's."""
    seen, values = _spans_seen_by(principal)
    found = db.execute(_ONE_TRACE.format(seen=seen), (trace_id, *values)).fetchall()
    return found or db.execute(_TRACE_OF_RUN.format(seen=seen), (trace_id, *values)).fetchall()


def traces(db: sqlite3.Connection, principal: Principal | None, after: str, limit: int) -> list[Row]:
    """The bodies of root spans, newest first."""
    seen, values = _spans_seen_by(principal)
    (start,) = db.execute(_START, (after,)).fetchone()
    if start is None:
        return db.execute(_TRACES.format(seen=seen), (*values, max(limit, 0))).fetchall()
    return db.execute(_TRACES_AFTER.format(seen=seen), (start, after, *values, max(limit, 0))).fetchall()
