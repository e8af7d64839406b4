"""What the records of a session fold into. `fold` is the only thing that changes it.

Resume is folding, never replaying user code: the same records give the same state, whoever wrote them.
Source: DESIGN 2, 8.3, 8.10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import cast

from backstay.boundary.actions import Decision, PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.provenance import TrustedText
from backstay.core.canon import freeze
from backstay.core.errors import CorruptError
from backstay.core.messages import PLAIN, Label, Message, ToolCall, Usage
from backstay.store.records import (
    ENDED,
    Asked,
    Decided,
    Input,
    Notice,
    Record,
    Reply,
    Results,
    RunCount,
    Snapshot,
    Status,
)

CANCELLED = "run.cancelled"
"""The code of a run that was cancelled; a status `cancelled` without it is somebody's wish."""


@dataclass(slots=True)
class RunState:
    """What is known of one run that has not ended."""

    run_id: str
    step: int = 0
    slot: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = field(default_factory=lambda: Decimal(0))
    active_seconds: float = 0.0
    input: Input | None = None
    input_seq: int = 0
    since_step: int = 0
    """The counters when its last input came: limits are per input."""
    since_calls: int = 0
    since_tokens: int = 0
    since_usd: Decimal = Decimal(0)
    since_seconds: float = 0.0
    unanswered: tuple[ToolCall, ...] = ()
    """Calls of the last reply whose results are not journalled yet."""
    is_cut_off: bool = False
    """Whether the last reply ended at the token limit: its calls never run."""
    is_due: bool = False
    """Whether the model has something to answer."""
    output: str | None = None
    """Words of the last reply without calls."""
    empty: int = 0
    """Empty replies in a row."""
    cancelled: str | None = None
    """Why somebody wishes it cancelled."""

    def count(self) -> RunCount:
        """The counters, frozen."""
        return RunCount(
            run_id=self.run_id,
            step=self.step,
            slot=self.slot,
            calls=self.calls,
            usage=self.usage,
            cost_usd=self.cost_usd,
            active_seconds=self.active_seconds,
            since_step=self.since_step,
            since_calls=self.since_calls,
            since_tokens=self.since_tokens,
            since_usd=self.since_usd,
            since_seconds=self.since_seconds,
            input=replace(self.input, history=()) if self.input else None,
            is_due=self.is_due,
            output=self.output,
        )


