"""Jobs on sessions: creating and claiming runs, numbering arrivals, writing records, giving back, forgetting."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Literal

from backstay.core.context import Principal
from backstay.store import checks
from backstay.store.access import Owner, check_opens, may_continue, owner_of
from backstay.store.owners import is_gone
from backstay.store.records import ENDED, Fence, RunRow
from backstay.store.sqlite.rows import ARRIVAL, RECORD, RUN, Row, run_of

_OPEN = """INSERT OR IGNORE INTO sessions (session_id, root_id, seq, owner, driver, until, epoch, tenant, person)
    VALUES (?, ?, 1, ?, ?, ?, 1, ?, ?)"""
_SESSION = "INSERT OR IGNORE INTO sessions (session_id, root_id, tenant, person) VALUES (?, ?, ?, ?)"
_OWNER = """SELECT tenant, person FROM sessions WHERE session_id = :session AND tenant IS NOT NULL
    UNION ALL SELECT tenant, person FROM (SELECT tenant, person FROM runs WHERE session_id = :session
        AND EXISTS (SELECT 1 FROM sessions WHERE session_id = :session AND tenant IS NULL)
        ORDER BY created_at, run_id LIMIT 1)"""
_LEASE = "SELECT owner, epoch, until FROM sessions WHERE session_id = ?"
_HELD = "SELECT 1 FROM sessions WHERE session_id = ? AND owner = ? AND epoch = ?"
_RUN = f"SELECT {RUN} FROM runs WHERE run_id = ?"
_RUN_BY_DEDUP = f"SELECT {RUN} FROM runs WHERE run_id = (SELECT run_id FROM dedups WHERE dedup = ?)"
_WAITING = f"""SELECT {RUN} FROM runs WHERE session_id = ? AND status IN ('waiting', 'needs_narrowing')
    ORDER BY created_at DESC, run_id DESC"""
_ADD_RUN = f"INSERT INTO runs ({RUN}, tenant, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DEDUP = "INSERT INTO dedups (dedup, run_id) VALUES (?, ?)"
_ADD_RECORD = f"INSERT INTO records ({RECORD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_ARRIVAL = f"INSERT INTO arrivals ({ARRIVAL}, root_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OVER = ", ".join(repr(one) for one in sorted(ENDED))
_OURS = f"""(run_id = :run OR (session_id = :session AND kind = 'decided' AND run_id IN (
    SELECT run_id FROM runs WHERE session_id = :session AND status IN ({_OVER}))))"""
_ARRIVED = f"SELECT {ARRIVAL} FROM arrivals WHERE {_OURS} ORDER BY id"
_ARRIVED_LATER = f"SELECT {ARRIVAL} FROM arrivals WHERE run_id = ? AND kind <> 'input' ORDER BY id"
_QUEUED = "SELECT run_id FROM arrivals WHERE session_id = ? AND kind = 'input' ORDER BY id"
_TAKE = """UPDATE sessions SET owner = ?, driver = ?, until = ?, epoch = epoch + 1 WHERE session_id = ?
    RETURNING epoch"""
_PLACE = "UPDATE sessions SET seq = seq + ? WHERE session_id = ? RETURNING seq"
_FOLLOW = "UPDATE sessions SET seq = ? WHERE session_id = ? AND root_id = ? AND seq = ?"
_SNAPSHOT = "UPDATE sessions SET snapshot = ?, tail = ? WHERE session_id = ?"
_START = "UPDATE runs SET status = 'running', wake_at = NULL, parked = NULL WHERE run_id = ?"
_STATUS = "UPDATE runs SET status = ? WHERE run_id = ?"
_LATER = "SELECT count(*) FROM arrivals WHERE run_id = ? AND kind <> 'input'"
_WISH = """SELECT 1 FROM arrivals a JOIN sessions s ON s.session_id = a.root_id
    WHERE a.root_id = ? AND a.kind = 'status' AND (a.run_id = s.driver OR a.session_id <> a.root_id) LIMIT 1"""

_DUE = f"""
WITH named (run_id) AS (
    SELECT run_id FROM arrivals WHERE kind <> 'input'
    UNION SELECT a.run_id FROM arrivals a JOIN runs r ON r.run_id = a.run_id
        WHERE a.kind = 'input' AND r.parent_id IS NULL
    UNION SELECT run_id FROM runs WHERE status = 'running' AND status <> 'done' AND parent_id IS NULL
    UNION SELECT run_id FROM runs WHERE wake_at <= :now
    UNION SELECT run_id FROM runs
        WHERE parked <> (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'standing')
    UNION SELECT run_id FROM actions WHERE state = 'open' AND expires_at <= :now)
