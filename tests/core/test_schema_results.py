"""Results out: JSON by the declared type, nothing lost, nothing made up."""

import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr, TypeAdapter, computed_field, field_serializer

from backstay.core.canon import freeze
from backstay.core.errors import ToolError
from backstay.core.schema import dump_result, signature_of


class Shade(Enum):
    DARK = "dark"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Pair:
    left: set[str]
    right: Decimal


class Wire(BaseModel):
    value: int = Field(serialization_alias="wireOut")
    blob: bytes = b"\xff"
    tags: set[str] = {"b", "a"}
    key: SecretStr = SecretStr("hush")


class Public(BaseModel):
    name: str


class Private(Public):
    salary: int


class Rounded(BaseModel):
    x: float

    @field_serializer("x", when_used="json")
    def _short(self, value: float) -> str:
        return f"{value:.1f}"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> float:
        return self.x * 2


WIRE = {"wireOut": 1, "blob": "/w==", "tags": ("a", "b"), "key": "**********"}


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        (None, None, None),
        ([], None, ()),
        (0, None, 0),
        ("", None, ""),
        (False, None, False),
        (None, int | None, None),
        (Wire(value=1), Wire, WIRE),
        (Wire(value=1), None, WIRE),
        ([Wire(value=1)], list[Wire], (WIRE,)),
        ({"w": Wire(value=1)}, None, {"w": WIRE}),
        (Private(name="n", salary=1), Public, {"name": "n"}),
        (Private(name="n", salary=1), None, {"name": "n", "salary": 1}),
        (Rounded(x=1.26), Rounded, {"x": "1.3", "double": 2.52}),
        (Pair({"b", "a"}, Decimal("1.10")), Pair, {"left": ("a", "b"), "right": "1.10"}),
        (Pair({"b", "a"}, Decimal("1.10")), None, {"left": ("a", "b"), "right": "1.10"}),
        (Shade.DARK, None, "dark"),
        (Point(1, 2), None, (1, 2)),
        ({10, 9, 1}, set[int], (1, 9, 10)),
        ({10, 9, 1}, None, (1, 9, 10)),
        ({1.5, 0.5}, None, (0.5, 1.5)),
        (frozenset({b"b", b"a"}), None, ("YQ==", "Yg==")),
        (b"a", bytes, "YQ=="),
        (b"\xff", None, "/w=="),
        (datetime.date(2026, 1, 31), None, "2026-01-31"),
        (datetime.timedelta(seconds=90), None, "PT1M30S"),
        (UUID(int=1), None, "00000000-0000-0000-0000-000000000001"),
        (Path("/a"), None, "/a"),
        ({1: "a"}, None, {"1": "a"}),
        ("not a number", int, "not a number"),
        ((i for i in range(2)), None, (0, 1)),
        ("\ud800", None, "\ud800"),
    ],
)
def test_a_result_is_json_by_its_declared_type_or_else_its_own(value: Any, declared: Any, expected: Any) -> None:
    dumped = dump_result(value, TypeAdapter(declared) if declared is not None else None)
    assert dumped == expected
    assert type(dumped) is type(freeze(expected))


class Measured(BaseModel):
    x: float


def _looped() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (math.nan, None),
        (math.inf, float),
        ([{"a": math.nan}], None),
        (Measured(x=math.nan), Measured),
        (Measured(x=math.nan), None),
        ({math.nan}, None),
        (object(), None),
        ({"a": object()}, dict),
        ({1: "a", "1": "b"}, None),
        (_looped(), None),
    ],
)
def test_what_json_cannot_hold_is_an_error_that_says_so(value: Any, declared: Any) -> None:
    with pytest.raises(ToolError, match="something JSON cannot hold") as caught:
        dump_result(value, TypeAdapter(declared) if declared is not None else None)
    assert not caught.value.retryable


def test_a_secret_stays_hidden_where_pydantic_gives_up() -> None:
    dumped = dump_result({"key": SecretStr("hush"), "raw": b"\xff"}, None)
    assert dumped == {"key": "**********", "raw": "/w=="}


def test_a_return_type_without_a_schema_is_dumped_as_what_it_is() -> None:
    class Foreign:
        pass

    def make() -> Foreign:
        """Do."""
        return Foreign()

    def listed() -> Iterator[int]:
        """Do."""
        return iter([1, 2])

    with pytest.raises(ToolError, match="Foreign"):
        dump_result(make(), signature_of(make).returns)
    assert dump_result(listed(), signature_of(listed).returns) == (1, 2)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
def test_json_stays_itself(value: Any) -> None:
    assert dump_result(value, None) == freeze(value)
    assert dump_result(value, TypeAdapter(Any)) == freeze(value)
