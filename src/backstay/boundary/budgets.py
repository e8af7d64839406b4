"""Budgets: what a person, a tenant or an agent may use up on a day, over all runs and workers of one store.

A limit ends one run; a budget spans them. It is kept in the ledger's keys that all sessions share. A day is the
person's own for a budget per principal, and UTC's for the others, whose people may live in several zones. Source:
SPEC B14.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias, get_args
from zoneinfo import ZoneInfo

from backstay.core.context import Principal
from backstay.core.errors import SetupError

Per: TypeAlias = Literal["principal", "tenant", "agent"]
Unit: TypeAlias = Literal["usd", "tokens", "calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be used up on one day. At least one amount; at the end of it runs end `stopped` with code `budget.…`.

    Args:
        per: whose it is: each principal has its own, or each tenant, or the agent has one for everybody.
        usd: US dollars that model requests cost; an error on a model without a price.
        tokens: input and output of model requests.
        calls: tool calls. A batch that would pass it is refused before any of it runs.
    """

    per: Per
    usd: Decimal | float | None = None
    tokens: int | None = None
    calls: int | None = None

    def __post_init__(self) -> None:
        if self.per not in get_args(Per):
            raise SetupError(f"Budget(per={self.per!r}): expected one of {', '.join(get_args(Per))}", code="limits")
        given = {unit: getattr(self, unit) for unit in get_args(Unit)}
        for unit, amount in given.items():
            if amount is not None and not (_is_number(amount) and amount > 0):
                raise SetupError(f"Budget({unit}={amount!r}): expected a number above 0, or None", code="limits")
        if all(amount is None for amount in given.values()):
            raise SetupError(f"Budget(per={self.per!r}): expected usd, tokens or calls", code="limits")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and not math.isnan(value)


class Line(NamedTuple):
    """One amount of a budget, on one day, of one owner."""

    key: str
    """Of the ledger."""
    unit: Unit
    cap: Decimal
    text: str
    """`tokens of the day for this principal`."""


def lines(budgets: Iterable[Budget], principal: Principal, agent: str, now: float) -> tuple[Line, ...]:
    """What the budgets come to for a run.

    Args:
        budgets: of the boundary.
        principal: whom the run is for.
        agent: its agent's name.
        now: seconds since 1970; it names the day.
    """
    return tuple(line for one in budgets for line in _lines(one, principal, agent, now))


def _lines(budget: Budget, principal: Principal, agent: str, now: float) -> Iterator[Line]:
    zone = principal.zone if budget.per == "principal" else "UTC"
    day = datetime.fromtimestamp(now, ZoneInfo(zone)).date().isoformat()
    who = {"principal": principal.key, "tenant": principal.tenant, "agent": agent}[budget.per]
    for unit in get_args(Unit):
        amount = getattr(budget, unit)
        if amount is not None:
            key = f"day:{day}:budget:{budget.per}:{who}:{unit}"
            yield Line(key, unit, Decimal(str(amount)), f"{unit} of the day for this {budget.per}")
