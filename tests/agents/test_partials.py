"""Answers of a type while they are written: they only grow, end in the output, and cost what their length costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_core import from_json

from backstay import Agent, ConditionalRequirement, Middleware, RunContext, tool
from backstay.agents import partials
from backstay.agents.output import OutputType
from backstay.agents.partials import FREE, Partials
from backstay.core.canon import EMPTY, freeze, thaw
from backstay.core.errors import ModelError, SetupError
from backstay.core.events import Event, ModelDelta, OutputPartial
from backstay.core.messages import Delta, ModelReply, ModelRequest, Text, ToolCall, ToolSpec
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.models.assembler import parse_call
from backstay.models.scripted import PROFILE

HELD = replace(PROFILE, schema_output=True)
SCHEMA = ModelRequest(messages=(), output_schema=EMPTY)
TOOL = ModelRequest(messages=(), tools=(ToolSpec(name="final_answer", description="", schema=EMPTY),))


class Item(BaseModel):
    sku: str
    amount: int


class Report(BaseModel):
    title: str
    items: list[Item]
    total: float
    note: str | None = None


@dataclass
class Point:
    x: int
    y: int


class Draft(TypedDict, total=False):
    title: str
    lines: list[str]


@tool(risk="read")
async def look(x: int = 0) -> int:
    """Look. Use it when asked."""
    return x


REPORT: dict[str, Any] = {
    "title": 'What "Ann" ordered: 12 wide 🙂 things\n- 也有中文',
    "items": [{"sku": f"sku-{number}", "amount": number * 111} for number in range(9)],
    "total": 1234.5,
    "note": None,
}


def grows(one: Any, two: Any) -> bool:
    """Whether the second holds all that the first does."""
    if isinstance(one, dict) and isinstance(two, dict):
        return all(key in two and grows(value, two[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(two, list):
        return len(one) <= len(two) and all(grows(a, b) for a, b in zip(one, two, strict=False))
    if isinstance(one, str) and isinstance(two, str):
        return two.startswith(one)
    return type(one) is type(two) and bool(one == two)


def agent(kind: Any, *lines: Any, held: bool = False, **more: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(*lines, profile=HELD if held else PROFILE), output_type=kind, tools=[look], **more)


def answer(value: Any, *, held: bool) -> Any:
    return json.dumps(value, ensure_ascii=False) if held else call("final_answer", value)


async def shown(agent: Agent[Any, Any]) -> tuple[list[Any], Any]:
    heard: list[OutputPartial] = []
    off = agent.on("output.partial", heard.append)
    result = await agent.run("go")
    off()
    return [event.value for event in heard], result


def whole(result: Any) -> Any:
    return thaw(result.output_json)


@pytest.mark.parametrize("held", [False, True])
async def test_values_only_grow_and_the_last_is_the_output(held: bool) -> None:
    values, result = await shown(agent(Report, call("look"), answer(REPORT, held=held), held=held))
    assert len(values) > 5
    assert values[-1] == whole(result) == REPORT
    assert all(grows(one, two) and one != two for one, two in pairwise(values))


@pytest.mark.parametrize("held", [False, True])
async def test_what_is_no_object_is_told_without_its_key(held: bool) -> None:
    said = {"value": REPORT["items"]}
    values, result = await shown(agent(list[Item], answer(said, held=held), held=held))
    assert len(values) > 3
    assert all(isinstance(value, list) for value in values)
    assert values[-1] == whole(result)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(
    ("kind", "value"), [(int, 42), (bool | None, None), (Point, {"x": 1, "y": 20}), (str | Item, "words")], ids=str
)
async def test_small_answers_are_told_once_they_are_sure(kind: Any, value: Any, held: bool) -> None:
    values, result = await shown(agent(kind, answer({"value": value}, held=held), held=held))
    assert values[-1] == value == whole(result)
    assert all(grows(one, value) for one in values)


async def test_words_are_never_mined() -> None:
    said = 'Look: {"title": "x", "items": []}'
    assert (await shown(Agent(ScriptedModel(said))))[0] == []
    assert (await shown(Agent(ScriptedModel('{"title": "x"}'))))[0] == []
    assert (await shown(agent(str | Report, said)))[0] == []
    assert (await shown(agent(Report, said, said, said)))[0] == []
    assert (await shown(agent(Report, *[f"Here it is: {json.dumps(REPORT)}"] * 3, held=True)))[0] == []


async def test_nothing_is_read_where_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted(monkeypatch)
    one, heard = agent(Report, answer(REPORT, held=False)), list[Event]()
    one.on("*", heard.append)
    one.on(ModelDelta, heard.append)
    await one.run("go")
    assert any(isinstance(event, ModelDelta) for event in heard)
    assert read == []


async def test_partials_alone_raise_no_deltas() -> None:
    one = agent(Report, answer(REPORT, held=False))
    kinds: set[type] = set()

    class Listening(Middleware):
        async def model(self, request: ModelRequest, ctx: RunContext[Any], next: Any) -> ModelReply:
            kinds.update(kind for kind in (ModelDelta, OutputPartial) if ctx.emit.wants(kind))
            reply: ModelReply = await next(request, ctx)
            return reply

    one = agent(Report, answer(REPORT, held=False), middleware=[Listening()])
    values, _ = await shown(one)
    assert kinds == {OutputPartial}
    assert values


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lengths of the texts that are read for partial values."""
    lengths: list[int] = []

    def reading(text: str, **how: Any) -> Any:
        lengths.append(len(text))
        return from_json(text, **how)

    monkeypatch.setattr(partials, "from_json", reading)
    return lengths


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("size", [2_100, 21_000])
async def test_the_cost_is_linear_in_the_length(monkeypatch: pytest.MonkeyPatch, size: int, held: bool) -> None:
    read = counted(monkeypatch)
    said = {**REPORT, "items": [{"sku": f"number {number}", "amount": number} for number in range(size)]}
    values, result = await shown(agent(Report, answer(said, held=held), held=held))
    length = len(json.dumps(said, ensure_ascii=False))
    pieces = length // 12
    assert values[-1] == whole(result)
    assert sum(read) <= FREE + 7 * length
    assert 20 < len(read) < pieces / 50


