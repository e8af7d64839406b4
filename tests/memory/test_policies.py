"""Window policies over the log of a session: whole units, deterministic, the newest unit and the user always."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from messages import called, conversations, gave, said

from backstay.agents.state import shortened
from backstay.core.errors import MemoryConfigError
from backstay.core.messages import Message
from backstay.memory import (
    ReadOnlyMemory,
    SlidingMemory,
    SummarizeMemory,
    TokenHandlers,
    TokenMemory,
    UnconstrainedMemory,
)
from backstay.memory.counting import message_tokens
from backstay.memory.estimator import estimate
from backstay.memory.history import make_valid
from backstay.memory.log import Log, Pointers
from backstay.memory.policies import Everything, Newest, WindowPolicy
from backstay.memory.template import policy_of
from backstay.memory.window import summary_message


def filled(messages: Sequence[Message]) -> Log:
    log = Log(estimate, shortened)
    for seq, message in enumerate(messages):
        log.add(message, seq)
    return log


def shown(log: Log) -> list[Message]:
    return [message for part in log.shown() for message in part]


def follow(log: Log, policy: WindowPolicy) -> None:
    """What a drive does before a request, for a policy without notes."""
    first = min(asyncio.run(policy.first(log)), log.end - 1)
    if first > log.at.folded:
        log.move(Pointers(max(log.at.trimmed, first), first))


async def counted(messages: Sequence[Message]) -> list[int]:
    return [message_tokens(one) + 1 for one in messages]


TEMPLATES = [
    UnconstrainedMemory(),
    SlidingMemory(1),
    SlidingMemory(3),
    TokenMemory(40),
    TokenMemory(60, handlers=TokenHandlers(estimate=lambda message: message_tokens(message) * 2)),
    TokenMemory(60, handlers=TokenHandlers(tokenize=counted), sync_threshold=0),
]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: f"{type(one).__name__}")
@given(messages=conversations())
@settings(max_examples=60, deadline=None)
def test_whatever_leaves_the_rest_can_be_sent_and_the_user_is_heard(template: Any, messages: list[Message]) -> None:
    policy = policy_of(template)
    assert policy is not None
    sent = make_valid(messages)
    log, again, before = Log(estimate, shortened), Log(estimate, shortened), 0
    for seq, message in enumerate(sent):
        log.add(message, seq)
        again.add(message, seq)
        if log.entries[-1].unit.is_open:
            continue  # a request is made only where every call has its result
        follow(log, policy)
        assert log.at.folded >= before, "what is gone is gone"
        before = log.at.folded
        assert make_valid(shown(log)) == tuple(shown(log))
        assert message in shown(log)
        users = [one for one in sent[: seq + 1] if one.role == "user"]
        assert not users or users[-1] in shown(log)
        follow(again, policy)
    assert shown(again) == shown(log)
    assert summary_message(log) is None


def test_the_newest_units_are_shown_a_call_with_all_its_results_as_one() -> None:
    log = filled([said("one"), said("two"), called("a", "b"), gave("a"), gave("b"), said("three")])
    follow(log, Newest(max_units=2))
    assert [one.role for one in shown(log)] == ["assistant", "tool", "tool", "user"]
    follow(log, Newest(max_units=1))
    assert [one.text for one in shown(log)] == ["three"]


def test_what_fits_stays_and_the_last_message_of_the_user_counts() -> None:
    words = "many words are said in here " * 4
    log = filled([said(words), said(words), *(said(words, "assistant") for _ in range(6))])
    policy = policy_of(TokenMemory(200, threshold=1.0))
    assert policy is not None
    follow(log, policy)
    assert log.words <= 200 < log.words + message_tokens(said(words))
    assert next(one.role for one in shown(log)) == "user"


def test_exact_counts_are_asked_for_in_batches_and_once() -> None:
    batches: list[int] = []

    def tokenize(messages: Sequence[Message]) -> list[int]:
        batches.append(len(messages))
        return [100 for _ in messages]

    policy = policy_of(TokenMemory(300, threshold=1.0, sync_threshold=0.5, handlers=TokenHandlers(tokenize=tokenize)))
    assert policy is not None
    log = filled([said("a"), said("b"), said("c"), said("d")])
    follow(log, policy)
    assert (batches, [one.text for one in shown(log)]) == ([4], ["b", "c", "d"])
    log.add(said("e"), 4)
    follow(log, policy)
    assert batches == [4], "one of four is not more than half"
    log.add(said("f"), 5)
    log.add(said("g"), 6)
    log.add(said("h"), 7)
    follow(log, policy)
    assert batches == [4, 4]
    assert [one.text for one in shown(log)] == ["f", "g", "h"]


@pytest.mark.parametrize("wrong", [[1], [1, -1]])
async def test_a_counter_that_does_not_count_is_an_error(wrong: list[int]) -> None:
    handlers = TokenHandlers(tokenize=lambda _messages: wrong)
    policy = policy_of(TokenMemory(100, sync_threshold=0, handlers=handlers))
    assert policy is not None
    with pytest.raises(MemoryConfigError, match="one number of at least 0"):
        await policy.first(filled([said("a"), said("b")]))


def test_notes_go_with_what_they_were_about() -> None:
    log = filled([said(f"turn {number}") for number in range(8)])
    log.move(Pointers(4, 4), "notes", ("id=1",))
    follow(log, Newest(max_units=6))
    assert summary_message(log) is not None, "these units are among the newest six"
    log.add(said("more"), 8)
    follow(log, Newest(max_units=4))
    assert summary_message(log) is None


async def test_a_summary_leaves_half_and_keeps_the_tail() -> None:
    policy = policy_of(SummarizeMemory(max_tokens=400, threshold=0.5, keep_units=3))
    assert policy is not None
    log = filled([said("many words are said in here " * 3) for _ in range(6)])
    assert log.words <= 200
    assert await policy.first(log) == 0
    log = filled([said("many words are said in here " * 3) for _ in range(20)])
    first = await policy.first(log)
    left = filled([*log.messages(range(first, 20))])
    assert left.words <= 100
    short = filled([said("many words are said in here " * 30) for _ in range(4)])
    assert await policy.first(short) == 1, "three units stay, however long"
    assert policy.summing is not None
    assert policy.summing.summarise is None


def test_a_memory_is_a_template() -> None:
    assert policy_of(None) is None
    assert policy_of(UnconstrainedMemory) == policy_of(UnconstrainedMemory()) == Everything()
    assert policy_of(SlidingMemory) == Newest(max_units=20)
    mine = Newest(max_units=7)
    assert policy_of(mine) is mine


async def test_what_could_not_be_one_is_refused() -> None:
    held = SlidingMemory()
    await held.add(said("hello"))
    selecting = TokenMemory(handlers=TokenHandlers(removal_selector=lambda messages: messages[0]))
    for wrong, told in (
        (held, "holds 1 messages"),
        (selecting, "removal_selector"),
        (ReadOnlyMemory(UnconstrainedMemory()), "ReadOnlyMemory cannot be the memory of an agent"),
        (20, "expected a memory such as"),
    ):
        with pytest.raises(MemoryConfigError, match=told) as refused:
            policy_of(wrong)  # type: ignore[arg-type]
        assert refused.value.code == "memory.config"
    assert replace(Newest(max_units=1), max_units=2) == Newest(max_units=2)
