"""Jobs on sessions: claiming runs, numbering arrivals, writing records, giving back, forgetting."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Literal

from backstay.store import checks
from backstay.store.access import Owner
from backstay.store.owners import is_gone
from backstay.store.records import ENDED, Fence, RunRow
from backstay.store.sqlite.rows import ARRIVAL, RECORD, RUN, Row, run_of

_OWNER = """SELECT tenant, person FROM sessions WHERE session_id = :session AND tenant IS NOT NULL
    UNION ALL SELECT tenant, person FROM (SELECT tenant, person FROM runs WHERE session_id = :session
        AND EXISTS (SELECT 1 FROM sessions WHERE session_id = :session AND tenant IS NULL)
        ORDER BY created_at, run_id LIMIT 1)"""
_LEASE = "SELECT owner, epoch, until FROM sessions WHERE session_id = ?"
_HELD = "SELECT 1 FROM sessions WHERE session_id = ? AND owner = ? AND epoch = ?"
RUN_BY_ID = f"SELECT {RUN} FROM runs WHERE run_id = ?"
ADD_RECORD = f"INSERT INTO records ({RECORD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_ARRIVAL = f"INSERT INTO arrivals ({ARRIVAL}, root_id, ahead) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OVER = ", ".join(repr(one) for one in sorted(ENDED))
_OURS = f"""(run_id = :run OR (session_id = :session AND kind = 'decided' AND run_id IN (
    SELECT run_id FROM runs WHERE session_id = :session AND status IN ({_OVER}))))"""
_ARRIVED = f"SELECT {ARRIVAL} FROM arrivals WHERE {_OURS} ORDER BY id"
_ARRIVED_LATER = f"SELECT {ARRIVAL} FROM arrivals WHERE run_id = ? AND kind <> 'input' ORDER BY id"
QUEUED = "SELECT run_id FROM arrivals WHERE session_id = ? AND kind = 'input' ORDER BY ahead DESC, id"
_STEERING = f"""SELECT {ARRIVAL} FROM arrivals WHERE run_id IN (SELECT run_id FROM steering WHERE into_run = ?)
    ORDER BY id LIMIT 1"""
_STEERS = "SELECT count(*) FROM steering WHERE into_run = ?"
_SET_FREE = (
    f"INSERT INTO runs ({RUN}, tenant, person) SELECT {RUN}, tenant, person FROM steering WHERE into_run = :run",
    f"""UPDATE arrivals SET kind = 'input', ahead = {checks.SET_FREE}
        WHERE run_id IN (SELECT run_id FROM steering WHERE into_run = :run)""",
    """UPDATE dedups SET run_id = (SELECT s.run_id FROM steering s WHERE s.dedup = dedups.dedup)
        WHERE dedup IN (SELECT dedup FROM steering WHERE into_run = :run)""",
    "DELETE FROM steering WHERE into_run = :run",
)
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
    UNION SELECT r.run_id FROM steering t JOIN runs r ON r.run_id = t.into_run WHERE r.parked IS NULL
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
        WHERE mine.run_id = r.run_id AND mine.kind = 'input' AND other.run_id <> mine.run_id
            AND (other.ahead > mine.ahead OR (other.ahead = mine.ahead AND other.id < mine.id)))
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
    "DELETE FROM steering WHERE root_id = :root",
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
    row: Row | None = db.execute(RUN_BY_ID, (run_id,)).fetchone()
    if row is None:
        raise checks.no_run(run_id)
    return row


def owner_of_session(db: sqlite3.Connection, session_id: str) -> Owner:
    """Tenant and id of whose a session is; None where there is none."""
    row: tuple[str, str] | None = db.execute(_OWNER, {"session": session_id}).fetchone()
    return row


def running(run: Row) -> Row:
    """A run's columns once it is driven."""
    return (*run[:8], "running", run[9])


def is_free(db: sqlite3.Connection, root_id: str, now: float) -> bool:
    """Whether nobody alive holds a session."""
    owner, _, until = db.execute(_LEASE, (root_id,)).fetchone()
    return owner is None or until <= now or is_gone(owner)


def leave(db: sqlite3.Connection, record: Row, root_id: str, ahead: int = checks.IN_LINE) -> None:
    """Leave an arrival for whoever drives the run."""
    db.execute(_ADD_ARRIVAL, (record[0], *record[2:], root_id, ahead))


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
    return place(db, session_id, [(session_id, 0, *row[1:]) for row in arrived]) if arrived else []


def place(db: sqlite3.Connection, session_id: str, rows: Sequence[Row]) -> list[Row]:
    """Put records at the end of a session."""
    (last,) = db.execute(_PLACE, (len(rows), session_id)).fetchone()
    placed = [(session_id, last - len(rows) + n, *row[2:]) for n, row in enumerate(rows, 1)]
    db.executemany(ADD_RECORD, placed)
    return placed


def claim(db: sqlite3.Connection, run_id: str, owner: str, ttl: float, now: float) -> tuple[Fence, Row] | None:
    """`RunStore.claim`."""
    run = run_row(db, run_id)
    session_id, root_id, parent_id, status = run[1], run[2], run[3], run[8]
    queued = [one for (one,) in db.execute(QUEUED, (session_id,))]
    if status in ENDED or (run_id in queued and queued[0] != run_id):
        return None
    if is_free(db, root_id, now):
        return take(db, run, owner, ttl, now), running(run)
    holder, epoch, until = db.execute(_LEASE, (root_id,)).fetchone()
    if parent_id is None or holder != owner:
        return None
    db.execute("UPDATE sessions SET until = ? WHERE session_id = ?", (max(until, now + ttl), root_id))
    _start(db, run)
    return Fence(root_id=root_id, owner=owner, epoch=epoch), running(run)


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


def next_input(db: sqlite3.Connection, fence: Fence, run_id: str) -> Row | None:
    """`RunStore.next_input`."""
    hold(db, fence)
    row: Row | None = db.execute(_STEERING, (run_id,)).fetchone()
    if row is None:
        return None
    for table in ("arrivals", "steering"):
        db.execute(f"DELETE FROM {table} WHERE run_id = ?", (row[1],))
    return place(db, row[0], [(row[0], 0, run_id, "input", *row[3:])])[0]


def set_free(db: sqlite3.Connection, run_id: str) -> None:
    """Make runs of the inputs that an ended run has not taken in."""
    if db.execute(_STEERS, (run_id,)).fetchone()[0]:
        for statement in _SET_FREE:
            db.execute(statement, {"run": run_id})


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
    db.executemany(ADD_RECORD, rows)
    point(db, tails)


def set_statuses(db: sqlite3.Connection, statuses: Mapping[str, str]) -> None:
    """Set the status of runs, or NotFoundError."""
    for run_id, status in statuses.items():
        if db.execute(_STATUS, (status, run_id)).rowcount != 1:
            raise checks.no_run(run_id)
        if status in ENDED:
            set_free(db, run_id)


def count_arrivals(db: sqlite3.Connection, run_ids: Sequence[str]) -> int:
    """How many decisions, wishes and inputs that steer these runs wait to be numbered."""
    return sum(db.execute(one, (run_id,)).fetchone()[0] for run_id in run_ids for one in (_LATER, _STEERS))


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
    if status in ENDED:
        set_free(db, run_id)


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
