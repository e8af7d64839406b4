"""Arguments in: every problem at once, in the model's words; canonical arguments that validate to themselves."""

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_core import core_schema

from backstay.core.canon import FrozenDict, canonical, freeze
from backstay.core.meanings import Id, Money
from backstay.core.schema import (
    ArgumentsError,
    canonical_args,
    meanings_of,
    model_schema,
    problems,
    signature_of,
    validate,
)


class Line(BaseModel):
    sku: Annotated[str, Id("article")]
    count: int = Field(1, ge=1)
    price: Annotated[Decimal, Money("EUR")] = Decimal(0)


class Order(BaseModel):
    """An order."""

    id: str = Field(pattern=r"^A-\d+$", description="its number", examples=["A-1"])
    lines: list[Line] = []
    kind: Literal["new", "old"] = "new"
    when: date | None = None
    tags: set[str] = set()

    @field_validator("tags")
    @classmethod
    def _few(cls, value: set[str]) -> set[str]:
        if len(value) > 2:
            raise ValueError("at most two tags, please")
        return value


def refused(model: type[BaseModel], args: Any) -> tuple[str, ...]:
    with pytest.raises(ArgumentsError) as caught:
        validate(model, args)
    for problem in caught.value.problems:
        assert problem in str(caught.value)
    return caught.value.problems


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, ["id: missing; expected text"]),
        ({"id": 5}, ["id: expected text, got 5"]),
        ({"id": "x"}, [r'id: expected text matching ^A-\d+$, got "x"']),
        ({"id": "A-1", "lines": {}}, ["lines: expected a list, got {}"]),
        ({"id": "A-1", "lines": [3]}, ["lines.0: expected an object, got 3"]),
        ({"id": "A-1", "lines": [{}]}, ["lines.0.sku: missing; expected text"]),
        (
            {"id": "A-1", "lines": [{"sku": "s"}, {"sku": 1, "count": 0, "price": "cheap"}]},
            [
                "lines.1.sku: expected text, got 1",
                "lines.1.count: expected at least 1, got 0",
                'lines.1.price: expected a number, got "cheap"',
            ],
        ),
        ({"id": "A-1", "kind": "odd"}, ["kind: expected one of 'new' or 'old', got \"odd\""]),
        ({"id": "A-1", "when": "soon"}, ['when: expected a date such as 2026-01-31, got "soon"']),
        ({"id": "A-1", "tags": ["a", "b", "c"]}, ['tags: at most two tags, please, got ["a", "b", "c"]']),
        ([], ["arguments: expected an object, got []"]),
    ],
)
def test_problems_name_field_expectation_and_value(args: Any, expected: list[str]) -> None:
    assert list(refused(Order, args)) == expected


def test_all_problems_come_at_once() -> None:
    assert len(refused(Order, {"id": 1, "kind": 2, "when": 3.5, "tags": 4, "lines": 5})) == 5


def test_a_long_value_is_cut() -> None:
    (problem,) = refused(Order, {"id": "A-1", "kind": "x" * 100_000})
    assert len(problem) < 140
    assert problem.endswith("…")
    (problem,) = refused(Order, {"id": "A-1", "kind": [{"deep": ["x" * 50] * 10_000}]})
    assert len(problem) < 140


def test_a_key_that_is_no_text_and_a_value_in_itself_are_shown_without_breaking() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert refused(Order, {"id": {(1, 2): 3}}) == ("id: expected text, got <dict>",)
    assert refused(Order, {"id": loop}) == ("id: expected text, got <list>",)


def test_a_union_of_models_leaves_pydantics_own_words_out_of_the_path() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(BaseModel):
        kind: Literal["dog"]
        tail: float

    class Home(BaseModel):
        pet: Annotated[Cat | Dog, Field(discriminator="kind")]
        other: int | list[int] = 1
        by_name: dict[str, int] = {}

    assert refused(Home, {"pet": {"kind": "cat"}, "other": ["x"], "by_name": {"a": "b"}}) == (
        "pet.lives: missing; expected a whole number",
        'other: expected a whole number, got ["x"]',
        'other.0: expected a whole number, got "x"',
        'by_name.a: expected a whole number, got "b"',
    )


