"""Canonical JSON: one frozen value, one text, one digest, used for verdicts, decisions, effects and caches alike.

Source: SPEC B1 ("verdict, digest and execution use the same frozen canonical arguments"), T8.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from backstay.core.messages import Json


class FrozenDict(dict[str, Any]):
    """A JSON object that nobody can change. Equal to, printed as and dumped like an ordinary dict."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this JSON value is frozen; copy it with dict(value) to make another")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    update = clear = pop = popitem = setdefault = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # frozen, so unlike a dict it has one
        return hash(tuple(sorted(self)))

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, _memo: object) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


EMPTY = FrozenDict()
"""The JSON object without anything in it."""


def freeze(value: Any) -> Json:
    """Return the JSON value with every object a `FrozenDict` and every array a tuple.

    Raises:
        TypeError: when something in it is not JSON (a NaN, a key that is no text, an object).
    """
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool or kind is FrozenDict:
        return value  # type: ignore[no-any-return]  # one of the five
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{value!r} is not a JSON number")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a JSON object has text keys, got {key!r}")
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return tuple(freeze(item) for item in value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def thaw(value: Json) -> Any:
    """Return a JSON value as ordinary, changeable dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [thaw(item) for item in value]
    return value


_encoder = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
_make_encoder = getattr(json.encoder, "c_make_encoder", None)
_pieces: Callable[[Any, int], Iterable[str]] | None = None
if _make_encoder is not None:  # `encode` makes one of these for every value, which costs more than its work
    _pieces = _make_encoder(None, _encoder.default, json.encoder.encode_basestring, None, ":", ",", True, False, False)


def canonical(value: Json) -> str:
    """Return the one text of a JSON value: keys sorted, no blanks, Unicode as it is.

    Raises:
        TypeError, ValueError, RecursionError: when the value is not JSON, or is nested too deeply.
    """
    if _pieces is None:
        return _encoder.encode(value)
    return "".join(_pieces(value, 0))


def digest(value: Json) -> str:
    """Return the SHA-256 of the canonical text, 64 hexadecimal characters. Lone surrogates are hashed as they stand."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
