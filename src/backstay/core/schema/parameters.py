"""The parameters of a function, their annotations resolved: what a model may set, and what it may not.

Source: SPEC T9, T10; cases C03, C11.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo
from typing_extensions import Unpack, is_typeddict

from backstay.core.errors import ToolDefinitionError
from backstay.core.schema.annotations import is_context, is_union, split
from backstay.core.schema.docstring import Docs
from backstay.core.schema.names import Names, resolve, undecorated
from backstay.core.schema.typed_dicts import accept_typed_dicts, typed_dict_fields

How: TypeAlias = Literal["position", "keyword", "positions", "keywords"]

EMPTY: Final[Any] = inspect.Parameter.empty
"""No annotation, or no default."""
ABSENT: Final = object()
"""The value of a key of `**kwargs: Unpack[SomeTypedDict]` that nobody gave: the function does not get it."""
_HOW: Mapping[Any, How] = {
    inspect.Parameter.POSITIONAL_ONLY: "position",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "position",
    inspect.Parameter.VAR_POSITIONAL: "positions",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "keywords",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of the function, or one key of an unpacked TypedDict."""

    name: str
    how: How
    annotation: Any
    default: Any = EMPTY
    documented: str = ""
    field: str | None = None
    """Its field in the arguments model; None for the context."""


def parameters_of(function: Callable[..., Any], said: str, names: Names) -> tuple[list[Parameter], Any]:
    """Return the parameters with their annotations resolved, and the return annotation as it stands."""
    plain = undecorated(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise ToolDefinitionError(f"{said} is a generator; a tool returns once, so collect a list and return it")
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError, NameError) as error:
        raise ToolDefinitionError(f"{said}: its signature cannot be read ({error}); wrap it in a function") from error
    bound = _bound(function)
    parameters = [
        one
        for parameter in found.parameters.values()
        if parameter.name not in bound
        for one in _read(parameter, said, names)
    ]
    contexts = [one.name for one in parameters if is_context(one.annotation)]
    if len(contexts) > 1:
        raise ToolDefinitionError(f"{said}: {' and '.join(contexts)} are both RunContext; keep one")
    return parameters, found.return_annotation


def _bound(function: Any) -> set[str]:
    found: set[str] = set()
    while isinstance(function, functools.partial):
        found |= function.keywords.keys()
        function = function.func
    return found


def bare(function: Any) -> Any:
    """Return what a partial or a staticmethod object will call."""
    while isinstance(function, functools.partial | staticmethod):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    return function


def _read(parameter: inspect.Parameter, said: str, names: Names) -> list[Parameter]:
    where = f"parameter {parameter.name!r} of {said}"
    annotation = Any if parameter.annotation is EMPTY else resolve(where, parameter.annotation, names)
    how = _HOW[parameter.kind]
    if is_context(annotation):
        kind, _ = split(annotation)
        others = (
            [arg for arg in get_args(kind) if arg is not type(None) and not is_context(arg)] if is_union(kind) else []
        )
        if how in ("positions", "keywords") or others:
            raise ToolDefinitionError(f"{where}: RunContext stands for itself; annotate one parameter RunContext alone")
        return [Parameter(name=parameter.name, how=how, annotation=annotation)]
    accept_typed_dicts(annotation, names)
    unpacked = _unpacked(annotation)
    if how == "keywords":
        return _keywords(parameter.name, annotation, unpacked, names)
    if how == "positions":
        many: Any = unpacked if unpacked is not None else list.__class_getitem__(annotation)
        default: Any = Field(default_factory=list) if unpacked is None else EMPTY
        return [Parameter(name=parameter.name, how=how, annotation=many, default=default)]
    return [Parameter(name=parameter.name, how=how, annotation=annotation, default=parameter.default)]


def _unpacked(annotation: Any) -> Any:
    """Return X of `Unpack[X]` and `*X`, or None."""
    if get_origin(annotation) in (Unpack, typing.Unpack):
        return get_args(annotation)[0]
    return tuple.__class_getitem__(get_args(annotation)) if getattr(annotation, "__unpacked__", False) else None


def _keywords(name: str, annotation: Any, unpacked: Any, names: Names) -> list[Parameter]:
    if unpacked is None or not is_typeddict(unpacked):
        default: Any = Field(default_factory=dict)
        values = dict.__class_getitem__((str, annotation))
        return [Parameter(name=name, how="keywords", annotation=values, default=default)]
    return [
        Parameter(
            name=key,
            how="keyword",
            annotation=kind,
            default=EMPTY if required else Field(default_factory=_absent),
        )
        for key, kind, required in typed_dict_fields(unpacked, names)
    ]


def with_fields(parameters: list[Parameter], docs: Docs) -> list[Parameter]:
    """Give each parameter its docstring text and a field name that neither Python nor pydantic needs."""
    taken = {one.name for one in parameters}
    out = []
    for one in parameters:
        field: str | None = None
        if not is_context(one.annotation):
            field = one.name
            while field.startswith("_") or hasattr(BaseModel, field) or (field != one.name and field in taken):
                field = f"arg_{field.lstrip('_')}" if field == one.name else f"{field}_"
            taken.add(field)
        out.append(replace(one, field=field, documented=docs.parameters.get(one.name, "")))
    return out


def reserved_by(function: Any, parameters: list[Parameter]) -> frozenset[str]:
    """Return names that `**kwargs` must not carry, since they would reach a parameter the model does not have."""
    hidden = _bound(function) | {one.name for one in parameters if one.field is None}
    try:
        plain = inspect.signature(undecorated(function)).parameters.values()
    except (ValueError, TypeError):
        return frozenset(hidden)
    visible = {one.name for one in parameters if one.field is not None}
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(hidden | {one.name for one in plain if one.kind in by_name and one.name not in visible})


def _absent() -> object:
    return ABSENT


def may_be_absent(one: Parameter) -> bool:
    """Whether the function does not get it at all when nobody gives it."""
    return isinstance(one.default, FieldInfo) and one.default.default_factory is _absent
