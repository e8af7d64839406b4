"""The boundary of an agent as one frozen, readable object: constraints, limits, how questions are asked.

Source: SPEC B1, B14. Rules given as text are read by `boundary/text` when the agent is built; `judge` sees records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from inspect import iscoroutinefunction
from typing import Literal, TypeAlias, get_args

from backstay.boundary.budgets import Budget
from backstay.boundary.constraints import Constraint
from backstay.boundary.deciding import Deciders
from backstay.boundary.plan import PlanMode
from backstay.boundary.predicates import Function, Owner
from backstay.core.canon import EMPTY, FrozenDict
from backstay.core.errors import SetupError

Provenance: TypeAlias = Literal["confirm", "block", "observe", "off"]

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
        budgets: what a principal, a tenant or the agent may use up on a day, over all runs of a store; see `Budget`.
        ask_seconds: how long a question waits before it expires, by default 24 hours.
        questions: how many actions may wait for one run; further ones are refused.
        provenance: what becomes of a call whose destinations nobody who may be believed has named, or, once untrusted
            text was read, whose words nobody trusted has said: `confirm` asks a person, `block` refuses, `observe`
            notes it, `off` does not look.
        plan: `ask` or `deny`: what becomes of a call that changes something or carries data out, once untrusted text
            was read, if it is no step of a plan that was fixed before. `off`: no plan is asked for.
        cleared: destinations that a conversation may write to although it has seen a secret; `tool:NAME` clears
            every call of a tool. Any other is refused.
        functions: the program's own checks by name, for rules with `{"op": "function", "name": ...}`: a function of
            arguments and principal that returns True, False or a reason.
        owners: by kind of identifier (`order` for `Id("order")`) a function of the identifier that returns the id of
            the principal whose it is, or None. It is asked at every judgement, so it must be quick.
        deciders: who decides what is put to a person: roles, bands of amounts, how many of them; see `Deciders`.
        mode: `observe` judges and records constraints and provenance without enforcing them; tiers, earlier refusals
            and cycles are enforced always.
    """

    constraints: Sequence[str | Constraint] = ()
    limits: Limits = Limits()
    budgets: Sequence[Budget] = ()
    ask_seconds: float = 86_400.0
    questions: int = 8
    provenance: Provenance = "confirm"
    plan: PlanMode = "off"
    cleared: frozenset[str] = frozenset()
    functions: Mapping[str, Function] = EMPTY
    owners: Mapping[str, Owner] = EMPTY
    mode: Literal["enforce", "observe"] = "enforce"
    deciders: Sequence[Deciders] = ()

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
        if isinstance(self.budgets, Budget) or not all(isinstance(one, Budget) for one in self.budgets):
            raise SetupError(f"Boundary(budgets={self.budgets!r}): expected a list of Budget", code="limits")
        object.__setattr__(self, "budgets", tuple(self.budgets))
        object.__setattr__(self, "deciders", _listed(self.deciders))
        for name in ("functions", "owners"):
            object.__setattr__(self, name, _registered(name, getattr(self, name)))
        if not _is_number(self.ask_seconds) or self.ask_seconds <= 0:
            raise SetupError(f"Boundary(ask_seconds={self.ask_seconds!r}): expected seconds above 0", code="limits")
        if not _is_number(self.questions) or self.questions < 0:
            raise SetupError(f"Boundary(questions={self.questions!r}): expected 0 or more", code="limits")
        if self.provenance not in get_args(Provenance):
            expected = ", ".join(get_args(Provenance))
            raise SetupError(f"Boundary(provenance={self.provenance!r}): expected one of {expected}", code="setup")
        if self.plan not in get_args(PlanMode):
            raise SetupError(f"Boundary(plan={self.plan!r}): expected one of {', '.join(get_args(PlanMode))}")
        if isinstance(self.cleared, str) or not all(isinstance(one, str) for one in self.cleared):
            raise SetupError(f"Boundary(cleared={self.cleared!r}): expected a set of destinations, each a text")
        object.__setattr__(self, "cleared", frozenset(self.cleared))
        if self.mode not in ("enforce", "observe"):
            raise SetupError(f"Boundary(mode={self.mode!r}): expected 'enforce' or 'observe'")


def _listed(deciders: object) -> tuple[Deciders, ...]:
    found = tuple(deciders) if isinstance(deciders, Sequence) else ()
    if not isinstance(deciders, Sequence) or not all(isinstance(one, Deciders) for one in found):
        raise SetupError(f"Boundary(deciders={deciders!r}): expected a list of Deciders", code="deciders.invalid")
    return found


def _registered(name: str, given: object) -> FrozenDict:
    """The functions that rules may name, frozen: what a run is judged by does not change while it runs."""
    if not isinstance(given, Mapping):
        raise SetupError(f"Boundary({name}={given!r}): expected names with functions", code="constraint.invalid")
    for key, function in given.items():
        if not isinstance(key, str) or not callable(function) or iscoroutinefunction(function):
            raise SetupError(
                f"Boundary({name}={{{key!r}: {function!r}}}): expected a name with a function that is not async",
                code="constraint.invalid",
            )
    return FrozenDict(given)
