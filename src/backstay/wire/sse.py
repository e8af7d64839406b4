"""Server-sent events out of bytes, however the bytes were cut; at a cost linear in their number.

Source: the HTML standard, "Server-sent events" (parsing an event stream).
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Bytes of one event, after which a server is taken to be hostile."""
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event: its name, empty for the ordinary kind, and its data lines joined by newlines."""

    name: str
    data: str


class SseDecoder:
    """Takes the pieces of a body as they come in; gives each event once the empty line behind it is there.

    Bytes become text a whole line at a time, so that a cut inside a character or between CR and LF changes nothing.
    """

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._held = 0
        self._data: list[bytes] = []
        self._name = b""
        self._is_after_cr = False
        self._is_first = True

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events that are complete with them.

        Raises:
            ValueError: an event has more than `MAX_EVENT_BYTES`.
        """
        if not piece:
            return []
        if self._is_after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        self._is_after_cr = False
        if self._is_one_event(piece):
            return [SseEvent("", _text(piece[6:-2]))]
        self._is_after_cr = piece.endswith(b"\r")
        *lines, rest = piece.split(b"\n") if b"\r" not in piece else _LINE_END.split(piece)
        if lines:
            lines[0] = b"".join([*self._tail, lines[0]])
            self._tail = []
        if rest:
            self._tail.append(rest)
        self._held += len(piece)
        events = self._take(lines)
        if self._held > MAX_EVENT_BYTES:
            raise ValueError(f"an event of the stream has more than {MAX_EVENT_BYTES} bytes")
        return events

    def _is_one_event(self, piece: bytes) -> bool:
        """Whether a piece is just one line of data and an empty one, as most pieces are: it needs no taking apart."""
        if self._tail or self._data or self._name or self._is_first or b"\r" in piece:
            return False
        return piece.startswith(b"data: ") and piece.endswith(b"\n\n") and piece.count(b"\n") == 2

    def close(self) -> list[SseEvent]:
        """The bytes are at an end: return the event that no empty line followed, if there is one."""
        line = b"".join(self._tail)
        self._tail = []
        return self._take([line, b""] if line else [b""])

    def _take(self, lines: list[bytes]) -> list[SseEvent]:
        events: list[SseEvent] = []
        for line in lines:
            if self._is_first:
                self._is_first = False
                line = line.removeprefix(_BOM)
            if line.startswith(b"data: "):
                self._data.append(line[6:])
            elif line:
                self._field(line)
            else:
                if self._data:
                    events.append(SseEvent(_text(self._name), _text(b"\n".join(self._data))))
                self._data, self._name, self._held = [], b"", 0
        return events

    def _field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
