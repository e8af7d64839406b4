"""What is known of one run while its records are folded. Source: DESIGN 2, 8.3."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal

from backstay.core.messages import Artifact, ModelUse, ToolCall, Usage
from backstay.store.records import Input, Repetition, Reply, RunCount, Tally

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
    is_refused: bool = False
    """Whether the model, or a filter of its provider, has refused: the run ends, and the reply's calls never run."""
    is_due: bool = False
    """Whether the model has something to answer."""
    output: str | None = None
    """Words of the last reply without calls."""
    empty: int = 0
    """Empty replies in a row."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that its tools have made, each once."""
    models: tuple[ModelUse, ...] = ()
    """What it has used of each model, in the order in which they first answered."""
    cancelled: str | None = None
    """Why somebody wishes it cancelled."""
    repetition: Repetition = field(default_factory=Repetition)
    """What it has done again and again since its last input."""
    asked: int = 0
    """Questions put to people since its last input."""
    tally: Tally = field(default_factory=Tally)
    """What it has done since its last input, as requirements and the output type look at it."""
    hidden: Usage = field(default_factory=Usage)
    """Of summaries and of the working memory; part of `usage`."""

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
            repetition=self.repetition,
            asked=self.asked,
            tally=self.tally,
            artifacts=self.artifacts,
            models=self.models,
            hidden=self.hidden,
        )

    def charge(self, asked: ModelUse | None) -> None:
        """Count a hidden request, apart and with the rest."""
        if asked is None:
            return
        self.usage, self.hidden = self.usage + asked.usage, self.hidden + asked.usage
        known = self.cost_usd is not None and asked.cost_usd is not None
        self.cost_usd = self.cost_usd + asked.cost_usd if known else None  # type: ignore[operator]  # known says both are
        self.models += (asked,)


def used_with(models: tuple[ModelUse, ...], body: Reply) -> tuple[ModelUse, ...]:
    """What a run has used of each model, a further reply included."""
    name, usage, cost = body.reply.model, body.reply.usage, body.cost_usd
    if name not in [one.model for one in models]:
        models += (ModelUse(model=name, requests=0, usage=Usage(), cost_usd=Decimal(0)),)
    return tuple([one.more(usage, cost) if one.model == name else one for one in models])


def run_from(count: RunCount) -> RunState:
    """The state of a run as a snapshot has counted it."""
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
        repetition=count.repetition,
        asked=count.asked,
        tally=count.tally,
        artifacts=count.artifacts,
        models=count.models,
        hidden=count.hidden,
        since_step=count.since_step,
        since_calls=count.since_calls,
        since_tokens=count.since_tokens,
        since_usd=count.since_usd,
        since_seconds=count.since_seconds,
    )
