"""Delegation goes round no circle, and a task is not done twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import REFUND, call, state

from backstay.boundary.cycle import MAX_TIMES, Delegations, cycle
from backstay.boundary.judge import judge
from backstay.boundary.policy import Boundary


@pytest.mark.parametrize(
    ("chain", "target", "expected"),
    [
        (("a",), "b", None),
        (("a", "b"), "a", None),
        (("a", "b", "a"), "b", "a → b → a → b"),
        (("x", "a", "b", "c", "a"), "b", "a → b → c → a → b"),
        (("a", "b", "c"), "b", None),
        (("a", "a"), "a", "a → a → a"),
        (("ab",), "b", None),
        ((), "a", None),
    ],
)
def test_the_second_call_of_one_agent_by_another_in_one_chain_closes_a_circle(
    chain: Any, target: str, expected: str | None
) -> None:
    assert cycle(chain, target) == expected


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_no_chain_grows_for_ever(calls: list[str]) -> None:
    chain: tuple[str, ...] = ("a",)
    for target in calls:
        if cycle(chain, target) is None:
            chain = (*chain, target)
    assert len(chain) <= 1 + 3 * 3, "each of the nine edges at most once"


def test_a_call_that_would_close_a_circle_is_refused_and_the_message_names_it() -> None:
    circle = cycle(("desk", "stock", "desk"), "stock")
    found = judge(call(to="ann"), REFUND, Boundary(provenance="off"), state(cycle=circle))
    assert (found.outcome, found.code) == ("deny", "limit.cycle")
    assert "desk → stock → desk → stock" in found.message


def test_the_same_task_gives_its_first_result_and_then_is_cut() -> None:
    done = Delegations()
    kinds = []
    for _ in range(MAX_TIMES + 2):
        kinds.append(done.answer("t1", {"order": 1}).kind)
        done = done.asked("t1", {"order": 1})
    assert kinds == ["run", "first", "first", "cut", "cut"]
    assert "desk → stock" in done.answer("t1", {"order": 1}, chain=("desk", "stock")).message


def test_the_same_id_with_another_input_is_an_error() -> None:
    done = Delegations().asked("t1", {"order": 1})
    answer = done.answer("t1", {"order": 2})
    assert (answer.kind, "'t1'" in answer.message) == ("differs", True)
    assert done.answer("t2", {"order": 2}).kind == "run"
    assert done.asked("t1", {"order": 2}).answer("t1", {"order": 1}).kind == "first", "the first input stays"


def test_equal_inputs_are_equal_however_their_keys_are_ordered() -> None:
    assert Delegations().asked("t", {"a": 1, "b": 2}).answer("t", {"b": 2, "a": 1}).kind == "first"


def test_rounds_of_a_coordinator_are_bounded() -> None:
    done = Delegations()
    for _ in range(3):
        assert done.over("lead", "worker", max_rounds=3) is None
        done = done.called("lead", "worker")
    assert done.over("lead", "worker", max_rounds=3) == "lead → worker was called 3 times, allowed are 3 rounds"
    assert done.over("lead", "other", max_rounds=3) is None
