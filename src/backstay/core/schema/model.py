"""The pydantic model behind a function's arguments, and the JSON Schema it shows.

Field names are safe for pydantic and the names a model uses are aliases, so that a parameter may be called `schema`,
`copy`, `self` or `_x`. Source: SPEC T9; case C07.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Optional, cast

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic.fields import FieldInfo

from backstay.core.errors import ToolDefinitionError
from backstay.core.meanings import Meaning
from backstay.core.messages import Args
from backstay.core.schema.annotations import allows_none, annotated, object_type, split
from backstay.core.schema.canonical import LEFT_OUT, NO_SCHEMA, carried, plan, plan_of
from backstay.core.schema.json_schema import SPREAD, model_schema, reason
from backstay.core.schema.parameters import ABSENT, EMPTY, Parameter, may_be_absent

BUILD_FAILURES = (*NO_SCHEMA, ToolDefinitionError, TypeError, ValueError, NameError)
"""What may come out of making a schema of a type that has none."""

_CONFIG = ConfigDict(
    extra="forbid",
    allow_inf_nan=False,
    protected_namespaces=(),
    val_json_bytes="base64",
    ser_json_bytes="base64",
)
_NOT_JSON_SCHEMA = {"ge", "gt", "le", "lt"}
"""What pydantic leaves in a schema for a limit that the type does not know, and trips over at the first call."""


def arguments_model(
    said: str, parameters: list[Parameter], reserved: frozenset[str], local: Mapping[str, Any]
) -> tuple[type[BaseModel], Args]:
    """Return the model of a function's arguments and its JSON Schema.

    Args:
        said: name of the tool.
        parameters: with their field names.
        reserved: names that `**kwargs` must not carry.
        local: names local to the functions around the tool.

    Raises:
        ToolDefinitionError: naming the parameter whose type no model can give.
    """
    fields: dict[str, Any] = {}
    odd: dict[str, tuple[object, Any]] = {}
    for one in parameters:
        if one.field is None:
            continue
        annotation, default = _field(one)
        if may_be_absent(one):
            odd[one.field] = (ABSENT, LEFT_OUT)
        elif default is EMPTY:
            default = ...
        elif not isinstance(default, FieldInfo) and carried(annotation, default, _CONFIG, local) is LEFT_OUT:
            odd[one.field] = (default, LEFT_OUT)
            default = Field(default_factory=_always(default))
        fields[one.field] = (annotation, default)
    spread = any(one.how == "keywords" for one in parameters)
    try:
        model, schema = _built(said, fields, local, reserved if spread else None)
    except BUILD_FAILURES as error:
        raise _blame(said, parameters, fields, local, error) from error
    keys = [key for _, key in plan(model, odd=odd, sole=None if spread else _sole(model)).keys]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise ToolDefinitionError(
            f"{said}: two parameters are called {', '.join(sorted(twice))}; give one another alias"
        )
    return model, schema


def _field(one: Parameter) -> tuple[Any, Any]:
    """Return annotation and default for pydantic. What the user's `Field` says comes last and so wins."""
    annotation, default = one.annotation, one.default
    kind, marks = split(annotation)
    if default is None and not allows_none(annotation):
        outside = tuple(mark for mark in marks if isinstance(mark, FieldInfo) or _is_meaning(mark))
        kind = Optional[annotated(kind, [mark for mark in marks if mark not in outside])]  # noqa: UP045  # built, not written
        marks = outside
    said: dict[str, Any] = {"description": one.documented} if one.documented else {}
    if one.how == "keywords":
        said["alias"] = SPREAD
    elif one.field != one.name:
        said["alias"] = one.name
    ours = (Field(**said),) if said else ()
    return annotated(kind, (*ours, *marks)), default


def _is_meaning(mark: Any) -> bool:
    return isinstance(mark, Meaning) or (inspect.isclass(mark) and issubclass(mark, Meaning))


def _always(value: object) -> Callable[[], object]:
    """Return a factory of one and the same object, which pydantic neither copies nor compares nor shows."""
    return lambda: value


def _built(
    said: str, fields: dict[str, Any], local: Mapping[str, Any], reserved: frozenset[str] | None
) -> tuple[type[BaseModel], Args]:
    """Make the model and its schema.

    Args:
        said: name of the tool.
        fields: as `create_model` takes them.
        local: names local to functions around the tool, for classes that name each other.
        reserved: keys that do not go into `**kwargs`; None where there is none.
    """
    validators: dict[str, Any] = (
        {} if reserved is None else {"spread_": model_validator(mode="before")(_spreader(reserved))}
    )
    model: type[BaseModel] = create_model(said, __config__=_CONFIG, __validators__=validators, **fields)
    if not model.__pydantic_complete__:
        model.model_rebuild(_types_namespace=dict(local))
    schema = model_schema(model)
    for name, shown in cast("Mapping[str, Args]", schema.get("properties", {})).items():
        if misplaced := _NOT_JSON_SCHEMA & shown.keys():
            raise ToolDefinitionError(f"{name}: {', '.join(sorted(misplaced))} says nothing of such a value")
    return model, schema


def _spreader(reserved: frozenset[str]) -> Callable[[type[BaseModel], Any], Any]:
    def spread(cls: type[BaseModel], data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        accepted = plan_of(cls).accepted
        named: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in data.items():
            own = key != SPREAD and (key in accepted or key in reserved)
            (named if own else extra)[key] = value
        return {**named, SPREAD: extra} if extra else named

    return spread


def _blame(
    said: str, parameters: list[Parameter], fields: dict[str, Any], local: Mapping[str, Any], error: Exception
) -> ToolDefinitionError:
    """Find the parameter that alone makes the model fail."""
    for one in parameters:
        if one.field is None:
            continue
        try:
            _built(said, {one.field: fields[one.field]}, local, None)
        except BUILD_FAILURES as alone:
            return ToolDefinitionError(
                f"parameter {one.name!r} of {said}: no model can give {_shown(one.annotation)} ({reason(alone)}); "
                f"annotate it with JSON types, a model or a dataclass, or bind it with functools.partial"
            )
    return ToolDefinitionError(f"{said}: its arguments make no schema ({reason(error)})")


def _shown(annotation: Any) -> str:
    kind, _ = split(annotation)
    return kind.__qualname__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _sole(model: type[BaseModel]) -> tuple[str, frozenset[str] | None] | None:
    """Return the key of the only parameter and the keys of the object it takes, where it takes one."""
    if len(model.model_fields) != 1:
        return None
    (name, info), *_ = model.model_fields.items()
    cls = object_type(info.annotation)
    if cls is None or getattr(cls, "__pydantic_root_model__", False):
        return None
    key = info.validation_alias if isinstance(info.validation_alias, str) else name
    if issubclass(cls, BaseModel):
        return key, None if cls.model_config.get("extra") == "allow" else plan_of(cls).accepted
    if dataclasses.is_dataclass(cls):
        return key, frozenset(one.name for one in dataclasses.fields(cls) if one.init)
    return key, frozenset(cls.__annotations__)
