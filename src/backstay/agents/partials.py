"""A typed answer while it is written: its JSON so far, read from the pieces of a reply.

What is told is provisional and never judged: it is of the shape of JSON, not yet of the type. A text or a list that
is still open is closed, a name without its value and a number that may go on are left out, so within one attempt each
value holds all that the ones before it held.

Reading the whole again with every piece would cost the square of its length. So it is read when it has grown by 64
characters, until 65,536 characters have been read so, and from then on when it has grown by a sixth: whatever a reply's
length and its pieces, at most 65,536 and eight times its characters are read. Source: SPEC G4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic_core import from_json

from backstay.agents.output import FINAL, OutputType
from backstay.core.canon import thaw
from backstay.core.errors import OutputError
from backstay.core.hiding import hide_json
from backstay.core.messages import Delta, Json, ModelReply, ModelRequest
from backstay.core.redaction import has_secrets, held_back

STEP = 64
"""Characters by which an answer grows before it is read again."""
FREE = 65_536
"""Characters that are read in such steps."""
SHARE = 6
"""Beyond them it grows by a sixth of itself."""
_BEGUN = re.compile(r"\s*(?:```[a-zA-Z]*\s*\n\s*)?(?=\{)")


class Partials:
    """Finds the answer among the pieces of one step's replies, and tells its JSON whenever it has changed.

    Args:
        output: the type; not text.
        request: says how the answer comes: as the whole text, or by the tool.
        tell: takes the answer so far.
    """

    def __init__(self, output: OutputType, request: ModelRequest, tell: Callable[[Json], None]) -> None:
        self._output = output
        self._tell = tell
        self._is_text = request.output_schema is not None
        self._is_tool = any(tool.name == FINAL for tool in request.tools)
        self._attempt = 0
        self._begin(0)

    def take(self, delta: Delta, attempt: int) -> None:
        """Take a piece of a reply; one of a later attempt begins anew."""
        if attempt != self._attempt:
            self._begin(attempt)
        text = self._of_the_answer(delta)
        found = self._growing.add(text) if text else None
        if found is not None:
            value = self._output.inside(found)
            self._told(_hidden(value) if has_secrets() else value)

    def end(self, reply: ModelReply, attempt: int) -> None:
        """Tell the answer of the whole reply, mended where that was needed."""
        if attempt != self._attempt:
            self._begin(attempt)
        found = next((one for one in reply.calls if one.name == FINAL), None) if self._is_tool else None
        if found is not None:
            if found.raw is None:
                self._told(self._output.inside(thaw(found.args)))
        elif self._is_text and not reply.calls:
            try:
                whole = self._output.parsed(reply.text)
            except OutputError:  # the loop gives it back to the model
                return
            self._told(self._output.inside(whole))

    def _begin(self, attempt: int) -> None:
        self._attempt = attempt
        self._growing = _Growing()
        self._last: Any = {}
        self._part: int | None = None
        self._names: dict[int, str] = {}
        self._early: dict[int, list[str]] = {}
        """Arguments of calls whose name has not come yet."""

    def _of_the_answer(self, delta: Delta) -> str:
        """What a piece adds to the answer; empty for any other."""
        if delta.kind == "text":
            return delta.text if self._is_text else ""
        if delta.kind != "args" or not self._is_tool:
            return ""
        part = delta.part
        name = self._names[part] = self._names.get(part) or delta.name
        if not name:
            self._early.setdefault(part, []).append(delta.text)
        elif name == FINAL and self._part in (None, part):
            self._part = part
            return "".join((*self._early.pop(part, ()), delta.text))
        return ""

    def _told(self, value: Any) -> None:
        if value != self._last:
            self._last = value
            self._tell(value)


class _Growing:
    """The text of a JSON object as far as it is written, looked at from time to time."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = self._read = 0
        self._next = 1

    def add(self, piece: str) -> dict[str, Any] | None:
        """The object so far, if it is time to look and there is one."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size < self._next:
            return None
        text = "".join(self._pieces)
        self._pieces = [text]
        self._read += self._size
        self._next = self._size + (STEP if self._read < FREE else max(STEP, self._size // SHARE))
        return _object_so_far(text)


def _object_so_far(text: str) -> dict[str, Any] | None:
    begun = _BEGUN.match(text)
    if begun is None:
        return None
    try:
        left = _without_open_number(text[begun.end() :])
        found = from_json(left, allow_partial="trailing-strings", allow_inf_nan=False)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _without_open_number(text: str) -> str:
    """The text without a number at its end, which the next piece may go on with: 12 could become 120."""
    before = text.rstrip("0123456789+-.eE")
    return before if before[-1:] in (":", ",", "[", " ", "\n", "\t", "\r") else text


def _hidden(value: Any) -> Any:
    """A value without credentials, also those written as escapes; its last text without what may begin one."""
    box = [thaw(hide_json(value))]
    holder: Any = box
    key: Any = 0
    while isinstance(holder[key], dict | list) and holder[key]:
        holder = holder[key]
        key = next(reversed(holder)) if isinstance(holder, dict) else -1
    if isinstance(holder[key], str):
        holder[key] = holder[key][: len(holder[key]) - held_back(holder[key])]
    return box[0]
