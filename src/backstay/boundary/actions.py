"""Pending actions: one inbox row for everything that waits for a person, and the decision about it.

Deciding writes a row; only a process that owns the app executes. Source: SPEC B3–B5; DESIGN 8.4–8.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from backstay.core.context import Origin, Principal
from backstay.core.messages import Args, Json, ToolCall

ActionKind: TypeAlias = Literal["approval", "decision", "question", "narrowing", "in_doubt", "deferred"]
ActionState: TypeAlias = Literal["open", "approved", "refused", "expired", "stale", "done", "in_doubt"]


CALLBACK = "callback"
"""Through what the result of a deferred call comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided, and of which arguments."""

    approve: bool
    by: str
    """Who, from the door's authentication."""
    via: str
    """Through what: `cli`, `terminal`, `api`…"""
    at: float
    """Seconds since 1970."""
    args_digest: str
    """The arguments that were on the screen; another digest than the action's is refused."""
    reason: str = ""
    args: Args | None = None
    """Edited arguments: a new digest, judged anew before anything runs."""
    trust: bool = False
    """Whether the destinations of an approved call may be believed for the rest of the session (endorsement)."""
    answer: Json = None
    """To a question, or what came of a deferred call; None is no answer, `False`, `0` and an empty text are."""
    decider: Principal | None = None
    """Who decided, as a door has authenticated them; None for somebody who has the store in their hands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What it takes to decide an action, as the boundary said when it was asked. See `boundary.deciding`."""

    roles: frozenset[str] = frozenset()
    """One of these; empty: anybody who may decide at all."""
    quorum: int = 1
    """So many different people approve; one refuses."""
    own: bool = False
    """Whether who asked for it may approve it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAction:
    """Something that waits. `version` grows with every change of the row; a decision names the version it saw."""

    id: str
    kind: ActionKind
    version: int
    state: ActionState
    run_id: str
    session_id: str
    trace_id: str
    principal: Principal
    agents: tuple[str, ...]
    call: ToolCall | None
    """The real call with its canonical arguments; None for a question."""
    reason: str
    """Why the model wants it, in the model's words: never an argument for it."""
    args_digest: str
    tool_digest: str
    policy_digest: str
    targets: tuple[str, ...]
    """Taken from the call's sinks, never from the model's word."""
    origins: tuple[Origin, ...]
    rules: tuple[str, ...]
    """Which rules asked."""
    preview: str
    """What it would do, computed by the tool from live state."""
    reversible: bool
    question: str
    choices: Json
    asked_at: float
    expires_at: float
    decision: Decision | None = None
    money: tuple[tuple[str, Decimal], ...] = ()
    """What the call is worth: currency and sum, for totals over several actions."""
    needs: Needs = Needs()
    votes: tuple[Decision, ...] = ()
    """Approvals so far, where several are needed; the last one is `decision`."""

    @property
    def wants_answer(self) -> bool:
        """Whether it is a question that takes an answer, not one about a rule."""
        return self.kind == "question" and self.call is None and not self.rules

    @property
    def is_question(self) -> bool:
        """Whether the model has caused it to be asked; a rule to confirm and a report are the framework's own."""
        return self.kind == "approval" or (self.kind == "question" and not self.rules)

    @property
    def holds_run(self) -> bool:
        """Whether its run waits for it. Confirming a rule read from chat is asked beside the run and holds nothing."""
        return self.state == "open" and not (self.kind == "question" and self.call is None and bool(self.rules))