class SessionState:
    """A session, folded: messages, rules, labels, counters, what waits."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.seq = 0
        self.snapshot_seq = 0
        self.tail = 1
        self.instructions = ""
        self.messages: list[Message] = []
        self.call_ids: set[str] = set()
        self.constraints: dict[str, Constraint] = {}
        self.rules_version = 0
        """Grows with every change of the constraints."""
        self.sources = TrustedText()
        self.label: Label = PLAIN
        self.done: dict[str, int] = {}
        self.open: dict[str, PendingAction] = {}
        self.decided: dict[str, Decision] = {}
        self.refused: set[str] = set()
        self.runs: dict[str, RunState] = {}
        self.has_refs = False
        """Whether a result in the window was cut, so that there is something to recall."""

    def load(self, records: Sequence[Record]) -> None:
        """Fold what a store gives: the newest snapshot first, if there is one, then what it does not hold."""
        for record in records:
            if record.kind == "snapshot" and not self.seq:
                self._restore(record)
            else:
                self.fold(record)

    def run(self, run_id: str) -> RunState:
        """The state of a run, made at its first record."""
        found = self.runs.get(run_id)
        if found is None:
            found = self.runs[run_id] = RunState(run_id)
        return found

    def held_by(self, run_id: str) -> list[PendingAction]:
        """The open actions that a run waits for."""
        return [one for one in self.open.values() if one.run_id == run_id and one.holds_run]

    def fold(self, record: Record) -> None:
        """Take one record in. Records that a snapshot already counts give their messages only."""
        shown, counted = _FOLDS.get(type(record.body), (None, None))
        if shown is None and counted is None:
            raise CorruptError(f"record {record.seq} of {self.session_id} holds no known body ({record.kind})")
        if shown is not None:
            shown(self, record)
        if record.seq > self.snapshot_seq:
            self.seq = record.seq
            if counted is not None:
                counted(self, self.run(record.run_id), record.body)

    def _show_input(self, record: Record) -> None:
        body: Input = record.body  # type: ignore[assignment]  # the table says so
        self.messages += (*body.history, body.message)
        if body.message.label.trusted:
            self.sources.add(body.message.id, body.message.text)
        for message in body.history:
            self.call_ids.update(call.id for call in message.calls)

    def _show_reply(self, record: Record) -> None:
        reply = record.body.reply  # type: ignore[union-attr]  # the table says so
        if reply.parts:
            self.messages.append(Message(id=f"m{record.seq}", role="assistant", parts=reply.parts, label=self.label))
            self.call_ids.update(call.id for call in reply.calls)

    def _show_results(self, record: Record) -> None:
        returns, label = record.body.returns, PLAIN  # type: ignore[union-attr]  # the table says so
        for one in returns:
            label = label.join(one.result.label)
            self.has_refs = self.has_refs or one.result.ref is not None
        self.messages.append(Message(id=f"m{record.seq}", role="tool", parts=returns, label=label))

    def _show_notice(self, record: Record) -> None:
        self.messages.append(record.body.message)  # type: ignore[union-attr]  # the table says so

    def _fold_results(self, run: RunState, body: Results) -> None:
        run.unanswered, run.is_due = (), True
        for one in body.returns:
            self.label = self.label.join(one.result.label)
            if one.result.via in ("ran", "cached", "short_circuited"):
                self.done[one.name] = self.done.get(one.name, 0) + 1

    def _fold_asked(self, _run: RunState, body: Asked) -> None:
        self.open[body.action.id] = body.action

    def _fold_decided(self, _run: RunState, body: Decided) -> None:
        self.decided[body.action_id] = body.decision

    def _fold_snapshot(self, _run: RunState, _body: Snapshot) -> None:
        self.snapshot_seq = self.seq

    def _fold_status(self, run: RunState, body: Status) -> None:
        run.active_seconds += body.active_seconds
        if body.status == "cancelled" and body.code != CANCELLED:
            run.cancelled = body.reason or "cancelled"
        elif body.status in ENDED:
            self.runs.pop(run.run_id, None)

    def _fold_input(self, run: RunState, body: Input) -> None:
        run.input, run.input_seq, run.is_due, run.output = body, self.seq, True, None
        run.since_step, run.since_calls, run.since_tokens = run.step, run.calls, run.usage.total_tokens
        run.since_usd, run.since_seconds, run.empty = run.cost_usd or Decimal(0), run.active_seconds, 0
        self.instructions = body.instructions
        self.label = self.label.join(body.message.label)
        for message in body.history:
            self.label = self.label.join(message.label)

    def _fold_reply(self, run: RunState, body: Reply) -> None:
        reply, calls = body.reply, body.reply.calls
        run.step += 1
        run.slot += len(calls)
        run.calls += len(calls)
        run.unanswered, run.is_cut_off = calls, reply.finish == "length"
        if reply.usage is not None:
            run.usage += reply.usage
        known = run.cost_usd is not None and body.cost_usd is not None
        run.cost_usd = run.cost_usd + body.cost_usd if known else None  # type: ignore[operator]  # known says both are there
        run.empty = 0 if reply.parts else run.empty + 1
        run.is_due = not reply.parts or bool(calls)
        if not calls:
            run.output = reply.text

    def _fold_notice(self, run: RunState, body: Notice) -> None:
        self.decided.pop(body.action_id, None)
        gone = self.open.pop(body.action_id, None)
        self.label = self.label.join(body.message.label)
        if gone is not None and body.state == "refused":
            self.refused.add(gone.args_digest)
        if gone is not None and body.state == "done" and gone.call is not None:
            self.done[gone.call.name] = self.done.get(gone.call.name, 0) + 1
        if gone is not None and gone.holds_run and gone.run_id == run.run_id and not self.held_by(run.run_id):
            run.is_due = True

    def _fold_constraint(self, _run: RunState, constraint: Constraint) -> None:
        if constraint.supersedes and constraint.supersedes != constraint.id:
            self.constraints.pop(constraint.supersedes, None)
        self.constraints[constraint.id] = constraint
        self.rules_version += 1

    def snapshot(self) -> Snapshot:
        """All but the messages, frozen, to be journalled as the next record."""
        return Snapshot(
            tail=self.tail,
            instructions=self.instructions,
            constraints=tuple(self.constraints.values()),
            done=cast("dict[str, int]", freeze(self.done)),
            label=self.label,
            open=tuple(self.open.values()),
            decided=dict(self.decided),
            refused=tuple(sorted(self.refused)),
            runs=tuple(run.count() for run in self.runs.values()),
        )

    def _restore(self, record: Record) -> None:
        body = record.body
        if not isinstance(body, Snapshot):
            raise CorruptError(f"record {record.seq} of {self.session_id} is no snapshot")
        self.seq = self.snapshot_seq = record.seq
        self.tail, self.instructions, self.label = body.tail, body.instructions, body.label
        self.constraints = {one.id: one for one in body.constraints}
        self.rules_version += 1
        self.done = dict(body.done)
        self.open = {one.id: one for one in body.open}
        self.decided = dict(body.decided)
        self.refused = set(body.refused)
        for count in body.runs:
            self.runs[count.run_id] = _run_from(count)


def _run_from(count: RunCount) -> RunState:
    return RunState(
        run_id=count.run_id,
        step=count.step,
        slot=count.slot,
        calls=count.calls,
        usage=count.usage,
        cost_usd=count.cost_usd,
        active_seconds=count.active_seconds,
        input=count.input,
        is_due=count.is_due,
        output=count.output,
        since_step=count.since_step,
        since_calls=count.since_calls,
        since_tokens=count.since_tokens,
        since_usd=count.since_usd,
        since_seconds=count.since_seconds,
    )


_FOLDS: Mapping[type, tuple[Callable[..., None] | None, Callable[..., None] | None]] = {
    Input: (SessionState._show_input, SessionState._fold_input),
    Reply: (SessionState._show_reply, SessionState._fold_reply),
    Results: (SessionState._show_results, SessionState._fold_results),
    Notice: (SessionState._show_notice, SessionState._fold_notice),
    Asked: (None, SessionState._fold_asked),
    Decided: (None, SessionState._fold_decided),
    Constraint: (None, SessionState._fold_constraint),
    Status: (None, SessionState._fold_status),
    Snapshot: (None, SessionState._fold_snapshot),
}
"""Kind of body → what it adds to the messages, what it changes of the rest."""
