"""What a tool returned, as JSON: by the declared type, else by what it is.

Source: SPEC T4 (`None`, `[]`, `0`, `""` are four values); case C13 (aliases as the schema shows them).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import PydanticSerializationError

from backstay.core.canon import FrozenDict, canonical, freeze
from backstay.core.errors import ToolError
from backstay.core.files import File
from backstay.core.messages import Json
from backstay.core.schema.canonical import jsonable, text_of
from backstay.core.schema.json_schema import reason

_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(defer_build=True))
_AS_IT_IS = frozenset({str, int, bool, type(None)})
_PLAIN = frozenset({"str", "int", "bool", "none", "any"})
"""Kinds of pydantic's schemas that leave what is of another type as it is."""
_FAILURES = (PydanticSerializationError, TypeError, ValueError, RecursionError)


def dump_result(value: object, returns: TypeAdapter[Any] | None, files: list[File] | None = None) -> Json:
    """Return what a tool returned as frozen JSON.

    Models and dataclasses by their aliases, sets sorted, bytes as base64, a Decimal as text, a `File` as its handle. A
    value that is not of the declared type is dumped as what it is.

    Args:
        value: what the tool returned.
        returns: the adapter of the declared type.
        files: takes up the files found inside, some of them twice.

    Raises:
        ToolError: when JSON cannot hold it: NaN, an open file, two keys that become one.
    """
    if type(value) in _AS_IT_IS and (returns is None or _is_plain(returns)):
        return cast("Json", value)
    if isinstance(value, Iterator):
        value = list(value)
    adapter = returns or _ANYTHING
    try:
        plain = adapter.dump_python(value, by_alias=True, warnings=False, context=files)
    except _FAILURES:
        plain = value
    try:
        return _merged(adapter.dump_python(value, mode="json", by_alias=True, warnings=False, context=files), plain)
    except _FAILURES as error:
        return _by_hand(plain, error)


def _is_plain(returns: TypeAdapter[Any]) -> bool:
    """Whether a declared type dumps text, numbers and nothing as they are."""
    schema = returns.core_schema
    return schema["type"] in _PLAIN and "serialization" not in schema


def _by_hand(plain: object, error: Exception) -> Json:
    """Make JSON where pydantic cannot, for instance of bytes that are no text."""
    try:
        return jsonable(plain)
    except _FAILURES as second:
        raise ToolError(
            f"the tool returned something JSON cannot hold ({reason(second)}); return data, a model or a dataclass"
        ) from error


def _merged(dumped: Any, plain: Any) -> Json:
    """Return pydantic's JSON, mended where it loses what it was made from.

    Args:
        dumped: pydantic's JSON: sets in any order, NaN as null or NaN, bytes as text, keys that fell together.
        plain: the same in Python's own types.
    """
    if type(plain) in _AS_IT_IS:
        return freeze(dumped)
    if isinstance(plain, float):
        if not math.isfinite(plain):
            raise ValueError(f"{plain} is not a JSON number")
        return freeze(dumped)
    if isinstance(plain, bytes | bytearray):
        return text_of(bytes(plain), "base64")
    if isinstance(plain, Mapping) and isinstance(dumped, Mapping):
        if len(plain) != len(dumped):
            raise ValueError("two keys of an object become the same text")
        return FrozenDict(
            {key: _merged(one, two) for (key, one), two in zip(dumped.items(), plain.values(), strict=True)}
        )
    if isinstance(plain, set | frozenset) and isinstance(dumped, list):
        return jsonable(plain) if any(isinstance(one, bytes | float) for one in plain) else _in_order(dumped)
    if isinstance(plain, list | tuple) and isinstance(dumped, list) and len(plain) == len(dumped):
        return tuple(_merged(one, two) for one, two in zip(dumped, plain, strict=True))
    return freeze(dumped)


def _in_order(items: list[Any]) -> Json:
    frozen = [freeze(item) for item in items]
    try:
        return tuple(sorted(cast("list[Any]", frozen)))
    except TypeError:
        return tuple(sorted(frozen, key=canonical))
