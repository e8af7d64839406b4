"""Whatever comes in, what goes out can be sent: one result per call, unique ids, order kept."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backstay.core.messages import Media, Message, Reasoning, Text, ToolCall, ToolResult, ToolReturn
from backstay.memory.history import make_valid

OK = ToolResult(ok=True, summary="ok")
IDS = st.sampled_from(["", "a", "b", "a-2", "call", "call-2"])
PARTS: Any = st.one_of(
    st.builds(Text, text=st.sampled_from(["", "yes", "no"])),
    st.builds(Reasoning, text=st.just("hm"), signature=st.none() | st.just("s")),
    st.builds(Media, mime=st.just("image/png"), url=st.just("u")),
    st.builds(ToolCall, id=IDS, name=st.sampled_from(["f", "g"]), args=st.just({})),
    st.builds(ToolReturn, call_id=IDS, name=st.sampled_from(["f", "g"]), result=st.just(OK)),
)
ROLES = st.sampled_from(["system", "user", "assistant", "tool", "notice"])


@st.composite
def histories(draw: Any) -> list[Message]:
    bodies = draw(st.lists(st.tuples(ROLES, st.lists(PARTS, max_size=5)), max_size=12))
    return [Message(id=f"m{n}", role=role, parts=tuple(parts)) for n, (role, parts) in enumerate(bodies)]


@given(histories())
def test_any_history_becomes_one_that_every_provider_takes(messages: list[Message]) -> None:
    valid = make_valid(messages)
    calls = [one for message in valid for one in message.calls]
    returns = [one for message in valid for one in message.returns]
    assert len({one.id for one in calls}) == len(calls)
    assert all(one.id for one in calls)
    assert sorted((one.id, one.name) for one in calls) == sorted((one.call_id, one.name) for one in returns)
    open_calls: set[str] = set()
    for message in valid:
        assert message.parts
        if message.role == "tool":
            assert len(message.returns) == len(message.parts)
            open_calls -= {one.call_id for one in message.returns}
        else:
            assert not open_calls
            assert not isinstance(message.parts[-1], Reasoning)
            open_calls = {one.id for one in message.calls}
        assert not message.calls or message.role == "assistant"
    assert not open_calls


@given(histories())
def test_once_is_enough_and_the_order_stays(messages: list[Message]) -> None:
    valid = make_valid(messages)
    assert make_valid(valid) == valid
    kept = [one.id for one in valid if not one.id.endswith("+lost")]
    assert kept == [one.id for one in messages if one.id in kept]
    said = [(m.id, p) for m in valid for p in m.parts if isinstance(p, Text | Media)]
    assert said == [
        (m.id, p)
        for m in messages
        if m.role != "tool"
        for p in m.parts
        if isinstance(p, Media) or (isinstance(p, Text) and p.text)
    ]


def message(id_: str, role: Any, *parts: Any) -> Message:
    return Message(id=id_, role=role, parts=parts)


def made(id_: str, name: str = "f") -> ToolCall:
    return ToolCall(id=id_, name=name, args={})


def given_back(id_: str, name: str = "f", summary: str = "ok") -> ToolReturn:
    return ToolReturn(call_id=id_, name=name, result=ToolResult(ok=True, summary=summary))


def test_a_valid_history_is_left_alone() -> None:
    messages = (
        message("1", "user", Text(text="hi")),
        message("2", "assistant", Reasoning(text="hm", signature="s"), Text(text="so"), made("a"), made("b")),
        message("3", "tool", given_back("b"), given_back("a")),
        message("4", "assistant", Text(text="done")),
    )
    valid = make_valid(messages)
    assert valid == messages
    assert all(one is two for one, two in zip(valid, messages, strict=True))


def test_a_lone_result_is_dropped() -> None:
    """C31."""
    valid = make_valid([message("1", "tool", given_back("c1")), message("2", "assistant", Text(text="x"))])
    assert [one.id for one in valid] == ["2"]


def test_reasoning_left_behind_is_dropped() -> None:
    """C33."""
    valid = make_valid([message("1", "user", Text(text="x")), message("2", "assistant", Reasoning(text="r"))])
    assert [one.id for one in valid] == ["1"]


def test_equal_ids_are_told_apart_in_order() -> None:
    """C35."""
    valid = make_valid(
        [
            message("1", "assistant", made("search", "search"), made("search", "search")),
            message("2", "tool", given_back("search", "search", "first"), given_back("search", "search", "second")),
        ]
    )
    assert [one.id for one in valid[0].calls] == ["search", "search-2"]
    assert [(one.call_id, one.result.summary) for one in valid[1].returns] == [
        ("search", "first"),
        ("search-2", "second"),
    ]


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    valid = make_valid([message("1", "assistant", made("a")), message("2", "user", Text(text="?"))])
    assert [one.role for one in valid] == ["assistant", "tool", "user"]
    assert valid[1].returns[0].result.code == "history.lost"
    assert not valid[1].returns[0].result.ok
