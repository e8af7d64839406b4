"""What is wrong with arguments, said so that a model can mend them: field, expectation, value; every problem at once.

Source: SPEC T1, T5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from backstay.core.messages import Args, Json
from backstay.core.schema.json_schema import SPREAD, model_schema

Path: TypeAlias = tuple[str | int, ...]

_SHOWN = 80
"""Characters of a wrong value that are repeated."""
_EXTRA = ("extra_forbidden", "unexpected_keyword_argument", "unexpected_positional_argument")
_MISSING = ("missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument")

_EXPECTED: dict[str, str] = {
    "none_required": "null",
    "bool": "true or false",
    "int_from_float": "a whole number",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "finite_number": "a finite number",
    "is_instance_of": "a {class}",
    "string_type": "text",
    "string_sub_type": "text",
    "string_unicode": "valid Unicode text",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "text matching {pattern}",
    "bytes_type": "bytes as base64 text",
    "bytes_invalid_encoding": "bytes as {encoding} text",
    "bytes_too_short": "at least {min_length} bytes",
    "bytes_too_long": "at most {max_length} bytes",
    "enum": "one of {expected}",
    "literal_error": "one of {expected}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "multiple_of": "a multiple of {multiple_of}",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "iterable": "a list",
    "dict": "an object",
    "mapping": "an object",
    "model": "an object",
    "dataclass": "an object",
    "typed_dict": "an object",
    "arguments": "a list or an object",
    "datetime": "a date and time such as 2026-01-31T14:30:00Z",
    "timezone_aware": "a time with its zone, such as 14:30:00Z",
    "timezone_naive": "a time without a zone",
    "date": "a date such as 2026-01-31",
    "time_delta": "a duration such as PT1H30M",
    "time": "a time such as 14:30:00",
    "uuid": "a UUID",
    "url": "a URL",
    "callable": "a function",
}
"""Error type of pydantic, whole or its beginning up to an underscore → what was expected."""

_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def has_unknown_keys(error: ValidationError) -> bool:
    """Whether some of what pydantic found are keys that an object does not know."""
    return any(detail["type"] in _EXTRA for detail in error.errors(include_url=False, include_input=False))


def problems(
    error: ValidationError, args: object, model: type[BaseModel] | None = None, *, only_unknown: bool = False
) -> list[str]:
    """Return one line for each problem, such as `amount: expected a number, got "abc"`.

    Args:
        error: what pydantic found.
        args: the arguments it was found in; they tell the steps of a path from pydantic's own words.
        model: what they were validated against, to name what it takes instead of an unknown argument. Where the object
            says that it takes or ignores any key, an unknown one is no problem.
        only_unknown: leave out everything but unknown keys.
    """
    schema = model_schema(model) if model is not None else None
    found: dict[Path, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        path, is_unknown = _path(detail, args), detail["type"] in _EXTRA
        if is_unknown and model is not None and _is_open(model, schema, path[:-1]):
            continue
        if is_unknown or not only_unknown:
            found.setdefault(path, []).append(detail)
    return [_line(path, details, schema) for path, details in found.items()]


def _path(detail: ErrorDetails, args: object) -> Path:
    """Leave out of an error's location what is no place in the arguments: the names of a union's branches."""
    steps: list[str | int] = []
    here: Any = args
    loc = detail["loc"]
    for index, step in enumerate(loc):
        if step == SPREAD and index == 0:
            continue
        if isinstance(here, Mapping) and step in here:
            here = here[step]
        elif isinstance(step, int):
            here = here[step] if isinstance(here, Sequence) and step < len(here) else None
        elif index < len(loc) - 1 or detail["type"] not in _MISSING:
            continue
        steps.append(step)
    return tuple(steps)


def _line(path: Path, details: list[ErrorDetails], schema: Args | None) -> str:
    name = ".".join(str(step) or '""' for step in path) or "arguments"
    kinds = {detail["type"] for detail in details}
    if kinds <= set(_EXTRA):
        return f"{name}: no such argument{_takes(schema, path[:-1])}"
    if kinds <= set(_MISSING):
        wanted = _wanted(schema, path)
        return f"{name}: missing" + (f"; expected {wanted}" if wanted else "")
    expected = dict.fromkeys(text for detail in details if (text := _expected(detail)))
    said = dict.fromkeys(_said(detail) for detail in details if not _expected(detail))
    parts = ([f"expected {' or '.join(expected)}"] if expected else []) + list(said)
    return f"{name}: {'; '.join(parts)}, got {shown(details[0]['input'])}"


def _expected(detail: ErrorDetails) -> str:
    kind = detail["type"]
    while kind:
        if kind in _EXPECTED:
            return _EXPECTED[kind].format_map({key: _short(str(value)) for key, value in detail.get("ctx", {}).items()})
        kind = kind.rpartition("_")[0]
    return ""


def _said(detail: ErrorDetails) -> str:
    """Return the message of a validator of the user's, or pydantic's own where the table has no row for it."""
    message = detail["msg"]
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ") or detail["type"]


def _takes(schema: Args | None, path: Path) -> str:
    names = list(_properties(_node(schema, path), schema))
    if schema is None:
        return ""
    owner = f"{'.'.join(map(str, path))} takes" if path else "this tool takes"
    return f"; {owner} {', '.join(names)}" if names else f"; {owner} no arguments"


def _properties(node: Any, schema: Args | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for branch in _branches(node, schema):
        found |= branch.get("properties", {})
    return found


def _branches(node: Any, schema: Args | None) -> list[Mapping[str, Any]]:
    """Return the alternatives of a schema node, its references followed."""
    if not isinstance(node, Mapping) or schema is None:
        return []
    ref = node.get("$ref")
    if isinstance(ref, str):
        definitions: Any = schema.get("$defs", {})
        return _branches(definitions.get(ref.rpartition("/")[2]), schema)
    choices = node.get("anyOf") or node.get("oneOf")
    if choices:
        return [branch for choice in choices for branch in _branches(choice, schema)]
    return [node]


def _is_open(model: type[BaseModel], schema: Args | None, path: Path) -> bool:
    """Whether some object that may stand there takes or ignores keys it does not know."""
    if not path:
        return model.model_config.get("extra", "forbid") != "forbid"
    objects = [branch for branch in _branches(_node(schema, path), schema) if "properties" in branch]
    return any(branch.get("additionalProperties", True) is not False for branch in objects)


def _node(schema: Args | None, path: Path) -> Any:
    node: Any = schema
    for step in path:
        node = next((inner for branch in _branches(node, schema) for inner in _inside(branch, step)), None)
    return node


def _inside(branch: Mapping[str, Any], step: str | int) -> list[Any]:
    """Return the schema of one item or of one key, as a list of one; empty where the schema says nothing of it."""
    if isinstance(step, int):
        first = branch.get("prefixItems", ())
        found = first[step] if step < len(first) else branch.get("items")
    else:
        found = branch.get("properties", {}).get(step, branch.get("additionalProperties"))
    return [found] if isinstance(found, Mapping) else []


def _wanted(schema: Args | None, path: Path) -> str:
    branches = _branches(_node(schema, path), schema)
    return " or ".join(dict.fromkeys(text for branch in branches if (text := _kind(branch))))


def _kind(node: Mapping[str, Json]) -> str:
    choices = node.get("enum")
    if isinstance(choices, Sequence):
        return f"one of {', '.join(map(shown, choices))}"
    if "const" in node:
        return shown(node["const"])
    return _KINDS.get(str(node.get("type")), "")


def shown(value: object) -> str:
    """Return a value as JSON, cut to about 80 characters."""
    text = ""
    if isinstance(value, str):
        value = value[: _SHOWN * 2]
    try:
        for chunk in json.JSONEncoder(ensure_ascii=False, default=_foreign).iterencode(value):
            text += chunk[: _SHOWN + 1]
            if len(text) > _SHOWN:
                break
    except (TypeError, ValueError, RecursionError):  # keys that are no text, a value inside itself
        text = _foreign(value)
    return _short(text)


def _foreign(value: object) -> str:
    return f"<{type(value).__name__}>"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