def test_an_answer_that_stays_broken_keeps_what_was_sure() -> None:
    for request in (SCHEMA, TOOL):
        assert told(['{"title": "x", ', f'"items": oops {"!" * 64}'], request) == [{"title": "x"}]


def test_a_reply_in_one_piece_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = counted(monkeypatch)
    text = json.dumps(REPORT)
    assert told([text], SCHEMA) == [REPORT]
    assert read == [len(text)]


def told(pieces: list[str], request: ModelRequest, kind: Any = Report, *, is_whole: bool = True) -> list[Any]:
    """What is told of an answer that comes in these pieces."""
    values: list[Any] = []
    growing = Partials(OutputType(kind), request, values.append)
    way: Any = "text" if request is SCHEMA else "args"
    for piece in pieces:
        growing.take(Delta(way, 0, piece, "c", "" if request is SCHEMA else "final_answer"), 1)
    if is_whole:
        growing.end(_reply("".join(pieces), request), 1)
    return values


def _reply(text: str, request: ModelRequest) -> ModelReply:
    part: Any = Text(text=text) if request is SCHEMA else parse_call("c", "final_answer", text)
    return ModelReply(parts=(part,), finish="stop", usage=None, model="m")


@pytest.fixture
def each_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partials, "STEP", 1)


@pytest.mark.usefixtures("each_character")
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a', []),
        ('{"a": ', []),
        ('{"a": 12', []),
        ('{"a": -1.5e', []),
        ('{"a": 12, "b', [{"a": 12}]),
        ('{"a": tru', []),
        ('{"a": true', [{"a": True}]),
        ('{"a": nul', []),
        ('{"a": "12', [{"a": ""}, {"a": "1"}, {"a": "12"}]),
        ('{"a": "x\\', [{"a": ""}, {"a": "x"}]),
        ('{"a": "\\u00e', [{"a": ""}]),
        ('{"a": "\\ud83d\\ude4', [{"a": ""}]),
        ('{"a": "\\ud83d\\ude42', [{"a": ""}, {"a": "🙂"}]),
        ('{"a": [1, 2', [{"a": []}, {"a": [1]}]),
        ('{"a": [{"b": 1}', [{"a": []}, {"a": [{}]}, {"a": [{"b": 1}]}]),
        ("{'a': 1, 'b", []),
        ('{"a": 1; "b": 2}', [{"a": 1}]),
        ('{"a": 01, "b": 2}', []),
        ('{"a": NaN, "b": 2}', []),
        ('{"a" 1}', []),
        ('["a", "b"]', []),
        ('"text"', []),
        ("42 ", []),
        ("{}", []),
        ('It is {"a": 1}', []),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ("{" * 500, []),
        ('{"a": ' + "[" * 500, None),
    ],
)
def test_what_is_not_sure_yet_is_not_told(text: str, values: list[Any] | None) -> None:
    for request in (SCHEMA, TOOL):
        found = told(list(text), request, is_whole=False)
        if values is not None:
            assert found == values, request
        assert all(grows(one, two) for one, two in pairwise(found))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
_OBJECT = st.dictionaries(st.text(max_size=6), _JSON, min_size=1, max_size=5)