def test_problems_work_without_the_model() -> None:
    with pytest.raises(ValidationError) as caught:
        Order.model_validate({"id": 1, "kind": "odd"})
    assert problems(caught.value, {"id": 1, "kind": "odd"})[0] == "id: expected text, got 1"


def test_unknown_fields_inside_are_refused_by_name_where_the_model_forbids_them() -> None:
    class Tight(BaseModel):
        model_config = ConfigDict(extra="forbid")
        a: int

    class Holder(BaseModel):
        tights: list[Tight]

    assert refused(Holder, {"tights": [{"a": 1, "b": 2}]}) == ("tights.0.b: no such argument; tights.0 takes a",)


def test_canonical_arguments_are_the_same_for_all_spellings() -> None:
    def search(x: int, y: int = 2, z: Decimal = 0.5, w: float = 1) -> None:  # type: ignore[assignment]
        """Do."""

    model = signature_of(search).model
    spellings: list[dict[str, Any]] = [
        {"x": 1},
        {"x": "1"},
        {"y": 2, "x": 1},
        {"x": 1.0, "z": "0.5"},
        {"z": 0.5, "y": "2", "x": 1, "w": 1.0},
    ]
    texts = {canonical(canonical_args(validate(model, one))) for one in spellings}
    assert texts == {'{"w":1,"x":1,"y":2,"z":"0.5"}'}


class Level(IntEnum):
    LOW = 1


class Letter(Enum):
    A = "a"


@dataclass
class Inner:
    on: date
    made: int = field(default=0, init=False)


class Odd(BaseModel):
    model_config = ConfigDict(extra="allow")
    renamed: int = Field(validation_alias="in", serialization_alias="out")
    hidden: int = Field(1, exclude=True)
    secret: SecretStr = SecretStr("")
    blob: bytes = b""


class Everything(BaseModel):
    model_config = ConfigDict(val_json_bytes="base64")
    odd: Odd
    inner: Inner
    level: Level
    letters: frozenset[Letter]
    numbers: tuple[int, ...]
    by_day: dict[date, Decimal]
    at: datetime
    clock: time
    wait: timedelta
    ident: UUID
    path: Path
    blob: bytes


def test_canonical_arguments_of_every_kind_validate_to_themselves() -> None:
    args = {
        "odd": {"in": 3, "hidden": 4, "secret": "s", "blob": "text", "more": [{"free": 1}]},
        "inner": {"on": "2026-01-31"},
        "level": 1,
        "letters": ["a"],
        "numbers": [2, 1],
        "by_day": {"2026-01-31": "1.50"},
        "at": "2026-01-31T10:00:00Z",
        "clock": "10:00",
        "wait": "PT90S",
        "ident": "00000000-0000-0000-0000-000000000001",
        "path": "/a/b",
        "blob": "/+8=",
    }
    input = validate(Everything, args)
    frozen = canonical_args(input)
    assert isinstance(frozen, FrozenDict)
    assert frozen == freeze({**args, "at": "2026-01-31T10:00:00+00:00", "clock": "10:00:00", "wait": "PT1M30S"})
    again = validate(Everything, frozen)
    assert again == input
    assert canonical_args(again) == frozen


def test_a_type_with_a_schema_of_its_own_goes_through_its_own_serializer() -> None:
    class Code:
        def __init__(self, text: str) -> None:
            self.text = text

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Code) and other.text == self.text

        __hash__ = None  # type: ignore[assignment]

        @classmethod
        def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
            return core_schema.no_info_after_validator_function(
                cls,
                core_schema.str_schema(),
                serialization=core_schema.plain_serializer_function_ser_schema(lambda code: code.text),
            )

    def use(code: Code) -> None:
        """Do."""

    model = signature_of(use).model
    input = validate(model, {"code": "c"})
    assert canonical_args(input) == {"code": "c"}
    assert validate(model, canonical_args(input)) == input


