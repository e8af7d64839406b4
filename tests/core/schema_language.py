"""JSON Schema as our tools show it, read by hand: what fits a schema, and values that do. Independent of pydantic."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from hypothesis import strategies as st

Schema = Mapping[str, Any]

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-9, 9)
    | st.sampled_from(["", "red", "1", "2026-01-31", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abx"), inner, max_size=2),
    max_leaves=4,
)
"""Small values of every kind, some of which look like what is wanted."""

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
    "number": (int, float),
}


def fits(schema: Schema | bool, value: Any, root: Schema) -> bool:
    """Whether a value is one of the schema."""
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        return fits(_target(root, schema["$ref"]), value, root)
    if "anyOf" in schema and not any(fits(one, value, root) for one in schema["anyOf"]):
        return False
    if "enum" in schema and not any(type(one) is type(value) and one == value for one in schema["enum"]):
        return False
    if "const" in schema and schema["const"] != value:
        return False
    return _has_type(schema.get("type"), value) and _has_form(schema, value) and _has_parts(schema, value, root)


def _has_type(kind: str | None, value: Any) -> bool:
    if kind is None:
        return True
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _has_form(schema: Schema, value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if not isinstance(value, str):
        return True
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        return False
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    try:
        if schema.get("format") == "date":
            date.fromisoformat(value)
            return len(value) == 10
        if schema.get("contentEncoding") == "base64":
            base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        return False
    return True


def _has_parts(schema: Schema, value: Any, root: Schema) -> bool:
    if isinstance(value, list):
        first, rest = schema.get("prefixItems", ()), schema.get("items", True)
        wanted = [first[index] if index < len(first) else rest for index in range(len(value))]
        sizes = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return sizes and all(fits(one, item, root) for one, item in zip(wanted, value, strict=True))
    if isinstance(value, dict):
        known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        return set(schema.get("required", ())) <= set(value) and all(
            fits(known.get(key, other), item, root) for key, item in value.items()
        )
    return True


def values(schema: Schema | bool, root: Schema, depth: int = 3) -> st.SearchStrategy[Any]:
    """Values that fit a schema; nested at most `depth` deep where it names itself."""
    if isinstance(schema, bool) or not schema.keys() - {"default", "description", "examples"}:
        return JUNK
    if "$ref" in schema:
        return values(_target(root, schema["$ref"]), root, depth - 1)
    if "anyOf" in schema:
        return st.one_of([values(one, root, depth) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(list(schema["enum"]))
    kind = schema.get("type")
    if kind == "array":
        return _arrays(schema, root, depth)
    if kind == "object":
        return _objects(schema, root, depth)
    return _scalars(schema, kind)


def _scalars(schema: Schema, kind: str | None) -> st.SearchStrategy[Any]:
    if kind == "integer":
        return st.integers(schema.get("minimum"), schema.get("maximum"))
    if kind == "number":
        return st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9)
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    if schema.get("format") == "date":
        return st.dates().map(str)
    if schema.get("contentEncoding") == "base64":
        return st.binary().map(lambda blob: base64.b64encode(blob).decode())
    if "pattern" in schema:
        return st.decimals(-(10**9), 10**9, places=2).map(str)
    return st.text(min_size=schema.get("minLength", 0), max_size=schema.get("maxLength"))


def _arrays(schema: Schema, root: Schema, depth: int) -> st.SearchStrategy[Any]:
    if "prefixItems" in schema:
        return st.tuples(*(values(one, root, depth) for one in schema["prefixItems"])).map(list)
    most = 0 if depth < 1 else 3
    return st.lists(values(schema.get("items", True), root, depth) if most else st.nothing(), max_size=most)


def _objects(schema: Schema, root: Schema, depth: int) -> st.SearchStrategy[Any]:
    known = schema.get("properties", {})
    required = {key: values(known[key], root, depth) for key in schema.get("required", ())}
    optional = {key: values(one, root, depth) for key, one in known.items() if key not in required and depth > 0}
    fixed = st.fixed_dictionaries(required, optional=optional)
    extra = schema.get("additionalProperties", True)
    if extra is False or depth < 1:
        return fixed
    more = st.dictionaries(
        st.text(max_size=3).filter(lambda key: key not in known), values(extra, root, depth), max_size=2
    )
    return st.builds(lambda one, two: {**two, **one}, fixed, more)


def spoilt(args: dict[str, Any], draw: Any) -> dict[str, Any]:
    """The arguments with one thing wrong in most cases: a key less, a key more, a value of another kind."""
    how = draw(st.sampled_from(["less", "more", "other", "other"]))
    if how == "more" or not args:
        return {**args, draw(st.sampled_from(["zzz", "ctx", "self"])): draw(JUNK)}
    key = draw(st.sampled_from(sorted(args)))
    if how == "less":
        return {name: value for name, value in args.items() if name != key}
    return {**args, key: draw(JUNK)}


def _target(root: Schema, ref: str) -> Any:
    return root["$defs"][ref.rpartition("/")[2]]
