"""The durable store in one SQLite file: WAL, an fsync for every commit but of traces, one thread that writes."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Literal

from backstay.boundary.actions import Decision, PendingAction
from backstay.core.context import Effect, Principal, Reserve
from backstay.core.errors import DecisionError, StoreError
from backstay.core.ids import new_id
from backstay.core.logs import logger
from backstay.core.messages import Artifact, Json, ToolResult
from backstay.store import checks, codec
from backstay.store.access import dedup_key, may_see, owner_of
from backstay.store.protocol import NO_STATUSES
from backstay.store.records import AuditRow, Fence, OnBusy, Record, RunRow, Snapshot, SpanRow
from backstay.store.sqlite import creating, effects, queries, streams
from backstay.store.sqlite import files as bytes_
from backstay.store.sqlite.opening import connect, meaning, prepare
from backstay.store.sqlite.rows import (
    Row,
    action_of,
    record_of,
    row_of_record,
    row_of_run,
    row_of_span,
    rows_of_records,
    run_of,
    span_of,
)
from backstay.store.sqlite.standing import SQLiteStanding
from backstay.store.sqlite.writer import Writer

_log = logger("backstay.store")

_PAGE = 256
"""How many records are read before other coroutines get their turn."""


class SQLiteStore:
    """A `RunStore` in one file, for any number of processes on one machine. Not for network file systems.

    A write is durable when its call returns. Reads are done where they are asked, since they cost less than a change of
    threads. A call that is cancelled while its write is under way ends when that is done, and has written.

    Args:
        path: the file; made if it is not there, with its key beside it (`key`, mode 0600).
        busy_seconds: how long to wait for another process that writes, before `store.busy`.
        clock: seconds since 1970, by which leases end.

    Raises:
        CorruptError: `store.corrupt`, `store.version`, `store.key`; nothing was changed.
        StoreError: `store.readonly`, `store.busy`.
        FullError: when there is no room.
    """

    def __init__(self, path: str | Path, *, busy_seconds: float = 30.0, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path).absolute()
        self._clock = clock
        self._lock = threading.Lock()
        self._is_closed = False
        try:
            self._reader = connect(self.path, busy_seconds=busy_seconds, synchronous="FULL")
            try:
                self._chain = prepare(self._reader, self.path)
                self._writer = Writer(self.path, busy_seconds=busy_seconds)
                self._reader.execute("PRAGMA query_only=ON")
            except BaseException:
                self._reader.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise meaning(error, self.path) from error
        self.standing = SQLiteStanding(self._writer, self._read, self._chain)

    @property
    def is_durable(self) -> bool:
        """True: what a call returned from is on the disk."""
        return True

    @property
    def transactions(self) -> int:
        """How many durable transactions were committed; calls that queue up share one."""
        return self._writer.transactions

    async def create(
        self,
        run: RunRow,
        first: Record,
        *,
        dedup: str | None = None,
        claim: tuple[str, float] | None = None,
        on_busy: OnBusy = "queue",
    ) -> tuple[RunRow, Fence | None]:
        """See `RunStore.create`. A run id that exists already counts as the same creation once more."""
        checks.named(run.run_id, run.session_id, run.root_id, dedup or "")
        now = self._clock()
        job = partial(
            creating.create,
            run=row_of_run(run, now),
            first=row_of_record(first),
            principal=run.principal,
            dedup=dedup_key(run.principal, dedup) if dedup else None,
            claim=claim,
            now=now,
            on_busy=on_busy,
        )
        row, fence = await self._writer.run(job)
        return run_of(row, run.principal if row[0] == run.run_id else None), fence

    async def claim(self, run_id: str, *, owner: str, ttl: float) -> tuple[Fence, RunRow] | None:
        """See `RunStore.claim`. A live lease is nobody's to take, its own owner's neither: two drives of one process
        would both write. Only a child run of a session that this owner drives gets the same fence.
        """
        taken = await self._writer.run(lambda db: streams.claim(db, run_id, owner, ttl, self._clock()))
        return None if taken is None else (taken[0], run_of(taken[1]))

    async def renew(self, fence: Fence, ttl: float) -> Literal["held", "cancel", "lost"]:
        """See `RunStore.renew`. A wish about another run that waits in the same session is not this driver's."""
        return await self._writer.run(lambda db: streams.renew(db, fence, self._clock() + ttl))

    async def load(self, session_id: str) -> Sequence[Record]:
        """See `RunStore.load`. Snapshots are left out of what follows the newest one. Empty for no such session."""
        found: list[Record] = []
        with self._read() as db:
            place = queries.start_of(db, session_id)
            if place is None:
                return found
            snapshot, tail = place
            if snapshot:
                found += [record_of(row) for row in queries.records(db, session_id, snapshot - 1, 1)]
        after = tail - 1
        while True:
            with self._read() as db:
                page = queries.records(db, session_id, after, _PAGE)
            found += [record_of(row) for row in page if not (snapshot and row[3] == "snapshot")]
            if len(page) < _PAGE:
                return found
            after = page[-1][1]
            await asyncio.sleep(0)

    async def arrivals(self, fence: Fence, run_id: str) -> Sequence[Record]:
        """See `RunStore.arrivals`."""
        rows = await self._writer.run(lambda db: streams.arrivals(db, fence, run_id))
        return [record_of(row) for row in rows]

    async def next_input(self, fence: Fence, run_id: str) -> Record | None:
        """See `RunStore.next_input`."""
        row = await self._writer.run(lambda db: streams.next_input(db, fence, run_id))
        return None if row is None else record_of(row)

    async def arrived(self, run_id: str) -> int:
        """See `RunStore.arrived`."""
        with self._read() as db:
            return streams.count_arrivals(db, [run_id])

    async def append(
        self,
        fence: Fence,
        records: Sequence[Record],
        *,
        pending: Sequence[PendingAction] = (),
        outcomes: Sequence[tuple[str, ToolResult]] = (),
        audit: Sequence[AuditRow] = (),
        statuses: Mapping[str, str] = NO_STATUSES,
        files: Sequence[tuple[Artifact, bytes]] = (),
    ) -> int:
        """See `RunStore.append`."""
        checks.sized(files)
        kept = bytes_.prepared(files)
        rows = rows_of_records(records)
        tails = _tails(records)
        finished = [(key, result, codec.dump(result)) for key, result in outcomes]
        run_ids = list({record.run_id for record in records})

        def job(db: sqlite3.Connection) -> int:
            streams.hold(db, fence)
            streams.write(db, fence, rows, tails)
            for action in pending:
                effects.keep_action(db, self._chain, fence.root_id, action)
            for key, result, outcome in finished:
                effects.finish(db, fence.root_id, key, result, outcome)
            effects.write_audit(db, self._chain, fence.root_id, audit)
            streams.set_statuses(db, statuses)
            bytes_.keep(db, fence.root_id, kept)
            return streams.count_arrivals(db, run_ids)

        return await self._writer.run(job)

    async def artifact(
        self, session_id: str, ref: str, *, principal: Principal | None = None
    ) -> tuple[Artifact, bytes]:
        """See `RunStore.artifact`."""
        with self._read() as db:
            if not _is_seen(db, session_id, principal):
                raise checks.no_artifact(ref)
            return bytes_.get(db, session_id, ref)

    async def begin_effect(
        self,
        fence: Fence,
        key: str,
        effect: Effect,
        digest: str,
        attempt: int,
        reserve: Sequence[Reserve],
        audit: AuditRow,
    ) -> Literal["new", "started"] | ToolResult:
        """See `RunStore.begin_effect`. Of effects that an older epoch began, only `once` is `started`; the repeatable
        ones are taken over and `new`. The audit row is written with `new` alone.
        """
        return await self._writer.run(
            lambda db: effects.begin(db, self._chain, fence, key, effect, digest, attempt, reserve, audit)
        )

    async def reserved(self, session_id: str, effects_: Sequence[str]) -> Mapping[str, Sequence[tuple[str, Decimal]]]:
        """See `RunStore.reserved`."""
        with self._read() as db:
            return effects.reserved(db, session_id, effects_)

    async def charge(self, fence: Fence, amounts: Sequence[Reserve]) -> str | None:
        """See `RunStore.charge`."""
        return await self._writer.run(lambda db: effects.charge(db, fence, amounts))

    async def spent(self, keys: Sequence[str]) -> Mapping[str, Decimal]:
        """See `RunStore.spent`."""
        with self._read() as db:
            return effects.spent(db, keys)

    async def release(
        self,
        fence: Fence,
        run_id: str,
        status: str,
        records: Sequence[Record],
        *,
        wake_at: float | None = None,
        parked: int | None = None,
    ) -> None:
        """See `RunStore.release`. A child released inside its parent's drive leaves the session with the parent."""
        rows, tails = rows_of_records(records), _tails(records)

        def job(db: sqlite3.Connection) -> None:
            streams.hold(db, fence)
            streams.write(db, fence, rows, tails)
            streams.give_back(db, fence, run_id, status, wake_at, parked)

        await self._writer.run(job)

    async def decide(self, pending_id: str, version: int, decision: Decision, audit: AuditRow) -> PendingAction:
        """See `RunStore.decide`. A decision that comes too late makes the row `expired` and wakes its run."""
        decided = await self._writer.run(
            lambda db: effects.decide(db, self._chain, pending_id, version, decision, audit)
        )
        assert isinstance(decided, PendingAction)  # the writer turns `Kept` into its error
        return decided

    def sign(self, what: str) -> str:
        """See `RunStore.sign`."""
        return self._chain.seal("signed", what)

    async def note(self, pending_id: str, audit: AuditRow) -> None:
        """See `RunStore.note`."""

        def job(db: sqlite3.Connection) -> None:
            effects.write_audit(db, self._chain, effects.action_row(db, pending_id)[5], (audit,))

        await self._writer.run(job)

    async def action(self, pending_id: str, *, principal: Principal | None = None) -> PendingAction:
        """See `RunStore.action`."""
        with self._read() as db:
            row = effects.action_row(db, pending_id)
        if not may_see(principal, (row[6], row[7])):
            raise checks.no_action(pending_id)
        return action_of(self._chain, row)

    async def pending(
        self, *, principal: Principal | None = None, state: str = "open", after: str = "", limit: int = 50
    ) -> Sequence[PendingAction]:
        """See `RunStore.pending`. A row that is not as it was written is left out and logged, and blocks no other."""
        found: list[PendingAction] = []
        while len(found) < limit:
            with self._read() as db:
                rows = queries.actions(db, principal, state, after, limit - len(found))
            if not rows:
                break
            after = rows[-1][0]
            found += self._as_written(rows)
        return found

    def _as_written(self, rows: Sequence[Row]) -> Iterator[PendingAction]:
        for row in rows:
            try:
                yield action_of(self._chain, row)
            except DecisionError as error:
                _log.error("left out of the inbox: %s", error.message)

    async def run(self, run_id: str, *, principal: Principal | None = None) -> RunRow:
        """See `RunStore.run`."""
        with self._read() as db:
            found = run_of(streams.run_row(db, run_id))
        if not may_see(principal, owner_of(found.principal)):
            raise checks.no_run(run_id)
        return found

    async def runs(
        self, *, principal: Principal | None = None, status: str = "", after: str = "", limit: int = 50
    ) -> Sequence[RunRow]:
        """See `RunStore.runs`."""
        with self._read() as db:
            rows = queries.runs(db, principal, status, after, limit)
        return [run_of(row) for row in rows]

    async def read(
        self, session_id: str, *, principal: Principal | None = None, after: int = 0, limit: int = 200
    ) -> Sequence[Record]:
        """See `RunStore.read`. Empty for no such session."""
        with self._read() as db:
            if not _is_seen(db, session_id, principal):
                return []
            rows = queries.records(db, session_id, max(after, 0), max(limit, 0))
        return [record_of(row) for row in rows]

    async def audit(self, session_id: str, *, principal: Principal | None = None) -> Sequence[tuple[AuditRow, str]]:
        """See `RunStore.audit`. Rows of child runs stand in their root session's chain."""
        with self._read() as db:
            if not _is_seen(db, session_id, principal):
                return []
            return [(link.row, link.hash) for link in effects.links_of(db, session_id)]

    async def audit_heads(self) -> Sequence[tuple[str, int, str]]:
        """See `RunStore.audit_heads`."""
        with self._read() as db:
            return db.execute("SELECT session_id, n, hash FROM heads ORDER BY session_id").fetchall()

    async def verify_audit(self, session_id: str | None = None) -> Sequence[str]:
        """See `RunStore.verify_audit`. Read in a thread and one transaction, since all the chains may be long."""
        self._check_open()
        return await asyncio.to_thread(self._verify, session_id)

    def _verify(self, session_id: str | None) -> list[str]:
        db = connect(self.path, busy_seconds=30.0, synchronous="FULL")
        try:
            db.execute("BEGIN")
            return effects.verify(db, self._chain, session_id)
        except sqlite3.Error as error:
            raise meaning(error, self.path) from error
        finally:
            db.close()

    async def board_get(self, scope: str, key: str) -> tuple[Json, int] | None:
        """See `RunStore.board_get`."""
        with self._read() as db:
            row = queries.board_value(db, scope, key)
        return (codec.load_json(row[0]), row[1]) if row else None

    async def board_put(self, fence: Fence, scope: str, key: str, value: Json, *, expect: int) -> int:
        """See `RunStore.board_put`."""
        checks.named(scope, key)
        text = codec.dump_json(value)
        return await self._writer.run(lambda db: effects.board_put(db, fence, scope, key, text, expect))

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """See `RunStore.due`. Oldest first. A child is named for a decision, a wish or its time, not for its input."""
        with self._read() as db:
            return streams.due(db, now, limit)

    async def cancel(self, run_id: str, reason: str) -> None:
        """See `RunStore.cancel`. Nothing happens to a run that has ended, or whose wish is there already."""

        def job(db: sqlite3.Connection) -> None:
            run = streams.open_run(db, run_id)
            if run is not None:
                wish = checks.wish_to_cancel(run, reason, self._clock())
                streams.leave(db, row_of_record(wish), run.root_id)

        await self._writer.run(job)

    async def fork(self, session_id: str, upto: int) -> str:
        """See `RunStore.fork`."""
        copy = new_id("session")

        def job(db: sqlite3.Connection) -> None:
            streams.fork(db, session_id, upto, copy)
            bytes_.copy(db, session_id, copy)
            row = streams.newest_snapshot(db, copy)
            if row is not None:
                streams.point(db, _tails([record_of(row)]))

        await self._writer.run(job)
        return copy

    async def forget(self, session_id: str) -> None:
        """See `RunStore.forget`. Child sessions go with their root; one that is not there is forgotten already."""

        def job(db: sqlite3.Connection) -> None:
            bytes_.forget(db, session_id)
            streams.forget(db, session_id)

        await self._writer.run(job)

    async def put_spans(self, spans: Sequence[SpanRow]) -> None:
        """See `RunStore.put_spans`. Written without waiting for the disk."""
        rows = [row_of_span(span) for span in spans]
        await self._writer.run(lambda db: queries.put_spans(db, rows), lazy=True)

    async def spans(self, trace_id: str, *, principal: Principal | None = None) -> Sequence[SpanRow]:
        """See `RunStore.spans`."""
        with self._read() as db:
            rows = queries.spans(db, trace_id, principal)
        return [span_of(row) for row in rows]

    async def traces(
        self, *, principal: Principal | None = None, after: str = "", limit: int = 50
    ) -> Sequence[SpanRow]:
        """See `RunStore.traces`. A trace whose run was driven several times is named by its first drive."""
        with self._read() as db:
            rows = queries.traces(db, principal, after, limit)
        return [span_of(row) for row in rows]

    async def close(self) -> None:
        """See `RunStore.close`."""
        await self._writer.close()
        if not self._is_closed:
            self._is_closed = True
            with self._lock:
                self._reader.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError("this store is closed; open another one", code="store.closed")

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        self._check_open()
        with self._lock:
            try:
                yield self._reader
            except sqlite3.Error as error:
                raise meaning(error, self.path) from error


def _tails(records: Sequence[Record]) -> dict[tuple[str, int], int]:
    """(session, seq) of each snapshot → seq of the first record whose messages are still wanted."""
    return {
        (one.session_id, one.seq): max(1, one.body.tail) if isinstance(one.body, Snapshot) else one.seq
        for one in records
        if one.kind == "snapshot"
    }


def _is_seen(db: sqlite3.Connection, session_id: str, principal: Principal | None) -> bool:
    return principal is None or may_see(principal, streams.owner_of_session(db, session_id))
