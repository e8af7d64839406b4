"""Broken JSON is mended where it can be read in one way only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.models.mending import MAX_CHARS, mend


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{'a': 1, 'b': 'x'}", {"a": 1, "b": "x"}),
        ('{"a": [1, 2,], "b": {"c": None,},}', {"a": [1, 2], "b": {"c": None}}),
        ("{a: True, b: False}", {"a": True, "b": False}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1,}\n```', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("{'a': 'it\\'s \"so\"'}", {"a": 'it\'s "so"'}),
        ('{"a": -1.5e3,}', {"a": -1500.0}),
    ],
)
def test_what_has_one_reading_is_mended(text: str, meant: dict[str, Any]) -> None:
    assert mend(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "[1]", "{", '{"a": 12', '{"a": "x', '{"a": "x"', '{"a": [1, 2}', '{"a": 1} and more', 'So: {"a": 1,}',
        '{"a": "he said "x"", "b": 2}', "{'a': 'it's'}", '{"a": 1 "b": 2}', '{"a": 1, "a": 2,}', '{"a": b}',
        '{"a": 01}',
        '{"a" "b"}', '{"a", "b"}', '{"a": 1: 2}', '{"x": ["a": 1]}', '{1: 2}', '{"a": 1,}{"b": 2}', '{"a":,}',
        '```json\n{"a": 1}', '"x"', '{"a": .5}', '{"a": 1,' + " " * MAX_CHARS + "}", "{'a': " * 3_000,
    ],
)  # fmt: skip
def test_what_has_several_readings_or_none_is_left_alone(text: str) -> None:
    assert mend(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, min_size=1, max_size=3))
def test_trailing_commas_change_no_value(value: dict[str, Any]) -> None:
    mended = mend(json.dumps(value)[:-1] + ",}")
    assert mended is None or (mended == value and json.dumps(mended) == json.dumps(value))


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.integers(1, 60))
def test_a_text_that_breaks_off_never_becomes_a_call(value: dict[str, Any], missing: int) -> None:
    text = json.dumps(value)
    assert mend(text[: max(len(text) - missing, 0)]) is None
