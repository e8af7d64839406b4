"""Records as JSON text and back, by field plans that are built once from the dataclasses' own annotations.

The classes that may be stored are one closed table. A class is named (key `$`) only where a field may hold several of
them; a field of type `Json` or `Args` is copied as it is and never looked into, so user data that contains `$` comes
back as data. Nothing is imported, guessed or tried in a second format. Fields at their default are left out, a Decimal
is text, bytes are base64, a set is a sorted array, a float that JSON does not have is text.
Source: DESIGN 4, 8.10; CVE-2025-64439, CVE-2026-28277, CVE-2025-68664.
"""

from __future__ import annotations

import json
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from math import isfinite
from operator import attrgetter
from typing import Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from backstay.boundary.actions import Decision, Needs, PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.grants import Grant
from backstay.boundary.halts import Halt
from backstay.boundary.plan import Plan, PlanGrant, PlanStep
from backstay.core.canon import FrozenDict
from backstay.core.context import Origin, Principal
from backstay.core.errors import CorruptError, StoreError
from backstay.core.messages import (
    Artifact,
    Json,
    Label,
    Media,
    Message,
    ModelReply,
    ModelUse,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolReturn,
    Usage,
)
from backstay.store.records import (
    Asked,
    Body,
    Decided,
    Fact,
    Fold,
    Input,
    Kind,
    LogMark,
    Memory,
    Notice,
    Record,
    Repetition,
    Reply,
    Results,
    Retrieved,
    RunCount,
    Snapshot,
    Snippet,
    SpanRow,
    Status,
    Tally,
    Todo,
)

T = TypeVar("T")
Coder: TypeAlias = Callable[[Any], Any]
Upcaster: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

TAGS: Mapping[str, type] = types.MappingProxyType({
    one.__name__: one
    for one in (
        Input, Reply, Results, Notice, Asked, Decided, Status, Snapshot, RunCount, Constraint, PendingAction, Decision,
        Message, Text, Reasoning, Media, ToolCall, ToolReturn, ToolResult, Artifact, Label, Usage, ModelReply,
        Principal, Origin, SpanRow, Repetition, Tally, ModelUse, Halt, Grant,
        Needs, PlanStep, PlanGrant, Plan, Memory, Todo, Fact, Fold, LogMark, Snippet, Retrieved,
    )
})  # fmt: skip
"""Every class that may stand in a stored text. A field that could hold another one is an error at import."""

VERSIONS: dict[str, int] = {}
"""The present version of a record kind, or of a class that is stored by itself; 1 where it is not listed."""

UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(kind, version) → a function from the plain JSON of that version to that of the next."""

_MARK = "$"
_JSON = "json"
_VERSION = "$v"
_REQUIRED = object()


class _Json:
    """Stands for `Json`, `Args` and `Body` while annotations are read, since those names are recursive text."""


class _Body:
    """Stands for a record's body: one of the tagged classes, or JSON."""


_NAMES: dict[str, Any] = {"Json": _Json, "Args": _Json, "Body": _Body}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_dumps = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False, default=_plain
).encode
_loads = json.JSONDecoder().decode


