"""What a model is shown of a result: bounded, cut between records, never in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core.canon import canonical, freeze
from backstay.tools.summary import summarise, weigh

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=10), inner, max_size=8),
    max_leaves=60,
)


def test_four_kinds_of_nothing_differ() -> None:
    assert [summarise(data, 100).text for data in (None, (), 0, "")] == ["null", "[]", "0", '""']


@given(JSON, st.integers(40, 400))
def test_a_summary_is_bounded_and_says_when_it_is_cut(data: Any, max_tokens: int) -> None:
    frozen = freeze(data)
    shown = summarise(frozen, max_tokens)
    assert weigh(shown.text) <= max_tokens + 16
    whole = frozen if isinstance(frozen, str) and frozen else canonical(frozen)
    assert shown.is_cut == (shown.text != whole)


def test_rows_are_cut_between_rows() -> None:
    shown = summarise(freeze([{"id": n, "name": "x" * 40} for n in range(312)]), 500)
    head, *rows = shown.text.split("\n")
    assert head == f"{len(rows)} of 312 rows:"
    assert [json.loads(row)["id"] for row in rows] == list(range(len(rows)))


def test_the_long_list_of_an_object_is_cut_and_the_rest_stays() -> None:
    shown = summarise(
        freeze({"total": 312, "next": "p2", "items": [{"id": n, "n": "y" * 40} for n in range(312)]}), 500
    )
    first, second, *_ = shown.text.split("\n")
    assert json.loads(first) == {"total": 312, "next": "p2"}
    assert second.startswith("items: ")
    assert "of 312 rows" in second


def test_text_is_cut_between_lines() -> None:
    shown = summarise("\n".join(f"line {n} " + "z" * 30 for n in range(1000)), 300)
    assert shown.text.startswith(f"{len(shown.text.splitlines()) - 1:,} of 1,000 lines:")


@pytest.mark.parametrize(
    "text", ["删" * 4_000 + "a" * 100_000, "a" * 100_000, "删" * 50_000, "я" * 9_000 + "a" * 90_000]
)
def test_one_long_line_is_cut_between_characters_within_the_bound(text: str) -> None:
    shown = summarise(text, 4_000)
    assert shown.is_cut
    assert 1_000 < weigh(shown.text) <= 4_000


def test_a_lone_surrogate_can_be_weighed() -> None:
    assert weigh("\ud800" * 8) > 0
