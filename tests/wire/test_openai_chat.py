"""Chat completions: what goes out, what comes in whole or in pieces, and what hostile servers send."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core.canon import freeze
from backstay.core.errors import ModelError
from backstay.core.messages import (
    Media,
    Message,
    ModelReply,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolReturn,
    ToolSpec,
    Usage,
)
from backstay.models.assembler import Assembler
from backstay.wire.openai_chat import (
    Decoder,
    Dialect,
    StreamDecoder,
    decode_whole,
    encode,
    encode_messages,
    error_from,
    error_in_reply,
)

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec(name="weather", description="The weather of a city.", schema=freeze(SCHEMA))
CLOCK = ToolSpec(name="clock", description="The time.", schema={"type": "object", "properties": {}})


def message(role: Any, *parts: Any) -> Message:
    return Message(id="m", role=role, parts=parts)


def request(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest(messages=messages or (message("user", Text(text="hi")),), **more)


def body(asked: ModelRequest, **more: Any) -> dict[str, Any]:
    return encode(asked, model="m", stream=False, **more)


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice], **more}


def calls(*pieces: Mapping[str, Any]) -> dict[str, Any]:
    return chunk({"tool_calls": list(pieces)})


def piece(
    index: int | None = None, id_: str | None = None, name: str | None = None, args: Any = None
) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    found: dict[str, Any] = {"function": function}
    if index is not None:
        found["index"] = index
    if id_ is not None:
        found |= {"id": id_, "type": "function"}
    return found


def sse(*chunks: Any, done: bool = True, end: str = "\n") -> bytes:
    lines = [json.dumps(one, ensure_ascii=False) if not isinstance(one, str) else one for one in chunks]
    return "".join(f"data: {line}{end}{end}" for line in [*lines, *(["[DONE]"] if done else [])]).encode()


def streamed(pieces: Iterable[bytes]) -> ModelReply:
    decoder, assembler = StreamDecoder(), Assembler()
    for one in pieces:
        for delta in decoder.feed(one):
            assembler.add(delta)
    for delta in decoder.close():
        assembler.add(delta)
    return assembler.reply(finish=decoder.finish, usage=decoder.usage, model=decoder.served_by)


def read(*chunks: Any, **more: Any) -> ModelReply:
    return streamed([sse(*chunks, **more)])


def whole(given: Any) -> ModelReply:
    decoder, assembler = Decoder(), Assembler()
    for delta in decode_whole(given, decoder):
        assembler.add(delta)
    return assembler.reply(finish=decoder.finish, usage=decoder.usage, model=decoder.served_by)


def completion(said: Mapping[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "model": "m-1", "choices": [choice], **more}


# What goes out


def test_a_conversation_with_every_role() -> None:
    call = ToolCall(id="c1", name="weather", args={"unit": "C", "city": "Köln"})
    cut = ToolResult(ok=True, summary="12 of 300 rows", ref="run-1:3")
    refused = ToolResult(ok=False, summary="no such city", error="no such city")
    told = encode_messages(
        (
            message("system", Text(text="Be brief.")),
            message("user", Text(text="How is "), Text(text="Köln?")),
            message("assistant", Reasoning(text="hm", signature="someone's"), Text(text="Let me see."), call),
            message("tool", ToolReturn(call_id="c1", name="weather", result=cut)),
            message("assistant", ToolCall(id="c2", name="weather", args={}, raw="{broken")),
            message("tool", ToolReturn(call_id="c2", name="weather", result=refused)),
            message("notice", Text(text="<notice>It ran.</notice>")),
            message("assistant", Reasoning(text="only thought")),
        )
    )
    assert told == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How is Köln?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Köln","unit":"C"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "12 of 300 rows\n[more: recall ref run-1:3]"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "no such city"},
        {"role": "user", "content": "<notice>It ran.</notice>"},
    ]


def test_media_go_by_address_or_as_data() -> None:
    encoded = base64.b64encode(b"png").decode()
    (told,) = encode_messages(
        (
            message(
                "user",
                Text(text="look"),
                Media(mime="image/png", data=b"png"),
                Media(mime="image/jpeg", url="https://example.org/a.jpg"),
                Media(mime="audio/mpeg", data=b"png"),
                Media(mime="application/pdf", data=b"png"),
                Media(mime="application/zip", ref="art-1"),
            ),
        )
    )
    assert told["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.jpg"}},
        {"type": "input_audio", "input_audio": {"data": encoded, "format": "mp3"}},
        {"type": "file", "file": {"filename": "file.pdf", "file_data": f"data:application/pdf;base64,{encoded}"}},
        {"type": "text", "text": "[application/zip: art-1]"},
    ]


def test_tools_settings_and_stream() -> None:
    settings = freeze(
        {
            "temperature": 0,
            "seed": 7,
            "max_output_tokens": 100,
            "effort": "low",
            "parallel": False,
            "top_p": None,
            "extra_body": {"user": "u", "temperature": 1, "tools": "mine", "messages": []},
        }
    )
    told = encode(
        request(tools=(WEATHER,), settings=settings),
        model="gpt",
        stream=True,
        extra={"user": "x", "service_tier": "flex", "model": "other"},
    )
    function = {"name": "weather", "description": "The weather of a city.", "parameters": SCHEMA}
    assert told == {
        "model": "gpt",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": function}],
        "temperature": 0,
        "seed": 7,
        "max_completion_tokens": 100,
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "user": "u",
        "service_tier": "flex",
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    json.dumps(told)


def test_no_setting_changes_the_request_itself() -> None:
    mine = {"tools": [1], "tool_choice": "required", "stream": True, "stream_options": {}, "n": 9, "messages": []}
    assert body(request(settings=freeze({"extra_body": mine, **mine})), extra=mine) == body(request())


def test_names_of_settings_are_the_servers() -> None:
    dialect = Dialect(max_tokens="max_tokens", seed="random_seed", has_stream_usage=False)
    told = encode(request(settings={"max_tokens": 5, "seed": 1}), model="m", stream=True, dialect=dialect)
    assert told["max_tokens"] == 5
    assert told["random_seed"] == 1
    assert "stream_options" not in told
    assert "max_completion_tokens" not in told


@pytest.mark.parametrize(
    ("asked", "honoured", "sent", "offered"),
    [
        ("auto", {"auto", "required", "none", "tool"}, None, ["weather", "clock"]),
        ("required", {"auto", "required"}, "required", ["weather", "clock"]),
        ("required", {"auto"}, None, ["weather", "clock"]),
        ("none", {"auto", "none"}, "none", ["weather", "clock"]),
        ("none", {"auto"}, None, []),
        ("tool:clock", {"tool"}, {"type": "function", "function": {"name": "clock"}}, ["weather", "clock"]),
        ("tool:clock", {"auto", "required"}, "required", ["clock"]),
        ("tool:clock", {"auto"}, None, ["clock"]),
    ],
)
def test_a_tool_choice_becomes_what_the_server_honours(
    asked: str, honoured: set[str], sent: Any, offered: list[str]
) -> None:
    dialect = Dialect(choices=frozenset(honoured))
    told = body(request(tools=(WEATHER, CLOCK), tool_choice=asked), dialect=dialect)
    assert told.get("tool_choice") == sent
    assert [one["function"]["name"] for one in told.get("tools", [])] == offered


def test_an_answer_is_held_to_a_schema() -> None:
    told = body(request(output_schema=freeze(SCHEMA)))["response_format"]
    assert told == {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": False}}
    strict = {**SCHEMA, "additionalProperties": False}
    assert body(request(output_schema=freeze(strict)))["response_format"]["json_schema"]["strict"] is True
    inner = {**strict, "properties": {"city": SCHEMA}}
    assert body(request(output_schema=freeze(inner)))["response_format"]["json_schema"]["strict"] is False


def test_a_server_without_schemas_is_told_in_words() -> None:
    told = body(request(output_schema=freeze(SCHEMA)), dialect=Dialect(output="json_object"))
    assert told["response_format"] == {"type": "json_object"}
    assert '"required":["city"]' in told["messages"][-1]["content"]
    assert "JSON" in told["messages"][-1]["content"]


def test_only_its_own_reasoning_goes_back_and_only_where_it_is_wanted() -> None:
    call = ToolCall(id="c1", name="clock", args={})
    parts = (Reasoning(text="mine", signature="deepseek:x"), Reasoning(text="yours", signature="other"), call)
    dialect = Dialect(returns_reasoning=True, reasoning_mark="deepseek:x")
    (told,) = encode_messages((message("assistant", *parts),), dialect)
    assert told["reasoning_content"] == "mine"
    (told,) = encode_messages((message("assistant", call),), dialect)
    assert told["reasoning_content"] == ""
    (told,) = encode_messages((message("assistant", *parts),))
    assert "reasoning_content" not in told


@pytest.mark.parametrize("is_short", [False, True])
def test_ids_of_others_are_made_to_fit_and_stay_pairs(is_short: bool) -> None:
    dialect = Dialect(is_short_id=is_short)
    for id_ in ("toolu_" + "x" * 60, "", "a b|c", "run-1.2"):
        call, answer = encode_messages(
            (
                message("assistant", ToolCall(id=id_, name="clock", args={})),
                message("tool", ToolReturn(call_id=id_, name="clock", result=ToolResult(ok=True, summary="1"))),
            ),
            dialect,
        )
        made = call["tool_calls"][0]["id"]
        assert made == answer["tool_call_id"]
        assert 0 < len(made) <= (9 if is_short else 40)
        assert made.replace("_", "").replace("-", "").replace(".", "").isalnum()


# What comes in


WHOLE = completion(
    {
        "reasoning_content": "hm 🤔",
        "content": "Grüße, 世界 🌍",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Köln 🌧"}'}},
            {"id": "b", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
        ],
    },
    "tool_calls",
    usage={
        "prompt_tokens": 20,
        "completion_tokens": 9,
        "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 12},
        "completion_tokens_details": {"reasoning_tokens": 4},
    },
)
PIECES = (
    chunk({"role": "assistant", "content": None, "refusal": None}),
    chunk({"reasoning_content": "hm "}),
    chunk({"reasoning_content": "🤔"}),
    chunk({"content": "Grüße, "}),
    chunk({"content": "世界 🌍"}),
    calls(piece(0, "a", "weather", "")),
    calls(piece(0, args='{"city":')),
    calls(piece(1, "b", "clock", "")),
    calls(piece(0, args=' "Köln 🌧"}'), piece(1, args="{}")),
    chunk(finish="tool_calls"),
    {"object": "chat.completion.chunk", "choices": [], "usage": WHOLE["usage"]},
)
EXPECTED = ModelReply(
    parts=(
        Reasoning(text="hm 🤔"),
        Text(text="Grüße, 世界 🌍"),
        ToolCall(id="a", name="weather", args={"city": "Köln 🌧"}),
        ToolCall(id="b", name="clock", args={}),
    ),
    finish="tool_calls",
    usage=Usage(input_tokens=20, output_tokens=9, cached_tokens=12, reasoning_tokens=4),
    model="m-1",
)


def test_whole_and_streamed_are_one() -> None:
    assert whole(WHOLE) == EXPECTED
    assert read(*PIECES) == EXPECTED


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_cut_at_any_place_changes_nothing(end: str) -> None:
    raw = sse(*PIECES, end=end)
    for place in range(len(raw) + 1):
        assert streamed([raw[:place], raw[place:]]) == EXPECTED


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.sampled_from(["\n", "\r\n", "\r"]))
def test_many_cuts_change_nothing(sizes: list[int], end: str) -> None:
    raw = sse(*PIECES, end=end)

    def cut() -> Iterator[bytes]:
        start = turn = 0
        while start < len(raw):
            yield raw[start : start + sizes[turn % len(sizes)]]
            start, turn = start + sizes[turn % len(sizes)], turn + 1

    assert streamed(cut()) == EXPECTED


def test_what_is_encoded_can_be_read_again() -> None:
    (told,) = encode_messages((message("assistant", *EXPECTED.parts),))
    again = whole({"choices": [{"message": told, "finish_reason": "tool_calls"}]})
    assert again.parts == EXPECTED.parts[1:]


@pytest.mark.parametrize(
    ("reason", "said", "finish"),
    [
        ("stop", {"content": "a"}, "stop"),
        ("length", {"content": "a"}, "length"),
        ("max_tokens", {"content": "a"}, "length"),
        ("content_filter", {"content": "a"}, "refusal"),
        ("stop", {"refusal": "I will not."}, "refusal"),
        ("eos", {"content": "a"}, "stop"),
        ("tool_calls", {"content": "a"}, "stop"),
        ("function_call", {"tool_calls": [piece(0, "a", "clock", "{}")]}, "tool_calls"),
        ("stop", {"tool_calls": [piece(0, "a", "clock", "{}")]}, "tool_calls"),
        ("length", {"tool_calls": [piece(0, "a", "clock", '{"a')]}, "length"),
    ],
)
def test_reasons_to_finish(reason: str, said: dict[str, Any], finish: str) -> None:
    assert read(chunk(said), chunk(finish=reason)).finish == finish
    assert whole(completion(said, reason)).finish == finish


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
def test_a_server_that_gave_up_can_be_asked_again(reason: str) -> None:
    with pytest.raises(ModelError, match=reason) as raised:
        read(chunk({"content": "a"}), chunk(finish=reason))
    assert raised.value.retryable


def test_full_arguments_after_their_pieces_count_once() -> None:
    """Case C65."""
    reply = read(
        calls(piece(0, "a", "weather", "")),
        calls(piece(0, args='{"city":')),
        calls(piece(0, args='"X"}')),
        calls(piece(0, "a", "weather", '{"city": "X"}')),
        chunk(finish="tool_calls"),
    )
    assert reply.calls == (ToolCall(id="a", name="weather", args={"city": "X"}),)


def test_arguments_that_were_cut_never_become_a_call_that_runs() -> None:
    """Case C67."""
    reply = read(calls(piece(0, "a", "weather", '{"foo": "bar",')), chunk(finish="length"))
    assert reply.finish == "length"
    assert reply.calls[0].raw == '{"foo": "bar",'


ONE, TWO = ToolCall(id="", name="weather", args={"city": "A"}), ToolCall(id="", name="weather", args={"city": "B"})


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([calls(piece(None, None, "weather", '{"city":"A"}')), calls(piece(None, None, "weather", '{"city":"B"}'))], 2),
        ([calls(piece(None, "", "weather", '{"city":"A"}'), piece(None, "", "weather", '{"city":"B"}'))], 2),
        ([calls(piece(None, None, "weather", '{"city":')), calls(piece(args='"A"}'))], 1),
        ([calls(piece(None, None, "weather", '{"city":')), calls(piece(None, None, "weather", '"A"}'))], 1),
        ([calls(piece(0, None, "weather", {"city": "A"})), calls(piece(1, None, "weather", {"city": "B"}))], 2),
        ([calls(piece(0, None, "weather", '{"city"')), calls(piece(0, None, "weather", ':"A"}'))], 1),
    ],
    ids=["whole, no index", "two at once, no index", "pieces", "name in each piece", "objects", "name in each, index"],
)
def test_calls_without_index_or_id(chunks: list[Any], expected: int) -> None:
    assert read(*chunks, chunk(finish="tool_calls")).calls == (ONE, TWO)[:expected]


def test_every_call_at_index_0_is_still_a_call_of_its_own() -> None:
    reply = read(calls(piece(0, "a", "weather", '{"city":"A"}')), calls(piece(0, "b", "clock", "{}")))
    assert [(call.id, call.name) for call in reply.calls] == [("a", "weather"), ("b", "clock")]
    reply = read(calls(piece(0, None, "weather", '{"city":"A"}')), calls(piece(0, None, "clock", "{}")))
    assert [call.name for call in reply.calls] == ["weather", "clock"]


def test_a_new_id_in_every_piece_is_still_one_call() -> None:
    reply = read(calls(piece(0, "a", "weather", '{"city"')), calls(piece(0, "b", args=':"A"}')))
    assert reply.calls == (ToolCall(id="a", name="weather", args={"city": "A"}),)


def test_doubled_ids_at_two_indices_are_two_calls() -> None:
    reply = read(calls(piece(0, "a", "clock", "{}"), piece(1, "a", "clock", "{}")))
    assert len(reply.calls) == 2


def test_interleaved_ids_without_an_index_find_their_calls() -> None:
    reply = read(
        calls(piece(None, "a", "weather", '{"city"'), piece(None, "b", "weather", '{"city"')),
        calls(piece(None, "a", args=':"A"}'), piece(None, "b", args=':"B"}')),
    )
    assert [call.args for call in reply.calls] == [{"city": "A"}, {"city": "B"}]


def test_usage_is_the_last_state_and_no_sum() -> None:
    """Case C69."""
    reply = read(
        chunk({"content": "a"}, usage={"prompt_tokens": 10, "completion_tokens": 1}),
        chunk({"content": "b"}, usage={"completion_tokens": 25}),
        chunk(finish="stop", usage={"prompt_tokens": 10, "completion_tokens": 25}),
        chunk(usage=None),
    )
    assert reply.usage == Usage(input_tokens=10, output_tokens=25)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": True, "completion_tokens": -1}, None),
        ({"prompt_tokens": "10"}, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage()),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(input_tokens=3, output_tokens=4)),
        (
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 5},
            Usage(input_tokens=9, output_tokens=1, cached_tokens=5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "total_tokens": 30,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(input_tokens=9, output_tokens=21, reasoning_tokens=20),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 21,
                "total_tokens": 30,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(input_tokens=9, output_tokens=21, reasoning_tokens=20),
        ),
    ],
)
def test_usage_as_servers_write_it(given: Any, expected: Usage | None) -> None:
    assert whole(completion({"content": "a"}, usage=given)).usage == expected
    assert read(chunk({"content": "a"}, "stop", usage=given)).usage == expected


def test_usage_in_unusual_places() -> None:
    counted = {"prompt_tokens": 3, "completion_tokens": 4}
    expected = Usage(input_tokens=3, output_tokens=4)
    assert read(chunk({"content": "a"}, "stop", x_groq={"usage": counted})).usage == expected
    choice = {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop", "usage": counted}
    assert read({"choices": [choice]}).usage == expected


def test_reasoning_under_either_name_and_content_as_a_list() -> None:
    assert read(chunk({"reasoning": "hm"}), chunk({"content": "a"}, "stop")).parts[0] == Reasoning(text="hm")
    both = read(chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk({"content": "a"}, "stop"))
    assert both.parts == (Reasoning(text="hm"), Text(text="a"))
    listed = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "a"},
        {"type": "reference", "reference_ids": [1]},
        "nonsense",
    ]
    assert whole(completion({"content": listed})).parts == both.parts


def test_halves_of_an_emoji_in_two_chunks_are_put_together() -> None:
    raw = (
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude00b"}}]}'
    )
    assert streamed([raw + b"\n\ndata: [DONE]\n\n"]).text == "a😀b"
    alone = whole(completion({"content": "a\ud83d"}))
    alone.text.encode()


# Ends


def test_a_stream_may_end_without_done_once_it_has_said_why() -> None:
    assert read(chunk({"content": "a"}), chunk(finish="stop"), done=False).text == "a"


def test_a_stream_may_end_without_a_reason_once_it_has_said_done() -> None:
    assert read(chunk({"content": "a"})).finish == "stop"
    assert read(calls(piece(0, "a", "clock", "{}"))).finish == "tool_calls"


@pytest.mark.parametrize("raw", [b"", b": ping\n\n", sse(chunk({"content": "a"}), done=False)])
def test_a_stream_that_says_neither_was_cut(raw: bytes) -> None:
    with pytest.raises(ModelError) as raised:
        streamed([raw])
    assert raised.value.code == "model.incomplete"
    assert raised.value.retryable


def test_every_cut_short_of_the_reason_is_noticed() -> None:
    raw = sse(*PIECES[:-2], done=False) + sse(*PIECES[-2:-1], done=False)
    end = len(sse(*PIECES[:-2], done=False)) + sse(*PIECES[-2:-1], done=False).index(b"\n\n")
    for place in range(0, end, 7):
        with pytest.raises(ModelError) as raised:
            streamed([raw[:place]])
        assert raised.value.code == "model.incomplete"
    assert streamed([raw[:end]]).parts == EXPECTED.parts


def test_nothing_after_done_counts() -> None:
    assert streamed([sse(chunk({"content": "a"}, "stop")) + sse(chunk({"content": "b"}))]).text == "a"


def test_events_without_empty_lines_between_are_read() -> None:
    lines = [json.dumps(chunk({"content": "a"})), json.dumps(chunk({"content": "b"}, "stop")), "[DONE]"]
    assert streamed(["".join(f"data: {line}\n" for line in lines).encode()]).text == "ab"


# Hostile


@pytest.mark.parametrize(
    "odd",
    [
        "null",
        "[]",
        "7",
        '""',
        "{}",
        {"choices": None},
        {"choices": [None, 3, {}]},
        {"choices": {"0": "x"}},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": [1]}]},
        {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]},
        {"choices": [{"delta": {"content": 7, "tool_calls": "x", "reasoning": {"a": 1}, "refusal": []}}]},
        {"choices": [{"delta": {"tool_calls": [None, 5]}, "finish_reason": 7}]},
        {"choices": [], "usage": [1]},
        {"model": 5, "usage": {"prompt_tokens_details": 7}, "error": None},
    ],
)
def test_a_chunk_that_says_nothing_is_passed_over(odd: Any) -> None:
    assert read(odd, chunk({"content": "a"}), odd, chunk(finish="stop"), odd).parts == (Text(text="a"),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ODD = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "index": JSON,
                    "finish_reason": JSON,
                    "message": JSON,
                    "delta": st.fixed_dictionaries(
                        {},
                        optional={
                            "content": JSON,
                            "reasoning": JSON,
                            "refusal": JSON,
                            "tool_calls": st.lists(
                                JSON
                                | st.fixed_dictionaries(
                                    {},
                                    optional={
                                        "index": JSON,
                                        "id": JSON,
                                        "function": st.fixed_dictionaries(
                                            {}, optional={"name": JSON, "arguments": JSON}
                                        ),
                                    },
                                ),
                                max_size=3,
                            ),
                        },
                    ),
                },
            ),
            max_size=2,
        ),
        "usage": JSON,
        "model": JSON,
        "error": JSON,
    },
)


@given(st.lists(ODD | JSON, max_size=5))
def test_no_json_does_anything_worse_than_a_model_error(chunks: list[Any]) -> None:
    for attempt in (lambda: read(*chunks), lambda: whole(chunks[0] if chunks else None)):
        try:
            reply = attempt()
        except ModelError:
            continue
        else:
            assert all(isinstance(call.id, str) and isinstance(call.name, str) for call in reply.calls)


@pytest.mark.parametrize("broken", ["{", "nonsense", "[" * 5_000, '{"a": ' + "1" * 5_000 + "}"])
def test_what_is_no_json_is_a_reply_that_broke_off(broken: str) -> None:
    with pytest.raises(ModelError) as raised:
        read(chunk({"content": "a"}), broken, chunk(finish="stop"))
    assert raised.value.code == "model.incomplete"


@pytest.mark.parametrize("body", [None, [], "text", {}, {"choices": []}, {"choices": "x"}])
def test_what_is_no_completion_is_said_so(body: Any) -> None:
    with pytest.raises(ModelError) as raised:
        whole(body)
    assert raised.value.code == "model.incomplete"


def test_ten_thousand_calls_without_an_index_cost_no_more_than_in_proportion() -> None:
    def seconds(count: int) -> float:
        decoder = Decoder()
        began = time.process_time()
        for number in range(count):
            list(decoder.take(calls(piece(None, f"id-{number}", "clock", "{}"))))
        return time.process_time() - began

    few, many = min(seconds(1_000) for _ in range(3)), min(seconds(8_000) for _ in range(3))
    assert many < few * 8 * 3


# Errors


@pytest.mark.parametrize("event", ["", "event: error\n"])
def test_an_error_inside_the_stream(event: str) -> None:
    raw = sse(chunk({"content": "a"}), done=False)
    error = json.dumps({"error": {"message": "The server had an error", "type": "server_error", "code": None}})
    with pytest.raises(ModelError, match="The server had an error") as raised:
        streamed([raw + f"{event}data: {error}\n\n".encode()])
    assert raised.value.retryable
    assert raised.value.code == "model.failed"


def test_an_error_event_without_an_error_key() -> None:
    with pytest.raises(ModelError, match="out of memory"):
        streamed([b'event: error\ndata: {"message": "out of memory"}\n\n'])


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"message": "overloaded", "code": 503}, "model.failed", True),
        ({"message": "slow down", "code": "429"}, "model.failed", True),
        ({"message": "bad", "code": 400, "type": "BadRequestError"}, "model.failed", False),
        ({"message": "bad", "type": "invalid_request_error"}, "model.failed", False),
        ({"message": "no", "type": "authentication_error"}, "model.auth", False),
        ({"message": "no", "code": "insufficient_quota"}, "model.quota", False),
        ({"message": "x", "code": "context_length_exceeded"}, "model.too_long", False),
        ("just words", "model.failed", True),
        (["odd"], "model.failed", True),
    ],
)
def test_an_error_object_where_a_reply_was_expected(error: Any, code: str, retryable: bool) -> None:
    for attempt in (lambda: read({"error": error}), lambda: whole({"error": error})):
        with pytest.raises(ModelError) as raised:
            attempt()
        assert (raised.value.code, raised.value.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("status", "error", "code", "retryable"),
    [
        (400, {"message": "bad parameter"}, "model.failed", False),
        (400, {"message": "m", "code": "context_length_exceeded"}, "model.too_long", False),
        (400, {"message": "m", "type": "exceed_context_size_error", "code": 400}, "model.too_long", False),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, "model.too_long", False),
        (413, {"message": "prompt is too long"}, "model.too_long", False),
        (401, {"message": "Incorrect API key provided: sk-abc"}, "model.auth", False),
        (403, {"message": "no"}, "model.auth", False),
        (402, {"message": "Insufficient Balance"}, "model.quota", False),
        (404, {"message": "no such model", "code": "model_not_found"}, "model.failed", False),
        (408, {}, "model.failed", True),
        (409, {}, "model.failed", True),
        (422, {"message": "x"}, "model.failed", False),
        (429, {"message": "slow down"}, "model.failed", True),
        (429, {"message": "pay", "code": "insufficient_quota"}, "model.quota", False),
        (500, {"message": "oops"}, "model.failed", True),
        (502, "<html>Bad gateway</html>", "model.failed", True),
        (529, None, "model.failed", True),
    ],
)
def test_statuses(status: int, error: Any, code: str, retryable: bool) -> None:
    for answer in ({"error": error}, error):
        raised = error_from(status, answer, model="openai:m")
        assert (raised.code, raised.retryable) == (code, retryable)
        assert "openai:m" in raised.message
        assert "sk-abc" not in raised.message


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0), ("0.5", 0.5), (" 7 ", 7.0), ("-1", None), ("soon", None), ("inf", None), ("1e3", None), ("", None),
        (None, None), ("Wed, 21 Oct 2026 07:28:10 GMT", 10.0), ("Wed, 21 Oct 2020 07:28:10 GMT", 0.0),
    ],
)  # fmt: skip
def test_retry_after(header: str | None, seconds: float | None) -> None:
    now = 1_792_567_680.0
    assert error_from(429, {}, retry_after=header, now=now).retry_after == seconds


def test_a_message_is_short_and_holds_no_secret() -> None:
    told = error_from(500, {"error": {"message": "sk-proj-abcdefghijklmnop1234 " + "x" * 10_000}})
    assert len(told.message) < 400
    assert "abcdefghijklmnop" not in told.message
    assert error_in_reply({"message": None}).message.endswith("without a reason")


def test_fastapi_says_detail() -> None:
    assert "not found" in error_from(404, {"detail": "model not found"}).message
    with pytest.raises(ModelError, match="not found"):
        whole({"detail": "model not found"})
