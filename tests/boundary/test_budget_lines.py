"""Budgets are kept under keys that all sessions of a store share, one for each owner, day and unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backstay.boundary.budgets import Budget, lines
from backstay.boundary.policy import Boundary
from backstay.core.context import Principal, is_shared
from backstay.core.errors import SetupError

LATE = 1_781_564_400.0
"""15 June 2026, 23:00 UTC."""
ANN = Principal(id="ann", tenant="acme", zone="Europe/Berlin")


def keys(budget: Budget, principal: Principal = ANN, agent: str = "desk") -> list[str]:
    return [one.key for one in lines([budget], principal, agent, LATE)]


def test_each_amount_is_a_line_of_its_own_and_shared_by_all_sessions() -> None:
    found = lines([Budget(per="principal", usd=2, tokens=10, calls=3)], ANN, "desk", LATE)
    assert [(one.unit, str(one.cap)) for one in found] == [("usd", "2"), ("tokens", "10"), ("calls", "3")]
    assert all(is_shared(one.key) for one in found)
    assert len({one.key for one in found}) == 3


@pytest.mark.parametrize(
    ("per", "changed", "is_same"),
    [
        ("principal", {"id": "bob"}, False),
        ("principal", {"tenant": "other"}, False),
        ("tenant", {"id": "bob"}, True),
        ("tenant", {"tenant": "other"}, False),
        ("agent", {"id": "bob", "tenant": "other"}, True),
    ],
)
def test_whose_a_budget_is(per: Any, changed: dict[str, str], is_same: bool) -> None:
    budget = Budget(per=per, tokens=10)
    assert (keys(budget) == keys(budget, replace(ANN, **changed))) is is_same


def test_an_agent_has_a_budget_of_its_own() -> None:
    budget = Budget(per="agent", tokens=10)
    assert keys(budget) != keys(budget, agent="other")


def test_a_persons_day_is_their_own_and_everybody_elses_is_utc() -> None:
    assert keys(Budget(per="principal", calls=1))[0].startswith("day:2026-06-16:")
    assert keys(Budget(per="tenant", calls=1))[0].startswith("day:2026-06-15:")


@pytest.mark.parametrize(
    "given",
    [
        {"per": "person", "usd": 1},
        {"per": "principal"},
        {"per": "principal", "usd": 0},
        {"per": "principal", "tokens": -1},
        {"per": "principal", "calls": float("nan")},
        {"per": "principal", "calls": True},
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused_where_it_is_written(given: Any) -> None:
    with pytest.raises(SetupError) as raised:
        Budget(**given)
    assert raised.value.code == "limits"


def test_a_boundary_takes_a_list_of_budgets() -> None:
    with pytest.raises(SetupError, match="list of Budget"):
        Boundary(budgets=Budget(per="agent", usd=1))  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="list of Budget"):
        Boundary(budgets=["1 USD"])  # type: ignore[list-item]
