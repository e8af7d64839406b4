"""The log of a session as a window sees it: units in order, and two pointers that only advance.

A unit is what may not be torn apart: a message of the user, a notice, or a reply with the results of its calls. Units
before `folded` stand in the running summary, units before `trimmed` show their results cut, all others are shown as
they were written. The last message of the user is always shown. Source: SPEC M5, M7, M8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, TypeAlias, assert_never

from backstay.core.canon import canonical
from backstay.core.messages import (
    PLAIN,
    Label,
    Media,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolReturn,
)
from backstay.memory.counting import CALL, MESSAGE, media_tokens, message_tokens, part_tokens
from backstay.memory.estimator import estimate
from backstay.memory.history import make_valid
from backstay.memory.units import Unit, unit_of

Count: TypeAlias = Callable[[str], int]
"""Tokens of a text."""
Shrink: TypeAlias = "Callable[[ToolResult, int, str], ToolResult]"
"""A result with a summary of at most so many tokens, recalled by this reference; the result itself if it is shorter."""
CUT_TOKENS = 80
"""Tokens of a result whose unit is trimmed."""
_REMEMBERED = 6_000
"""Characters of a text whose count is remembered; so much of 1,024 texts is kept at most."""
_HEAD, _TAIL = 800, 400
"""Characters that stay of a message that was narrowed."""


@lru_cache(maxsize=1_024)
def _remembered(text: str) -> int:
    return estimate(text)


def counted(text: str) -> int:
    """Tokens of a text by the estimator, remembered for short ones: every drive of a session loads them anew."""
    return _remembered(text) if len(text) <= _REMEMBERED else estimate(text)


class Pointers(NamedTuple):
    """How far the log is trimmed and folded: numbers of units, counted over the whole session."""

    trimmed: int = 0
    folded: int = 0


@dataclass(slots=True, kw_only=True)
class Entry:
    """A unit in the log, with its tokens once somebody has counted them."""

    unit: Unit
    seq: int
    """Of the record that began it."""
    words: int = -1
    """Tokens of everything but results; below 0 while nobody has counted."""
    results: int = -1
    trimmed_results: int = -1
    trimmed: tuple[Message, ...] = ()
    """The messages with their results cut, once they have been."""
    held: int = -1
    """Tokens as the agent's own memory counts them; below 0 while it has not."""
    is_rough: bool = False
    """Whether that is an estimate."""

    @property
    def has_results(self) -> bool:
        """Whether there is anything to trim."""
        return any(one.role == "tool" for one in self.unit.messages)

    def change(self, unit: Unit) -> None:
        """Put other messages in, to be counted anew."""
        self.unit, self.trimmed, self.held = unit, (), -1
        self.words = self.results = self.trimmed_results = -1