@given(value=_OBJECT, is_ascii=st.booleans(), indent=st.none() | st.just(2), data=st.data())
def test_any_object_in_any_pieces_grows_to_itself(value: Any, is_ascii: bool, indent: Any, data: Any) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=30)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partials, "STEP", 1)
        for request in (SCHEMA, TOOL):
            found = told(pieces, request)
            assert found[-1] == value
            assert all(grows(one, value) for one in found)
            assert all(grows(one, two) and one != two for one, two in pairwise(found))


@given(value=_OBJECT, at=st.integers(0, 200), put=st.text(max_size=3), gone=st.integers(0, 3))
def test_broken_json_shows_nothing_of_behind_the_break(value: Any, at: int, put: str, gone: int) -> None:
    whole = json.dumps(value)
    text = whole[:at] + put + whole[at + gone :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partials, "STEP", 1)
        found = told(list(text), SCHEMA, is_whole=False)
    for one in found:
        assert json.loads(json.dumps(one)) == one or "Infinity" in json.dumps(one)
    try:
        assert json.loads(text) == value
    except (ValueError, AssertionError):
        return
    assert not found or grows(found[-1], value)


async def test_mended_arguments_are_told_as_they_are_taken() -> None:
    written = "{'title': 'x', 'items': [], 'total': 1}"
    line = ToolCall(id="c", name="final_answer", args=EMPTY, raw=written)
    values, result = await shown(agent(Report, line))
    assert values == [{"title": "x", "items": [], "total": 1}]
    assert result.output == Report(title="x", items=[], total=1)


async def test_a_call_that_is_written_as_words_is_told_when_it_is_known_as_one() -> None:
    profile = replace(PROFILE, choices=frozenset({"auto"}))
    said = json.dumps({"call": {"name": "final_answer", "arguments": REPORT}})
    values, result = await shown(Agent(ScriptedModel(said, profile=profile), output_type=Report))
    assert values[-1] == whole(result) == REPORT
    assert all(grows(value, REPORT) for value in values)


async def test_an_answer_that_is_refused_was_shown_and_the_next_begins_anew() -> None:
    wrong, right = {**REPORT, "total": "much"}, {**REPORT, "title": "other"}
    one, heard = agent(Report, call("final_answer", wrong), call("final_answer", right)), list[OutputPartial]()
    one.on(OutputPartial, heard.append)
    result = await one.run("go")
    by_step = {step: [event.value for event in heard if event.step == step] for step in (1, 2)}
    assert by_step[1][-1] == wrong
    assert grows({"title": ""}, by_step[2][0])
    assert by_step[2][-1] == whole(result) == right
    assert all(event.seq is None for event in heard)


async def test_only_the_answer_among_the_calls_is_told() -> None:
    values, _ = await shown(
        agent(
            Report, [call("look", x=1), call("final_answer", REPORT), call("look", x=2)], call("final_answer", REPORT)
        )
    )
    assert all(grows(value, REPORT) for value in values)


def test_interleaved_calls_and_late_names_are_kept_apart() -> None:
    values: list[Any] = []
    growing = Partials(OutputType(Report), TOOL, values.append)
    for delta in (
        Delta("args", 0, '{"title": "no', "a"),
        Delta("args", 1, '{"title": "y', "b"),
        Delta("reasoning", 2, '{"title": "hm"}'),
        Delta("args", 0, 'body"}', "a", "look"),
        Delta("text", 3, '{"title": "said"}'),
        Delta("args", 1, "es", "b", "final_answer"),
        Delta("args", 4, '{"title": "a second one"}' + " " * 64, "c", "final_answer"),
        Delta("args", 1, '", "items": [], "total": 1}' + " " * 64, "b"),
    ):
        growing.take(delta, 1)
    assert values == [{"title": "yes"}, {"title": "yes", "items": [], "total": 1}]


async def test_nothing_is_told_while_the_run_may_not_end() -> None:
    needs = [ConditionalRequirement(look, min_invocations=1)]
    one = agent(Report, call("final_answer", REPORT), call("look"), call("final_answer", REPORT), requirements=needs)
    heard: list[OutputPartial] = []
    one.on(OutputPartial, heard.append)
    await one.run("go")
    assert {event.step for event in heard} == {3}


class Breaking:
    """A model whose first attempts break off in the middle."""

    name = "test:breaking"
    profile = PROFILE

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def request(
        self, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None = None
    ) -> ModelReply:
        text = self.texts.pop(0)
        if on_delta is not None:
            for at in range(0, len(text), 70):
                on_delta(Delta("args", 0, text[at : at + 70], "c", "final_answer"))
        if self.texts:
            raise ModelError("the connection broke", retryable=True)
        return _reply(text, TOOL)


