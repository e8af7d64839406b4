"""What a store must do: the protocol that memory, SQLite and PostgreSQL pass one conformance suite for.

Two kinds of writers: the *driver* of a session holds its fence and writes numbered records; everybody else (a door that
brings a turn to a busy session, a person who decides, somebody who cancels) leaves unnumbered *arrivals*, which the
driver numbers when it claims and at its step borders. Source: DESIGN 2, 4; `docs/decisions/0001-types.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, Protocol

from backstay.boundary.actions import Decision, PendingAction
from backstay.core.canon import EMPTY
from backstay.core.context import Effect, Principal
from backstay.core.messages import Json, ToolResult
from backstay.store.records import AuditRow, Fence, Record, RunRow, SpanRow

NO_STATUSES: Mapping[str, str] = EMPTY


class RunStore(Protocol):
    """Runs, their journals, effects, pending actions, audit and traces."""

    @property
    def is_durable(self) -> bool:
        """Whether what was written survives the process."""
        ...

    async def create(
        self, run: RunRow, first: Record, *, dedup: str | None = None, claim: tuple[str, float] | None = None
    ) -> tuple[RunRow, Fence | None]:
        """Make a run with its input, and claim its session in the same transaction if it is free.

        If the session has a run that waits (`waiting`, `needs_narrowing`), the input continues that run: its row is
        returned, and `first` is stored under its id. If the session is busy, or an earlier input of it is still
        queued, the input is left as an arrival and there is no fence.

        Args:
            run: the row; `status` is what it starts as (`running`; stored as `queued` where no fence is given).
            first: its `input` record, `seq` 0; the store numbers it.
            dedup: a key that at most one run may have; a second create returns the first one's row and no fence.
            claim: owner and time to live in seconds; None leaves the input as an arrival for whoever drives it.
        """
        ...

    async def claim(self, run_id: str, *, owner: str, ttl: float) -> tuple[Fence, RunRow] | None:
        """Take the fence of the run's root session, number this run's arrivals and set the run to `running`.

        None if the session is held by another live owner, if an earlier input of the session is still queued, or if
        the run has ended. A claim over an expired lease raises the epoch: the former owner is fenced out.
        """
        ...

    async def renew(self, fence: Fence, ttl: float) -> Literal["held", "cancel", "lost"]:
        """Prolong the lease. `cancel`: a wish to cancel a run of this session has arrived."""
        ...

    async def load(self, session_id: str) -> Sequence[Record]:
        """The newest snapshot first, if there is one, then every record from its `tail` on, in order of seq.

        Records between `tail` and the snapshot are there for their messages only. Without a snapshot: everything.
        """
        ...

    async def arrivals(self, fence: Fence, run_id: str) -> Sequence[Record]:
        """Number what has arrived for this run (decisions, wishes to cancel, never inputs) and return it, in order."""
        ...

    async def append(
        self,
        fence: Fence,
        records: Sequence[Record],
        *,
        pending: Sequence[PendingAction] = (),
        outcomes: Sequence[tuple[str, ToolResult]] = (),
        audit: Sequence[AuditRow] = (),
        statuses: Mapping[str, str] = NO_STATUSES,
    ) -> int:
        """Write one batch in one transaction and return how many arrivals of these records' runs wait to be numbered.

        Args:
            records: numbered by the driver without gaps; a gap or a doubled seq is a `FencedError`.
            pending: new rows, or rows with a higher version of ones that exist.
            outcomes: finished effects by key.
            audit: rows to chain.
            statuses: run id → new status.

        Raises:
            FencedError: when a later claim holds the session.
            FullError: when there is no room; nothing of the batch was written.
        """
        ...

    async def begin_effect(
        self,
        fence: Fence,
        key: str,
        effect: Effect,
        digest: str,
        attempt: int,
        reserve: Sequence[tuple[str, Decimal]],
        audit: AuditRow,
    ) -> Literal["new", "started"] | ToolResult:
        """Record durably that an effect begins, with its audit row, before it does.

        Returns:
            `new` when it may run (also for a further attempt in the same epoch), `started` when an earlier epoch
            began it and no outcome is known, or the stored result when it was finished.

        Raises:
            DecisionError: code `effect.changed`, when the key was begun with another digest.
        """
        ...

    async def release(
        self, fence: Fence, run_id: str, status: str, records: Sequence[Record], *, wake_at: float | None = None
    ) -> None:
        """Write the last records, set the run's status and give the session back, in one transaction.

        `wake_at`: seconds since 1970 at which `due` names the run again.
        """
        ...

    async def decide(self, pending_id: str, version: int, decision: Decision, audit: AuditRow) -> PendingAction:
        """Decide an open action: one winner. The row becomes `approved` or `refused`, the run due, the decision an
        arrival.

        Raises:
            NotFoundError: no such action.
            DecisionError: `action.decided` (already), `action.version` (the row has changed since it was read),
                `action.digest` (the decision names other arguments), `action.expired`, `action.tampered`.
        """
        ...

    async def action(self, pending_id: str) -> PendingAction:
        """One action. Raises `NotFoundError`, or `DecisionError` `action.tampered` if the row is not as written."""
        ...

    async def pending(
        self, *, principal: Principal | None = None, state: str = "open", after: str = "", limit: int = 50
    ) -> Sequence[PendingAction]:
        """A page of actions in order of id; `state=""` for every state, `principal` for one person's (tenant, id)."""
        ...

    async def run(self, run_id: str) -> RunRow:
        """One run. Raises `NotFoundError`."""
        ...

    async def runs(
        self, *, principal: Principal | None = None, status: str = "", after: str = "", limit: int = 50
    ) -> Sequence[RunRow]:
        """A page of runs in order of id."""
        ...

    async def read(self, session_id: str, *, after: int = 0, limit: int = 200) -> Sequence[Record]:
        """A page of a session's records with seq > `after`, snapshots included."""
        ...

    async def audit(self, session_id: str) -> Sequence[tuple[AuditRow, str]]:
        """A session's audit rows with their chain hashes, oldest first; `who` is the pseudonym as stored."""
        ...

    async def verify_audit(self, session_id: str | None = None) -> Sequence[str]:
        """What is wrong with chain and actions of one session, or of all: one sentence each, empty if they hold."""
        ...

    async def board_get(self, scope: str, key: str) -> tuple[Json, int] | None:
        """A value of a blackboard and its version."""
        ...

    async def board_put(self, fence: Fence, scope: str, key: str, value: Json, *, expect: int) -> int:
        """Set a value if its version is still `expect` (0: not there) and return the new version.

        Raises:
            DecisionError: code `board.conflict`, when somebody else wrote in between.
        """
        ...

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """Runs that somebody should drive: decided, queued on a free session, woken, or left by a dead owner."""
        ...

    async def cancel(self, run_id: str, reason: str) -> None:
        """Leave the wish that the run be cancelled; the run becomes due if nobody drives it."""
        ...

    async def fork(self, session_id: str, upto: int) -> str:
        """Copy a session's records up to a seq into a new session and return its id; effects and actions stay."""
        ...

    async def forget(self, session_id: str) -> None:
        """Delete a session: records, runs, actions, effects, spans. Its audit chain stays and still verifies."""
        ...

    async def put_spans(self, spans: Sequence[SpanRow]) -> None:
        """Write finished spans; a crash may lose the last batch."""
        ...

    async def spans(self, trace_id: str) -> Sequence[SpanRow]:
        """The spans of one trace, by start. Also accepts a run's id."""
        ...

    async def traces(self, *, after: str = "", limit: int = 50) -> Sequence[SpanRow]:
        """Root spans of runs, newest first; `after` is the trace id the page before ended with."""
        ...

    async def close(self) -> None:
        """Write what is buffered and let go of files and threads. A closed store may not be used again."""
        ...
