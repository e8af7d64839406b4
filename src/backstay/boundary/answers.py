"""What a person may answer to a question: one of its choices, or a value of its schema. Source: SPEC G11.

The schema language is small and closed: what is not in it is refused when the question is asked, never ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from backstay.core.canon import canonical
from backstay.core.errors import DecisionError
from backstay.core.messages import Json

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}
_KEYWORDS = frozenset({
    "type", "enum", "properties", "required", "items", "minimum", "maximum", "minLength", "maxLength", "title",
    "description", "additionalProperties",
})  # fmt: skip


def shape_problems(choices: Json, path: str = "") -> list[str]:
    """What is wrong with the choices or the schema of a question; empty if people can answer it."""
    if choices is None:
        return []
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return [] if choices and not path else ["choices: expected at least one"]
    if not isinstance(choices, Mapping):
        return [f"{path or 'choices'}: expected a list of choices or a JSON Schema"]
    told = [f"{path or 'schema'}: {key!r} is not understood here" for key in sorted(choices.keys() - _KEYWORDS)]
    if "type" not in choices and "enum" not in choices:
        told.append(f"{path or 'schema'}: say a type or an enum")
    if "type" in choices and choices["type"] not in _TYPES:
        told.append(f"{path or 'schema'}: the type is one of {', '.join(_TYPES)}")
    properties = choices.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        told += (
            shape_problems(inner, f"{path}.{name}".lstrip("."))
            if isinstance(inner, Mapping)
            else [f"{name}: no schema"]
        )
    items = choices.get("items")
    return told + (shape_problems(items, f"{path}[]") if isinstance(items, Mapping) else [])


def answer_problems(choices: Json, value: Json, path: str = "the answer") -> list[str]:
    """What is wrong with an answer. `False`, `0` and an empty text are answers like any other; None is none."""
    if value is None:
        return [f"{path}: nothing was answered"]
    if choices is None:
        return []
    if not isinstance(choices, Mapping):
        return [] if _is_among(value, choices) else [f"{path}: expected one of {_listed(choices)}, got {_shown(value)}"]
    told = _type_problems(choices, value, path)
    return told or [*_bounds(choices, value, path), *_inside(choices, value, path)]


def check_answer(choices: Json, value: Json) -> None:
    """Refuse an answer that does not fit.

    Raises:
        DecisionError: code `answer.invalid`; nothing is changed and the question stays open.
    """
    told = answer_problems(choices, value)
    if told:
        raise DecisionError("; ".join(told), code="answer.invalid")


def _is_among(value: Json, choices: Json) -> bool:
    """Equal as JSON: True is not 1, and 1 is not "1"."""
    listed = choices if isinstance(choices, Sequence) and not isinstance(choices, str) else ()
    return any(type(one) is type(value) and canonical(one) == canonical(value) for one in listed)


def _type_problems(schema: Mapping[str, Json], value: Json, path: str) -> list[str]:
    if "enum" in schema and not _is_among(value, schema["enum"]):
        return [f"{path}: expected one of {_listed(schema['enum'])}, got {_shown(value)}"]
    kind = schema.get("type")
    if not isinstance(kind, str):
        return []
    is_wrong = not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")
    is_wrong = is_wrong or (isinstance(value, float) and not math.isfinite(value))
    return [f"{path}: expected {kind}, got {_shown(value)}"] if is_wrong else []


def _bounds(schema: Mapping[str, Json], value: Json, path: str) -> list[str]:
    size = len(value) if isinstance(value, str) else value
    told: list[str] = []
    if not isinstance(size, int | float):
        return told
    low, high = ("minLength", "maxLength") if isinstance(value, str) else ("minimum", "maximum")
    least, most = schema.get(low), schema.get(high)
    if isinstance(least, int | float) and size < least:
        told.append(f"{path}: {low} is {least}")
    if isinstance(most, int | float) and size > most:
        told.append(f"{path}: {high} is {most}")
    return told


def _inside(schema: Mapping[str, Json], value: Json, path: str) -> list[str]:
    told: list[str] = []
    if isinstance(value, Mapping):
        required, properties = schema.get("required"), schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        for name in required if isinstance(required, Sequence) and not isinstance(required, str) else ():
            if value.get(str(name)) is None:
                told.append(f"{path}.{name}: is missing")
        for name, item in value.items():
            if name in known:
                told += answer_problems(known[name], item, f"{path}.{name}")
            elif known:
                told.append(f"{path}.{name}: was not asked for")
    items = schema.get("items")
    if isinstance(value, list | tuple) and isinstance(items, Mapping):
        told += [one for n, item in enumerate(value) for one in answer_problems(items, item, f"{path}[{n}]")]
    return told


def _listed(choices: Json) -> str:
    return ", ".join(map(_shown, choices)) if isinstance(choices, Sequence) and not isinstance(choices, str) else "?"


def _shown(value: Json) -> str:
    text = canonical(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
