"""Pending actions and constraints as records: what holds a run, what is in force."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from judging import HIGH, ME, NOW, decided, rule, verdict

from backstay.boundary.actions import ActionKind, ActionState, PendingAction
from backstay.boundary.constraints import RANK


def action(**more: Any) -> PendingAction:
    return decided(verdict(tool=HIGH, amount="1", to="bob"), HIGH, **more)


@pytest.mark.parametrize("state", get_args(ActionState))
def test_only_an_open_action_holds_its_run(state: Any) -> None:
    assert action(state=state).holds_run is (state == "open")


@pytest.mark.parametrize("kind", get_args(ActionKind))
def test_every_kind_of_question_about_a_call_holds_its_run(kind: Any) -> None:
    assert action(kind=kind).holds_run


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"kind": "question", "call": None, "rules": ("u1.1",)}, False),
        ({"kind": "question", "call": None, "rules": ()}, True),
        ({"kind": "question", "rules": ("u1.1",)}, True),
        ({"kind": "approval", "call": None, "rules": ("u1.1",)}, True),
    ],
)
def test_confirming_a_rule_from_chat_is_asked_beside_the_run(given: dict[str, Any], holds: bool) -> None:
    assert action(**given).holds_run is holds


def test_an_action_is_about_the_judged_call() -> None:
    asked = verdict(tool=HIGH, amount="1", to="bob")
    waiting = action()
    assert waiting.call is not None
    assert (waiting.call.args, waiting.args_digest, waiting.rules) == (asked.call.args, asked.digest, ("tier.high",))
    assert waiting.principal == ME


@pytest.mark.parametrize(
    ("status", "active"),
    [
        ("proposed", True),
        ("confirmed", True),
        ("superseded", False),
        ("revoked", False),
        ("expired", False),
        ("?", True),
    ],
)
def test_a_rule_is_in_force_until_somebody_ended_it(status: str, active: bool) -> None:
    assert rule(status=status).is_active is active


@pytest.mark.parametrize(
    ("until", "over"),
    [
        (None, False),
        ("run", False),
        ("2026-06-15", False),
        ("2026-06-14", True),
        ("2026-06-15T12:00:00", True),
        ("?", False),
    ],
)
def test_a_rule_is_over_when_its_time_has_passed(until: str | None, over: bool) -> None:
    assert rule(until=until).is_over(NOW, "UTC") is over


def test_a_higher_rank_may_loosen_the_rules_of_a_lower_one() -> None:
    assert sorted(RANK, key=RANK.__getitem__) == ["user", "operator", "developer"]