def _frozen(value: Any) -> Any:
    """Freeze what `json` has just read: the same as `canon.freeze`, for its four types alone."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                value[key] = _frozen(item)
        return FrozenDict(value)
    if kind is list:
        return tuple([_frozen(item) if type(item) is dict or type(item) is list else item for item in value])
    return value


def _number(value: float) -> float | str:
    return value if isfinite(value) else str(value)


def _base64(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _newer(what: str) -> CorruptError:
    return CorruptError(
        f"{what} was written by a newer Backstay; upgrade it (pip install -U backstay)", code="store.version"
    )


class _Plan:
    """How one class is written and read: its fields, their defaults and coders."""

    __slots__ = ("cls", "decoders", "fields", "names", "tag", "values")

    def __init__(self, cls: type) -> None:
        hints = get_type_hints(cls, localns=_NAMES)
        coders = {one.name: _coders(hints[one.name]) for one in fields(cls)}
        self.cls = cls
        self.tag = cls.__name__
        self.fields = tuple((one.name, _default(one), coders[one.name][0]) for one in fields(cls))
        self.decoders = tuple((name, decode) for name, (_, decode) in coders.items() if decode is not None)
        self.names = frozenset(coders)
        self.values = _getter(tuple(coders))

    def encode(self, value: Any) -> dict[str, Any]:
        return self.write(value, {})

    def tagged(self, value: Any) -> dict[str, Any]:
        return self.write(value, {_MARK: self.tag})

    def write(self, value: Any, out: dict[str, Any]) -> dict[str, Any]:
        for (name, default, encode), item in zip(self.fields, self.values(value), strict=True):
            if item is default or (default is not _REQUIRED and type(item) is type(default) and item == default):
                continue
            out[name] = item if encode is None else encode(item)
        return out

    def decode(self, data: dict[str, Any]) -> Any:
        for name, decode in self.decoders:
            if name in data:
                data[name] = decode(data[name])
        try:
            return self.cls(**data)
        except TypeError:
            for name in data:
                if name not in self.names:
                    raise _newer(f"a {self.tag} with a field {name!r}") from None
            raise


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    # 0.00 equals 0 and is not the same text, so a Decimal is always written.
    if field.default is MISSING or isinstance(field.default, Decimal):
        return _REQUIRED
    return field.default


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    get = attrgetter(*names)
    if len(names) == 1:
        return lambda value: (get(value),)
    return cast("Callable[[Any], tuple[Any, ...]]", get)


_plans: dict[type, _Plan] = {}


def _plan(cls: type) -> _Plan:
    if TAGS.get(cls.__name__) is not cls:
        raise TypeError(f"{cls.__name__} is not in the table of stored classes (store/codec.py, TAGS)")
    if cls not in _plans:
        _plans[cls] = _Plan(cls)
    return _plans[cls]


_SCALARS: dict[Any, tuple[Coder | None, Coder | None]] = {
    str: (None, None),
    int: (None, None),
    bool: (None, None),
    float: (_number, float),
    Decimal: (str, Decimal),
    bytes: (_base64, b64decode),
    _Json: (None, _frozen),
}


def _coders(hint: Any) -> tuple[Coder | None, Coder | None]:
    """How values of an annotation are written and read; None where JSON has them as they are."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if hint is _Body:
        return _write_body, _read_body
    if origin is Literal:
        return None, None
    if origin in (Union, types.UnionType):
        return _union(inner)
    if origin is tuple:
        return _tuple(inner)
    if origin is frozenset:
        return sorted, frozenset
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(*_coders(inner[1]))
    if is_dataclass(hint):
        plan = _plan(cast("type", hint))
        return plan.encode, plan.decode
    raise TypeError(f"no way to store a field of type {hint!r}")


def _union(members: tuple[Any, ...]) -> tuple[Coder | None, Coder | None]:
    rest = tuple(one for one in members if one is not types.NoneType)
    if len(rest) == 1:
        encode, decode = _coders(rest[0])
    else:
        encode, decode = _tagged({one: _plan(one) for one in rest})
    if len(rest) == len(members):
        return encode, decode
    return _optional(encode), _optional(decode)


def _optional(coder: Coder | None) -> Coder | None:
    if coder is None:
        return None
    inner = coder
    return lambda value: None if value is None else inner(value)


def _tagged(plans: dict[type, _Plan]) -> tuple[Coder, Coder]:
    by_tag = {plan.tag: plan for plan in plans.values()}

    def encode(value: Any) -> dict[str, Any]:
        return plans[type(value)].tagged(value)

    def decode(data: dict[str, Any]) -> Any:
        tag = data.pop(_MARK)
        if tag not in by_tag:
            raise _newer(f"a part of kind {tag!r}")
        return by_tag[tag].decode(data)

    return encode, decode


def _tuple(inner: tuple[Any, ...]) -> tuple[Coder | None, Coder | None]:
    if inner[-1] is not Ellipsis:
        pairs = [_coders(one) for one in inner]
        return (
            lambda value: [v if e is None else e(v) for v, (e, _) in zip(value, pairs, strict=True)],
            lambda value: tuple(v if d is None else d(v) for v, (_, d) in zip(value, pairs, strict=True)),
        )
    encode, decode = _coders(inner[0])
    return (
        None if encode is None else (lambda value: [encode(one) for one in value]),
        tuple if decode is None else (lambda value: tuple([decode(one) for one in value])),
    )


