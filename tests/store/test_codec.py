"""Records go to text and come back equal, whatever users put in; nothing else comes back at all."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.grants import Grant
from backstay.boundary.halts import Halt
from backstay.boundary.plan import PlanGrant
from backstay.core.canon import FrozenDict, freeze
from backstay.core.context import Principal
from backstay.core.errors import CorruptError, StoreError
from backstay.core.messages import ModelReply, Text, ToolCall, ToolResult, ToolReturn, Usage
from backstay.store import codec
from backstay.store.records import (
    Asked,
    Body,
    Decided,
    Fold,
    Input,
    Memory,
    Notice,
    Record,
    Reply,
    Results,
    Retrieved,
    RunCount,
    Snapshot,
    SpanRow,
    Status,
)

texts = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    ["$", "$v", "json", "Reply", "\ud83d\ude00", "\ud800"]
)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)
decimals = st.decimals(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
jsons = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
).map(freeze)
objects = st.dictionaries(texts, jsons, max_size=3).map(freeze)


class _Json:
    """Stands for the recursive aliases while annotations are read."""


_NAMED = {"Json": _Json, "Args": dict}
_BY_TYPE: dict[Any, Any] = {
    str: texts,
    int: st.integers(-(2**70), 2**70),
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
    bytes: st.binary(max_size=9),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    NoneType: st.none(),
    _Json: jsons,
    dict: objects,
}


@cache
def values_of(hint: Any) -> Any:
    """A strategy for whatever an annotation allows, so that a new field of a record is tested without a word."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, UnionType):
        return st.one_of(*(values_of(one) for one in inner))
    if origin is tuple and inner[-1] is Ellipsis:
        return st.lists(values_of(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(values_of(one) for one in inner))
    if origin is frozenset:
        return st.frozensets(values_of(inner[0]), max_size=3)
    if origin is Mapping:
        return st.dictionaries(texts, values_of(inner[1]), max_size=2)
    assert is_dataclass(hint), hint
    return built(cast("Any", hint))


def built(cls: Any) -> Any:
    """A strategy for a dataclass: required fields always, those with a default sometimes."""
    hints = get_type_hints(cls, localns=_NAMED)
    required = {one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING}
    return st.fixed_dictionaries(
        {one.name: values_of(hints[one.name]) for one in fields(cls) if one.name in required},
        optional={one.name: values_of(hints[one.name]) for one in fields(cls) if one.name not in required},
    ).map(lambda given: cls(**given))


BODIES = [
    Input, Reply, Results, Notice, Asked, Decided, Status, Snapshot, Constraint, PlanGrant, Memory, Fold, Retrieved,
    _Json,
]  # fmt: skip
ALONE = [SpanRow, PendingAction, ToolResult, Principal, Halt, Grant]


def record(body: Any, kind: Any = "memory", **given: Any) -> Record:
    return Record(session_id="s", seq=1, run_id="r", kind=kind, at=1.5, body=body, **given)


@pytest.mark.parametrize("cls", BODIES, ids=lambda cls: cls.__name__)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_body_comes_back_as_it_was(cls: Any, data: st.DataObject) -> None:
    written = record(data.draw(values_of(cls)))
    text = codec.encode(written)
    read = codec.decode(text)
    assert read == written
    assert repr(read) == repr(codec.decode(codec.encode(read)))
    assert codec.decode(text.encode("utf-8", "surrogatepass")) == written
    body = codec.encode_body(written.kind, written.body)
    assert codec.decode_body(written.kind, 1, body) == written.body
    json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize("cls", ALONE, ids=lambda cls: cls.__name__)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_stored_by_itself_comes_back_as_it_was(cls: Any, data: st.DataObject) -> None:
    written = data.draw(values_of(cls))
    assert codec.load(cls, codec.dump(written)) == written


def test_every_class_that_a_body_may_be_is_tested() -> None:
    assert {one.strip() for one in Body.split("|")} - {"Json"} == {one.__name__ for one in BODIES} - {"_Json"}


@pytest.mark.parametrize(
    "data",
    [
        {"$": "Reply", "reply": {"parts": []}},
        {"$": "json", "json": 1},
        {"$": "Principal", "id": "root", "kind": "operator"},
        {"$v": 9},
        {"lc": 1, "type": "constructor", "id": ["os", "system"]},
        {"py/object": "os.system"},
        [{"$": "ToolCall", "id": "c"}],
        "$",
    ],
)
def test_user_data_that_looks_like_ours_stays_data(data: Any) -> None:
    frozen = freeze(data)
    call = ToolCall(id="c", name="t", args=FrozenDict({"data": frozen, "$": frozen}))
    for body in (
        frozen,
        Reply(reply=ModelReply(parts=(call,), finish="tool_calls", usage=None, model="m")),
        Results(returns=(ToolReturn(call_id="c", name="t", result=ToolResult(ok=True, summary="", data=frozen)),)),
        Status(status="done", output=frozen),
    ):
        read = codec.decode(codec.encode(record(body)))
        assert read.body == body
        assert type(read.body) is type(body)


def test_objects_and_arrays_in_user_data_come_back_frozen() -> None:
    read: Any = codec.decode(codec.encode(record({"a": [{"b": 1}]}))).body
    assert type(read) is FrozenDict
    assert type(read["a"]) is tuple
    assert type(read["a"][0]) is FrozenDict


def test_amounts_keep_their_digits() -> None:
    for digits in ("0.00", "1.10", "1E+2", "-0"):
        read: Any = codec.decode(codec.encode(record(RunCount(run_id="r", since_usd=Decimal(digits))))).body
        assert str(read.since_usd) == digits


def test_fields_at_their_default_are_left_out_and_falsy_ones_are_not() -> None:
    assert codec.dump(ToolResult(ok=True, summary="")) == '{"ok":true,"summary":""}'
    for data in (False, 0, 0.0, "", (), FrozenDict()):
        read = codec.load(ToolResult, codec.dump(ToolResult(ok=True, summary="", data=data)))
        assert (type(read.data), read.data) == (type(data), data)


@pytest.mark.parametrize(
    "text",
    [
        '{"$":"Gone","x":1}',
        '{"$":"os.system","command":"true"}',
        '{"$":"Status","status":"done","colour":"red"}',
        '{"$":"Reply","reply":{"parts":[{"$":"Hologram"}],"finish":"stop","usage":null,"model":"m"}}',
    ],
)
def test_what_a_newer_backstay_wrote_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(CorruptError, match="newer Backstay; upgrade it") as caught:
        codec.decode_body("status", 1, text)
    assert caught.value.code == "store.version"


def test_a_newer_version_of_a_kind_is_refused() -> None:
    with pytest.raises(CorruptError) as caught:
        codec.decode(codec.encode(record({"a": 1}, version=2)))
    assert caught.value.code == "store.version"


def test_an_older_version_is_raised_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    text = codec.encode_body("status", Status(status="done", reason="old"))
    monkeypatch.setitem(codec.VERSIONS, "status", 3)
    monkeypatch.setitem(codec.UPCASTERS, ("status", 1), lambda data: {**data, "reason": data["reason"] + "er"})
    monkeypatch.setitem(codec.UPCASTERS, ("status", 2), lambda data: {**data, "code": "new"})
    assert codec.decode_body("status", 1, text) == Status(status="done", reason="older", code="new")
    assert codec.decode_body("status", 3, text) == Status(status="done", reason="old")


def test_a_class_that_is_stored_by_itself_has_a_version_too(monkeypatch: pytest.MonkeyPatch) -> None:
    old = codec.dump(Principal(id="ann"))
    monkeypatch.setitem(codec.VERSIONS, "Principal", 2)
    monkeypatch.setitem(codec.UPCASTERS, ("Principal", 1), lambda data: {**data, "zone": "Europe/Berlin"})
    assert codec.load(Principal, old).zone == "Europe/Berlin"
    assert codec.load(Principal, codec.dump(Principal(id="ann"))).zone == "UTC"


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "1", '"x"', "{}", '{"$":1}', '{"$":"Status"}', '{"$":"Reply","reply":[]}', '{"$":[]}',
        '{"$":"RunCount","run_id":"r","cost_usd":"ten"}', '{"$":"Results","returns":1}', "[" * 100_000,
        '{"$":"json"}', '{"$":"Label","trusted":NaN', b"\xff\xfe", '{"$":"Decided","action_id":"a","decision":null}x',
    ],
)  # fmt: skip
def test_what_nobody_wrote_is_corrupt_and_nothing_else(text: Any) -> None:
    with pytest.raises(CorruptError):
        codec.decode_body("status", 1, text)


