"""The assembler: pieces in any order become the parts of a reply, at a cost linear in the pieces."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core.canon import FrozenDict
from backstay.core.messages import Delta, ModelReply, Reasoning, Text, ToolCall
from backstay.models import Assembler, parse_call


def put_together(*deltas: Delta) -> ModelReply:
    assembler = Assembler()
    for delta in deltas:
        assembler.add(delta)
    return assembler.reply(finish="stop", usage=None, model="m")


def test_parts_come_in_the_order_of_their_numbers_however_their_pieces_came() -> None:
    reply = put_together(
        Delta("args", 2, '{"a"', "c1", "find"), Delta("text", 0, "Hel"), Delta("args", 3, "{}", "c2", "other"),
        Delta("text", 0, "lo"), Delta("args", 2, ": 1}"), Delta("reasoning", 1, "hm"), Delta("text", 9, ""),
    )  # fmt: skip
    assert reply.parts == (
        Text(text="Hello"),
        Reasoning(text="hm"),
        ToolCall(id="c1", name="find", args={"a": 1}),
        ToolCall(id="c2", name="other", args={}),
    )


def test_id_and_name_may_come_late() -> None:
    reply = put_together(
        Delta("args", 0, '{"a": 1'), Delta("args", 0, "}", "", "find"), Delta("args", 0, "", "c1", "x")
    )
    assert reply.calls == (ToolCall(id="c1", name="find", args={"a": 1}),)


@given(st.lists(st.tuples(st.integers(0, 4), st.text(max_size=5)), max_size=60), st.randoms())
def test_interleaving_changes_nothing(pieces: list[tuple[int, str]], chance: random.Random) -> None:
    by_part: dict[int, list[Delta]] = {}
    for part, text in pieces:
        by_part.setdefault(part, []).append(Delta("text", part, text))
    straight = put_together(*[one for part in sorted(by_part) for one in by_part[part]])
    queues = [list(one) for one in by_part.values()]
    mixed: list[Delta] = []
    while queues := [one for one in queues if one]:
        mixed.append(chance.choice(queues).pop(0))
    assert put_together(*mixed) == straight


def test_a_signature_stays_with_its_reasoning_even_without_words() -> None:
    assembler = Assembler()
    assembler.sign(0, "sig0")
    assembler.add(Delta("reasoning", 1, "hm"))
    assembler.sign(1, "sig1")
    parts = assembler.reply(finish="stop", usage=None, model="m").parts
    assert parts == (Reasoning(text="", signature="sig0"), Reasoning(text="hm", signature="sig1"))


@pytest.mark.parametrize(
    "text", ['{"city":"X"}{"city":"X"}', '{"city":"X"}{"city": "X"}', ' {"city": "X"}\n{"city":"X"} ']
)
def test_arguments_repeated_in_full_count_once(text: str) -> None:
    """C65."""
    assert parse_call("c", "w", text) == ToolCall(id="c", name="w", args={"city": "X"})


@pytest.mark.parametrize("text", ["", "  ", "{}", "null"])
def test_nothing_is_a_call_without_arguments(text: str) -> None:
    made = parse_call("c", "w", text)
    assert (made.args, made.raw) == ({}, None)


@pytest.mark.parametrize(
    "text",
    [
        '{"foo": "bar",', "[1]", "3", '"x"', '{"a": NaN}', '{"a": 1}{"a": 2}', '{"a": 1}{"a": true}',
        '{"a": 1} and more',
        '{"a":' * 200 + "1" + "}" * 200, '{"a":' + "[" * 100_000, '{"a": ' + "9" * 5_000 + "}", "{a: b}",
    ],
)  # fmt: skip
def test_what_is_no_object_is_kept_as_it_was_and_never_runs(text: str) -> None:
    made = parse_call("c", "w", text)
    assert (made.args, made.raw) == ({}, text)


def test_many_flat_brackets_are_not_deep() -> None:
    made = parse_call("c", "w", '{"rows": [' + ",".join(["{}"] * 500) + "]}")
    assert made.raw is None
    assert isinstance(made.args, FrozenDict)


def test_the_cost_is_linear_in_the_pieces() -> None:
    def seconds(count: int) -> float:
        deltas = [Delta("args", 0, "x", "c", "t")] * count
        best = 9.0
        for _ in range(5):
            began = time.process_time()
            put_together(*deltas)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(40_000) < 12 * seconds(10_000) + 0.01
