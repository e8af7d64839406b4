"""What every store decides in the same way: effects, decisions, later versions of an action, amounts.

Pure functions over rows; the stores differ only in where the rows lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from backstay.boundary.actions import ActionState, Decision, PendingAction
from backstay.core.context import Effect
from backstay.core.errors import DecisionError, FencedError, NotFoundError, StoreError
from backstay.core.messages import ToolResult
from backstay.store.records import Decided, Fence, Record, RunRow, Status

Amounts: TypeAlias = Sequence[tuple[str, Decimal]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """An effect that was begun, and its outcome once it is known."""

    effect: Effect
    digest: str
    attempt: int
    epoch: int
    reserve: tuple[tuple[str, Decimal], ...]
    outcome: ToolResult | None = None

    @property
    def is_unsettled(self) -> bool:
        """Whether what it reserved is still held: no outcome is known, or it is in doubt."""
        return self.outcome is None or self.outcome.via == "in_doubt"


@dataclass(frozen=True, slots=True)
class Held:
    """What the ledger holds of one key: reserved for effects under way, and spent for good."""

    reserved: Decimal = Decimal(0)
    committed: Decimal = Decimal(0)


def begin(row: EffectRow | None, fence: Fence, key: str, digest: str) -> Literal["new", "started"] | ToolResult:
    """Say whether an effect may begin, given what is known of its key.

    An effect that an older epoch began and nobody finished is `started` only if it may happen at most once; a
    repeatable one (`none`, `keyed`) is taken over and is `new`.
    """
    if row is None:
        return "new"
    if row.digest != digest:
        raise DecisionError(
            f"the effect {key!r} was begun with other arguments; it is not begun again with these",
            code="effect.changed",
        )
    if row.outcome is not None:
        return row.outcome
    return "started" if row.epoch < fence.epoch and row.effect == "once" else "new"


def settle(held: Held, amount: Decimal, outcome: ToolResult) -> Held:
    """Return what is held after an effect: spent if it happened, given back if not, kept while in doubt."""
    if outcome.ok:
        return Held(held.reserved - amount, held.committed + amount)
    if outcome.via == "in_doubt":
        return held
    return Held(held.reserved - amount, held.committed)


def judged(action: PendingAction, version: int, decision: Decision) -> PendingAction:
    """Return the action as this decision leaves it: `approved`, `refused`, or `expired` if it came too late.

    Raises:
        DecisionError: when the action is not open, has changed, or is about other arguments.
    """
    if action.state == "expired":
        raise expired(action)
    if action.state != "open":
        raise DecisionError(f"{action.id} is {action.state} already; nothing was changed", code="action.decided")
    if action.version != version:
        raise DecisionError(
            f"{action.id} has changed (version {action.version}, the decision saw {version}); read it again and decide",
            code="action.version",
        )
    if decision.at >= action.expires_at:
        return replace(action, state="expired", version=version + 1)
    if decision.args_digest != action.args_digest:
        raise DecisionError(
            f"the decision is about other arguments than those of {action.id}; read it again and decide",
            code="action.digest",
        )
    state: ActionState = "approved" if decision.approve else "refused"
    return replace(action, state=state, version=version + 1, decision=decision)


def expired(action: PendingAction) -> DecisionError:
    """A decision that came after the action's end."""
    return DecisionError(f"{action.id} has expired and was not executed; ask for it anew", code="action.expired")


def tampered(action_id: str) -> DecisionError:
    """A row of the inbox whose seal does not hold."""
    return DecisionError(
        f"the row of {action_id} is not as it was written; it will not be executed. Look who wrote to the store",
        code="action.tampered",
    )


def replaces(action_id: str, version: int, state: str, new: PendingAction) -> bool:
    """Whether a driver's row is to be written over the stored one; the very same state once more is nothing.

    Raises:
        DecisionError: `action.version`, when somebody has decided in between.
    """
    if new.version > version:
        return True
    if new.version == version and new.state == state:
        return False
    raise DecisionError(
        f"{action_id} is {state} at version {version} by now; number what has arrived and look again",
        code="action.version",
    )


def arrival_of_decision(action: PendingAction, decision: Decision) -> Record:
    """The un-numbered record of a decision."""
    return Record(
        session_id=action.session_id,
        seq=0,
        run_id=action.run_id,
        kind="decided",
        at=decision.at,
        body=Decided(action_id=action.id, decision=decision),
        trace_id=action.trace_id,
    )


def wish_to_cancel(run: RunRow, reason: str, now: float) -> Record:
    """The un-numbered record of a wish that a run be cancelled."""
    return Record(
        session_id=run.session_id,
        seq=0,
        run_id=run.run_id,
        kind="status",
        at=now,
        body=Status(status="cancelled", reason=reason),
        trace_id=run.trace_id,
    )


def numbered(record: Record, seq: int, session_id: str) -> Record:
    """A record in its place. Spelt out, since this is hot and `replace` is slow."""
    return Record(
        session_id=session_id,
        seq=seq,
        run_id=record.run_id,
        kind=record.kind,
        at=record.at,
        body=record.body,
        version=record.version,
        trace_id=record.trace_id,
        span_id=record.span_id,
    )


def named(*texts: str) -> None:
    """Check that identifiers are text that a database can hold.

    Raises:
        StoreError: code `store.id`, for a lone surrogate or a NUL.
    """
    for text in texts:
        if not text.isascii() or "\0" in text:
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise StoreError(
                    f"{text!r} cannot be an identifier: it holds half a character", code="store.id"
                ) from error
            if "\0" in text:
                raise StoreError(f"{text!r} cannot be an identifier: it holds a NUL", code="store.id")


def fenced(fence: Fence) -> FencedError:
    """A writer whose right has gone to somebody else, or was given back."""
    return FencedError(
        f"session {fence.root_id!r} is not held by {fence.owner!r} (epoch {fence.epoch}) any more; nothing was written"
    )


def gap(session_id: str, seq: int) -> FencedError:
    """Records that do not follow on the last one of their session."""
    return FencedError(
        f"record {seq} does not follow on the last of session {session_id!r}; nothing was written", code="store.gap"
    )


def no_run(run_id: str) -> NotFoundError:
    """A run this store has not got."""
    return NotFoundError(f"no run {run_id!r} in this store")


def no_session(session_id: str) -> NotFoundError:
    """A session this store has not got."""
    return NotFoundError(f"no session {session_id!r} in this store")


def no_action(action_id: str) -> NotFoundError:
    """An action this store has not got."""
    return NotFoundError(f"no action {action_id!r} in this store")


def no_effect(key: str) -> NotFoundError:
    """An outcome of something that never began."""
    return NotFoundError(f"the effect {key!r} was never begun, so it has no outcome")


def conflict(scope: str, key: str, version: int, expect: int) -> DecisionError:
    """A board value that somebody else has written."""
    return DecisionError(
        f"{key!r} on board {scope!r} is at version {version}, expected {expect}; read it again and merge",
        code="board.conflict",
    )
