"""Units: what stays or goes together."""

from __future__ import annotations

from hypothesis import given

from backstay.core.messages import Message
from backstay.memory.units import units_of
from memory.messages import called, conversations, gave, said


def test_calls_and_all_their_results_are_one_unit() -> None:
    turn, ask, one, two, answer = said("go"), called("a", "b"), gave("a"), gave("b"), said("done", "assistant")
    units = units_of([turn, ask, one, two, answer])
    assert [unit.messages for unit in units] == [(turn,), (ask, one, two), (answer,)]
    assert not any(unit.is_open for unit in units)


def test_a_call_that_waits_leaves_its_unit_open() -> None:
    (unit,) = units_of([called("a", "b"), gave("a")])
    assert (unit.is_open, unit.waits_for) == (True, {"b"})


def test_a_result_without_its_call_is_an_orphan() -> None:
    units = units_of([said("go"), gave("x"), called("a"), gave("a"), gave("a")])
    assert [unit.is_orphan for unit in units] == [False, True, False, True]


@given(conversations())
def test_units_are_the_messages_in_order(messages: list[Message]) -> None:
    assert [one for unit in units_of(messages) for one in unit.messages] == messages
