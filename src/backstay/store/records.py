"""The rows of a store: records of a session's one stream, runs, fences, audit rows, spans.

There is one stream per session, key (session, seq); a run is a column of it. A record's body is one of the frozen
dataclasses below (or of core and boundary), by a closed table of kinds. Source: DESIGN 2, 4, 8.10, 8.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from backstay.boundary.actions import Decision, PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.plan import Plan, PlanGrant, PlanStep
from backstay.core.canon import FrozenDict
from backstay.core.context import Principal
from backstay.core.messages import PLAIN, Args, Artifact, Json, Label, Message, ModelReply, ModelUse, ToolReturn, Usage

Kind: TypeAlias = Literal[
    "input", "reply", "results", "notice", "asked", "decided", "child", "constraint", "grant", "memory", "fold",
    "retrieved", "tombstone", "snapshot", "status",
]  # fmt: skip
RunStatus: TypeAlias = Literal[
    "queued", "running", "waiting", "done", "needs_narrowing", "stopped", "failed", "cancelled"
]
ENDED: frozenset[str] = frozenset({"done", "stopped", "failed", "cancelled"})
"""Statuses after which a run is never driven again."""
OnBusy: TypeAlias = Literal["queue", "steer", "reject", "interrupt"]
"""What becomes of an input for a session on which another run is at work; `RunStore.create` says what each means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A turn of the user and what this run was told beside it; rendered once, so that a resume sends the same bytes."""

    message: Message
    instructions: str
    """The system text as it was rendered for this input."""
    task: str = ""
    """The turn's words as the model reads them, where a task template says more than the user; empty: as they are."""
    history: tuple[Message, ...] = ()
    """Messages given from outside, already made valid; only the first input of a session may carry them."""
    limits: Args | None = None
    presence: Literal["attended", "inbox", "unattended"] = "inbox"
    metadata: Args | None = None
    rules: tuple[str, ...] = ()
    """Rules that the user stated as such beside the message: in force at once, without being asked about."""
    plan: tuple[PlanStep, ...] = ()
    """What the program has fixed that the agent is going to do."""
    has_deps: bool = False
    """Whether the run was given dependencies, which a resuming process has to make again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply of the model, its calls numbered, journalled before anything is built on it."""

    reply: ModelReply
    cost_usd: Decimal | None = None
    unmet: str = ""
    """Why it does not end the run although it has no calls, as the model is told; empty if it does."""
    code: str = ""
    """Of `unmet`: `requirement.unmet`, `output.invalid` or `output.incomplete`."""
    is_typed: bool = False
    """Whether its words are JSON of the agent's output type, found valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of one step, in the order of its calls."""

    returns: tuple[ToolReturn, ...]
    spent: tuple[tuple[str, Decimal], ...] = ()
    """What the step has spent of the session's own keys of the ledger."""
    keys: tuple[tuple[str, str], ...] = ()
    """For each result: SHA-256 over tool and canonical arguments, and over what came of it; by these a repetition is
    told. Empty in what was written before there were any."""
    plan: tuple[int, ...] = ()
    """For each result: the number of the step of the plan that its call has used, 0 for none. Empty without a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A later outcome, as the model and the user are told it."""

    message: Message
    action_id: str
    state: str
    artifacts: tuple[Artifact, ...] = ()
    """Files that the action made."""
    ok: bool = True
    """Of an action that is done: whether its call succeeded."""
    spent: tuple[tuple[str, Decimal], ...] = ()
    """What it has spent of the session's own keys of the ledger; below 0 for what is given back after a doubt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A pending action was put to a person."""

    action: PendingAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A person's decision, as it reached the session."""

    action_id: str
    decision: Decision
    votes: tuple[Decision, ...] = ()
    """Approvals of others before this one, where several were needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A change of a run's status. As an arrival, `cancelled` is the wish that the run be cancelled."""

    status: RunStatus
    code: str = ""
    reason: str = ""
    output: Json = None
    active_seconds: float = 0.0
    """Seconds of work in this drive; waiting does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What a run does again and again, as its records tell it; the rules are in agents/repetition."""

    failed: Mapping[str, str] = field(default_factory=FrozenDict)
    """SHA-256 over tool and canonical arguments → `fault`, `input` or `doubt`: not run again."""
    calls: str = ""
    """SHA-256 over the calls of the last step, and over what came of them."""
    outcome: str = ""
    same: int = 0
    """Steps in a row of these calls with this outcome."""
    wrong: Mapping[str, int] = field(default_factory=FrozenDict)
    """Tool → steps in a row in which its calls had wrong arguments and nothing succeeded."""
    withheld: tuple[str, ...] = ()
    """Tools that are not offered in step `withheld_step`."""
    withheld_step: int = 0
    warned: tuple[str, ...] = ()
    """Rows that the model was warned of: `calls` or a tool's name."""
    over: str = ""
    """Why the run has to end; empty while it may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a run has done since its last input, as requirements look at it; the rules are in agents/tally."""

    calls: Mapping[str, int] = field(default_factory=FrozenDict)
    """Tool → calls; an action behind `propose_action` counts for both names."""
    ok: Mapping[str, int] = field(default_factory=FrozenDict)
    """Tool → calls that succeeded."""
    last: tuple[str, ...] = ()
    """Tools called in the last step that had calls."""
    last_ok: tuple[str, ...] = ()
    """Tools that succeeded in the last step in which something succeeded or was put to a person."""
    done: int = 0
    """Steps in which something succeeded or was put to a person."""
    unmet: int = 0
    """Answers in a row that did not end the run, and why the last one did not."""
    code: str = ""
    reason: str = ""
    is_typed: bool = False
    """Whether the output is JSON of the agent's output type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """An open item of the working memory."""

    id: str
    """`t1`…, or the id of an action that waits for a person."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that a message has confirmed."""

    text: str
    source: str
    """Id of that message."""
    is_stressed: bool = False
    """Whether the user said it with emphasis: it is the last to leave."""
    label: Label = PLAIN
    """Of that message."""
    person: str = ""
    """Id of the principal whose run found it, where the agent has a long-term memory to move it to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The working memory of a session after a run, whole; the rules are in memory/working."""

    goal: str = ""
    """The user's own words."""
    goal_source: str = ""
    """Id of the message they are from."""
    todo: tuple[Todo, ...] = ()
    facts: tuple[Fact, ...] = ()
    """Oldest first."""
    label: Label = PLAIN
    """The join over all that is in it."""
    by: Literal["rules", "model"] = "rules"
    """Who has proposed what the run added."""
    last_todo: int = 0
    """Number of the last id that was given."""
    asked: ModelUse | None = None
    """What the hidden request used, where a model was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """An entry of long-term memory as a request shows it."""

    id: str
    text: str
    """As much of the entry as is shown."""
    sources: tuple[str, ...] = ()
    created_at: float = 0.0
    label: Label = PLAIN
    is_believed: bool = False
    """Whether its words may count as those of somebody who gives orders: the user's or a program's, and trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What was looked up in long-term memory for one input; it stands in requests until the next input."""

    message_id: str
    """Of the input. Written also where nothing was found, so that a resume does not look again."""
    snippets: tuple[Snippet, ...] = ()
    """Best first."""
    label: Label = PLAIN
    """The join over all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """The window has advanced: which units show their results cut, and which stand in the summary or nowhere."""

    trimmed: int
    """Units before this number, counted from 0 over the whole session, show their results cut."""
    folded: int
    """Units before this number stand in the summary, or nowhere where there are no notes."""
    notes: str = ""
    """The whole running summary; empty where only results were trimmed, or where the agent's memory drops units."""
    ids: tuple[str, ...] = ()
    """Identifiers of folded results and calls, as `name=value`, oldest first."""
    label: Label = PLAIN
    """Of the summary."""
    by: Literal["", "model", "rules", "memory"] = ""
    """Who wrote the notes: `rules` for the extract that needs no model; `memory` where the agent's memory shows no
    more than what is left, without notes."""
    narrowed: tuple[str, ...] = ()
    """Ids of messages that are shown as excerpts from now on; the user was asked first."""
    tokens: int = 0
    """Of history and results as they were shown before, estimated."""
    asked: ModelUse | None = None
    """What the hidden requests used, where a model was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMark:
    """Where a snapshot stands in the log of units; `Fold` says what the fields mean."""

    start: int = 0
    """Number of the first unit of the record `tail`."""
    trimmed: int = 0
    folded: int = 0
    notes: str = ""
    ids: tuple[str, ...] = ()
    label: Label = PLAIN
    narrowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCount:
    """What has been counted of a run that has not ended."""

    run_id: str
    step: int = 0
    slot: int = 0
    calls: int = 0
    usage: Usage = Usage()
    cost_usd: Decimal | None = Decimal(0)
    """None once a request of unknown price was made."""
    active_seconds: float = 0.0
    since_step: int = 0
    """Values of the counters when the run's last input came: limits are per input."""
    since_calls: int = 0
    since_tokens: int = 0
    since_usd: Decimal = Decimal(0)
    since_seconds: float = 0.0
    input: Input | None = None
    """Its last input, without history."""
    is_due: bool = False
    output: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    repetition: Repetition = Repetition()
    asked: int = 0
    """Questions put to people since its last input."""
    hidden: Usage = Usage()
    """Of summaries and of the working memory; part of `usage`."""
    tally: Tally = Tally()
    models: tuple[ModelUse, ...] = ()
    """What it has used of each model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All of a session's state but its messages, which are read again from record `tail` on. Only a cache."""

    tail: int
    """Seq of the first record whose messages are still in the window."""
    instructions: str
    constraints: tuple[Constraint, ...] = ()
    spent: Mapping[str, Decimal] = field(default_factory=FrozenDict)
    done: Mapping[str, int] = field(default_factory=FrozenDict)
    label: Label = PLAIN
    open: tuple[PendingAction, ...] = ()
    decided: Mapping[str, Decision] = field(default_factory=FrozenDict)
    refused: tuple[str, ...] = ()
    breaks: Mapping[str, int] = field(default_factory=FrozenDict)
    runs: tuple[RunCount, ...] = ()
    plan: Plan | None = None
    has_refs: bool = False
    """Whether a result was cut, so that there is something to recall."""
    file_bytes: int = 0
    """Of all files that tools have made in the session."""
    log: LogMark = LogMark()
    memory: Memory | None = None
    retrieved: Retrieved | None = None


