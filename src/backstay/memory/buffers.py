"""Memories that a program holds: a log of units that only grows, and a policy that says which of them are shown.

Deleting, sliding, evicting and folding put a tombstone on a unit; the log keeps what was said. Source: SPEC M1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backstay.core.errors import MemoryConfigError
from backstay.core.messages import Message
from backstay.memory.policies import Everything, Newest, WindowPolicy
from backstay.memory.units import Unit, unit_of


class BaseMemory(ABC):
    """What an agent's program may put messages into and read them from, oldest first."""

    @property
    @abstractmethod
    def messages(self) -> tuple[Message, ...]:
        """What is shown, oldest first; never a result without its call."""

    @abstractmethod
    async def add(self, message: Message) -> None:
        """Take in a message, as the newest. Two equal messages are two messages."""

    @abstractmethod
    async def delete(self, message: Message) -> bool:
        """Take a message out of what is shown, with all of its unit; False if it is not shown.

        Of several equal ones this very object is meant, else the oldest.
        """

    @abstractmethod
    async def reset(self) -> None:
        """Show nothing any more."""

    async def add_many(self, messages: Iterable[Message]) -> None:
        """Take in messages, oldest first. If one is refused, those before it are in."""
        for message in messages:
            await self.add(message)

    def as_read_only(self) -> ReadOnlyMemory:
        """A live view that cannot be written to."""
        return ReadOnlyMemory(self)

    def as_policy(self) -> WindowPolicy:
        """The same for the log of a session: what an agent is given as its memory. Nothing of what is held is in it.

        Raises:
            MemoryConfigError: where the memory says nothing of a session's log.
        """
        raise MemoryConfigError(
            f"{type(self).__name__} cannot be the memory of an agent: it has no as_policy(). Take one of"
            " UnconstrainedMemory, SlidingMemory, TokenMemory and SummarizeMemory, or write a WindowPolicy"
        )

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)


class ReadOnlyMemory(BaseMemory):
    """Shows what another memory shows, now and later. Writing raises.

    Args:
        source: the memory that is looked at.
    """

    def __init__(self, source: BaseMemory) -> None:
        self._source = source

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the other memory shows now."""
        return self._source.messages

    async def add(self, message: Message) -> None:
        """Refuse."""
        raise _read_only("add")

    async def add_many(self, messages: Iterable[Message]) -> None:
        """Refuse, also where there is nothing to add."""
        raise _read_only("add_many")

    async def delete(self, message: Message) -> bool:
        """Refuse."""
        raise _read_only("delete")

    async def reset(self) -> None:
        """Refuse."""
        raise _read_only("reset")

    def as_read_only(self) -> ReadOnlyMemory:
        """Itself."""
        return self


def _read_only(what: str) -> MemoryConfigError:
    return MemoryConfigError(
        f"{what} was called on a read-only memory; write to the memory it was made from", code="memory.read_only"
    )


@dataclass(slots=True, kw_only=True, eq=False)
class Held:
    """A unit in the log, with what a policy keeps beside it."""

    number: int
    unit: Unit
    tokens: int = 0
    rough: int = 0
    """How many of these are an estimate: those of its newest messages, which are dirty."""
    dirty: int = 0
    """How many messages these are."""


class UnitMemory(BaseMemory):
    """The log and its tombstones; a policy says in `add` what has to go."""

    def __init__(self) -> None:
        self._log: list[Held] = []
        self._live: OrderedDict[int, Held] = OrderedDict()
        self._shown: tuple[Message, ...] | None = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is shown, oldest first."""
        if self._shown is None:
            self._shown = tuple(message for held in self._live.values() for message in held.unit.messages)
        return self._shown

    @property
    def log(self) -> tuple[Message, ...]:
        """Every message that was ever taken in, shown or not."""
        return tuple(message for held in self._log for message in held.unit.messages)

    async def delete(self, message: Message) -> bool:
        """Put a tombstone on the message's unit; False if it is not shown."""
        held = self._holding(message)
        if held is None:
            return False
        self._drop(held)
        return True

    async def reset(self) -> None:
        """Put a tombstone on everything."""
        for held in list(self._live.values()):
            self._drop(held)

    def _holding(self, message: Message) -> Held | None:
        """The unit that holds this very message, else the oldest one that holds an equal one."""
        equal: Held | None = None
        for held in self._live.values():
            for one in held.unit.messages:
                if one is message:
                    return held
                if equal is None and one == message:
                    equal = held
        return equal

    def _joined_by(self, message: Message) -> Held | None:
        """The unit that a message of results belongs to: the newest, if it waits for them."""
        newest = next(reversed(self._live.values()), None)
        return newest if newest is not None and newest.unit.takes(message) else None

    def _append(self, message: Message, joins: Held | None) -> Held:
        """Write the message into the log. Results of a call that is not shown are logged and not shown."""
        self._shown = None
        if joins is not None:
            joins.unit = joins.unit.joined(message)
            return joins
        held = Held(number=len(self._log), unit=unit_of(message))
        self._log.append(held)
        if not held.unit.is_orphan:
            self._live[held.number] = held
        return held

    def _drop(self, held: Held) -> None:
        if self._live.pop(held.number, None) is not None:
            self._shown = None


class UnconstrainedMemory(UnitMemory):
    """Shows everything that was not deleted."""

    async def add(self, message: Message) -> None:
        """Take in a message."""
        self._append(message, self._joined_by(message))

    def as_policy(self) -> WindowPolicy:
        """Everything that fits the model's window."""
        return Everything()


class SlidingMemory(UnitMemory):
    """Shows the newest units, and the system's messages always.

    Args:
        max_units: how many, at least 1. A user's turn is one, an answer is one, a message with tool calls and all its
            results is one.

    Raises:
        MemoryConfigError: for less than 1.
    """

    def __init__(self, max_units: int = 20) -> None:
        super().__init__()
        if max_units < 1:
            raise MemoryConfigError(f"max_units={max_units}: a sliding memory shows at least 1 unit")
        self.max_units = max_units
        self._sliding: OrderedDict[int, Held] = OrderedDict()

    async def add(self, message: Message) -> None:
        """Take in a message; the oldest unit goes if there is one too many."""
        held = self._append(message, self._joined_by(message))
        if held.unit.is_pinned or held.unit.is_orphan:
            return
        self._sliding[held.number] = held
        while len(self._sliding) > self.max_units:
            self._drop(next(iter(self._sliding.values())))

    def as_policy(self) -> WindowPolicy:
        """The newest units of a session."""
        return Newest(max_units=self.max_units)

    def _drop(self, held: Held) -> None:
        super()._drop(held)
        self._sliding.pop(held.number, None)