async def test_a_new_attempt_begins_anew() -> None:
    first, second = json.dumps({**REPORT, "title": "first " * 40}), json.dumps({**REPORT, "title": "second " * 40})
    one = Agent(Breaking(first[:200], second), output_type=Report)
    heard: list[OutputPartial] = []
    one.on(OutputPartial, heard.append)

    async def at_once(_seconds: float) -> None:
        return None

    with one.override(sleep=at_once):
        result = await one.run("go")
    assert {event.attempt for event in heard} == {1, 2}
    for event in heard:
        assert grows(event.value, json.loads(first if event.attempt == 1 else second))
    assert heard[-1].value == whole(result)


class Censor(Middleware):
    holds_stream = True

    async def model(self, request: ModelRequest, ctx: RunContext[Any], next: Any) -> ModelReply:
        reply: ModelReply = await next(request, ctx)
        args: Any = freeze({**reply.calls[0].args, "title": "censored"})
        return replace(reply, parts=(replace(reply.calls[0], args=args),))


async def test_a_middleware_that_holds_the_stream_is_not_gone_round() -> None:
    values, result = await shown(agent(Report, call("final_answer", REPORT), middleware=[Censor()]))
    assert values[-1] == whole(result)
    assert {value.get("title", "") for value in values} <= {"", *("censored"[:end] for end in range(9))}


async def test_credentials_never_show_not_even_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    from backstay.core import redaction

    monkeypatch.setattr(redaction, "_registered", {})
    monkeypatch.setattr(partials, "STEP", 1)
    secret = "hunter2-canary"
    redaction.register_secret(secret)
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in secret)
    for written in (secret, escaped):
        for held in (False, True):
            said = {**REPORT, "title": "it is SECRET", "items": [{"sku": "SECRET", "amount": 1}]}
            text = json.dumps(said).replace("SECRET", written)
            line = text if held else ToolCall(id="c", name="final_answer", args=EMPTY, raw=text)
            values, result = await shown(agent(Report, line, held=held))
            assert len(values) > 3
            assert values[-1] == whole(result)
            assert "[redacted:" in result.output.title
            for end in range(2, len(secret) + 1):
                assert not any(f"is {secret[:end]}" in str(value) for value in values), (written, held)


async def read(one: Agent[Any, Any]) -> tuple[list[Any], Any]:
    async with one.run_stream("go") as stream:
        values = [value async for value in stream.partials()]
        return values, await stream.result()


@pytest.mark.parametrize("held", [False, True])
async def test_a_stream_gives_values_of_the_type_where_that_much_validates(held: bool) -> None:
    values, result = await read(agent(Report, answer(REPORT, held=held), held=held))
    assert values[-1] == result.output == Report.model_validate(REPORT)
    assert {type(value) for value in values} == {dict, Report}
    listed, result = await read(agent(list[Item], answer({"value": REPORT["items"]}, held=held), held=held))
    assert listed[-1] == result.output
    assert len(listed) > 3
    assert all(isinstance(item, Item) for value in listed for item in value)
    drafts, result = await read(
        agent(Draft, answer({"value": {"title": "x" * 99, "lines": ["y"]}}, held=held), held=held)
    )
    assert drafts[-1] == result.output
    assert drafts[0].keys() <= {"title", "lines"}


async def test_a_stream_of_an_answer_that_is_words_ends_with_them() -> None:
    assert (await read(agent(str | Report, "just words")))[0] == ["just words"]


async def test_a_stream_of_a_run_that_fails_ends_after_what_it_has_shown() -> None:
    values, result = await read(agent(Item, *[call("final_answer", sku="x", amount="y")] * 3))
    assert result.status == "failed"
    assert values[-1] == {"sku": "x", "amount": "y"}


async def test_a_stream_leaves_out_what_another_run_inside_it_writes() -> None:
    @tool(risk="read")
    async def inside(ctx: RunContext[Any]) -> str:
        """Work. Use it when asked."""
        event = OutputPartial(*ctx.head(), value={"title": "of another run"})
        event.run_id = "another"
        ctx.emit(event)
        return "done"

    lines = (call("inside"), call("final_answer", REPORT))
    values, result = await read(Agent(ScriptedModel(*lines), output_type=Report, tools=[inside]))
    assert {"title": "of another run"} not in values
    assert values[-1] == result.output


async def test_a_stream_of_text_has_no_partials() -> None:
    with pytest.raises(SetupError, match=r"model\.delta"):
        await read(Agent(ScriptedModel("words")))


async def test_what_the_run_raises_is_raised_at_the_end_of_the_values() -> None:
    def never(request: ModelRequest, ctx: Any) -> Any:
        raise ModelError("down", retryable=False)

    values, result = await read(Agent(FunctionModel(never), output_type=Report))
    assert (values, result.status) == ([], "failed")
    async with Agent(ScriptedModel("x"), output_type=Report).run_stream(" ") as stream:
        with pytest.raises(SetupError, match="empty"):
            [value async for value in stream.partials()]
