"""The boundary of an agent as one frozen, readable object: constraints, limits, how questions are asked.

Source: SPEC B1, B14. Rules given as text are read by `boundary/text` when the agent is built; `judge` sees records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from backstay.boundary.constraints import Constraint
from backstay.core.errors import SetupError

DEFAULT_USD = Decimal(1)
"""What an input may cost where the model's price is known and nobody set a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one input may use up, over the whole tree of agents that work on it. At a limit the run ends `stopped`."""

    steps: int = 30
    calls: int = 60
    """Tool calls. A batch that would pass the limit is refused before any of it runs."""
    tokens: int = 200_000
    """Input and output of all model requests."""
    usd: Decimal | float | None = None
    """None: 1 USD where the model has a price. A limit set here on a model without a price is a set-up error."""
    seconds: float = 600.0
    """Active time; waiting for a person does not count."""
    depth: int = 3
    """Agents inside agents."""

    def __post_init__(self) -> None:
        for name in ("steps", "calls", "tokens", "seconds", "depth"):
            value = getattr(self, name)
            if not _is_number(value) or value <= 0:
                raise SetupError(f"Limits({name}={value!r}): expected a number above 0", code="limits")
        if self.usd is not None and (not _is_number(self.usd) or self.usd < 0):
            raise SetupError(f"Limits(usd={self.usd!r}): expected 0 or more, or None", code="limits")


def _is_number(value: object) -> bool:
    """Whether it can be compared with a count: a NaN is below no limit and above none, so it would never be reached."""
    return isinstance(value, int | float | Decimal) and not math.isnan(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """What an agent may do.

    Args:
        constraints: rules as text (`"only the last 30 days"`) or as records. A text that yields no predicate is kept,
            shown to the model and reported as advisory, never pretended to be enforced.
        limits: see `Limits`.
        ask_seconds: how long a question waits before it expires, by default 24 hours.
        questions: how many actions may wait for one run; further ones are refused.
        mode: `observe` judges and records constraints without enforcing them; tiers are enforced always.
    """

    constraints: Sequence[str | Constraint] = ()
    limits: Limits = Limits()
    ask_seconds: float = 86_400.0
    questions: int = 8
    mode: Literal["enforce", "observe"] = "enforce"

    def __post_init__(self) -> None:
        if isinstance(self.constraints, str):
            raise SetupError(
                f"Boundary(constraints={self.constraints!r}): expected a list of rules, got one text; "
                f"write constraints=[{self.constraints!r}]",
                code="constraint.invalid",
            )
        object.__setattr__(self, "constraints", tuple(self.constraints))
        for rule in self.constraints:
            if not isinstance(rule, str | Constraint):
                raise SetupError(
                    f"Boundary(constraints=[{type(rule).__name__}]): expected a text or a Constraint",
                    code="constraint.invalid",
                )
        if not _is_number(self.ask_seconds) or self.ask_seconds <= 0:
            raise SetupError(f"Boundary(ask_seconds={self.ask_seconds!r}): expected seconds above 0", code="limits")
        if not _is_number(self.questions) or self.questions < 0:
            raise SetupError(f"Boundary(questions={self.questions!r}): expected 0 or more", code="limits")
        if self.mode not in ("enforce", "observe"):
            raise SetupError(f"Boundary(mode={self.mode!r}): expected 'enforce' or 'observe'")
