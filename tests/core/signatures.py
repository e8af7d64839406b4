"""The signature suite: each shape of ordinary Python, what a model sends, what the function gets, what is refused.

    python tests/core/signatures.py

prints the table of docs/writing-a-tool.md. The functions themselves are in `test_schema_cases.py`; they are loaded
twice, as they are and with postponed annotations, and both must do the same.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from backstay.core.schema import ArgumentsError, Signature, signature_of, validate


def _load(name: str, first_line: str) -> ModuleType:
    path = Path(__file__).with_name("test_schema_cases.py")
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(first_line + path.read_text("utf-8"), str(path), "exec", dont_inherit=True), module.__dict__)
    return module


MODULES = {
    "plain": _load("schema_cases_plain", ""),
    "postponed": _load("schema_cases_postponed", "from __future__ import annotations\n"),
}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape."""

    function: str
    """Its name in the cases; for a shape made inside a function, that function's, which returns the signature."""
    written: str
    """The parameters as one writes them."""
    sent: dict[str, Any]
    refused: dict[str, Any]
    """Arguments with something wrong; `None` as the only key: nothing can be."""


LOCAL = frozenset({"local_signature", "nested_signature"})
"""Functions that make a signature of a function inside them."""

SHAPES = [
    Shape(function="union", written="x: int | str", sent={"x": "a"}, refused={"x": []}),
    Shape(function="optional", written="x: Optional[int] = None", sent={"x": None}, refused={"x": "a"}),
    Shape(function="optional_list", written="x: list[str] | None = None", sent={"x": ["a"]}, refused={"x": [1]}),
    Shape(function="rest", written="x: int, *rest: str", sent={"x": 1, "rest": ["a"]}, refused={"x": 1, "rest": [2]}),
    Shape(function="extra", written="x: int, **kw: float", sent={"x": 1, "z": 2}, refused={"x": 1, "z": "a"}),
    Shape(function="limited", written="x: Annotated[int, Field(ge=1)]", sent={"x": 2}, refused={"x": 0}),
    Shape(
        function="recursive",
        written="node: Node, times: int = 1",
        sent={"node": {"value": 1, "children": [{"value": 2}]}},
        refused={"node": {"value": 1, "children": [{}]}},
    ),
    Shape(
        function="choices",
        written='colour: Colour, size: Literal["s", "m"] = "s"',
        sent={"colour": "red"},
        refused={"colour": "x"},
    ),
    Shape(function="default_object", written="x: Any = object()", sent={}, refused={"y": 1}),
    Shape(function="default_unequal", written="x: Any = (== raises), y: int = 1", sent={}, refused={"y": "a"}),
    Shape(function="documented", written="x: int, y: str = “”  (Google docstring)", sent={"x": 1}, refused={}),
    Shape(
        function="positional_only",
        written="a: int, b: int = 2, /, c: int = 3, *, d: int = 4",
        sent={"a": 1, "d": 9},
        refused={"d": 1},
    ),
    Shape(function="untyped", written="a, b=1", sent={"a": [1]}, refused={}),
    Shape(
        function="boxed",
        written="box: Box (a dataclass), n: int = 1",
        sent={"box": {"width": 3}},
        refused={"box": {"depth": 1}},
    ),
    Shape(
        function="stops",
        written="old: typing.TypedDict, new: typing_extensions.TypedDict, many: list[…]",
        sent={"old": {"city": "a"}, "new": {"city": "b"}, "many": []},
        refused={"old": {}, "new": {"city": "b"}, "many": []},
    ),
    Shape(
        function="real_objects",
        written='day: date, ids: set[int], blob: bytes = b"ab"',
        sent={"day": "2026-01-31", "ids": [9, 9], "blob": "/+8="},
        refused={"day": "soon", "ids": []},
    ),
    Shape(
        function="reserved_names",
        written="schema: int, model_config: str, copy: int = 1, …",
        sent={"schema": 7, "model_config": "s"},
        refused={"schema": "a", "model_config": "s"},
    ),
    Shape(function="underscored", written="_x: int, __y: int = 2", sent={"_x": 1}, refused={"_x": "a"}),
    Shape(function="self_and_cls", written="self: int, cls: int", sent={"self": 1, "cls": 2}, refused={"self": 1}),
    Shape(
        function="async_callable", written="an object with async __call__(x: int)", sent={"x": "1"}, refused={"x": "a"}
    ),
    Shape(function="partial", written="functools.partial(three, 1, c=5)", sent={"b": 2}, refused={"b": 2, "c": 9}),
    Shape(function="async_partial", written="partial of an async callable", sent={}, refused={"x": 1}),
    Shape(
        function="local_signature",
        written="models and dataclasses local to a function",
        sent={"inner": {"q": 1}, "whole": {"part": {"x": 2}}, "parts": []},
        refused={"inner": {}, "whole": {"part": {"x": 2}}, "parts": []},
    ),
    Shape(
        function="nested_signature",
        written="… two functions deep",
        sent={"inner": {"q": 1}},
        refused={"inner": {"q": "a"}},
    ),
    Shape(
        function="method", written="a bound method with **kw: Any", sent={"x": 1, "y": 2}, refused={"x": 1, "self": 2}
    ),
    Shape(function="class_method", written="a class method", sent={"x": 1}, refused={}),
    Shape(function="static", written="a static method", sent={"x": 1}, refused={}),
    Shape(
        function="with_context",
        written="x: int, ctx: RunContext, /, **kw: Any",
        sent={"x": 1},
        refused={"x": 1, "ctx": {}},
    ),
    Shape(
        function="with_optional_context",
        written="x: int, *, ctx: RunContext | None = None",
        sent={"x": 1},
        refused={"ctx": {}},
    ),
    Shape(
        function="with_unseen_deps",
        written='ctx: "RunContext[OnlyForTypeCheckers]", x: int = 1',
        sent={},
        refused={"ctx": 1},
    ),
    Shape(
        function="meant",
        written='amount: Annotated[Decimal, Money("EUR")], …',
        sent={"amount": "1.50"},
        refused={"amount": "much"},
    ),
    Shape(
        function="wrapped",
        written="argument: Model with a field argument",
        sent={"argument": {"a": 1}},
        refused={"argument": {"a": "q"}},
    ),
    Shape(
        function="strict",
        written="p: a strict model, n: int = 1",
        sent={"p": {"day": "2026-01-31", "ids": [1]}},
        refused={"p": {"day": "2026-01-31", "ids": ["1"]}},
    ),
    Shape(function="silent_none", written="x: int = None", sent={"x": None}, refused={"x": "a"}),
    Shape(function="field_defaults", written="x: int = Field(3, ge=1)", sent={}, refused={"x": 0}),
    Shape(
        function="unpacked",
        written="x: int, *pair: *tuple[int, str], **kw: Unpack[Stop]",
        sent={"x": 1, "pair": [2, "b"], "city": "c"},
        refused={"x": 1, "pair": [2, "b"]},
    ),
    Shape(
        function="aliased",
        written='from_: Annotated[str, Field(alias="from")], …',
        sent={"from": "a"},
        refused={"from_": "a"},
    ),
    Shape(function="coroutine", written="async def f(x: int)", sent={"x": 1}, refused={"x": "a"}),
    Shape(function="decorated", written="behind functools.wraps", sent={"x": 2}, refused={"x": 0}),
]