SELECT r.run_id FROM named JOIN runs r ON r.run_id = named.run_id JOIN sessions s ON s.session_id = r.root_id
WHERE r.status NOT IN ({_OVER})
    AND (s.owner IS NULL OR s.until <= :now OR is_gone(s.owner))
    AND NOT EXISTS (
        SELECT 1 FROM arrivals mine JOIN arrivals other ON other.session_id = mine.session_id AND other.kind = 'input'
        WHERE mine.run_id = r.run_id AND mine.kind = 'input' AND other.id < mine.id AND other.run_id <> mine.run_id)
ORDER BY r.created_at, r.run_id LIMIT :limit"""

_FAMILY = """SELECT :root UNION SELECT session_id FROM sessions WHERE root_id = :root AND session_id <> root_id"""
_THEIR_RUNS = f"""SELECT run_id FROM runs WHERE root_id = :root AND run_id IN (
    SELECT run_id FROM records WHERE session_id IN ({_FAMILY})
    UNION SELECT run_id FROM arrivals WHERE root_id = :root)"""
_FORGET = (
    f"DELETE FROM dedups WHERE run_id IN ({_THEIR_RUNS})",
    f"DELETE FROM runs WHERE run_id IN ({_THEIR_RUNS})",
    f"DELETE FROM records WHERE session_id IN ({_FAMILY})",
    f"DELETE FROM spans WHERE session_id IN ({_FAMILY})",
    "DELETE FROM arrivals WHERE root_id = :root",
    "DELETE FROM actions WHERE root_id = :root",
    "DELETE FROM effects WHERE session_id = :root",
    "DELETE FROM ledger WHERE session_id = :root",
    f"DELETE FROM sessions WHERE session_id IN ({_FAMILY})",
)


def hold(db: sqlite3.Connection, fence: Fence) -> None:
    """FencedError unless the fence still holds its session."""
    if db.execute(_HELD, (fence.root_id, fence.owner, fence.epoch)).fetchone() is None:
        raise checks.fenced(fence)


def run_row(db: sqlite3.Connection, run_id: str) -> Row:
    """A run's columns, or NotFoundError."""
    row: Row | None = db.execute(_RUN, (run_id,)).fetchone()
    if row is None:
        raise checks.no_run(run_id)
    return row


def owner_of_session(db: sqlite3.Connection, session_id: str) -> Owner:
    """Tenant and id of whose a session is; None where there is none."""
    row: tuple[str, str] | None = db.execute(_OWNER, {"session": session_id}).fetchone()
    return row


def create(
    db: sqlite3.Connection,
    run: Row,
    first: Row,
    principal: Principal,
    dedup: str | None,
    claim: tuple[str, float] | None,
    now: float,
) -> tuple[Row, Fence | None]:
    """`RunStore.create`: the run's columns as they are now, and the fence."""
    run_id, session_id, root_id = run[:3]
    known = dedup and db.execute(_RUN_BY_DEDUP, (dedup,)).fetchone()
    known = known or db.execute(_RUN, (run_id,)).fetchone()
    if known:
        check_opens(principal, known[1], owner_of(run_of(known).principal))
        return known, None
    if claim is not None and session_id == root_id:
        owner, ttl = claim
        opened = db.execute(_OPEN, (root_id, root_id, owner, run_id, now + ttl, principal.tenant, principal.id))
        if opened.rowcount == 1:
            return _first_run(db, run, first, dedup), Fence(root_id=root_id, owner=owner, epoch=1)
    check_opens(principal, session_id, owner_of_session(db, session_id))
    return _another_run(db, run, first, principal, dedup, claim, now)


def _first_run(db: sqlite3.Connection, run: Row, first: Row, dedup: str | None) -> Row:
    """The common case, in as few statements as can be: a session that was not there."""
    run_id, session_id = run[:2]
    db.execute(_ADD_RUN, (*_running(run), *run[10:]))
    db.execute(_ADD_RECORD, (session_id, 1, run_id, *first[3:]))
    if dedup:
        db.execute(_DEDUP, (dedup, run_id))
    return _running(run)


