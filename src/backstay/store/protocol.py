"""What a store must do: the protocol that memory, SQLite and PostgreSQL pass one conformance suite for.

Two kinds of writers: the *driver* of a session holds its fence and writes numbered records; everybody else (a door that
brings a turn to a busy session, a person who decides, somebody who cancels) leaves unnumbered *arrivals*, which the
driver numbers when it claims and at its step borders.

Whoever asks for somebody names them: `principal` sees what is their own, an operator or developer all of their tenant,
and nobody anything of another; what they may not see is not there. None is the process itself (`store/access.py`).
Source: DESIGN 2, 4; SPEC B22; `docs/decisions/0001-types.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, Protocol

from backstay.boundary.actions import Decision, PendingAction
from backstay.core.canon import EMPTY
from backstay.core.context import Effect, Principal, Reserve
from backstay.core.messages import Artifact, Json, ToolResult
from backstay.store.records import AuditRow, Fence, OnBusy, Record, RunRow, SpanRow
from backstay.store.standing import Standing

NO_STATUSES: Mapping[str, str] = EMPTY


class RunStore(Protocol):
    """Runs, their journals, effects, pending actions, audit and traces."""

    @property
    def is_durable(self) -> bool:
        """Whether what was written survives the process."""
        ...

    @property
    def standing(self) -> Standing:
        """What stands beside all runs: halts and grants."""
        ...

    async def create(
        self,
        run: RunRow,
        first: Record,
        *,
        dedup: str | None = None,
        claim: tuple[str, float] | None = None,
        on_busy: OnBusy = "queue",
    ) -> tuple[RunRow, Fence | None]:
        """Make a run with its input, and claim its session in the same transaction if it is free.

        If the session has a run that waits (`waiting`, `needs_narrowing`), the input continues that run: its row is
        returned, and `first` is stored under its id. If the session is busy, or an earlier input of it is still
        queued, the input is left as an arrival and there is no fence.

        A session belongs to the principal of its first run. Another one of the tenant, operator or developer, may speak
        in it too; an input continues a waiting run only where that gives nobody rights that they have not got.

        Args:
            run: the row; `status` is what it starts as (`running`; stored as `queued` where no fence is given).
            first: its `input` record, `seq` 0; the store numbers it.
            dedup: a key that at most one run of the principal may have; a second create returns the first one's row
                and no fence.
            claim: owner and time to live in seconds; None leaves the input as an arrival for whoever drives it.
            on_busy: what happens where the session is held, or an earlier input of it is still queued.
                `queue`: as above.
                `reject`: nothing is stored.
                `steer`: the input waits to enter the run at work, whose row is returned; see `next_input`. If that run
                ends before, the input becomes this run, ahead of what is queued. It is queued where it may not enter:
                the run at work is another agent's, or this principal could not continue it.
                `interrupt`: a wish to cancel the run at work is left, and the run goes ahead of what is queued; of
                earlier ones that interrupt and have not begun, a wish to cancel is left too. It is queued where this
                principal may not see the run at work.

        Raises:
            StoreError: code `session.owner`, when the session, or a run of this id, is somebody else's;
                `session.busy`, for `reject`.
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

    async def next_input(self, fence: Fence, run_id: str) -> Record | None:
        """Number the oldest input that steers this run and return it; None if there is none.

        One at a time, since the driver writes what it reads out of each. Only where no call waits for its result.
        """
        ...

    async def arrived(self, run_id: str) -> int:
        """How many arrivals the driver of this run may number now: decisions, wishes, inputs that steer it."""
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
        files: Sequence[tuple[Artifact, bytes]] = (),
    ) -> int:
        """Write one batch in one transaction and return `arrived` of these records' runs together.

        Args:
            records: numbered by the driver without gaps; a gap or a doubled seq is a `FencedError`.
            pending: new rows, or rows with a higher version of ones that exist.
            outcomes: finished effects by key.
            audit: rows to chain.
            statuses: run id → new status.
            files: to be kept for the root session by their handles; one whose handle is there already gets the
                stricter of both labels. Equal bytes are kept once.

        Raises:
            FencedError: when a later claim holds the session.
            FullError: when there is no room; nothing of the batch was written.
            StoreError: `artifact.too_large`, for a file above 16 MiB; nothing of the batch was written.
        """
        ...

    async def artifact(
        self, session_id: str, ref: str, *, principal: Principal | None = None
    ) -> tuple[Artifact, bytes]:
        """A file of a session by its handle; a child session has its root's. Raises `NotFoundError` for any other."""
        ...

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
        """Record durably that an effect begins, with its audit row, before it does.

        Args:
            fence: of the session.
            key: of the effect: run and slot.
            effect: whether it may be repeated.
            digest: of the call.
            attempt: its number, from 1.
            reserve: what to hold in the ledger until the outcome is known; a key that all sessions share is looked at
                and raised in one transaction.
            audit: the row to chain.

        Returns:
            `new` when it may run (also for a further attempt in the same epoch), `started` when an earlier epoch
            began it and no outcome is known, the stored result when it was finished, or a refused one, with nothing
            written, when a key of the ledger would hold more than its cap.

        Raises:
            DecisionError: code `effect.changed`, when the key was begun with another digest.
        """
        ...

    async def reserved(self, session_id: str, effects: Sequence[str]) -> Mapping[str, Sequence[tuple[str, Decimal]]]:
        """What these effects, and those begun inside them, hold of the ledger: reserved or spent.

        Nothing of an effect that never began, or whose amounts were given back.
        """
        ...

    async def charge(self, fence: Fence, amounts: Sequence[Reserve]) -> str | None:
        """Add amounts to keys of the ledger that all sessions share, in one transaction, all of them or none.

        Returns:
            The first key that would hold more than its cap, with nothing written; None when it is done. An amount
            below 0 gives back.
        """
        ...

    async def spent(self, keys: Sequence[str]) -> Mapping[str, Decimal]:
        """What shared keys of the ledger hold, reserved and spent."""
        ...

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
        """Write the last records, set the run's status and give the session back, in one transaction.

        Args:
            fence: of the session.
            run_id: the run.
            status: how it stands.
            records: as for `append`.
            wake_at: seconds since 1970 at which `due` names the run again.
            parked: `standing.changes()` as it was when a halt stopped the run; `due` names it after the next change.
        """
        ...

    async def decide(self, pending_id: str, version: int, decision: Decision, audit: AuditRow) -> PendingAction:
        """Decide an open action: one winner. The row becomes `approved` or `refused`, the run due, the decision an
        arrival. Where several people have to approve, all but the last leave it `open` with one more vote.

        Raises:
            NotFoundError: no such action.
            DecisionError: `action.decided` (already), `action.version` (the row has changed since it was read),
                `action.digest` (the decision names other arguments), `action.expired`, `action.tampered`.
        """
        ...

    def sign(self, what: str) -> str:
        """An HMAC-SHA256 of a text with the store's key, as hexadecimal characters, to be known again later."""
        ...

    async def note(self, pending_id: str, audit: AuditRow) -> None:
        """Chain an audit row about an action that changes nothing. Raises `NotFoundError`."""
        ...

    async def action(self, pending_id: str, *, principal: Principal | None = None) -> PendingAction:
        """One action. Raises `NotFoundError`, or `DecisionError` `action.tampered` if the row is not as written."""
        ...

    async def pending(
        self, *, principal: Principal | None = None, state: str = "open", after: str = "", limit: int = 50
    ) -> Sequence[PendingAction]:
        """A page of actions in order of id; `state=""` for every state."""
        ...

    async def run(self, run_id: str, *, principal: Principal | None = None) -> RunRow:
        """One run. Raises `NotFoundError`."""
        ...

    async def runs(
        self, *, principal: Principal | None = None, status: str = "", after: str = "", limit: int = 50
    ) -> Sequence[RunRow]:
        """A page of runs in order of id."""
        ...

    async def read(
        self, session_id: str, *, principal: Principal | None = None, after: int = 0, limit: int = 200
    ) -> Sequence[Record]:
        """A page of a session's records with seq > `after`, snapshots included."""
        ...

    async def audit(self, session_id: str, *, principal: Principal | None = None) -> Sequence[tuple[AuditRow, str]]:
        """A session's audit rows with their chain hashes, oldest first; `who` is the pseudonym as stored."""
        ...

    async def audit_heads(self) -> Sequence[tuple[str, int, str]]:
        """Where every audit chain ends: session, number of rows, last hash; in order of session. To be kept elsewhere
        (anchored): whoever has the key could write a chain anew, but not one that holds a head that others know.
        """
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
        """Copy a session's files, and its records up to a seq, into a new session and return its id.

        Effects and actions stay.
        """
        ...

    async def forget(self, session_id: str) -> None:
        """Delete a session: records, runs, actions, effects, files, spans. Its audit chain stays and still verifies."""
        ...

    async def put_spans(self, spans: Sequence[SpanRow]) -> None:
        """Write finished spans; a crash may lose the last batch."""
        ...

    async def spans(self, trace_id: str, *, principal: Principal | None = None) -> Sequence[SpanRow]:
        """The spans of one trace, by start. Also accepts a run's id."""
        ...

    async def traces(
        self, *, principal: Principal | None = None, after: str = "", limit: int = 50
    ) -> Sequence[SpanRow]:
        """Root spans of runs, newest first; `after` is the trace id the page before ended with."""
        ...

    async def close(self) -> None:
        """Write what is buffered and let go of files and threads. A closed store may not be used again."""
        ...
