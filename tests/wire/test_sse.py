"""Events come out of bytes the same however the bytes were cut, and at a cost linear in them."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.wire import sse
from backstay.wire.sse import SseDecoder, SseEvent


def events(*pieces: bytes) -> list[SseEvent]:
    decoder = SseDecoder()
    found = [event for piece in pieces for event in decoder.feed(piece)]
    return found + decoder.close()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_of_three_ways(end: str) -> None:
    body = end.join(["data: one", "", ": a comment", "event: error", "data:two", "data: three", "", "id: 7", "", ""])
    assert events(body.encode()) == [SseEvent("", "one"), SseEvent("error", "two\nthree")]


def test_cr_at_the_end_of_a_piece_swallows_one_line_feed_and_no_later_one() -> None:
    assert events(b"data: a\r", b"\n", b"\r\n") == [SseEvent("", "a")]
    assert events(b"data: a\r", b"\ndata: b\r\n\r\n") == [SseEvent("", "a\nb")]
    assert events(b": x\r\r", b"data: a\n\n", b"\ndata: b\n\n") == [SseEvent("", "a"), SseEvent("", "b")]
    assert events(b": x\r", b"data: a\n\n", b"data: b", b"\n\n") == [SseEvent("", "a"), SseEvent("", "b")]


def test_whole_events_and_cut_ones_may_follow_each_other() -> None:
    assert [one.data for one in events(b"data: a\n\n", b"data: b\n\n", b"data: c\n", b"data: d\n\n")] == [
        "a",
        "b",
        "c\nd",
    ]


def test_a_byte_order_mark_an_unknown_field_and_a_missing_last_line_change_nothing() -> None:
    assert events(b"\xef\xbb\xbfdata: a\nretry: 3\n\ndata: b\n") == [SseEvent("", "a"), SseEvent("", "b")]
    assert events(b"data: a") == [SseEvent("", "a")]
    assert events(b"", b"") == []


def test_one_blank_is_part_of_the_syntax_and_the_second_of_the_data() -> None:
    assert events(b"data:  a\n\n") == [SseEvent("", " a")]


TEXTS = st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12), max_size=5)


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 200), max_size=12))
def test_no_cut_changes_what_is_read(texts: list[str], end: str, cuts: list[int]) -> None:
    body = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    borders = sorted({0, len(body), *(min(cut, len(body)) for cut in cuts)})
    pieces = [body[start:stop] for start, stop in pairwise(borders)]
    assert [event.data for event in events(*pieces)] == texts


def test_bytes_one_at_a_time_cost_no_more_than_in_proportion() -> None:
    def seconds(count: int) -> float:
        decoder, body = SseDecoder(), b"data: " + b"x" * count + b"\n\n"
        began = time.process_time()
        for byte in body:
            decoder.feed(bytes((byte,)))
        return time.process_time() - began

    seconds(1_000)
    few, many = min(seconds(10_000) for _ in range(3)), min(seconds(80_000) for _ in range(3))
    assert many < few * 8 * 3


def test_an_event_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    decoder = SseDecoder()
    for _ in range(20):
        decoder.feed(b"data: short\n\n")
    decoder.feed(b"data: short\n" * 8)
    with pytest.raises(ValueError, match="more than 100 bytes"):
        decoder.feed(b"data: short\n")


def test_bytes_that_are_no_text_become_marks() -> None:
    assert events(b"data: \xff\xfe!\n\n") == [SseEvent("", "��!")]
