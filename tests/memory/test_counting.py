"""Counting: linear, additive, never negative, and mended by what the provider says."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core.canon import freeze
from backstay.core.errors import SetupError
from backstay.core.messages import Media, Message, ModelRequest, Reasoning, Text, ToolCall, ToolSpec, Usage
from backstay.memory.bpe import Encoding
from backstay.memory.counting import (
    CALL,
    MESSAGE,
    Calibration,
    message_tokens,
    request_tokens,
    tools_tokens,
)
from backstay.memory.estimator import CLASSES, WEIGHTS, estimate, features
from memory.messages import called, conversations, gave, said

SEARCH = ToolSpec(
    name="find_orders",
    description="Orders of one customer.",
    schema=freeze({"type": "object", "properties": {"customer": {"type": "string"}}}),
)


@given(st.text(max_size=400), st.text(max_size=400))
def test_an_estimate_is_never_negative_and_additive_at_a_line_end(one: str, other: str) -> None:
    apart, together = estimate(one) + estimate(other), estimate(f"{one}\n{other}")
    assert estimate(one) >= 0
    assert -6 <= together - apart <= 6


@given(st.text(max_size=300))
def test_no_text_has_more_tokens_than_one_and_a_half_for_each_character(text: str) -> None:
    assert estimate(text) <= 1.5 * len(text) + 1
    assert (estimate(text) == 0) == (text == "")


def test_every_class_has_a_weight_and_its_own_count() -> None:
    assert len(CLASSES) == len(WEIGHTS) == len(features(""))
    text = "Hello internationalization JSON 1234 \n 中文 かな 한글 Привет, ;;; 。 😀 " + "a1B2c3D4e5" * 4
    assert [name for name, found in zip(CLASSES, features(text), strict=True) if not found] == []


@pytest.mark.parametrize(
    "unit", ["a", "A", " ", "\n", "1", "-", "a-", "é", "中", "aB", "a1", "😀", "=", "/x", "_", '{"a":1},', "\x00"]
)
def test_time_is_linear_in_the_text_whatever_it_is(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        best = 9.0
        for _ in range(3):
            began = time.process_time()
            estimate(text)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(400_000) < 40 * max(seconds(40_000), 0.001)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("The quick brown fox jumps over the lazy dog.", 8, 12),
        ("只要近30天的订单，不要退款。", 9, 16),
        ("550e8400-e29b-41d4-a716-446655440000", 18, 30),
        ("dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs" * 10, 180, 300),
        ("", 0, 0),
    ],
)
def test_each_kind_of_text_is_weighed_by_its_kind(text: str, low: int, high: int) -> None:
    assert low <= estimate(text) <= high


def test_the_estimate_is_near_the_exact_count() -> None:
    """Texts that the weights were not fitted to; `python -m bench.tokens` measures this on thousands."""
    exact = Encoding("o200k")
    for text in (
        "Please find the three most recent orders of the customer and tell me which one was never delivered.",
        "def total(rows):\n    return sum(row['amount'] for row in rows if row['state'] == 'open')\n" * 3,
        '{"id": "o-1001", "status": "lost", "lines": [{"sku": "A-17", "count": 2}]}',
        "请帮我查一下上个月的订单，把没有发货的列出来，再告诉我总金额是多少。",
    ):
        assert 0.75 <= estimate(text) / exact.count(text) <= 1.3, text


def test_calls_results_reasoning_and_media_count_in_full() -> None:
    words = "a text of several words, repeated " * 20
    assert message_tokens(said(words)) == MESSAGE + estimate(words)
    assert message_tokens(gave("c1", text=words)) == MESSAGE + CALL + estimate(words)
    assert message_tokens(called("c1", args={"query": words})) > estimate(words)
    thought = Message(id="m", role="assistant", parts=(Reasoning(text=words, signature="s" * 40),))
    assert message_tokens(thought) > MESSAGE + estimate(words)
    for mime, tokens in (("image/png", 1_600), ("application/pdf", 4_500), ("application/x-odd", 1_600)):
        assert message_tokens(Message(id="m", role="user", parts=(Media(mime=mime, url="x"),))) == MESSAGE + tokens
    broken = ToolCall(id="c", name="find", args=freeze({}), raw='{"of": ' * 40)
    assert message_tokens(Message(id="m", role="assistant", parts=(broken,))) > 80


@given(conversations())
def test_a_request_is_the_sum_of_its_messages_and_tools(messages: list[Message]) -> None:
    request = ModelRequest(messages=tuple(messages), tools=(SEARCH,))
    assert request_tokens(request) == sum(map(message_tokens, messages)) + tools_tokens([SEARCH])


def test_system_prompt_tools_and_schema_count() -> None:
    bare = ModelRequest(messages=(said("hello"),))
    instructed = ModelRequest(messages=(said("be kind " * 50, "system"), said("hello")))
    assert request_tokens(instructed) > request_tokens(bare) + 90
    assert request_tokens(ModelRequest(messages=bare.messages, tools=(SEARCH,))) > request_tokens(bare) + 20
    asked = ModelRequest(messages=bare.messages, output_schema=SEARCH.schema)
    assert request_tokens(asked) > request_tokens(bare) + 10


def test_the_providers_figure_is_exact_for_what_was_sent() -> None:
    learnt = Calibration().observed(1_000, Usage(input_tokens=1_377))
    assert learnt.predict(1_000) == 1_377
    assert learnt.predict(1_100) == 1_377 + 138
    assert learnt.predict(900) == 1_377 - 137


def test_what_comes_later_is_weighed_by_what_came_before() -> None:
    """A provider that counts tools dearly and words like us: only the words grow from request to request."""
    calibration, sent, told = Calibration(), 200, 900
    for _ in range(12):
        calibration = calibration.observed(sent, Usage(input_tokens=told))
        sent, told = sent + 100, told + 105
    assert abs(calibration.predict(sent) - told) <= 12
    assert 1.0 <= calibration.factor <= 1.4


def test_a_figure_that_says_nothing_changes_nothing() -> None:
    learnt = Calibration().observed(100, Usage(input_tokens=150))
    assert learnt.observed(120, None) is learnt
    assert learnt.observed(120, Usage()) is learnt
    assert Calibration().predict(100) == 100
    assert not Calibration().is_anchored


def test_after_a_compaction_the_factor_stays_and_the_anchor_moves() -> None:
    learnt = Calibration().observed(10_000, Usage(input_tokens=15_000))
    folded = learnt.observed(4_000, Usage(input_tokens=6_500))
    assert folded.factor == learnt.factor
    assert folded.predict(4_000) == 6_500


def test_a_refusal_for_length_makes_the_next_guess_larger() -> None:
    learnt = Calibration().observed(1_000, Usage(input_tokens=1_200))
    assert learnt.overflowed().predict(1_000) > learnt.predict(1_000)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**7)), max_size=20), st.integers(0, 10**6))
def test_no_history_of_figures_makes_a_prediction_negative_or_wild(figures: list[tuple[int, int]], ask: int) -> None:
    calibration = Calibration()
    for estimated, tokens in figures:
        calibration = calibration.observed(estimated, Usage(input_tokens=tokens))
    assert calibration.predict(ask) >= 0
    assert 0.5 <= calibration.factor <= 4


@pytest.mark.parametrize("name", ["o200k", "cl100k", "voyage3"])
def test_the_extra_counts_exactly_and_any_text(name: str) -> None:
    encoding = Encoding(name)
    assert encoding.count("hello world") == 2
    assert encoding.count("half a pair \ud83d") > 0
    assert encoding([said("hello world")]) == [MESSAGE + 2]


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai._bindings", None)
    with pytest.raises(SetupError, match=r"backstay\[tokenizer\]"):
        Encoding()
    with pytest.raises(SetupError, match="no encoding"):
        Encoding("gpt-9")


def test_text_of_a_message_counts_once() -> None:
    two = Message(id="m", role="user", parts=(Text(text="one two"), Text(text="three")))
    assert message_tokens(two) == MESSAGE + estimate("one two") + estimate("three")