def test_a_pickle_is_not_read() -> None:
    with pytest.raises(CorruptError):
        codec.decode(pickle.dumps(record(None)))


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), float("inf"), b"x", 1j])
def test_what_is_not_json_is_refused_when_it_is_written(value: Any) -> None:
    for body in (value, {"deep": [value]}, Status(status="done", output=value)):
        with pytest.raises(StoreError) as caught:
            codec.encode_body("memory", body)
        assert caught.value.code == "store.json"


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["me"] = loop
    with pytest.raises(StoreError):
        codec.encode_body("memory", loop)


def test_a_reply_of_two_kibibytes_goes_to_text_and_back_in_a_moment() -> None:
    call = ToolCall(
        id="c1", name="find_orders", args=freeze({"customer": "c-9", "days": 30, "note": "x" * 600}), slot=1
    )
    reply = ModelReply(
        parts=(Text(text="The order never came. " * 55), call),
        finish="tool_calls",
        usage=Usage(input_tokens=900, output_tokens=80),
        model="m",
    )
    written = record(Reply(reply=reply, cost_usd=Decimal("0.0012")), "reply")
    assert 1_900 < len(codec.encode(written)) < 2_300
    best = min(_microseconds(written) for _ in range(20))
    assert best < 120, "twice the 60 µs of the budget, for machines that share their cores"


def _microseconds(written: Record) -> float:
    start = time.process_time()
    for _ in range(100):
        codec.decode(codec.encode(written))
    return (time.process_time() - start) * 1e4
