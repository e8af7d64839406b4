"""What every store decides in the same way: effects, decisions, later versions of an action, amounts.

Pure functions over rows; the stores differ only in where the rows lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from backstay.boundary.actions import CALLBACK, ActionState, Decision, PendingAction
from backstay.boundary.answers import check_answer
from backstay.boundary.deciding import check, is_enough
from backstay.core.context import Effect, Reserve
from backstay.core.errors import DecisionError, FencedError, NotFoundError, StoreError
from backstay.core.files import MAX_FILE_BYTES
from backstay.core.messages import Artifact, Label, ToolResult
from backstay.store.records import Decided, Fence, Record, RunRow, Status

Amounts: TypeAlias = Sequence[tuple[str, Decimal]]
IN_LINE, SET_FREE, INTERRUPTING = 0, 1, 2
"""How far ahead a queued input goes: in its turn; where it was to steer a run that has ended; where it interrupts."""


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
        """Whether what it reserved is still held: no outcome is known, or it is not sure."""
        return self.outcome is None or not (self.outcome.ok or self.outcome.is_void)

    @property
    def holds(self) -> bool:
        """Whether what it reserved is not given back."""
        return bool(self.reserve) and (self.outcome is None or not self.outcome.is_void)


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
    """Return what is held after an effect: spent if it happened, given back if surely not, kept while nobody knows."""
    if outcome.is_void:
        return Held(held.reserved - amount, held.committed)
    return Held(held.reserved - amount, held.committed + amount) if outcome.ok else held


def over(reserve: Sequence[Reserve], held: Callable[[str], Held]) -> ToolResult | None:
    """Say that an effect may not begin, if a key would hold more than it may: other sessions have used it up."""
    for key, amount, cap in reserve:
        now = held(key)
        if cap is not None and now.reserved + now.committed + amount > cap:
            told = (
                f"It did not run: {cap:f} is allowed in all, {now.reserved + now.committed:f} of it are used up or"
                f" reserved by now, and this would be {amount:f} more."
            )
            return ToolResult(ok=False, summary=told, error=told, code="constraint.broken", via="refused")
    return None


def full(amounts: Sequence[Reserve], found: Mapping[str, Held]) -> str | None:
    """The first key that would hold more than its cap with all of these amounts; None if there is room for them."""
    after = charged(amounts, found)
    return next(
        (
            one.key
            for one in amounts
            if one.cap is not None and after[one.key].reserved + after[one.key].committed > one.cap
        ),
        None,
    )


def charged(amounts: Sequence[Reserve], found: Mapping[str, Held]) -> dict[str, Held]:
    """What the keys hold with these amounts, spent for good."""
    after = dict(found)
    for one in amounts:
        after[one.key] = Held(after[one.key].reserved, after[one.key].committed + one.amount)
    return after


def amounts_of(reserve: Sequence[Reserve]) -> tuple[tuple[str, Decimal], ...]:
    """What is kept with an effect of what it has reserved."""
    return tuple([(one[0], one[1]) for one in reserve])


def judged(action: PendingAction, version: int, decision: Decision) -> PendingAction:
    """Return the action as this decision leaves it: `approved`, `refused`, `expired` if it came too late, or `open`
    with one more vote where more people have to approve.

    Raises:
        DecisionError: when the action is not open, has changed, or is about other arguments; when who decides may not,
            or their answer does not fit.
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
    check(action, decision)
    if decision.approve:
        _answered(action, decision)
        if not is_enough(action, decision):
            return replace(action, votes=(*action.votes, decision))
    state: ActionState = "approved" if decision.approve else "refused"
    return replace(action, state=state, version=version + 1, decision=decision)


def _answered(action: PendingAction, decision: Decision) -> None:
    if action.wants_answer or (action.kind == "narrowing" and decision.answer is not None):
        check_answer(action.choices, decision.answer)
    if action.kind == "deferred" and decision.via != CALLBACK:
        told = f"{action.id} waits for the other side, not for a person; it may only be given up (refused)"
        raise DecisionError(told, code="deferred.person")


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
        body=Decided(action_id=action.id, decision=decision, votes=action.votes),
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


def interruption(run: RunRow, by: str, now: float) -> Record:
    """The un-numbered record of a wish that a run be cancelled because another input is to be answered first."""
    return wish_to_cancel(run, f"run {by} interrupts it", now)


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


def relabelled(artifact: Artifact, label: Label) -> Artifact:
    """The same file with the stricter of two labels: equal bytes may come from two sources."""
    joined = artifact.label.join(label)
    return artifact if joined == artifact.label else replace(artifact, label=joined)


def sized(files: Sequence[tuple[Artifact, bytes]]) -> None:
    """Check that files may be kept.

    Raises:
        StoreError: code `artifact.too_large`; nothing of the batch is written.
    """
    for artifact, data in files:
        if len(data) > MAX_FILE_BYTES:
            raise too_large(artifact.name, len(data))


def too_large(name: str, size: int) -> StoreError:
    """A file that is larger than a store keeps."""
    return StoreError(
        f"the file {name!r} has {size:,} bytes; a store keeps files of at most {MAX_FILE_BYTES:,}. Keep it"
        " elsewhere and give its address",
        code="artifact.too_large",
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


def busy(session_id: str, run_id: str) -> StoreError:
    """An input that was not to wait, for a session on which another run is at work."""
    return StoreError(
        f"session {session_id!r} is busy: run {run_id} is at work on it; nothing was stored. Wait for it, or choose"
        " another on_busy (queue, steer, interrupt)",
        code="session.busy",
    )


def no_session(session_id: str) -> NotFoundError:
    """A session this store has not got."""
    return NotFoundError(f"no session {session_id!r} in this store")


def no_action(action_id: str) -> NotFoundError:
    """An action this store has not got."""
    return NotFoundError(f"no action {action_id!r} in this store")


def no_artifact(ref: str) -> NotFoundError:
    """A file this session has not got."""
    return NotFoundError(f"no file {ref!r} in this session")


def no_effect(key: str) -> NotFoundError:
    """An outcome of something that never began."""
    return NotFoundError(f"the effect {key!r} was never begun, so it has no outcome")


def conflict(scope: str, key: str, version: int, expect: int) -> DecisionError:
    """A board value that somebody else has written."""
    return DecisionError(
        f"{key!r} on board {scope!r} is at version {version}, expected {expect}; read it again and merge",
        code="board.conflict",
    )
