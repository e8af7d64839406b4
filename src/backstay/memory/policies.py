"""Window policies: how much of a session's log the requests of an agent show, before the model's window has its word.

A policy holds settings and no conversation, so that any number of runs share it. It names the first unit that is shown;
the drive journals the cut before it shows. Units stay or go as a whole; the newest one, the last message of the user
and the rules are shown whatever a policy says. Source: SPEC M1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Protocol, TypeAlias

from backstay.core.errors import MemoryConfigError
from backstay.core.messages import Message, ModelReply, ModelRequest
from backstay.memory.log import Entry, Log
from backstay.memory.window import is_surely_within

Tokenize: TypeAlias = "Callable[[Sequence[Message]], Sequence[int] | Awaitable[Sequence[int]]]"
Summarise: TypeAlias = "Callable[[ModelRequest], Awaitable[ModelReply | str]]"
"""Answers a request that asks for notes: a model's reply, or the notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summing:
    """How what leaves is summed up."""

    summarise: Summarise | None
    """Writes the notes; None: the agent's summariser, as for what leaves the model's window."""
    timeout: float
    """Seconds for one answer."""
    max_tokens: int
    """Of the window that the memory is for."""


class WindowPolicy(Protocol):
    """What an agent's memory does with the log of a session."""

    @property
    def summing(self) -> Summing | None:
        """How what leaves is summed up; None: it is not shown any more, with all notes on what was before it."""
        ...

    async def first(self, log: Log) -> int:
        """Number of the first unit that is shown; at most `log.at.folded` where nothing has to leave.

        The same log has to give the same number. The log is only looked at.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """Nothing leaves but what does not fit the model's window."""

    @property
    def summing(self) -> Summing | None:
        """Nothing leaves."""
        return None

    async def first(self, log: Log) -> int:
        """Where the log stands."""
        return log.at.folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest units."""

    max_units: int

    @property
    def summing(self) -> Summing | None:
        """What is older is not shown any more."""
        return None

    async def first(self, log: Log) -> int:
        """So many units before the end."""
        return log.end - self.max_units


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """The newest units that have at most so many tokens."""

    capacity: int
    sync_threshold: float
    estimate: Callable[[Message], int] | None = None
    """Counts one message; None: as the window counts."""
    tokenize: Tokenize | None = None
    """Counts a batch exactly, once more than `sync_threshold` of the messages that are shown are only estimated."""

    @property
    def summing(self) -> Summing | None:
        """What does not fit is not shown any more."""
        return None

    async def first(self, log: Log) -> int:
        """The oldest units leave until the rest fits."""
        if self.estimate is None and self.tokenize is None:
            return _first_within(log, self.capacity, self.capacity, 1)
        shown = [log.entry(number) for number in log.unfolded()]
        for entry in shown:
            if entry.held < 0:
                entry.held, entry.is_rough = self._estimated(log, entry), self.tokenize is not None
        await self._sync(shown)
        held, number = sum(entry.held for entry in shown), log.unfolded().start
        while held > self.capacity and number < log.end - 1:
            if number != log.user_unit:
                held -= log.entry(number).held
            number += 1
        return number

    def _estimated(self, log: Log, entry: Entry) -> int:
        count = self.estimate or log.weigh
        return sum(count(message) for message in entry.unit.messages)

    async def _sync(self, shown: Sequence[Entry]) -> None:
        rough = [entry for entry in shown if entry.is_rough]
        batch = [message for entry in rough for message in entry.unit.messages]
        total = sum(len(entry.unit.messages) for entry in shown)
        if self.tokenize is None or len(batch) <= self.sync_threshold * total:
            return
        counts = iter(await exactly(self.tokenize, batch))
        for entry in rough:
            entry.held, entry.is_rough = sum(next(counts) for _ in entry.unit.messages), False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedUp:
    """The oldest units fold into notes once there is more than so many tokens, until half of that is held."""

    capacity: int
    keep_units: int
    how: Summing

    @property
    def summing(self) -> Summing | None:
        """How the notes are written."""
        return self.how

    async def first(self, log: Log) -> int:
        """The oldest units leave until half of the capacity is held."""
        return _first_within(log, self.capacity, self.capacity // 2, self.keep_units)


def _first_within(log: Log, most: int, until: int, keep_units: int) -> int:
    """The first unit that is shown once the oldest have left: none where there are at most `most` tokens, else as many
    as leave `until`, but for the newest."""
    number = log.at.folded
    if is_surely_within(log.size, most) or (held := log.words + log.results) <= most:
        return number
    number = log.unfolded().start
    while held > until and number < log.end - keep_units:
        if number != log.user_unit:
            held -= sum(log.weight(number, trimmed=number < log.at.trimmed))
        number += 1
    return number


async def exactly(tokenize: Tokenize, messages: Sequence[Message]) -> Sequence[int]:
    """What a program's own counter says of a batch.

    Raises:
        MemoryConfigError: if it does not return one number of at least 0 for each message.
    """
    found = tokenize(messages)
    counts = list(await found if isawaitable(found) else found)
    if len(counts) != len(messages) or any(one < 0 for one in counts):
        raise MemoryConfigError(
            f"tokenize was given {len(messages)} messages and returned {counts[:5]!r} ({len(counts)} numbers);"
            " return one number of at least 0 for each"
        )
    return counts