def _mapping(encode: Coder | None, decode: Coder | None) -> tuple[Coder, Coder]:
    return (
        dict if encode is None else (lambda value: {key: encode(item) for key, item in value.items()}),
        FrozenDict if decode is None else (lambda value: FrozenDict({k: decode(v) for k, v in value.items()})),
    )


def _write_body(body: Any) -> dict[str, Any]:
    plan = _plans.get(type(body))
    return {_MARK: _JSON, _JSON: body} if plan is None else plan.tagged(body)


def _read_body(data: dict[str, Any]) -> Any:
    tag = data.pop(_MARK)
    if tag == _JSON:
        return _frozen(data[_JSON])
    if tag not in TAGS:
        raise _newer(f"a body of kind {tag!r}")
    return _plans[TAGS[tag]].decode(data)


for _cls in TAGS.values():
    _plan(_cls)


def _text(what: str, value: object) -> str:
    try:
        return _dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{what} holds something that is not JSON ({error}); give plain dicts, lists, text and finite numbers",
            code="store.json",
        ) from error


def _value(what: str, text: str | bytes, decode: Coder) -> Any:
    try:
        return decode(_loads(text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")))
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        raise CorruptError(
            f"{what} is not what was written ({type(error).__name__}); restore it from a backup"
        ) from error


def _raised(kind: str, version: int, data: dict[str, Any]) -> dict[str, Any]:
    current = VERSIONS.get(kind, 1)
    if version > current:
        raise _newer(f"a {kind!r} of version {version}")
    for step in range(version, current):
        data = UPCASTERS[kind, step](data)
    return data


def encode_body(kind: Kind, body: Body) -> str:
    """Return a record's body as JSON text.

    Raises:
        StoreError: code `store.json`, when user data in it is not JSON.
    """
    return _text(f"the body of a {kind!r} record", _write_body(body))


def decode_body(kind: Kind, version: int, text: str | bytes) -> Body:
    """Return a body from its text, brought up to the present version. Bytes are UTF-8 that may hold lone surrogates.

    Raises:
        CorruptError: `store.version` for what a newer Backstay wrote, `store.corrupt` for what nobody wrote.
    """
    return cast(
        "Body",
        _value(f"the body of a {kind!r} record", text, lambda data: _read_body(_raised(kind, version, data))),
    )


def encode(record: Record) -> str:
    """Return a whole record as JSON text, one line."""
    head = {
        "session_id": record.session_id, "seq": record.seq, "run_id": record.run_id, "kind": record.kind,
        "version": record.version, "at": _number(record.at), "trace_id": record.trace_id, "span_id": record.span_id,
    }  # fmt: skip
    return _text(f"the body of a {record.kind!r} record", {**head, "body": _write_body(record.body)})


def decode(text: str | bytes) -> Record:
    """Return a record from the text that `encode` made, equal to the original."""

    def read(data: dict[str, Any]) -> Record:
        body = _read_body(_raised(data["kind"], data["version"], data.pop("body")))
        return Record(**{**data, "at": float(data["at"])}, body=body)

    return cast("Record", _value("a record", text, read))


def dump(value: object) -> str:
    """Return something that is stored by itself (an action, a result, a span, a principal) as JSON text."""
    plan = _plan(type(value))
    version = VERSIONS.get(plan.tag, 1)
    return _text(f"a {plan.tag}", plan.encode(value) if version == 1 else {_VERSION: version, **plan.encode(value)})


def load(cls: type[T], text: str | bytes) -> T:
    """Return what `dump` wrote, brought up to the present version."""
    plan = _plan(cls)

    def read(data: dict[str, Any]) -> Any:
        return plan.decode(_raised(plan.tag, data.pop(_VERSION, 1), data))

    return cast("T", _value(f"a {plan.tag}", text, read))


def dump_json(value: Json) -> str:
    """Return a JSON value as text."""
    return _text("a value", value)


def load_json(text: str | bytes) -> Json:
    """Return a frozen JSON value from its text."""
    return cast("Json", _value("a value", text, _frozen))
