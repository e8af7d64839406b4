"""`typing.TypedDict`, which pydantic reads only from Python 3.12 on, and the keys of any TypedDict.

Source: SPEC T9 (both TypedDicts).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

import typing_extensions
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import ReadOnly, TypeAliasType, is_typeddict

from backstay.core.schema.annotations import split
from backstay.core.schema.names import Names


def accept_typed_dicts(annotation: Any, names: Names) -> None:
    """Let pydantic read every `typing.TypedDict` in the annotation, also on Python 3.11, where it reads only ours.

    The class gets the hook pydantic asks every class for; nothing else about it changes.
    """
    if sys.version_info < (3, 12):
        _accept(annotation, names, set())


def _accept(annotation: Any, names: Names, seen: set[Any]) -> None:
    kind, _ = split(annotation)
    if isinstance(kind, TypeAliasType):
        kind = kind.__value__
    for arg in get_args(kind):
        _accept(arg, names, seen)
    kind = get_origin(kind) or kind
    if not inspect.isclass(kind) or kind in seen:
        return
    seen.add(kind)
    old = is_typeddict(kind) and type(kind).__module__ == "typing"
    if old or is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields"):
        hints = hints_of(kind, names)
        for hint in hints.values():
            _accept(hint, names, seen)
        if old and "__get_pydantic_core_schema__" not in vars(kind):
            hooked: Any = kind
            hooked.__get_pydantic_core_schema__ = _reader(modern_typed_dict(kind, hints))


def hints_of(cls: type[Any], names: Names) -> dict[str, Any]:
    """Return the resolved annotations of a class, those local to a function included; empty if they cannot be."""
    for local in ({}, dict(names)):
        try:
            return get_type_hints(cls, localns=local, include_extras=True)
        except (NameError, TypeError):
            continue
    return {}


def modern_typed_dict(cls: type[Any], hints: Mapping[str, Any]) -> Any:
    """Return the TypedDict again, as `typing_extensions` has it, with each key's presence spelled out."""
    required: frozenset[str] = getattr(cls, "__required_keys__", frozenset())
    fields = {
        key: hint if _presence(hint) is not None else (Required if key in required else NotRequired)[hint]
        for key, hint in hints.items()
    }
    made: Any = typing_extensions.TypedDict(cls.__name__, fields)  # type: ignore[misc]  # built, not declared
    made.__module__, made.__qualname__, made.__doc__ = cls.__module__, cls.__qualname__, cls.__doc__
    return made


def _presence(hint: Any) -> bool | None:
    origin = get_origin(hint)
    if origin in (Required, NotRequired):
        return origin is Required
    return _presence(get_args(hint)[0]) if origin in (ReadOnly, Annotated) else None


def typed_dict_fields(cls: type[Any], names: Names) -> Iterator[tuple[str, Any, bool]]:
    """Yield name, type and presence of each key of a TypedDict."""
    required: frozenset[str] = getattr(cls, "__required_keys__", frozenset())
    for key, hint in hints_of(cls, names).items():
        presence = _presence(hint)
        kind = hint
        while get_origin(kind) in (Required, NotRequired, ReadOnly):
            kind = get_args(kind)[0]
        yield key, kind, presence if presence is not None else key in required


def _reader(modern: Any) -> Callable[[Any, GetCoreSchemaHandler], CoreSchema]:
    def read(_source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(modern)

    return read
