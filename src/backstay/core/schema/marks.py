"""The meanings that marks in `Annotated` give to arguments.

Source: SPEC T11.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from backstay.core.errors import ToolDefinitionError
from backstay.core.meanings import Meaning
from backstay.core.schema.annotations import annotated, object_type, split


def meanings_of(model: type[BaseModel]) -> dict[str, str]:
    """Return argument → meaning of a pydantic model; a field inside a field is dotted, list items have no number.

    Example: `{"amount": "money:EUR", "lines.sku": "id:article"}`.

    Raises:
        ToolDefinitionError: when a mark is a class that needs something, such as `Money` without its currency.
    """
    return dict(_fields_meanings(model, "", ()))


def _fields_meanings(cls: type[Any], prefix: str, inside: tuple[type[Any], ...]) -> Iterator[tuple[str, str]]:
    if cls in inside:
        return
    for name, annotation in _fields(cls):
        path = prefix + name
        found: str | None = None
        for mark in _marks(annotation):
            found = found or _meaning(path, mark)
        if found is not None:
            yield path, found
        for nested in _classes(annotation):
            yield from _fields_meanings(nested, f"{path}.", (*inside, cls))


def _fields(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a model, dataclass or TypedDict, by the name its JSON has where it is a model."""
    if issubclass(cls, BaseModel):
        for name, field in cls.model_fields.items():
            alias = field.validation_alias
            yield (alias if isinstance(alias, str) else name), annotated(field.annotation, field.metadata)
        return
    try:
        hints = get_type_hints(cls, include_extras=True)
    except (NameError, TypeError):  # local names, which pydantic resolves in its own way: no marks are seen
        return
    yield from hints.items()


def _marks(annotation: Any) -> Iterator[Any]:
    """Yield the marks of an annotation, the outermost and last first."""
    kind, marks = split(annotation)
    yield from reversed(marks)
    if not inspect.isclass(kind) or get_origin(kind) is not None:
        for arg in get_args(kind):
            yield from _marks(arg)


def _meaning(path: str, mark: Any) -> str | None:
    if inspect.isclass(mark) and issubclass(mark, Meaning):
        try:
            mark = mark()
        except TypeError as error:
            raise ToolDefinitionError(
                f"parameter {path!r}: the mark {mark.__name__} needs arguments ({error})"
            ) from error
    return mark.meaning if isinstance(mark, Meaning) else None


def _classes(annotation: Any) -> Iterator[type[Any]]:
    """Yield the models, dataclasses and TypedDicts an annotation mentions."""
    kind, _ = split(annotation)
    found = object_type(kind)
    if found is not None:
        yield found
        return
    for arg in get_args(kind):
        yield from _classes(arg)
