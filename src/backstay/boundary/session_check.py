"""The session check: untrusted text, secrets and a way to change or send something are too much with nobody to ask.

Any two of the three can be kept apart by the rest of the boundary; with all three, one mail that came in may carry a
secret out, and only a person stands in between. Where neither an approver nor an inbox is there, such a run does not
start. Source: SPEC B13; the "Agents Rule of Two".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from backstay.core.context import ToolFacts
from backstay.core.messages import PLAIN, Label

_SAID = "the conversation itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a session can do of the three, by name of the tool through which it can."""

    untrusted: tuple[str, ...]
    """Read what other people wrote."""
    secret: tuple[str, ...]
    """Read what is secret."""
    change: tuple[str, ...]
    """Change something, or carry data out."""

    @property
    def is_unsafe(self) -> bool:
        """Whether it can do all three."""
        return bool(self.untrusted and self.secret and self.change)

    @property
    def told(self) -> str:
        """The three with their names, for a person."""
        return (
            f"it reads untrusted text ({', '.join(self.untrusted)}) and secrets ({', '.join(self.secret)}), and can"
            f" change or send something ({', '.join(self.change)})"
        )


def reach(tools: Iterable[ToolFacts], label: Label = PLAIN) -> Reach:
    """What these tools can do of the three.

    Args:
        tools: their facts without arguments; one whose risk depends on them can change something.
        label: of what the session has heard so far, which counts like a tool's output.
    """
    known = list(tools)
    return Reach(
        untrusted=_named(known, lambda one: not _all(one).trusted, said=not label.trusted),
        secret=_named(known, lambda one: _all(one).secrecy == "secret", said=label.secrecy == "secret"),
        change=_named(known, lambda one: one.risk != "read" or one.egress, said=False),
    )


def _all(tool: ToolFacts) -> Label:
    label = tool.label
    for one in tool.field_labels.values():
        label = label.join(one)
    return label


def _named(tools: Iterable[ToolFacts], has: Callable[[ToolFacts], bool], *, said: bool) -> tuple[str, ...]:
    return (*(one.name for one in tools if has(one)), *((_SAID,) if said else ()))


def refusal(found: Reach, presence: str) -> str | None:
    """Why a run may not start; None if it may.

    Args:
        found: what it could do.
        presence: `unattended` where nobody is asked; with anybody there it may.
    """
    if presence != "unattended" or not found.is_unsafe:
        return None
    return (
        f"nobody is there to be asked, and {found.told}. Give the run an approver or presence='inbox', take one of the"
        " three kinds of tools away, or use another agent for it"
    )