def signature(shape: Shape, module: ModuleType) -> Signature:
    """The signature of a shape."""
    found = getattr(module, shape.function)
    return found() if shape.function in LOCAL else signature_of(found)


def received(shape: Shape, module: ModuleType) -> str:
    """What the function got, as it returned it."""
    made = signature(shape, module)
    result = made.call(validate(made.model, shape.sent), "ctx")
    return _shown(asyncio.run(result) if inspect.iscoroutine(result) else result)


def first_problem(shape: Shape, module: ModuleType) -> str:
    """The first problem of the arguments that are wrong; empty where they are not."""
    try:
        validate(signature(shape, module).model, shape.refused)
    except ArgumentsError as error:
        return error.problems[0]
    return ""


def table() -> str:
    """The table in Markdown; only what both ways of loading agree on.

    Raises:
        AssertionError: naming the shape that postponed annotations change.
    """
    plain, postponed = MODULES.values()
    rows = ["| parameters | the model sends | the function gets | what a wrong call is told |", "|---|---|---|---|"]
    for shape in SHAPES:
        for told in (received, first_problem):
            one, two = told(shape, plain), told(shape, postponed)
            assert one == two, f"{shape.function}: {one} is {two} with postponed annotations"
        cells = [f"`{shape.written}`", _code(shape.sent), f"`{received(shape, plain)}`", first_problem(shape, plain)]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _code(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_shown, value))) + "}"
    return type(value).__name__ + "()" if type(value).__repr__ is object.__repr__ else repr(value)


if __name__ == "__main__":
    print(table())