class Log:
    """Units from the first that is still shown on, and what stands for those before.

    Args:
        count: tokens of a text.
        shrink: makes a result's summary shorter.
    """

    def __init__(self, count: Count, shrink: Shrink) -> None:
        self._count = count
        self._shrink = shrink
        self.start = 0
        """Number of the first unit held here; those before are in the store alone."""
        self.entries: list[Entry] = []
        self.at = Pointers()
        self.notes = ""
        """The running summary of all units that are folded."""
        self.ids: tuple[str, ...] = ()
        """Identifiers that stood in folded units, as `name=value`, oldest first."""
        self.label: Label = PLAIN
        """Of the summary: the join over all that is in it."""
        self._size = self._words = self._results = 0
        self.is_counted = False
        """Whether tokens have been counted: a log that is surely small is not."""
        self._is_stale = False
        """Whether `_shown` has to be made anew."""
        self._shown: list[Message] = []
        self._user = -1
        """Place of the last message of the user in `_shown`."""
        self._last_user = -1
        """Place of its unit in `entries`."""

    @property
    def end(self) -> int:
        """Number that the next unit will have."""
        return self.start + len(self.entries)

    def entry(self, number: int) -> Entry:
        """A unit by its number; it has to be held here."""
        return self.entries[number - self.start]

    def add(self, message: Message, seq: int) -> None:
        """Take the next message in. Results join the unit of the reply that asked for them."""
        entry = self.entries[-1] if self.entries else None
        if entry is not None and entry.unit.takes(message):
            if self.is_counted:
                self._take(entry, -1)
            entry.change(entry.unit.joined(message))
        else:
            entry = Entry(unit=unit_of(message), seq=seq)
            self.entries.append(entry)
        number = self.end - 1
        if number < self.at.trimmed or (message.role == "user" and self._pinned() is not None):
            self._is_stale, self.is_counted = True, False
        if self.is_counted:
            self._take(entry, 1)
        if message.role == "user":
            self._last_user, self._user = len(self.entries) - 1, len(self._shown)
        self._size += size_of(message)
        self._shown.append(message)

    def begin_at(self, start: int, at: Pointers, notes: str, ids: Sequence[str], label: Label) -> None:
        """Begin in the middle of a session: with this unit, and with what stands for those before."""
        self.start, self.at, self.notes, self.ids, self.label = start, at, notes, tuple(ids), label

    def move(self, to: Pointers, notes: str = "", ids: Sequence[str] = (), label: Label = PLAIN) -> None:
        """Advance the pointers; a pointer never goes back. `notes` and `ids` stand for all that is folded then."""
        at = Pointers(max(self.at.trimmed, to.trimmed, to.folded), max(self.at.folded, to.folded))
        if at.folded > self.at.folded:
            self.notes, self.ids, self.label = notes, tuple(ids), label
        if at != self.at:
            self.at, self._is_stale, self.is_counted = at, True, False

    def narrow(self, names: Sequence[str]) -> None:
        """Show these messages as excerpts from now on: the user was told that they are too long."""
        for entry in self.entries:
            messages = entry.unit.messages
            if any(one.id in names for one in messages):
                cut = tuple(self._excerpt(one) if one.id in names else one for one in messages)
                entry.change(replace(entry.unit, messages=cut))
        self._is_stale, self.is_counted = True, False

    def shown(self) -> tuple[Sequence[Message], Sequence[Message]]:
        """What is shown of the log: before the last message of the user, and from it on."""
        self._render()
        at = self._user if self._user >= 0 else len(self._shown)
        return self._shown[:at], self._shown[at:]

    @property
    def size(self) -> int:
        """Characters of what is shown, never too few for `TOKENS_A_CHARACTER`."""
        self._render()
        return self._size

    @property
    def words(self) -> int:
        """Tokens of what is shown, but for results."""
        self._counted()
        pinned = self._pinned()
        return self._words + (self._weigh(pinned).words if pinned is not None else 0)

    @property
    def results(self) -> int:
        """Tokens of the results that are shown."""
        self._counted()
        return self._results

    @property
    def user_unit(self) -> int:
        """Number of the unit that holds the last message of the user, which is always shown; -1 while there is none."""
        return self.start + self._last_user if self._last_user >= 0 else -1

    @property
    def has_trimmed(self) -> bool:
        """Whether a result is shown cut or stands in the summary, so that there is something to recall."""
        unfolded = self.entries[max(0, self.at.folded - self.start) : max(0, self.at.trimmed - self.start)]
        return bool(self.notes or self.ids) or any(one.has_results for one in unfolded)

    def tail(self) -> tuple[int, int]:
        """Seq of the first record that is still needed, and the number of the first unit of that record."""
        if not self.entries:
            return 0, self.start
        first = min(self.at.folded, self.end - 1)
        if self._last_user >= 0:
            first = min(first, self.start + self._last_user)
        while first > self.start and self.entry(first - 1).seq == self.entry(first).seq:
            first -= 1
        return self.entry(first).seq, first

    def unfolded(self) -> range:
        """Numbers of the units that are not folded."""
        return range(max(self.at.folded, self.start), self.end)

    def messages(self, numbers: range) -> Iterator[Message]:
        """The messages of some units as they were written, oldest first."""
        for number in numbers:
            yield from self.entry(number).unit.messages

    def weight(self, number: int, *, trimmed: bool) -> tuple[int, int]:
        """Tokens of a unit's words and of its results, as they are shown in full or trimmed."""
        entry = self._weigh(self.entry(number))
        return entry.words, self._trimmed(entry) if trimmed else entry.results

    def weigh(self, message: Message) -> int:
        """Tokens of a message."""
        return message_tokens(message, self._count)

    def _counted(self) -> None:
        if self.is_counted:
            return
        self._words = self._results = 0
        for number in self.unfolded():
            words, results = self.weight(number, trimmed=number < self.at.trimmed)
            self._words += words
            self._results += results
        self.is_counted = True

    def _take(self, entry: Entry, sign: int) -> None:
        self._weigh(entry)
        self._words += sign * entry.words
        self._results += sign * entry.results

    def _weigh(self, entry: Entry) -> Entry:
        if entry.words < 0:
            entry.results = self._in_results(entry.unit.messages)
            entry.words = sum(map(self.weigh, entry.unit.messages)) - entry.results
        return entry

    def _trimmed(self, entry: Entry) -> int:
        if entry.trimmed_results < 0:
            entry.trimmed_results = self._in_results(self._cut(entry))
        return entry.trimmed_results

    def _in_results(self, messages: Sequence[Message]) -> int:
        return sum(part_tokens(part, self._count) for one in messages for part in one.returns)

    def _cut(self, entry: Entry) -> tuple[Message, ...]:
        if not entry.trimmed:
            entry.trimmed = tuple(self._cut_results(one) for one in entry.unit.messages)
        return entry.trimmed

    def _cut_results(self, message: Message) -> Message:
        if message.role != "tool":
            return message
        parts = tuple(
            replace(part, result=self._shrink(part.result, CUT_TOKENS, part.call_id))
            if isinstance(part, ToolReturn)
            else part
            for part in message.parts
        )
        return message if parts == message.parts else replace(message, parts=parts)

    def _excerpt(self, message: Message) -> Message:
        if message.role == "tool":
            return self._cut_results(message)
        parts = tuple(
            Text(text=excerpt(part.text)) if isinstance(part, Text) else part
            for part in message.parts
            if not isinstance(part, Media)
        )
        return replace(message, parts=parts or (Text(text="[a file that was too large to be shown]"),))

    def _pinned(self) -> Entry | None:
        """The last message of the user where its unit is folded."""
        is_folded = self._last_user >= 0 and self.start + self._last_user < self.at.folded
        return self.entries[self._last_user] if is_folded else None

    def _render(self) -> None:
        if not self._is_stale:
            return
        pinned = self._pinned()
        shown = list(pinned.unit.messages) if pinned is not None else []
        for number in self.unfolded():
            entry = self.entry(number)
            shown += self._cut(entry) if number < self.at.trimmed else entry.unit.messages
        self._shown = list(make_valid(shown))
        self._user = next((n for n in range(len(self._shown) - 1, -1, -1) if self._shown[n].role == "user"), -1)
        self._size = sum(map(size_of, self._shown))
        self._is_stale = False


def size_of(message: Message) -> int:
    """Characters of a message, never too few for `TOKENS_A_CHARACTER`."""
    return sum([_characters(part) for part in message.parts]) + MESSAGE


def _characters(part: Part) -> int:
    match part:
        case Text():
            return len(part.text) + 1
        case Reasoning():
            return len(part.text) + len(part.signature or "") + 1
        case ToolCall():
            return CALL + len(part.name) + (len(part.raw) if part.raw is not None else len(canonical(part.args)))
        case ToolReturn():
            return CALL + len(part.result.summary)
        case Media():
            return media_tokens(part.mime)
        case _:
            assert_never(part)


def excerpt(text: str) -> str:
    """Beginning and end of a text that is too long to be shown, saying how much is left out."""
    if len(text) <= _HEAD + _TAIL:
        return text
    left_out = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}\n[{left_out:,} of {len(text):,} characters are left out here]\n{text[-_TAIL:]}"
