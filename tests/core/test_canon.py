"""Canonical JSON: one value, one text, one digest."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core.canon import FrozenDict, canonical, digest, freeze, thaw
from backstay.core.ids import new_id, new_span_id, new_trace_id

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


def shuffled(value: Any) -> Any:
    """The same value with every object's keys in the opposite order."""
    if isinstance(value, dict):
        return {key: shuffled(item) for key, item in reversed(value.items())}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(JSON)
def test_one_value_has_one_text_and_one_digest(value: Any) -> None:
    assert canonical(value) == canonical(shuffled(value)) == canonical(freeze(value))
    assert digest(value) == digest(shuffled(value)) == digest(freeze(value))
    assert json.loads(canonical(value)) == value
    assert thaw(freeze(value)) == value
    assert freeze(freeze(value)) == freeze(value)


@given(JSON)
def test_the_fast_writer_writes_what_the_library_writes(value: Any) -> None:
    assert canonical(value) == json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


@given(JSON, JSON)
def test_different_values_have_different_digests(one: Any, two: Any) -> None:
    assert (digest(one) == digest(two)) == (canonical(one) == canonical(two))


def test_kinds_that_python_takes_for_equal_are_told_apart() -> None:
    assert len({digest(value) for value in (1, 1.0, True, "1")}) == 4
    assert len({digest(value) for value in (0, False, None, "", (), {})}) == 6


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"x", object(), {1: 2}, {"a": {3}}, [float("nan")]])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        freeze(value)
    with pytest.raises((TypeError, ValueError)):
        canonical({"a": value} if not isinstance(value, dict) else [value, object()])


def test_a_frozen_object_cannot_be_changed() -> None:
    frozen: Any = freeze({"a": [1, {"b": 2}]})
    for change in (
        lambda: frozen.__setitem__("a", 1), lambda: frozen.__delitem__("a"), lambda: frozen.update(a=1), frozen.clear,
        lambda: frozen.pop("a"), frozen.popitem, lambda: frozen.setdefault("c", 1), lambda: frozen.__ior__({"a": 1}),
        lambda: frozen["a"][1].update(b=3),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            change()
    assert frozen == {"a": (1, {"b": 2})}
    assert copy.deepcopy(frozen) is frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert hash(frozen) == hash(FrozenDict({"a": 3}))
    thawed = thaw(frozen)
    thawed["a"].append(4)
    assert frozen == {"a": (1, {"b": 2})}


def test_lone_surrogates_have_a_digest() -> None:
    assert len(digest({"a": "\ud800"})) == 64


def test_ids_are_unique_and_those_with_a_time_sort_by_it() -> None:
    made = [new_id("r") for _ in range(20_000)]
    assert len(set(made)) == len(made)
    assert [one[:13] for one in made] == sorted(one[:13] for one in made)
    assert len(new_trace_id()) == 32
    assert len(new_span_id()) == 16
    int(new_trace_id() + new_span_id() + made[0].split("-")[1], 16)
