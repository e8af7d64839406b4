"""What kind of type an annotation is.

Source: SPEC T9, T10.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import TypeAliasType, is_typeddict

from backstay.core.context import RunContext


def is_context(annotation: Any) -> bool:
    """Whether an annotation is `RunContext`, `RunContext[X]` or either of them or None."""
    kind, _ = split(annotation)
    if is_union(kind):
        return any(is_context(arg) for arg in get_args(kind))
    kind = get_origin(kind) or kind
    return inspect.isclass(kind) and issubclass(kind, RunContext)


def is_union(annotation: Any) -> bool:
    """Whether it is `Union[X, Y]` or `X | Y`."""
    return get_origin(annotation) in (Union, types.UnionType)


def split(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type of `Annotated[type, marks...]` and its marks, which may be none."""
    if get_origin(annotation) is Annotated:
        kind, *marks = get_args(annotation)
        return kind, tuple(marks)
    return annotation, ()


def annotated(kind: Any, marks: Iterable[Any]) -> Any:
    """Return `Annotated[kind, *marks]`, or the type alone where there are no marks."""
    for mark in marks:
        kind = Annotated[kind, mark]
    return kind


def allows_none(annotation: Any) -> bool:
    """Whether None is a value of the annotation."""
    kind, _ = split(annotation)
    if isinstance(kind, TypeAliasType):
        return allows_none(kind.__value__)
    if is_union(kind):
        return any(allows_none(arg) for arg in get_args(kind))
    if get_origin(kind) is typing.Literal:
        return None in get_args(kind)
    return kind in (None, type(None), Any, object) or isinstance(kind, typing.TypeVar)


def object_type(annotation: Any) -> type[Any] | None:
    """Return the model, dataclass or TypedDict that an annotation, or its only alternative to None, stands for."""
    kind, _ = split(annotation)
    if is_union(kind):
        rest = [arg for arg in get_args(kind) if arg is not type(None)]
        return object_type(rest[0]) if len(rest) == 1 else None
    kind = get_origin(kind) or kind
    if not inspect.isclass(kind):
        return None
    return kind if issubclass(kind, BaseModel) or is_dataclass(kind) or is_typeddict(kind) else None
