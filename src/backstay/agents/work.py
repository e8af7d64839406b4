"""What one drive of one run works with, and why it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from backstay.agents.definition import Definition
from backstay.agents.guard import RunGuard
from backstay.agents.journal import Journal
from backstay.agents.offer import Offer, make_offer
from backstay.agents.purse import Purse
from backstay.agents.result import ResultStatus
from backstay.agents.run_state import RunState
from backstay.boundary.judge import Presence
from backstay.boundary.policy import DEFAULT_USD, Limits
from backstay.core.canon import digest
from backstay.core.context import RunContext
from backstay.core.messages import ToolResult, ToolSpec, Usage
from backstay.memory.block import constraint_block
from backstay.memory.counting import Calibration
from backstay.models.model import ChatModel, Price
from backstay.models.prices import price_of

Spent: TypeAlias = "tuple[tuple[str, float, float], ...]"
"""What has been used of each limit: name, used, allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why the loop stopped."""

    status: ResultStatus
    code: str = ""
    reason: str = ""
    is_left: bool = False
    """Left where it is, open calls and all: the run stays due, and whoever drives it next goes on from the journal."""


def _never(_seconds: float) -> None:
    return None


@dataclass(slots=True, kw_only=True)
class Work:
    """What one drive of one run works with."""

    definition: Definition
    journal: Journal
    guard: RunGuard
    ctx: RunContext[Any]
    limits: Limits
    started_at: float
    model: ChatModel
    price: Price
    run: RunState
    """The run's state; the session's state holds the same object until the run has ended."""
    presence: Presence = "inbox"
    """Whether a person is there now, will look later, or never, in this drive."""
    prolong: Callable[[float], None] = _never
    """Lets the drive work for so many seconds from now on."""
    purse: Purse | None = None
    """Where the boundary has budgets."""
    offer: Offer | None = None
    """What the step at work may do; made anew where a resumed run has open calls."""
    approver: Any = None
    offered: set[str] = field(default_factory=set)
    """Actions that the approver has been shown in this drive."""
    results: dict[int, ToolResult] = field(default_factory=dict)
    """Results of the step at work, by slot, until they are journalled together."""
    calibration: Calibration = Calibration()
    """What this drive has learnt of how the provider counts."""
    estimated: int = 0
    """Tokens of the next request; 0 where it is so small that nobody has counted."""
    _rules: str = ""
    _rules_version: int = -1
    _rules_digest: tuple[str, str] = ("", "")

    @property
    def rules(self) -> str:
        """The constraint block, written anew only when a rule has come or gone."""
        if not self.journal.state.constraints:
            return self.definition.rules_text
        version = self.journal.state.rules_version
        if version != self._rules_version:
            self._rules = constraint_block(self.guard.rules)
            self._rules_version = version
        return self._rules

    def offer_of(self, step: int) -> Offer:
        """What a step of the run may do.

        Raises:
            RequirementError: when the requirements leave nothing to do, or one of them raises.
        """
        state = self.journal.state
        offer = self.offer = make_offer(self.definition, self.model.profile, self.run, step, state)
        self.guard.asks = offer.ask
        return offer

    @property
    def rules_digest(self) -> str:
        """SHA-256 of the constraint block."""
        if not self.journal.state.constraints:
            return self.definition.rules_digest
        rules = self.rules
        if self._rules_digest[0] is not rules:
            self._rules_digest = (rules, digest(rules))
        return self._rules_digest[1]

    @property
    def window(self) -> int:
        """Tokens of the model's window, as the estimator counts them."""
        return int(self.model.profile.window / max(1.0, self.calibration.factor))

    def tool_tokens(self, tools: Sequence[ToolSpec]) -> int:
        """Tokens of the tools of a request."""
        return self.definition.tokens_of(tools)

    def cost_usd(self, asked: ChatModel | None, usage: Usage | None) -> Decimal | None:
        """What a reply cost: by the price of the model that gave it, nothing where a middleware answered."""
        if asked is None:
            return Decimal(0)
        return (self.price if asked is self.model else price_of(asked)).cost_usd(usage)

    @property
    def active_seconds(self) -> float:
        """Seconds of work on the run's last input so far; waiting does not count."""
        return self.run.active_seconds - self.run.since_seconds + self.ctx.clock() - self.started_at

    def spent(self) -> Spent:
        """What the last input has used of each limit: name, used, allowed."""
        run, limits = self.run, self.limits
        spent = (
            ("steps", run.step - run.since_step, limits.steps),
            ("calls", run.calls - run.since_calls, limits.calls),
            ("tokens", run.usage.total_tokens - run.since_tokens, limits.tokens),
        )
        if not run.cost_usd:
            return spent
        cost = run.cost_usd - run.since_usd
        return (*spent, ("usd", float(cost), float(DEFAULT_USD if limits.usd is None else limits.usd)))
