"""No key is dropped in silence: what an object does not know is refused by name, however deep it lies."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, model_validator

from backstay.core.schema import ArgumentsError, canonical_args, model_schema, signature_of, validate


class Line(BaseModel):
    sku: str
    count: int = 1


class Tight(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int = 1


class Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")
    a: int = 1
    line: Line | None = None


class Roomy(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1


class Renamed(BaseModel):
    new: int

    @model_validator(mode="before")
    @classmethod
    def _old(cls, data: Any) -> Any:
        return {"new": data["old"]} if isinstance(data, dict) and "old" in data else data


@dataclass
class Box:
    width: int = 1


class Stop(typing_extensions.TypedDict):
    city: str


class OpenStop(typing_extensions.TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic's own way to configure one
    city: str


class Holder(BaseModel):
    line: Line | None = None
    lines: list[Line] = []
    named: dict[str, Line] = {}
    pair: tuple[Line, int] | None = None
    tight: Tight = Tight()
    loose: Loose = Loose()
    roomy: Roomy = Roomy()
    renamed: Renamed | None = None
    box: Box | None = None
    stop: Stop | None = None
    open_stop: OpenStop | None = None
    either: Line | Roomy | None = None


def _take(holder: Holder, n: int = 1) -> Holder:
    """Do."""
    return holder


TAKE = signature_of(_take)


@pytest.fixture(params=["function", "class"])
def refused(request: pytest.FixtureRequest) -> Any:
    """The problems of a function's argument, and of the input model of a tool that is a class."""

    def problems(given: dict[str, Any]) -> list[str]:
        model, args = (TAKE.model, {"holder": given}) if request.param == "function" else (Holder, given)
        try:
            validate(model, args)
        except ArgumentsError as error:
            return [one.replace("holder.", "") for one in error.problems]
        return []

    return problems


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"line": {"sku": "s", "cuont": 2}}, ["line.cuont: no such argument; line takes sku, count"]),
        ({"lines": [{"sku": "s"}, {"sku": "t", "x": 1}]}, ["lines.1.x: no such argument; lines.1 takes sku, count"]),
        ({"named": {"a": {"sku": "s", "x": 1}}}, ["named.a.x: no such argument; named.a takes sku, count"]),
        ({"pair": [{"sku": "s", "x": 1}, 2]}, ["pair.0.x: no such argument; pair.0 takes sku, count"]),
        ({"tight": {"b": 1}}, ["tight.b: no such argument; tight takes a"]),
        ({"box": {"depth": 1}}, ["box.depth: no such argument; box takes width"]),
        ({"stop": {"city": "a", "x": 1}}, ["stop.x: no such argument; stop takes city"]),
        ({"loose": {"line": {"sku": "s", "x": 1}}}, ["loose.line.x: no such argument; loose.line takes sku, count"]),
        (
            {"line": {"count": "q", "x": 1}},
            [
                "line.sku: missing; expected text",
                'line.count: expected a whole number, got "q"',
                "line.x: no such argument; line takes sku, count",
            ],
        ),
        ({"loose": {"free": 1}, "line": {"sku": 1, "x": 1}}, [
            "line.sku: expected text, got 1", "line.x: no such argument; line takes sku, count",
        ]),
    ],
)  # fmt: skip
def test_an_unknown_key_is_refused_by_name(refused: Any, given: dict[str, Any], expected: list[str]) -> None:
    assert refused(given) == expected


def test_a_class_that_says_what_becomes_of_other_keys_is_obeyed() -> None:
    given = {"loose": {"free": 1}, "roomy": {"free": [1]}, "open_stop": {"city": "a", "free": 2}}
    found = validate(Holder, given)
    assert found.loose == Loose()
    assert found.roomy.model_extra == {"free": [1]}
    assert found.open_stop == {"city": "a", "free": 2}
    assert validate(Holder, canonical_args(found)) == found
    assert TAKE.call(validate(TAKE.model, {"holder": given, "n": 2}), None) == found


def test_a_tools_own_model_may_take_any_key() -> None:
    assert validate(Roomy, {"free": 1}).model_extra == {"free": 1}
    assert validate(Loose, {"free": 1}) == Loose()


def test_a_validator_that_reads_an_older_key_still_sees_it() -> None:
    assert validate(Holder, {"renamed": {"old": 3}}).renamed == Renamed(new=3)


def test_an_alternative_that_takes_the_key_is_chosen() -> None:
    assert validate(Holder, {"either": {"a": 2, "free": 1}}).either == Roomy(a=2, free=1)  # type: ignore[call-arg]  # extra
    assert validate(Holder, {"either": {"sku": "s"}}).either == Line(sku="s")


def test_a_validator_is_heard_after_keys_that_are_ignored() -> None:
    class Picky(Loose):
        @model_validator(mode="after")
        def _never(self) -> Any:
            raise ValueError("not today")

    with pytest.raises(ArgumentsError, match="not today"):
        validate(Picky, {"free": 1})


def test_a_strict_model_ignores_what_it_says_it_ignores() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True, extra="ignore")
        ids: set[int]

    assert validate(Strict, {"ids": [1], "free": 1}) == Strict(ids={1})


def test_the_schema_says_which_objects_take_no_other_keys() -> None:
    shown: Any = model_schema(Holder)
    assert shown["additionalProperties"] is False
    closed = {name for name, one in shown["$defs"].items() if one.get("additionalProperties") is False}
    assert closed == {"Line", "Tight", "Renamed", "Box", "Stop"}
    assert shown["$defs"]["Roomy"]["additionalProperties"] is True
    assert "additionalProperties" not in shown["$defs"]["Loose"]


def test_a_written_docstring_of_a_class_is_shown_and_no_other() -> None:
    class Parent(BaseModel):
        """Said of the parent."""

    class Child(Parent):
        x: int

    def take(
        parent: Parent,
        child: Child,
        box: Box,
        stop: Stop,
        either: Annotated[Child, Field(description="Said of the parameter.")],
    ) -> None:
        """Do."""

    shown: Any = signature_of(take).schema
    assert shown["$defs"]["Parent"]["description"] == "Said of the parent."
    assert all("description" not in shown["$defs"][name] for name in ("Child", "Box", "Stop"))
    assert shown["properties"]["either"]["description"] == "Said of the parameter."
    assert "description" not in shown