def _another_run(
    db: sqlite3.Connection,
    run: Row,
    first: Row,
    principal: Principal,
    dedup: str | None,
    claim: tuple[str, float] | None,
    now: float,
) -> tuple[Row, Fence | None]:
    session_id, root_id = run[1:3]
    for one in {session_id, root_id}:
        db.execute(_SESSION, (one, root_id, principal.tenant, principal.id))
    waiting = db.execute(_WAITING, (session_id,)).fetchall()
    target = next((one for one in waiting if may_continue(principal, run_of(one).principal)), None)
    if target is None:
        db.execute(_ADD_RUN, run)
        target = run[:10]
    if dedup:
        db.execute(_DEDUP, (dedup, target[0]))
    is_queued = db.execute(_QUEUED, (session_id,)).fetchone() is not None
    first = (session_id, first[1], target[0], *first[3:])
    if claim is None or is_queued or not _is_free(db, root_id, now):
        leave(db, first, root_id)
        return target, None
    fence = take(db, target, *claim, now)
    _place(db, session_id, [first])
    return _running(target), fence


def _running(run: Row) -> Row:
    return (*run[:8], "running", run[9])


def _is_free(db: sqlite3.Connection, root_id: str, now: float) -> bool:
    owner, _, until = db.execute(_LEASE, (root_id,)).fetchone()
    return owner is None or until <= now or is_gone(owner)


def leave(db: sqlite3.Connection, record: Row, root_id: str) -> None:
    """Leave an arrival for whoever drives the run."""
    db.execute(_ADD_ARRIVAL, (record[0], *record[2:], root_id))


def take(db: sqlite3.Connection, run: Row, owner: str, ttl: float, now: float) -> Fence:
    """Give the run's root session to an owner and number what has arrived for the run.

    A decision about a row that an ended run left open, such as a rule to be confirmed, goes with it.
    """
    run_id, _, root_id = run[:3]
    (epoch,) = db.execute(_TAKE, (owner, run_id, now + ttl, root_id)).fetchone()
    _start(db, run)
    return Fence(root_id=root_id, owner=owner, epoch=epoch)


def _start(db: sqlite3.Connection, run: Row) -> None:
    ours = {"run": run[0], "session": run[1]}
    if number(db, run[1], db.execute(_ARRIVED, ours).fetchall()):
        db.execute(f"DELETE FROM arrivals WHERE {_OURS}", ours)
    db.execute(_START, (run[0],))


def number(db: sqlite3.Connection, session_id: str, arrived: Sequence[Row]) -> list[Row]:
    """Give arrivals their places in the stream; their columns are those of records now."""
    return _place(db, session_id, [(session_id, 0, *row[1:]) for row in arrived]) if arrived else []


def _place(db: sqlite3.Connection, session_id: str, rows: Sequence[Row]) -> list[Row]:
    (last,) = db.execute(_PLACE, (len(rows), session_id)).fetchone()
    placed = [(session_id, last - len(rows) + n, *row[2:]) for n, row in enumerate(rows, 1)]
    db.executemany(_ADD_RECORD, placed)
    return placed


def claim(db: sqlite3.Connection, run_id: str, owner: str, ttl: float, now: float) -> tuple[Fence, Row] | None:
    """`RunStore.claim`."""
    run = run_row(db, run_id)
    session_id, root_id, parent_id, status = run[1], run[2], run[3], run[8]
    queued = [one for (one,) in db.execute(_QUEUED, (session_id,))]
    if status in ENDED or (run_id in queued and queued[0] != run_id):
        return None
    if _is_free(db, root_id, now):
        return take(db, run, owner, ttl, now), _running(run)
    holder, epoch, until = db.execute(_LEASE, (root_id,)).fetchone()
    if parent_id is None or holder != owner:
        return None
    db.execute("UPDATE sessions SET until = ? WHERE session_id = ?", (max(until, now + ttl), root_id))
    _start(db, run)
    return Fence(root_id=root_id, owner=owner, epoch=epoch), _running(run)


def renew(db: sqlite3.Connection, fence: Fence, until: float) -> Literal["held", "cancel", "lost"]:
    """`RunStore.renew`."""
    changed = db.execute(
        "UPDATE sessions SET until = ? WHERE session_id = ? AND owner = ? AND epoch = ?",
        (until, fence.root_id, fence.owner, fence.epoch),
    )
    if changed.rowcount != 1:
        return "lost"
    return "held" if db.execute(_WISH, (fence.root_id,)).fetchone() is None else "cancel"


