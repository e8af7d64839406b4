"""Functions with hostile signatures. `test_schema.py` loads this file twice: as it is, and with postponed annotations.

So it must not import annotations from `__future__` itself. There are no tests in here.
"""

import enum
import functools
import sys
import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Optional

import typing_extensions
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from backstay.core.context import RunContext
from backstay.core.meanings import FreeText, Id, Money, Recipient
from backstay.core.schema import Signature, signature_of

MISSING = object()


class Unequal:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("never compare me")


UNEQUAL = Unequal()


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    value: int
    children: list["Node"] = []


@dataclass
class Box:
    width: int
    label: str = "plain"


class OldStop(typing.TypedDict):
    city: str
    note: NotRequired[str]
    following: NotRequired["OldStop"]


class NewStop(typing_extensions.TypedDict):
    city: str
    note: NotRequired[str]


@dataclass
class Tour:
    stops: list[OldStop]


class Wrapper(BaseModel):
    argument: dict[str, int] = {}


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    ids: set[int]


def union(x: int | str):
    """Do."""
    return x


def optional(x: Optional[int] = None, y: str | None = None):  # noqa: UP045
    """Do."""
    return x, y


def optional_list(x: list[str] | None = None):
    """Do."""
    return x


def rest(x: int, *rest: str):
    """Do."""
    return x, rest


def extra(x: int, **kw: float):
    """Do."""
    return x, kw


def limited(x: Annotated[int, Field(ge=1)]):
    """Do."""
    return x


def recursive(node: Node, times: int = 1):
    """Do."""
    return node


def choices(colour: Colour, size: Literal["s", "m"] = "s"):
    """Do."""
    return colour, size


def default_object(x: Any = MISSING):
    """Do."""
    return x


def default_unequal(x: Any = UNEQUAL, y: int = 1):
    """Do."""
    return x, y


def wrong_default(x: int = "auto", day: date = "2020-01-01"):  # type: ignore[assignment]
    """Do."""
    return x, day


def silent_none(x: int = None, y: Annotated[int, Field(ge=1)] = None):  # type: ignore[assignment]  # noqa: RUF013
    """Do."""
    return x, y


def documented(x: int, y: str = ""):
    """Do.

    Args:
        x: how many: one
            or two lines
        y (str): the rest
    """
    return x, y


def positional_only(a: int, b: int = 2, /, c: int = 3, *, d: int = 4):
    """Do."""
    return a, b, c, d


def untyped(a, b=1):
    """Do."""
    return a, b


def boxed(box: Box, n: int = 1):
    """Do."""
    return box


def stops(old: OldStop, new: NewStop, many: list[OldStop]):
    """Do."""
    return old, new, many


def tour(tour: Tour, n: int = 1):
    """Do."""
    return tour


def real_objects(day: date, ids: set[int], blob: bytes = b"ab"):
    """Do."""
    return day, ids, blob


def reserved_names(
    schema: int, model_config: str, copy: int = 1, json: int = 2, model_dump: int = 3, validate: int = 4
):
    """Do."""
    return schema, model_config, copy, json, model_dump, validate


def underscored(_x: int, __y: int = 2):
    """Do."""
    return _x, __y


def self_and_cls(self: int, cls: int):
    """Do."""
    return self, cls


class AsyncCallable:
    async def __call__(self, x: int) -> int:
        """Do."""
        return x


async_callable = AsyncCallable()


def three(a: int, b: int, c: int = 3):
    """Do."""
    return a, b, c


partial = functools.partial(three, 1, c=5)
async_partial = functools.partial(async_callable, x=1)


class Toolbox:
    class Inner(BaseModel):
        n: int

    def method(self, x: int, **kw: Any):
        """Do."""
        return x, kw

    def list(self, inner: "Toolbox.Inner", ids: list[int], n: int = 1):
        """Do."""
        return inner, ids

    @classmethod
    def of_class(cls, x: int):
        """Do."""
        return x

    @staticmethod
    def static(x: int):
        """Do."""
        return x


method = Toolbox().method
class_method = Toolbox.of_class
static = Toolbox.static


def with_context(x: int, ctx: RunContext[int], /, **kw: Any):
    """Do."""
    return x, ctx, kw


def with_optional_context(x: int, *, ctx: RunContext | None = None):
    """Do."""
    return x, ctx


def with_unseen_deps(ctx: "RunContext[OnlyForTypeCheckers]", x: int = 1):  # type: ignore[name-defined]  # noqa: F821
    """Do."""
    return ctx, x


def meant(
    amount: Annotated[Decimal, Money("EUR")],
    text: Annotated[str, FreeText] = "",
    to: list[Annotated[str, Recipient()]] = [],  # noqa: B006
    order: Annotated[str, Field(min_length=1), Id("order")] | None = None,
):
    """Do."""
    return amount


def wrapped(argument: Wrapper):
    """Do."""
    return argument


def strict(p: Strict, n: int = 1):
    """Do."""
    return p


def field_defaults(x: int = Field(3, ge=1, description="Field's word", examples=[4]), _y: int = Field(3, ge=1)):
    """Do.

    Args:
        x: the docstring's word
        _y: hidden name
    """
    return x, _y


def unpacked(x: int, *pair: *tuple[int, str], **kw: typing_extensions.Unpack[OldStop]):
    """Do."""
    return x, pair, kw


def aliased(
    from_: Annotated[str, Field(alias="from")],
    n: Annotated[int, Field(validation_alias=AliasChoices("nn", "nnn"), serialization_alias="out")] = 1,
):
    """Do."""
    return from_, n


def awaited(x: int) -> Awaitable[int]:
    """Do."""
    return async_callable(x)


async def coroutine(x: int) -> list[Box]:
    """Do."""
    return [Box(x)]


def wrapper(function: Callable[..., Any]):
    @functools.wraps(function)
    def around(*args: Any, **kwargs: Any):
        return function(*args, **kwargs)

    return around


decorated = wrapper(limited)


def local_signature() -> Signature:
    class Inner(BaseModel):
        q: int

    @dataclass
    class Part:
        x: int

    @dataclass
    class Whole:
        part: Part

    def inside(inner: Inner, whole: Whole, parts: list[Part]) -> Whole:
        """Do."""
        assert isinstance(inner, Inner)
        return whole

    return signature_of(inside, frame=sys._getframe())


def nested_signature() -> Signature:
    class Inner(BaseModel):
        q: int

    def around() -> Signature:
        def inside(inner: Inner, n: int = 1):
            """Do."""
            return inner

        return signature_of(inside, frame=sys._getframe())

    return around()
