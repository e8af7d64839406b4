"""`Boundary` and `Limits`: what cannot be kept is refused where it is written down."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import pytest
from judging import rule

from backstay.boundary.policy import Boundary, Limits
from backstay.core.errors import SetupError


def test_the_defaults_are_those_of_the_specification() -> None:
    limits = Limits()
    assert (limits.steps, limits.calls, limits.tokens, limits.usd) == (30, 60, 200_000, None)
    assert (limits.seconds, limits.depth) == (600.0, 3)
    boundary = Boundary()
    assert (boundary.ask_seconds, boundary.questions, boundary.mode) == (86_400.0, 8, "enforce")
    assert boundary.constraints == ()


@pytest.mark.parametrize("name", ["steps", "calls", "tokens", "seconds", "depth"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "30", None])
def test_a_limit_that_is_no_number_above_zero_is_refused(name: str, value: Any) -> None:
    with pytest.raises(SetupError, match=f"Limits\\({name}=") as caught:
        Limits(**{name: value})
    assert caught.value.code == "limits"


@pytest.mark.parametrize("usd", [-1, Decimal("-0.01"), float("nan"), Decimal("NaN"), "1"])
def test_a_sum_of_money_that_is_none_is_refused(usd: Any) -> None:
    with pytest.raises(SetupError, match="usd="):
        Limits(usd=usd)


@pytest.mark.parametrize("usd", [None, 0, 0.5, Decimal("2.50")])
def test_a_sum_of_money_from_zero_is_taken(usd: Any) -> None:
    assert Limits(usd=usd).usd == usd


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"constraints": "only the last 30 days"}, "constraint.invalid"),
        ({"constraints": [3]}, "constraint.invalid"),
        ({"ask_seconds": 0}, "limits"),
        ({"ask_seconds": float("nan")}, "limits"),
        ({"questions": -1}, "limits"),
        ({"questions": float("nan")}, "limits"),
        ({"mode": "Enforce"}, "setup"),
        ({"mode": "off"}, "setup"),
    ],
)
def test_a_boundary_that_cannot_be_understood_is_refused(given: dict[str, Any], code: str) -> None:
    with pytest.raises(SetupError) as caught:
        Boundary(**given)
    assert caught.value.code == code
    assert next(iter(given)) in caught.value.message


def test_a_boundary_is_frozen_with_its_rules() -> None:
    rules = ["only the last 30 days", rule()]
    boundary = Boundary(constraints=rules, questions=0)
    rules.clear()
    assert len(boundary.constraints) == 2
    with pytest.raises(FrozenInstanceError):
        boundary.mode = "observe"  # type: ignore[misc]
