"""The meanings that marks in `Annotated` give to arguments.

Source: SPEC T11.
"""

from __future__ import annotations

import inspect
import typing
from collections import abc
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import TypeAliasType

from backstay.core.errors import ToolDefinitionError
from backstay.core.meanings import Meaning
from backstay.core.schema.annotations import annotated, object_type, split
from backstay.core.schema.canonical import key_of
from backstay.core.schema.json_schema import SPREAD
from backstay.core.schema.names import Names
from backstay.core.schema.typed_dicts import hints_of

ANY_KEY = "*"
"""The step of a path that stands for every value of an object with keys of its own."""
KEYS = "*key"
"""The step of a path that stands for those keys themselves."""


def meanings_of(model: type[BaseModel], names: Names = MappingProxyType({})) -> dict[str, str]:
    """Return argument → meaning of a pydantic model; a field inside a field is dotted, list items have no number.

    Of an object with keys of its own `*` stands for each value and `*key` for each key. A mark on a list or on such an
    object is one on each of its values. Of several marks the outermost and last counts. Where `**kwargs` has one, its
    paths begin with the star, and every other parameter is named too, if need be with no meaning.

    Example: `{"amount": "money:EUR", "lines.sku": "id:article", "prices.*": "money:EUR", "prices.*key": "id:order"}`.

    Args:
        model: the arguments.
        names: local to functions, which annotations of dataclasses and TypedDicts may use.

    Raises:
        ToolDefinitionError: when a mark is a class that needs something, such as `Money` without its currency.
    """
    found: dict[str, str] = {}
    for path, meaning in _of_fields(model, "", (), names):
        found.setdefault(path, meaning)
    if any(path.startswith(ANY_KEY) for path in found):
        for name, _ in _fields(model, names):
            if name != SPREAD:
                found.setdefault(name, "")
    return found


def result_meanings(annotation: Any, names: Names = MappingProxyType({})) -> dict[str, str]:
    """Return field → meaning of what a function is declared to return, as `meanings_of` names fields."""
    found: dict[str, str] = {}
    for path, meaning in _of_value(annotation, "", (), (), names):
        if path and not path.endswith(KEYS):
            found.setdefault(path, meaning)
    return found


def _of_fields(cls: type[Any], path: str, inside: tuple[type[Any], ...], names: Names) -> Iterator[tuple[str, str]]:
    if cls in inside:
        return
    for name, annotation in _fields(cls, names):
        at = path if name == SPREAD or getattr(cls, "__pydantic_root_model__", False) else _under(path, name)
        yield from _of_value(annotation, at, (), (*inside, cls), names)


def _of_value(
    annotation: Any, path: str, outer: tuple[Any, ...], inside: tuple[type[Any], ...], names: Names
) -> Iterator[tuple[str, str]]:
    """Yield path and meaning of a value and of what is inside it.

    Args:
        annotation: of the value.
        path: to it.
        outer: marks on what it stands in, the outermost first.
        inside: the classes around it, so that a recursive one ends.
        names: see `meanings_of`.
    """
    kind, own = split(annotation)
    marks = (*outer, *reversed(own))
    if isinstance(kind, TypeAliasType):
        yield from _of_value(kind.__value__, path, marks, inside, names)
        return
    mapped = _mapped(kind)
    if mapped is not None:
        yield from _of_value(mapped[0], _under(path, KEYS), (), inside, names)
        yield from _of_value(mapped[1], _under(path, ANY_KEY), marks, inside, names)
        return
    parts = () if _is_closed(kind) else get_args(kind)
    for part in parts:
        yield from _of_value(part, path, marks, inside, names)
    if parts or kind is type(None):
        return
    meaning = next((text for mark in marks if (text := _meaning(path, mark)) is not None), None)
    if meaning is not None:
        yield path, meaning
    cls = object_type(kind)
    if cls is not None:
        yield from _of_fields(cls, path, inside, names)


def _under(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step


def _mapped(kind: Any) -> tuple[Any, Any] | None:
    """Return the types of key and value of an object with keys of its own."""
    origin = get_origin(kind) or kind
    if not inspect.isclass(origin) or not issubclass(origin, abc.Mapping) or object_type(origin) is not None:
        return None
    args = get_args(kind)
    return (args[0], args[1]) if len(args) == 2 else (Any, Any)


def _is_closed(kind: Any) -> bool:
    """Whether the arguments of a generic type are no values inside it: of `Literal`, of a user's generic class."""
    return get_origin(kind) is typing.Literal or object_type(get_origin(kind) or kind) is not None


def _fields(cls: type[Any], names: Names) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a model, dataclass or TypedDict, by the name its JSON has where it is a model."""
    if issubclass(cls, BaseModel):
        for name, field in cls.model_fields.items():
            yield key_of(name, field, cls.model_config), annotated(field.annotation, field.metadata)
        return
    yield from hints_of(cls, names).items()


def _meaning(path: str, mark: Any) -> str | None:
    if inspect.isclass(mark) and issubclass(mark, Meaning):
        try:
            mark = mark()
        except TypeError as error:
            raise ToolDefinitionError(
                f"parameter {path!r}: the mark {mark.__name__} needs arguments ({error})"
            ) from error
    return mark.meaning if isinstance(mark, Meaning) else None