@pytest.mark.parametrize("value", [math.nan, math.inf, [{"a": math.nan}], object(), {1: "a", "1": "b"}])
def test_what_json_cannot_hold_is_refused_by_name(value: Any) -> None:
    def use(x: Any, y: float = 1) -> None:
        """Do."""

    model = signature_of(use).model
    with pytest.raises(ArgumentsError, match=r"x[.0-9a]*: expected a value JSON can hold"):
        canonical_args(validate(model, {"x": value}))


def test_an_infinite_float_is_refused_at_once() -> None:
    def use(x: float) -> None:
        """Do."""

    assert refused(signature_of(use).model, {"x": math.inf}) == ("x: expected a finite number, got Infinity",)


def test_a_model_that_was_changed_is_validated_again() -> None:
    order = Order(id="A-1")
    order.id = "changed"
    assert refused(Order, order) == (r'id: expected text matching ^A-\d+$, got "changed"',)
    assert refused(Order, Order.model_construct(id=1)) == ("id: expected text, got 1",)
    assert validate(Order, Order(id="A-2", lines=[Line(sku="s")])).lines == [Line(sku="s")]


def test_real_objects_pass_as_they_are() -> None:
    line = Line(sku="s")
    assert (
        validate(Order, {"id": "A-1", "lines": [line], "when": datetime(2026, 1, 31, tzinfo=UTC).date()}).lines[0]
        is line
    )


def test_kwargs_survive_a_second_validation_as_a_model() -> None:
    def use(x: int, **more: int) -> None:
        """Do."""

    model = signature_of(use).model
    input = validate(model, {"x": 1, "a": 2})
    assert canonical_args(validate(model, input)) == {"x": 1, "a": 2}


def test_the_schema_of_a_model_is_clean_and_frozen() -> None:
    shown = model_schema(Order)
    assert isinstance(shown, FrozenDict)
    assert '"title"' not in canonical(shown)
    assert shown["properties"]["id"] == {  # type: ignore[index, call-overload]
        "type": "string",
        "pattern": r"^A-\d+$",
        "description": "its number",
        "examples": ("A-1",),
    }
    assert shown["required"] == ("id",)


def test_meanings_inside_a_model_are_dotted() -> None:
    assert meanings_of(Order) == {"lines.sku": "id:article", "lines.price": "money:EUR"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _anything(a: Any, *rest: Any, **kw: Any) -> None:
    """Do."""


def _typed(
    n: int,
    ids: set[int],
    price: Decimal,
    when: datetime | None = None,
    blob: bytes = b"",
    wait: timedelta = timedelta(),
    by: dict[str, list[float]] = {},  # noqa: B006
) -> None:
    """Do."""


ANYTHING = signature_of(_anything).model
TYPED = signature_of(_typed).model


@given(a=json_values, rest=st.lists(json_values, max_size=3), kw=st.dictionaries(st.text(), json_values, max_size=3))
def test_any_json_survives_as_arguments(a: Any, rest: list[Any], kw: dict[str, Any]) -> None:
    args = {**kw, "a": a, "rest": rest}
    frozen = canonical_args(validate(ANYTHING, args))
    assert frozen == freeze(args)
    assert canonical_args(validate(ANYTHING, frozen)) == frozen


@given(
    n=st.integers(),
    ids=st.sets(st.integers()),
    price=st.decimals(allow_nan=False, allow_infinity=False),
    when=st.none() | st.datetimes(timezones=st.just(UTC)),
    blob=st.binary(),
    wait=st.timedeltas(),
    by=st.dictionaries(st.text(), st.lists(st.floats(allow_nan=False, allow_infinity=False))),
)
def test_real_objects_survive_as_canonical_arguments(**args: Any) -> None:
    input = validate(TYPED, args)
    frozen = canonical_args(input)
    again = validate(TYPED, freeze(frozen))
    assert again == input
    assert canonical_args(again) == frozen
