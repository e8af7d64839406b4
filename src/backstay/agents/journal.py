"""The journal of one drive: the only writer of a session. It numbers, writes, and then folds, in this order.

What is queued goes out with the next write, in the same transaction. Source: DESIGN 2, 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from backstay.agents.state import SessionState
from backstay.boundary.actions import PendingAction
from backstay.core.errors import FencedError
from backstay.core.messages import Artifact, ToolResult
from backstay.store.protocol import RunStore
from backstay.store.records import AuditRow, Body, Fence, Kind, Record, RunRow

SNAPSHOT_EVERY = 64
"""Records after which a snapshot is written at the next step border."""


@dataclass(slots=True)
class Queue:
    """What goes out with the next write."""

    records: list[tuple[Kind, Body]]
    pending: list[PendingAction]
    outcomes: list[tuple[str, ToolResult]]
    audit: list[AuditRow]
    files: list[tuple[Artifact, bytes]] = field(default_factory=list)


class Journal:
    """Writes the records of one run under one fence."""

    def __init__(
        self, store: RunStore, fence: Fence, row: RunRow, state: SessionState, clock: Callable[[], float]
    ) -> None:
        self.store = store
        self.fence = fence
        self.row = row
        self.state = state
        self.queue = Queue([], [], [], [])
        self.arrived = 0
        """Arrivals that wait to be numbered, as far as the last write saw."""
        self._later: list[tuple[Record, Callable[[int], None]]] = []
        self._clock = clock

    async def write(self, *entries: tuple[Kind, Body]) -> int:
        """Write the queue and these entries in one transaction, fold them, and return the seq of the last record."""
        queue, self.queue = self.queue, Queue([], [], [], [])
        records = self._numbered([*queue.records, *entries])
        written = [*(record for record, _ in self._later), *records]
        try:
            self.arrived = await self.store.append(
                self.fence,
                written,
                pending=queue.pending,
                outcomes=queue.outcomes,
                audit=queue.audit,
                files=queue.files,
            )
        except asyncio.CancelledError:
            await self._catch_up()
            raise
        self._fold(records)
        self._tell()
        return self.state.seq

    def write_later(self, kind: Kind, body: Body, told: Callable[[int], None]) -> None:
        """Fold a last record now and let it go out with the next write or the release; `told` is called after that."""
        (record,) = self._numbered([(kind, body)])
        self._later.append((record, told))
        self._fold([record])

    async def flush(self) -> None:
        """Write what is queued beside records, at once."""
        queue = self.queue
        if not (queue.outcomes or queue.audit):
            return
        outcomes, queue.outcomes = queue.outcomes, []
        audit, queue.audit = queue.audit, []
        files, queue.files = queue.files, []
        await self.store.append(self.fence, (), outcomes=outcomes, audit=audit, files=files)

    async def arrivals(self) -> Sequence[Record]:
        """Number what has arrived for this run but inputs, fold it, and return it."""
        await self._write_last()
        self.arrived = 0
        try:
            records = await self.store.arrivals(self.fence, self.row.run_id)
        except asyncio.CancelledError:
            await self._catch_up()
            raise
        self._fold_arrived(records)
        return records

    async def next_input(self) -> bool:
        """Number the oldest input that steers this run and fold it; False if there is none."""
        await self._write_last()
        try:
            record = await self.store.next_input(self.fence, self.row.run_id)
        except asyncio.CancelledError:
            await self._catch_up()
            raise
        self._fold_arrived([] if record is None else [record])
        return record is not None

    async def look(self) -> int:
        """How many arrivals may be numbered now, those included that came after the last write."""
        self.arrived = await self.store.arrived(self.row.run_id)
        return self.arrived

    async def _write_last(self) -> None:
        """The store numbers after what it has, so a last record has to be there."""
        if self._later:
            await self.write()

    async def _catch_up(self) -> None:
        """After a write that was cancelled under way: fold what the store has, so that the run can still be closed."""
        seq = self.state.seq
        there = await self.store.read(self.row.session_id, after=seq - len(self._later), limit=1_000)
        if there:
            self._tell()
            self._fold([record for record in there if record.seq > seq])

    def _fold_arrived(self, records: Sequence[Record]) -> None:
        if records and records[0].seq != self.state.seq + 1:
            raise FencedError(
                f"session {self.row.session_id!r} holds records that this drive has not seen; it writes nothing more",
                code="store.gap",
            )
        self._fold(records)

    async def release(
        self, status: str, *entries: tuple[Kind, Body], wake_at: float | None = None, parked: int | None = None
    ) -> None:
        """Write the last entries and give the session back, in one transaction where nothing else is queued."""
        queue = self.queue
        if queue.pending or queue.outcomes or queue.audit or queue.files:
            await self.write()
        records = self._numbered([*self.queue.records, *entries])
        written = [*(record for record, _ in self._later), *records]
        await self.store.release(self.fence, self.row.run_id, status, written, wake_at=wake_at, parked=parked)
        self._fold(records)
        self._tell()

    @property
    def wants_snapshot(self) -> bool:
        """Whether enough has been written since the last snapshot."""
        return self.state.seq - self.state.snapshot_seq >= SNAPSHOT_EVERY

    def _numbered(self, entries: Sequence[tuple[Kind, Body]]) -> list[Record]:
        now, row, seq = self._clock(), self.row, self.state.seq
        return [
            Record(
                session_id=row.session_id,
                seq=seq + number,
                run_id=row.run_id,
                kind=kind,
                at=now,
                body=body,
                trace_id=row.trace_id,
            )
            for number, (kind, body) in enumerate(entries, 1)
        ]

    def _tell(self) -> None:
        later, self._later = self._later, []
        for record, told in later:
            told(record.seq)

    def _fold(self, records: Sequence[Record]) -> None:
        for record in records:
            self.state.fold(record)
