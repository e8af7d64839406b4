"""`PromptTemplate`: Mustache text over a pydantic schema. Data fills it and is never read as a template.

What a template sees is JSON: no attribute, no method and no function of a Python object can be reached from it, nothing
is escaped (a model reads words, not HTML), and there are no partials. Source: SPEC P1–P3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from inspect import isclass
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from backstay.core.canon import canonical
from backstay.core.errors import TemplateError
from backstay.core.mustache import tags, without_lone_lines

M = TypeVar("M", bound=BaseModel)
Customizer: TypeAlias = "Callable[[PromptTemplate[M]], PromptTemplate[M] | None]"
_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)


class PromptTemplate(Generic[M]):
    """A text with places for data.

    Args:
        schema: what the data has to be; every render validates against it.
        template: Mustache: `{{field}}`, `{{#list}}…{{/list}}`, `{{^field}}…{{/field}}`, `{{a.b}}`.
        functions: further names, each computed from the validated data at every render.
        defaults: fills fields that a render leaves out.
        name: as errors show it; the schema's name where it is left out.

    Raises:
        TemplateError: for a tag that is not closed, a name that neither the schema nor a function has, a function named
            like a field, a default for a field that there is not.
    """

    def __init__(
        self,
        schema: type[M],
        template: str,
        *,
        functions: Mapping[str, Callable[[M], object]] | None = None,
        defaults: Mapping[str, object] | None = None,
        name: str = "",
    ) -> None:
        if not isclass(schema) or not issubclass(schema, BaseModel):
            raise TemplateError(f"template {name or '?'!r}: schema={schema!r}, expected a pydantic model class")
        self.schema = schema
        self.name = name or schema.__name__
        self.revision = 0
        """Grows with every change."""
        self._set(template, dict(functions or {}), deepcopy(dict(defaults or {})))

    def __repr__(self) -> str:
        return f"<template {self.name}>"

    @property
    def template(self) -> str:
        """The text with its tags."""
        return self._template

    def update(
        self,
        template: str | None = None,
        *,
        functions: Mapping[str, Callable[[M], object]] | None = None,
        defaults: Mapping[str, object] | None = None,
    ) -> None:
        """Change it in place: another text, further or other functions and defaults. All of it, or nothing on an error.

        Raises:
            TemplateError: as where one is made.
        """
        self._set(
            self._template if template is None else template,
            {**self._functions, **(functions or {})},
            {**self._defaults, **deepcopy(dict(defaults or {}))},
        )

    def fork(
        self, customizer: Callable[[PromptTemplate[M]], PromptTemplate[M] | None] | None = None
    ) -> PromptTemplate[M]:
        """Return a copy that shares nothing which can change; the customizer changes the copy or returns another.

        Raises:
            TemplateError: when the customizer returns something that is no template.
        """
        made = PromptTemplate(
            self.schema, self._template, functions=self._functions, defaults=self._defaults, name=self.name
        )
        if customizer is None:
            return made
        changed = customizer(made)
        if changed is None:
            return made
        if not isinstance(changed, PromptTemplate):
            raise TemplateError(
                f"template {self.name!r}: the customizer returned {type(changed).__name__}, expected a template or None"
            )
        return changed

    def render(self, data: M | Mapping[str, object] | None = None, /, **fields: object) -> str:
        """Validate the data, fill defaults, compute the functions, and return the text.

        Args:
            data: an instance of the schema or a mapping.
            **fields: the same by name; they go over `data`.

        Raises:
            TemplateError: naming template, field and type for data that does not fit, and the function that raised.
        """
        valid = self._validated(data, fields)
        try:
            values: dict[str, Any] = valid.model_dump(mode="json", warnings=False)
        except (PydanticSerializationError, ValueError, TypeError) as error:
            raise TemplateError(f"template {self.name!r}: JSON cannot hold its data: {error}") from error
        for name, function in self._functions.items():
            values[name] = self._computed(name, function, valid)
        return _rendered(self._lines, values, self.name)

    def _set(self, template: str, functions: dict[str, Callable[[M], object]], defaults: dict[str, object]) -> None:
        fields = self.schema.model_fields
        for name in functions:
            if name in fields:
                raise TemplateError(f"template {self.name!r}: the function {name!r} is named like a field; rename it")
        for name in defaults:
            if name not in fields:
                there = ", ".join(fields) or "nothing"
                raise TemplateError(f"template {self.name!r}: a default for {name!r}, and the schema has: {there}")
        known = {*fields, *self.schema.model_computed_fields, *functions}
        for name in _names(template, self.name):
            if name not in known and self.schema.model_config.get("extra") != "allow":
                raise TemplateError(
                    f"template {self.name!r} names {name!r}, and there is: {', '.join(sorted(known)) or 'nothing'}"
                )
        self._template, self._functions, self._defaults = template, functions, defaults
        self._lines = without_lone_lines(template)
        self.revision += 1

    def _validated(self, data: M | Mapping[str, object] | None, fields: Mapping[str, object]) -> M:
        if isinstance(data, self.schema):
            given = {name: getattr(data, name) for name in data.model_fields_set}
        elif data is None or (isinstance(data, Mapping) and not isinstance(data, BaseModel)):
            given = dict(data or {})
        else:
            raise TemplateError(
                f"template {self.name!r}: expected {self.schema.__name__} or a mapping, got {type(data).__name__}"
            )
        given |= fields
        for name, value in self._defaults.items():
            if name not in given and self.schema.model_fields[name].alias not in given:
                given[name] = deepcopy(value)
        extra = self.schema.model_config.get("extra", "forbid")
        try:
            return self.schema.model_validate(given, by_alias=True, by_name=True, extra=extra)
        except ValidationError as error:
            raise TemplateError("; ".join(self._problems(error))) from error

    def _problems(self, error: ValidationError) -> Iterator[str]:
        for one in error.errors(include_url=False, include_context=False):
            path = ".".join(str(step) for step in one["loc"])
            field = self.schema.model_fields.get(str(one["loc"][0])) if one["loc"] else None
            wanted = f" ({_type_name(field.annotation)})" if field is not None else ""
            given = "nothing" if one["type"] == "missing" else type(one["input"]).__name__
            yield f"template {self.name!r}, field {path!r}{wanted}: {one['msg']}, got {given}"

    def _computed(self, name: str, function: Callable[[M], object], valid: M) -> object:
        try:
            return _ANYTHING.dump_python(function(valid), mode="json")
        except Exception as error:  # code of the user's, named here since nobody else knows which it was
            raise TemplateError(
                f"template {self.name!r}, function {name!r} raised {type(error).__name__}: {error}"
            ) from error


def _type_name(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _names(template: str, said: str) -> Iterator[str]:
    """First names of the tags outside every section; inside one they may belong to what the section goes over.

    Raises:
        TemplateError: for sections and tags that are not closed, and for partials.
    """
    open_sections: list[str] = []
    try:
        for kind, name, start, end in tags(template):
            if kind == ">":
                raise TemplateError(f"{template[start:end]} is a partial, which there are not; write the text itself")
            if kind == "/":
                if not open_sections or open_sections.pop() != name:
                    raise TemplateError(f"{template[start:end]} closes a section that is not open")
            elif kind not in ("!", "=") and not open_sections and name != ".":
                yield name.partition(".")[0]
            if kind in ("#", "^"):
                open_sections.append(name)
    except TemplateError as error:
        raise TemplateError(f"template {said!r}: {error.message}") from None
    if open_sections:
        raise TemplateError(f"template {said!r}: the section {open_sections[-1]!r} is not closed")


def _rendered(template: str, values: dict[str, Any], said: str) -> str:
    import mstache  # at the first render, since it costs what a tenth of all other imports costs

    try:
        return mstache.render(
            template,
            values,
            getter=_look_up,
            stringify=_written,
            escape=bytes,
            resolver=lambda _name: None,
            keep_lines=True,  # `without_lone_lines` has settled them
        )
    except (mstache.TokenException, mstache.TemplateRecursionError) as error:
        raise TemplateError(f"template {said!r}: {error}") from error


def _look_up(scope: Any, scopes: Any, key: str | bytes, default: Any = None, **_: Any) -> Any:
    """The value of a name, from objects of JSON alone: the library's own look-up reads attributes too."""
    path = key.decode() if isinstance(key, bytes) else key
    if path == ".":
        return scope
    first, *rest = path.split(".")
    for place in (scope, *reversed(scopes)):
        if isinstance(place, dict) and first in place:
            value = place[first]
            for step in rest:
                value = value.get(step) if isinstance(value, dict) else None
            return value
    return default


def _written(value: Any, _is_text: bool) -> bytes:
    """A value as the text shows it: words as they are, everything else as JSON, nothing for null."""
    if value is None:
        return b""
    return (value if isinstance(value, str) else canonical(value)).encode("utf-8", "surrogatepass")
