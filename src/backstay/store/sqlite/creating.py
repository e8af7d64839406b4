"""Jobs that bring an input: a run of its own, more for one that waits or is at work, or a refusal. Source: SPEC G3."""

from __future__ import annotations

import sqlite3

from backstay.core.context import Principal
from backstay.store import checks
from backstay.store.access import check_opens, may_continue, may_see, may_steer, owner_of
from backstay.store.records import Fence, OnBusy
from backstay.store.sqlite import streams
from backstay.store.sqlite.rows import RUN, Row, row_of_record, run_of

_OPEN = """INSERT OR IGNORE INTO sessions (session_id, root_id, seq, owner, driver, until, epoch, tenant, person)
    VALUES (?, ?, 1, ?, ?, ?, 1, ?, ?)"""
_SESSION = "INSERT OR IGNORE INTO sessions (session_id, root_id, tenant, person) VALUES (?, ?, ?, ?)"
_RUN_BY_DEDUP = f"SELECT {RUN} FROM runs WHERE run_id = (SELECT run_id FROM dedups WHERE dedup = ?)"
_WAITING = f"""SELECT {RUN} FROM runs WHERE session_id = ? AND status IN ('waiting', 'needs_narrowing')
    ORDER BY created_at DESC, run_id DESC"""
_ADD_RUN = f"INSERT INTO runs ({RUN}, tenant, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DEDUP = "INSERT INTO dedups (dedup, run_id) VALUES (?, ?)"
_INTERRUPTING = f"""SELECT DISTINCT run_id FROM arrivals
    WHERE session_id = ? AND kind = 'input' AND ahead = {checks.INTERRUPTING}"""
_AT_WORK = f"""SELECT {RUN} FROM runs WHERE run_id = (SELECT driver FROM sessions
    WHERE session_id = ? AND owner IS NOT NULL AND until > ? AND NOT is_gone(owner))"""
_STEER = f"INSERT INTO steering ({RUN}, tenant, person, dedup, into_run) VALUES ({', '.join('?' * 14)})"


def create(
    db: sqlite3.Connection,
    run: Row,
    first: Row,
    principal: Principal,
    dedup: str | None,
    claim: tuple[str, float] | None,
    now: float,
    on_busy: OnBusy = "queue",
) -> tuple[Row, Fence | None]:
    """`RunStore.create`: the run's columns as they are now, and the fence."""
    run_id, session_id, root_id = run[:3]
    known = dedup and db.execute(_RUN_BY_DEDUP, (dedup,)).fetchone()
    known = known or db.execute(streams.RUN_BY_ID, (run_id,)).fetchone()
    if known:
        check_opens(principal, known[1], owner_of(run_of(known).principal))
        return known, None
    if claim is not None and session_id == root_id:
        owner, ttl = claim
        opened = db.execute(_OPEN, (root_id, root_id, owner, run_id, now + ttl, principal.tenant, principal.id))
        if opened.rowcount == 1:
            return _first_run(db, run, first, dedup), Fence(root_id=root_id, owner=owner, epoch=1)
    check_opens(principal, session_id, streams.owner_of_session(db, session_id))
    for one in {session_id, root_id}:
        db.execute(_SESSION, (one, root_id, principal.tenant, principal.id))
    at_work: Row | None = None if on_busy == "queue" else db.execute(_AT_WORK, (root_id, now)).fetchone()
    if on_busy == "reject":
        _refuse_busy(db, session_id, at_work)
    if on_busy == "steer" and at_work is not None and may_steer(run_of(run[:10], principal), run_of(at_work)):
        return _steer(db, run, first, dedup, at_work), None
    is_first = on_busy == "interrupt" and (at_work is None or may_see(principal, owner_of(run_of(at_work).principal)))
    target, fence = _another_run(db, run, first, principal, dedup, claim, now, is_first)
    if is_first and fence is None:
        _interrupt(db, session_id, principal, at_work, target[0], now)
    return target, fence


def _refuse_busy(db: sqlite3.Connection, session_id: str, at_work: Row | None) -> None:
    busy = at_work or db.execute(streams.QUEUED, (session_id,)).fetchone()
    if busy is not None:
        raise checks.busy(session_id, busy[0])


def _steer(db: sqlite3.Connection, run: Row, first: Row, dedup: str | None, at_work: Row) -> Row:
    """Leave an input that is to enter the run at work, and the run that it becomes if it does not."""
    db.execute(_STEER, (*run, dedup, at_work[0]))
    streams.leave(db, (*first[:3], "steer", *first[4:]), run[2])
    if dedup:
        db.execute(_DEDUP, (dedup, at_work[0]))
    return at_work


def _interrupt(
    db: sqlite3.Connection, session_id: str, principal: Principal, at_work: Row | None, by: str, now: float
) -> None:
    """Wish the run at work cancelled, and earlier interrupting ones that have not begun."""
    others = [] if at_work is None else [at_work[0]]
    others += [run_id for (run_id,) in db.execute(_INTERRUPTING, (session_id,)).fetchall()]
    for run_id in others:
        run = streams.open_run(db, run_id) if run_id != by else None
        if run is not None and may_see(principal, owner_of(run.principal)):
            streams.leave(db, row_of_record(checks.interruption(run, by, now)), run.root_id)


def _first_run(db: sqlite3.Connection, run: Row, first: Row, dedup: str | None) -> Row:
    """The common case, in as few statements as can be: a session that was not there."""
    run_id, session_id = run[:2]
    db.execute(_ADD_RUN, (*streams.running(run), *run[10:]))
    db.execute(streams.ADD_RECORD, (session_id, 1, run_id, *first[3:]))
    if dedup:
        db.execute(_DEDUP, (dedup, run_id))
    return streams.running(run)


def _another_run(
    db: sqlite3.Connection,
    run: Row,
    first: Row,
    principal: Principal,
    dedup: str | None,
    claim: tuple[str, float] | None,
    now: float,
    is_first: bool,
) -> tuple[Row, Fence | None]:
    session_id, root_id = run[1:3]
    waiting = db.execute(_WAITING, (session_id,)).fetchall()
    target = next((one for one in waiting if may_continue(principal, run_of(one).principal)), None)
    if target is None:
        db.execute(_ADD_RUN, run)
        target = run[:10]
    if dedup:
        db.execute(_DEDUP, (dedup, target[0]))
    is_queued = db.execute(streams.QUEUED, (session_id,)).fetchone() is not None
    first = (session_id, first[1], target[0], *first[3:])
    if claim is None or is_queued or not streams.is_free(db, root_id, now):
        streams.leave(db, first, root_id, checks.INTERRUPTING if is_first else checks.IN_LINE)
        return target, None
    fence = streams.take(db, target, *claim, now)
    streams.place(db, session_id, [first])
    return streams.running(target), fence