def arrivals(db: sqlite3.Connection, fence: Fence, run_id: str) -> list[Row]:
    """`RunStore.arrivals`."""
    hold(db, fence)
    placed = number(db, run_row(db, run_id)[1], db.execute(_ARRIVED_LATER, (run_id,)).fetchall())
    if placed:
        db.execute("DELETE FROM arrivals WHERE run_id = ? AND kind <> 'input'", (run_id,))
    return placed


def write(db: sqlite3.Connection, fence: Fence, rows: Sequence[Row], tails: Mapping[tuple[str, int], int]) -> None:
    """Write numbered records; FencedError if they leave a gap. `tails`: session and seq of a snapshot → its tail."""
    by_session: dict[str, list[Row]] = {}
    for row in rows:
        by_session.setdefault(row[0], []).append(row)
    for session_id, some in by_session.items():
        first, last = some[0][1], some[-1][1]
        is_whole = [row[1] for row in some] == list(range(first, last + 1))
        moved = db.execute(_FOLLOW, (last, session_id, fence.root_id, first - 1)).rowcount
        if moved != 1 or not is_whole:
            raise checks.gap(session_id, first)
    db.executemany(_ADD_RECORD, rows)
    point(db, tails)


def set_statuses(db: sqlite3.Connection, statuses: Mapping[str, str]) -> None:
    """Set the status of runs, or NotFoundError."""
    for run_id, status in statuses.items():
        if db.execute(_STATUS, (status, run_id)).rowcount != 1:
            raise checks.no_run(run_id)


def count_arrivals(db: sqlite3.Connection, run_ids: Sequence[str]) -> int:
    """How many decisions and wishes of these runs wait to be numbered."""
    return sum(db.execute(_LATER, (run_id,)).fetchone()[0] for run_id in run_ids)


def give_back(
    db: sqlite3.Connection, fence: Fence, run_id: str, status: str, wake_at: float | None, parked: int | None = None
) -> None:
    """Set the run's status and, if it is the one that was claimed, give the session back."""
    changed = db.execute(
        "UPDATE runs SET status = ?, wake_at = ?, parked = ? WHERE run_id = ?", (status, wake_at, parked, run_id)
    )
    if changed.rowcount != 1:
        raise checks.no_run(run_id)
    db.execute("UPDATE sessions SET owner = NULL WHERE session_id = ? AND driver = ?", (fence.root_id, run_id))


def due(db: sqlite3.Connection, now: float, limit: int) -> list[str]:
    """`RunStore.due`."""
    return [run_id for (run_id,) in db.execute(_DUE, {"now": now, "limit": limit}).fetchall()]


def open_run(db: sqlite3.Connection, run_id: str) -> RunRow | None:
    """The run, if a wish to cancel it may still be left."""
    run = run_of(run_row(db, run_id))
    is_wished = db.execute("SELECT 1 FROM arrivals WHERE run_id = ? AND kind = 'status'", (run_id,)).fetchone()
    return None if run.status in ENDED or is_wished else run


def fork(db: sqlite3.Connection, session_id: str, upto: int, copy: str) -> None:
    """Copy records into a new session."""
    source = db.execute("SELECT seq FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
    if source is None:
        raise checks.no_session(session_id)
    upto = max(0, min(upto, source[0]))
    tenant, person = owner_of_session(db, session_id) or (None, None)
    db.execute(
        "INSERT INTO sessions (session_id, root_id, seq, tenant, person) VALUES (?, ?, ?, ?, ?)",
        (copy, copy, upto, tenant, person),
    )
    db.execute(
        f"INSERT INTO records ({RECORD}) SELECT ?, seq, run_id, kind, version, at, trace_id, span_id, body "
        "FROM records WHERE session_id = ? AND seq <= ?",
        (copy, session_id, upto),
    )


def newest_snapshot(db: sqlite3.Connection, session_id: str) -> Row | None:
    """The columns of a session's newest snapshot."""
    row: Row | None = db.execute(
        f"SELECT {RECORD} FROM records WHERE session_id = ? AND kind = 'snapshot' ORDER BY seq DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    return row


def point(db: sqlite3.Connection, tails: Mapping[tuple[str, int], int]) -> None:
    """Note where the newest snapshots are, and from where on records are still wanted."""
    for (session_id, seq), tail in tails.items():
        db.execute(_SNAPSHOT, (seq, tail, session_id))


def forget(db: sqlite3.Connection, session_id: str) -> None:
    """Delete a root session and its children."""
    for statement in _FORGET:
        db.execute(statement, {"root": session_id})
