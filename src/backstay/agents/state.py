"""What the records of a session fold into. `fold` is the only thing that changes it.

Resume is folding, never replaying user code: the same records give the same state, whoever wrote them.
Source: DESIGN 2, 8.3, 8.10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import cast

from backstay.agents.output import FINAL, answer_text
from backstay.agents.run_state import CANCELLED, RunState, run_from, used_with
from backstay.agents.tallies.insistence import counted
from backstay.agents.tallies.repetition import follow, forget
from backstay.agents.tallies.tally import after_action, after_reply, after_results, is_final
from backstay.boundary.actions import Decision, PendingAction
from backstay.boundary.constraints import Constraint, amended
from backstay.boundary.plan import Plan, PlanGrant
from backstay.boundary.provenance import SessionSources, texts_in
from backstay.core.canon import FrozenDict, freeze
from backstay.core.errors import CorruptError
from backstay.core.messages import (
    PLAIN,
    Artifact,
    Label,
    Message,
    Text,
    ToolResult,
    ToolReturn,
)
from backstay.memory.log import Log, Pointers
from backstay.memory.log import counted as counted_tokens
from backstay.memory.marks import escaped
from backstay.store.records import (
    ENDED,
    Asked,
    Decided,
    Fold,
    Input,
    LogMark,
    Memory,
    Notice,
    Record,
    Repetition,
    Reply,
    Results,
    Retrieved,
    Snapshot,
    Status,
    Tally,
)
from backstay.tools.summary import shrink

_HAPPENED = ("ran", "cached", "short_circuited")


class SessionState:
    """A session, folded: messages, rules, labels, counters, what waits."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.seq = 0
        self.snapshot_seq = 0
        self.tail = 1
        self.instructions = ""
        self.messages: list[Message] = []
        """All that were loaded and have come since."""
        self.log = Log(counted_tokens, shortened)
        """The same as a request shows them."""
        self.memory: Memory | None = None
        self.retrieved: Retrieved | None = None
        """What was looked up in long-term memory for the last input; None while nobody has looked."""
        self.remembered = 0
        """How many of `messages` the working memory has seen."""
        self.narrowed: tuple[str, ...] = ()
        """Ids of messages that are shown as excerpts."""
        self.is_partial = False
        """Whether what was said before the last snapshot is not in `sources`."""
        self.call_ids: set[str] = set()
        self.constraints: dict[str, Constraint] = {}
        self.rules_version = 0
        """Grows with every change of the constraints."""
        self.sources = SessionSources()
        self.label: Label = PLAIN
        self.done: dict[str, int] = {}
        """Tool → how often it has succeeded."""
        self.spent: dict[str, Decimal] = {}
        """What is spent of the session's own keys of the ledger."""
        self.open: dict[str, PendingAction] = {}
        self.decided: dict[str, Decision] = {}
        self.refused: set[str] = set()
        self.plan: Plan | None = None
        """What was fixed before anything untrusted was read, and what of it is used up."""
        self.breaks: Mapping[str, int] = {}
        """Rule and target → steps that broke the rule there since the last message of the user."""
        self.runs: dict[str, RunState] = {}
        self.has_refs = False
        """Whether a result was cut, so that there is something to recall."""
        self.file_bytes = 0
        """Of all files that tools have made in the session."""

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
            before = len(self.messages)
            shown(self, record)
            for message in self.messages[before:]:
                self.log.add(message, record.seq)
                if message.id in self.narrowed:
                    self.log.narrow(self.narrowed)
        if record.seq > self.snapshot_seq:
            self.seq = record.seq
            if counted is not None:
                counted(self, self.run(record.run_id), record.body)

    def _show_input(self, record: Record) -> None:
        body: Input = record.body  # type: ignore[assignment]  # the table says so
        self.messages += (*body.history, _as_read(body))
        if body.instructions != self.instructions:
            self.sources.say("instructions", body.instructions, PLAIN, "developer")
        self.sources.say(body.message.id, body.message.text, body.message.label, "user")
        for message in body.history:
            self.call_ids.update(call.id for call in message.calls)
            if message.role == "user":
                self.sources.say(message.id, message.text, message.label, "user")

    def _show_reply(self, record: Record) -> None:
        reply = record.body.reply  # type: ignore[union-attr]  # the table says so
        if reply.parts:
            self.messages.append(Message(id=f"m{record.seq}", role="assistant", parts=reply.parts, label=self.label))
            for call in reply.calls:
                self.call_ids.add(call.id)
                self.sources.claim(call.args)
        told: str = record.body.unmet  # type: ignore[union-attr]  # the table says so
        if told:
            text = f'<notice state="go_on">{escaped(told)}</notice>'
            self.messages.append(
                Message(id=f"m{record.seq}+", role="notice", parts=(Text(text=text),), label=self.label)
            )

    def _show_results(self, record: Record) -> None:
        returns, label = record.body.returns, PLAIN  # type: ignore[union-attr]  # the table says so
        for one in returns:
            label = label.join(one.result.label)
            self.has_refs = self.has_refs or one.result.ref is not None
            if one.result.ok and one.result.via in _HAPPENED and one.name != FINAL:  # an answer is the model's word
                self.sources.learn(
                    f"m{record.seq}", one.result.data, one.result.label, f"tool:{one.name}", dict(one.result.labels)
                )
        self.messages.append(Message(id=f"m{record.seq}", role="tool", parts=returns, label=label))

    def _show_notice(self, record: Record) -> None:
        body: Notice = record.body  # type: ignore[assignment]  # the table says so
        self.messages.append(body.message)
        if body.state == "done":  # what came of it is learnt, what the model had asked for is not
            self.sources.learn(body.message.id, body.message.text, body.message.label, "notice", {})

    def _fold_results(self, run: RunState, body: Results) -> None:
        if self.plan is not None and body.plan:
            self._follow_plan(run, body)
        run.unanswered, run.is_due = (), not run.is_refused
        run.tally = after_results(run.tally, body.returns, self._actions(body.returns))
        answer = is_final(body.returns)
        if answer is not None:
            run.is_due, run.output = False, answer_text(answer.result)
        if body.keys:
            run.repetition = follow(run.repetition, run.step, body.returns, body.keys)
        self.breaks = counted(self.breaks, body.returns)
        for one in body.returns:
            self.label = self.label.join(one.result.label)
            self._fold_files(run, one.result.artifacts)
            if one.result.ok and one.result.via in _HAPPENED:
                self.done[one.name] = self.done.get(one.name, 0) + 1

        self._spend(body.spent)

    def _actions(self, returns: Sequence[ToolReturn]) -> Mapping[str, str]:
        """Id of each open action → its tool, where one of the results waits for one."""
        if all(one.result.via != "held" for one in returns):
            return {}
        return {key: action.call.name for key, action in self.open.items() if action.call is not None}

    def _follow_plan(self, run: RunState, body: Results) -> None:
        for call, one, step in zip(run.unanswered, body.returns, body.plan, strict=True):
            if step and self.plan is not None:
                result = one.result
                came = result.summary if result.data is None else result.data
                has_come = result.ok and result.via in _HAPPENED
                self.plan = self.plan.after(f"{run.run_id}:{call.slot}", step, came if has_come else None)

    def _fold_grant(self, _run: RunState, body: PlanGrant) -> None:
        is_frozen = not self.label.trusted or (self.plan is not None and self.plan.by == "program")
        if not is_frozen:
            self.plan = Plan(steps=body.steps, by=body.by)

    def _fold_files(self, run: RunState, artifacts: Sequence[Artifact]) -> None:
        known = {one.ref for one in run.artifacts} if artifacts else ()
        fresh = tuple(one for one in artifacts if one.ref not in known)
        run.artifacts += fresh
        self.file_bytes += sum(one.size for one in fresh)

    def _spend(self, amounts: Sequence[tuple[str, Decimal]]) -> None:
        for key, amount in amounts:
            self.spent[key] = self.spent.get(key, Decimal(0)) + amount

    def _fold_asked(self, run: RunState, body: Asked) -> None:
        self.open[body.action.id] = body.action
        run.asked += body.action.is_question

    def _fold_decided(self, _run: RunState, body: Decided) -> None:
        self.decided[body.action_id] = body.decision
        action, edited = self.open.get(body.action_id), body.decision.args
        if action is not None and body.votes:
            action = self.open[body.action_id] = replace(action, votes=body.votes)
        if action is not None and action.wants_answer and body.decision.approve:
            source = "user" if body.decision.by == action.principal.id else "person"
            for _, text in texts_in({"": body.decision.answer}):
                self.sources.say(body.action_id, text, PLAIN, source)
        if edited and action is not None and action.call is not None and body.decision.approve:
            before = {text for _, text in texts_in(action.call.args)}
            for _, text in texts_in(edited):
                if text not in before:  # what the person has written
                    self.sources.say(body.action_id, text, PLAIN, "person")
        if body.decision.trust and action is not None:
            for target in action.targets:
                self.sources.say(body.action_id, target, PLAIN, "person")

    def _fold_snapshot(self, _run: RunState, _body: Snapshot) -> None:
        self.snapshot_seq = self.seq

    def _fold_status(self, run: RunState, body: Status) -> None:
        run.active_seconds += body.active_seconds
        if body.status == "cancelled" and body.code != CANCELLED:
            run.cancelled = body.reason or "cancelled"
        elif body.status in ENDED:
            self.runs.pop(run.run_id, None)
            self._drop_rules_of_run()

    def _drop_rules_of_run(self) -> None:
        """Runs of a session follow each other, so a rule made for a run ends with the one that ends."""
        lasting = {key: one for key, one in self.constraints.items() if one.until != "run"}
        if len(lasting) < len(self.constraints):
            self.constraints = lasting
            self.rules_version += 1

    def _fold_input(self, run: RunState, body: Input) -> None:
        if run.input is not None and run.input.has_deps and not body.has_deps:
            body = replace(body, has_deps=True)  # the run was started with them, whoever goes on with it
        run.input, run.input_seq, run.is_due, run.output = body, self.seq, True, None
        run.since_step, run.since_calls, run.since_tokens = run.step, run.calls, run.usage.total_tokens
        run.since_usd, run.since_seconds, run.empty = run.cost_usd or Decimal(0), run.active_seconds, 0
        run.repetition, run.is_refused, run.tally, run.asked = Repetition(), False, Tally(), 0
        self.breaks = {}
        for one in self.open.values():
            if one.kind == "narrowing":  # the next message is the answer
                self.decided.setdefault(one.id, _narrowed_by(one, body.message.id))
        if body.plan:
            self.plan = Plan(steps=body.plan, by="program")
        self.instructions, self.retrieved = body.instructions, None
        self.label = self.label.join(body.message.label)
        for message in body.history:
            self.label = self.label.join(message.label)

    def _fold_reply(self, run: RunState, body: Reply) -> None:
        reply, calls = body.reply, body.reply.calls
        run.step += 1
        run.slot += len(calls)
        run.calls += len([call for call in calls if call.name != FINAL])
        run.tally = after_reply(run.tally, body)
        run.unanswered, run.is_cut_off, run.is_refused = calls, reply.finish == "length", reply.finish == "refusal"
        if reply.usage is not None:
            run.usage += reply.usage
        known = run.cost_usd is not None and body.cost_usd is not None
        run.cost_usd = run.cost_usd + body.cost_usd if known else None  # type: ignore[operator]  # known says both are there
        run.models = used_with(run.models, body)
        run.empty = 0 if reply.parts else run.empty + 1
        run.is_due = (not reply.parts or bool(calls) or bool(body.unmet)) and not run.is_refused
        if not calls and not run.is_refused and not body.unmet:
            run.output = reply.text

    def _fold_notice(self, run: RunState, body: Notice) -> None:
        self.decided.pop(body.action_id, None)
        gone = self.open.pop(body.action_id, None)
        self.label = self.label.join(body.message.label)
        if gone is not None and body.state == "refused":
            if gone.kind == "in_doubt":  # it did not take effect, which forbids nothing
                run.repetition = forget(run.repetition, gone.args_digest)
            else:
                self.refused.add(gone.args_digest)
        self._spend(body.spent)
        self._fold_files(run, body.artifacts)
        if gone is not None and body.state == "done" and body.ok and gone.call is not None:
            self.done[gone.call.name] = self.done.get(gone.call.name, 0) + 1
            run.tally = after_action(run.tally, gone.call)
            key = f"{gone.run_id}:{gone.call.slot}"
            if self.plan is not None and key in self.plan.used:
                self.plan = self.plan.after(key, self.plan.used[key], body.message.text)
        if gone is not None and gone.holds_run and gone.run_id == run.run_id and not self.held_by(run.run_id):
            run.is_due = True

    def _fold_memory(self, run: RunState, body: Memory) -> None:
        self.memory, self.remembered = body, len(self.messages)
        run.charge(body.asked)

    def _show_retrieved(self, record: Record) -> None:
        body: Retrieved = record.body  # type: ignore[assignment]  # the table says so
        for one in body.snippets:
            if one.is_believed:
                self.sources.say(one.id, one.text, one.label, "memory")

    def _fold_retrieved(self, _run: RunState, body: Retrieved) -> None:
        self.retrieved = body
        self.label = self.label.join(body.label)

    def _fold_fold(self, run: RunState, body: Fold) -> None:
        self.log.move(Pointers(body.trimmed, body.folded), body.notes, body.ids, body.label)
        if body.narrowed:
            self.narrowed += body.narrowed
            self.log.narrow(self.narrowed)
        self.has_refs = self.has_refs or self.log.has_trimmed
        run.charge(body.asked)

    def _mark(self) -> LogMark:
        log = self.log
        return LogMark(
            start=log.tail()[1],
            trimmed=log.at.trimmed,
            folded=log.at.folded,
            notes=log.notes,
            ids=log.ids,
            label=log.label,
            narrowed=self.narrowed,
        )

    def _fold_constraint(self, _run: RunState, constraint: Constraint) -> None:
        self.constraints = amended(self.constraints, constraint)
        self.rules_version += 1

    def snapshot(self) -> Snapshot:
        """All but the messages, frozen, to be journalled as the next record."""
        return Snapshot(
            tail=max(self.tail, self.log.tail()[0]),
            instructions=self.instructions,
            constraints=tuple(self.constraints.values()),
            spent=FrozenDict(self.spent),
            done=cast("dict[str, int]", freeze(self.done)),
            label=self.label,
            open=tuple(self.open.values()),
            decided=dict(self.decided),
            refused=tuple(sorted(self.refused)),
            breaks=FrozenDict(self.breaks),
            runs=tuple(run.count() for run in self.runs.values()),
            plan=self.plan,
            has_refs=self.has_refs,
            file_bytes=self.file_bytes,
            log=self._mark(),
            memory=self.memory,
            retrieved=self.retrieved,
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
        self.spent = dict(body.spent)
        self.open = {one.id: one for one in body.open}
        self.decided = dict(body.decided)
        self.refused = set(body.refused)
        self.breaks = dict(body.breaks)
        self.plan = body.plan
        self.has_refs, self.file_bytes = body.has_refs, body.file_bytes
        mark = body.log
        self.log.begin_at(mark.start, Pointers(mark.trimmed, mark.folded), mark.notes, mark.ids, mark.label)
        self.narrowed, self.memory, self.is_partial = mark.narrowed, body.memory, True
        self.retrieved = body.retrieved
        for count in body.runs:
            self.runs[count.run_id] = run_from(count)


def _as_read(body: Input) -> Message:
    """The user's turn as the model reads it; what the user has said stays the user's words alone."""
    if not body.task:
        return body.message
    others = tuple(part for part in body.message.parts if not isinstance(part, Text))
    return replace(body.message, parts=(Text(text=body.task), *others))


def shortened(result: ToolResult, most: int, ref: str) -> ToolResult:
    """A result as a trimmed unit shows it, to be recalled by the id of its call."""
    return shrink(result, most, ref=ref)


def _narrowed_by(action: PendingAction, message_id: str) -> Decision:
    return Decision(
        approve=True, by=f"message {message_id}", via="chat", at=action.asked_at, args_digest=action.args_digest
    )


_FOLDS: Mapping[type, tuple[Callable[..., None] | None, Callable[..., None] | None]] = {
    Input: (SessionState._show_input, SessionState._fold_input),
    Reply: (SessionState._show_reply, SessionState._fold_reply),
    Results: (SessionState._show_results, SessionState._fold_results),
    Notice: (SessionState._show_notice, SessionState._fold_notice),
    Asked: (None, SessionState._fold_asked),
    Decided: (None, SessionState._fold_decided),
    Constraint: (None, SessionState._fold_constraint),
    PlanGrant: (None, SessionState._fold_grant),
    Status: (None, SessionState._fold_status),
    Snapshot: (None, SessionState._fold_snapshot),
    Memory: (None, SessionState._fold_memory),
    Fold: (None, SessionState._fold_fold),
    Retrieved: (SessionState._show_retrieved, SessionState._fold_retrieved),
}
"""Kind of body → what it adds to the messages, what it changes of the rest."""
