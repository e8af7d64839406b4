"""For every shape of signature: what the schema accepts arrives typed, what is refused names the field.

Each shape gets `BACKSTAY_EXAMPLES` generated argument sets: 30 if nothing is said, 2,000 in `make signatures`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import os
import types
import typing
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Union

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from typing_extensions import Unpack, is_typeddict

from backstay.core.canon import freeze, thaw
from backstay.core.context import RunContext
from backstay.core.schema import ArgumentsError, Signature, canonical_args, signature_of, validate
from core.schema_language import fits, spoilt, values
from core.signatures import LOCAL, MODULES, SHAPES

EXAMPLES = int(os.environ.get("BACKSTAY_EXAMPLES", "30"))
CONTEXT = object()
HIDDEN = frozenset({"ctx", "self"})
"""Parameters that are not in a schema, and which `**kwargs` must not carry either."""


class Recorder:
    """Stands around a function and keeps what it was called with."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.got: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        shown = inspect.signature(function)

        @functools.wraps(function)
        def around(*args: Any, **kwargs: Any) -> None:
            self.got = (args, kwargs)

        around.__signature__ = shown  # type: ignore[attr-defined]  # what a partial or a method shows
        self.signature: Signature = signature_of(around, description="Do.")
        self.shown = shown
        self.hints = _hints(function)

    def arguments(self) -> dict[str, Any]:
        bound = self.shown.bind(*self.got[0], **self.got[1])
        return dict(bound.arguments)


def _hints(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func
    plain = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(plain, include_extras=True)
    except NameError:  # RunContext[OnlyForTypeCheckers]
        return {}


def is_of(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation promises, told without pydantic."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, inspect.Parameter.empty) or isinstance(hint, str | typing.TypeVar):
        return True
    if origin is typing.Annotated:
        return is_of(value, args[0])
    if origin in (Union, types.UnionType):
        return any(is_of(value, one) for one in args)
    if origin is typing.Literal:
        return value in args
    if origin is tuple:
        return isinstance(value, tuple) and all(is_of(one, kind) for one, kind in zip(value, args, strict=False))
    if origin in (list, set, frozenset):
        return isinstance(value, origin) and all(is_of(one, args[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(is_of(k, args[0]) and is_of(v, args[1]) for k, v in value.items())
    if hint in (None, type(None)):
        return value is None
    if is_typeddict(hint):
        return isinstance(value, dict)
    if hint in (int, float, bool):
        return type(value) is hint
    if (inspect.isclass(hint) and issubclass(hint, RunContext)) or origin is RunContext:
        return value is CONTEXT
    return isinstance(value, hint) and _inside(value)


def _inside(value: Any) -> bool:
    """Whether the fields of an object are what its class promises."""
    if isinstance(value, BaseModel):
        return all(is_of(getattr(value, name), field.annotation) for name, field in type(value).model_fields.items())
    if dataclasses.is_dataclass(value):
        hints = typing.get_type_hints(type(value))
        return all(is_of(getattr(value, one.name), hints[one.name]) for one in dataclasses.fields(value))
    return isinstance(value, str | bytes | date | Decimal | enum.Enum)


def all_typed(recorder: Recorder, given_names: set[str]) -> list[str]:
    """The parameters that got something else than they are annotated with; defaults count as they are."""
    wrong = []
    for name, value in recorder.arguments().items():
        parameter, hint = recorder.shown.parameters[name], recorder.hints.get(name, Any)
        many = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        is_default = parameter.default is not parameter.empty and (name not in given_names or value is None)
        is_unpacked = typing.get_origin(hint) in (Unpack, typing.Unpack) or hasattr(hint, "__unpacked__")
        if (is_default and not many) or (is_unpacked and many):
            continue
        each = value.values() if parameter.kind is parameter.VAR_KEYWORD else value if many else [value]
        if not all(is_of(one, hint) for one in each):
            wrong.append(f"{name}={value!r} is no {hint}")
    return wrong


def check(recorder: Recorder, args: dict[str, Any]) -> None:
    signature = recorder.signature
    schema = thaw(signature.schema)
    try:
        input = validate(signature.model, args)
        frozen = canonical_args(input)
    except ArgumentsError as error:
        _check_refusal(error, args, schema)
        return
    assert validate(signature.model, freeze(frozen)) == input
    signature.call(input, CONTEXT)
    assert all_typed(recorder, set(args)) == []


def _check_refusal(refused: ArgumentsError, args: dict[str, Any], schema: dict[str, Any]) -> None:
    assert refused.code == "tool.input"
    hidden = HIDDEN & set(args) if schema["additionalProperties"] is not False else frozenset()
    assert hidden or not fits(schema, args, schema), f"refused though the schema accepts it: {refused.problems}"
    known = {name or '""' for name in (*args, *schema.get("required", ()), *_fields_of_sole(schema))}
    for problem in refused.problems:
        path, colon, said = problem.partition(": ")
        assert colon, problem
        assert said, problem
        assert any(path == name or path.startswith(f"{name}.") for name in known), problem


def _fields_of_sole(schema: dict[str, Any]) -> list[str]:
    """Where a tool takes one object, a problem may name one of its fields bare."""
    return [name for one in schema.get("$defs", {}).values() for name in one.get("properties", {})]


@pytest.mark.parametrize("name", [shape.function for shape in SHAPES if shape.function not in LOCAL])
@pytest.mark.parametrize("module", list(MODULES))
def test_what_the_schema_accepts_arrives_typed_and_what_is_refused_is_named(module: str, name: str) -> None:
    recorder = Recorder(getattr(MODULES[module], name))
    schema = thaw(recorder.signature.schema)
    fitting = values(schema, schema)

    @settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        args = data.draw(fitting)
        assert fits(schema, args, schema)
        check(recorder, args)
        check(recorder, spoilt(args, data.draw))

    run()