Body: TypeAlias = (
    "Input | Reply | Results | Notice | Asked | Decided | Status | Snapshot | Memory | Fold | Retrieved | Constraint"
    " | PlanGrant | Json"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One entry of a session's stream."""

    session_id: str
    seq: int
    """From 1, without gaps; 0 while an arrival has not been numbered."""
    run_id: str
    kind: Kind
    at: float
    body: Body
    version: int = 1
    trace_id: str = ""
    span_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run, as a row."""

    run_id: str
    session_id: str
    root_id: str
    """The session whose fence guards the run: its own, or its topmost parent's."""
    parent_id: str | None
    agent: str
    agent_digest: str
    principal: Principal
    trace_id: str
    status: str
    created_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """The right to write to a session. A later claim has a higher epoch, and the earlier one may write nothing more."""

    root_id: str
    owner: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One entry of a session's audit chain: digests and keyed pseudonyms only."""

    run_id: str
    slot: int
    kind: Literal["begin", "end", "decision", "refusal", "constraint", "grant", "halt"]
    tool: str
    args_digest: str
    result_digest: str
    rules: tuple[str, ...]
    who: str
    """The principal or decider; the store writes a keyed pseudonym instead."""
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """A finished piece of a trace: a run, a model request or a tool call. Arguments are redacted and bounded."""

    trace_id: str
    span_id: str
    parent_id: str | None
    run_id: str
    session_id: str
    agent: str
    kind: Literal["run", "model", "tool"]
    name: str
    """Agent, model or tool."""
    step: int
    attempt: int
    started_at: float
    seconds: float
    ok: bool
    code: str = ""
    input: str = ""
    """At most 1 KiB of canonical JSON or text, redacted."""
    input_digest: str = ""
    """SHA-256 of a call's arguments, or of the constraint block that stood in a request."""
    output: str = ""
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    via: str = ""
    rules: tuple[str, ...] = ()
    """Of a tool call: the rules that asked, refused or only noted something, as its verdict names them."""
