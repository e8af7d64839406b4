"""Registered credentials are hidden where messages, calls, results and pieces are made; nothing else is touched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core import redaction
from backstay.core.canon import freeze
from backstay.core.hiding import HidingPieces, hide_call, hide_json, hide_message, hide_reply, hide_result
from backstay.core.messages import (
    Artifact,
    Delta,
    Message,
    ModelReply,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolReturn,
)

KEY = "kk-canary-kk"


@pytest.fixture(autouse=True, scope="module")
def _only_mine() -> Iterator[None]:
    before = redaction._registered
    redaction._registered = {}
    redaction.register_secret(KEY)
    redaction.register_secret("1234567")
    yield
    redaction._registered = before


def test_json_is_hidden_in_texts_keys_and_numbers_and_kept_where_nothing_is_found() -> None:
    value = freeze({"a": [1, None, True, {"b": "text"}], "n": 12345})
    assert hide_json(value) is value
    hidden = hide_json(freeze({KEY: [f"<{KEY}>", 1234567, 1.5, {"deep": KEY}]}))
    assert KEY not in repr(hidden)
    assert "1234567" not in repr(hidden)
    assert repr(hidden).count("[redacted:") == 4
    assert hash(hidden) is not None


def test_calls_replies_messages_and_results_are_hidden() -> None:
    call = ToolCall(id="c", name="t", args=freeze({"x": KEY}), raw=f"{{{KEY}")  # type: ignore[arg-type]
    result = ToolResult(
        ok=False,
        summary=KEY,
        error=KEY,
        data=(KEY,),
        artifacts=(Artifact(ref="r", name=f"{KEY}.txt", mime="", size=1),),
    )
    parts = (Text(text=KEY), Reasoning(text=KEY, signature="s"), call)
    reply = ModelReply(parts=parts, finish="stop", usage=None, model="m")
    message = Message(id="m", role="tool", parts=(*parts, ToolReturn(call_id="c", name="t", result=result)))
    for hidden in (hide_call(call), hide_reply(reply), hide_result(result), hide_message(message)):
        assert KEY not in repr(hidden)
    kept = Reasoning(text="plain", signature="s")
    assert hide_reply(ModelReply(parts=(kept,), finish="stop", usage=None, model="m")).parts == (kept,)
    assert hide_reply(reply).parts[1].signature is None  # type: ignore[union-attr]
    plain = ToolCall(id="c", name="t", args={"x": 1})
    assert hide_call(plain) is plain


@given(
    st.lists(st.sampled_from([KEY, KEY[:5], KEY[7:], "kk", "k", "-", "hello ", "1234567", "123"]), max_size=8),
    st.lists(st.integers(1, 9), min_size=1),
)
def test_pieces_put_together_are_the_hidden_whole(words: list[str], sizes: list[int]) -> None:
    whole, heard = "".join(words), []
    pieces = HidingPieces(heard.append)
    at, n = 0, 0
    while at < len(whole):
        size = sizes[n % len(sizes)]
        pieces(Delta("text", 0, whole[at : at + size]))
        at, n = at + size, n + 1
        assert KEY not in "".join(one.text for one in heard)
    pieces.close()
    assert "".join(one.text for one in heard) == redaction.hide(whole)


def test_what_cannot_begin_a_secret_is_given_on_at_once() -> None:
    heard: list[Delta] = []
    pieces = HidingPieces(heard.append)
    for text in ("hello ", "you ", "kk-can"):
        pieces(Delta("text", 0, text))
    pieces(Delta("args", 1, "", "c", "find"))
    assert [one.text for one in heard] == ["hello ", "you ", ""]
    pieces.close()
    assert heard[-1].text == "kk-can"
