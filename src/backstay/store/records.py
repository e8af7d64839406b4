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
from backstay.core.canon import FrozenDict
from backstay.core.context import Principal
from backstay.core.messages import PLAIN, Args, Json, Label, Message, ModelReply, ToolReturn, Usage

Kind: TypeAlias = Literal[
    "input", "reply", "results", "notice", "asked", "decided", "child", "constraint", "grant", "memory", "fold",
    "tombstone", "snapshot", "status",
]  # fmt: skip
RunStatus: TypeAlias = Literal[
    "queued", "running", "waiting", "done", "needs_narrowing", "stopped", "failed", "cancelled"
]
ENDED: frozenset[str] = frozenset({"done", "stopped", "failed", "cancelled"})
"""Statuses after which a run is never driven again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A turn of the user and what this run was told beside it; rendered once, so that a resume sends the same bytes."""

    message: Message
    instructions: str
    """The system text as it was rendered for this input."""
    history: tuple[Message, ...] = ()
    """Messages given from outside, already made valid; only the first input of a session may carry them."""
    limits: Args | None = None
    presence: Literal["attended", "inbox", "unattended"] = "inbox"
    metadata: Args | None = None
    rules: tuple[str, ...] = ()
    """Rules that the user stated as such beside the message: in force at once, without being asked about."""
    has_deps: bool = False
    """Whether the run was given dependencies, which a resuming process has to make again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply of the model, its calls numbered, journalled before anything is built on it."""

    reply: ModelReply
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of one step, in the order of its calls."""

    returns: tuple[ToolReturn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A later outcome, as the model and the user are told it."""

    message: Message
    action_id: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A pending action was put to a person."""

    action: PendingAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A person's decision, as it reached the session."""

    action_id: str
    decision: Decision


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


Body: TypeAlias = "Input | Reply | Results | Notice | Asked | Decided | Status | Snapshot | Constraint | Json"


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
    output: str = ""
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    via: str = ""
