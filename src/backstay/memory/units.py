"""Units: what of a history stays or goes together, so that no result is ever left without its call.

A unit is a message of the system, the user or the framework; an answer of the model; or a message with tool calls and
all their results. Source: SPEC M1, M8; cases C31, C33.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from backstay.core.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Messages that stand or fall together, oldest first."""

    messages: tuple[Message, ...]
    waits_for: frozenset[str] = frozenset()
    """Ids of its calls that have no result yet."""

    @property
    def is_open(self) -> bool:
        """Whether a result of one of its calls is still to come: it may neither be folded nor dropped."""
        return bool(self.waits_for)

    @property
    def is_pinned(self) -> bool:
        """Whether no policy may drop it: the system's own words."""
        return self.messages[0].role == "system"

    @property
    def is_orphan(self) -> bool:
        """Whether it is results without their calls, which no provider takes."""
        return self.messages[0].role == "tool"

    def takes(self, message: Message) -> bool:
        """Whether a message belongs to this unit: results of calls that still wait."""
        return message.role == "tool" and any(one.call_id in self.waits_for for one in message.returns)

    def joined(self, message: Message) -> Unit:
        """The unit with a further message of results."""
        answered = {one.call_id for one in message.returns}
        return replace(self, messages=(*self.messages, message), waits_for=self.waits_for - answered)


def unit_of(message: Message) -> Unit:
    """The unit that a message begins."""
    waits = frozenset(call.id for call in message.calls) if message.role == "assistant" else frozenset()
    return Unit(messages=(message,), waits_for=waits)


def units_of(messages: Iterable[Message]) -> tuple[Unit, ...]:
    """Group messages, oldest first, into units. Results are looked for in the unit before them alone."""
    found: list[Unit] = []
    for message in messages:
        if found and found[-1].takes(message):
            found[-1] = found[-1].joined(message)
        else:
            found.append(unit_of(message))
    return tuple(found)
