"""Drafts: what a sentence says as a rule, before anybody bound it to a tool. Source: SPEC B7, B8; DESIGN 8.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from backstay.core.canon import EMPTY
from backstay.core.messages import Args


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a rule is about doing: the author's verb, and to what."""

    verb: str
    things: tuple[str, ...] = ()
    """Nouns that the action is said to be done to: `files` of `never delete files`."""
    is_placed: bool = False
    """Whether a path, a host or a name says to what, so that a mere `read` is narrow enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One rule read from a text."""

    text: str
    """The author's sentence, verbatim."""
    span: tuple[int, int]
    """Characters of the text that was parsed, end excluded: `text[start:end]` is `self.text`."""
    check: Args | None
    """The predicate; None where the words are a rule that no predicate says: advisory."""
    meaning: str = ""
    """What it binds to: `money`, `window`, `path`, `quantity:items`; empty for an action or an advisory rule."""
    scope: tuple[str, ...] = ()
    """The author's words for what it is about, as `bind` looks them up: `refund`, `退款`."""
    things: tuple[str, ...] = ()
    """Nouns that it speaks of: where no action narrows a limit on an amount, a tool whose name has one of them does."""
    render: str = ""
    """The rule as it was understood, in one line, or why it could not be."""
    acts: tuple[Act, ...] = ()
    """The actions it is about. A rule with any reaches the tools they name, and is advisory where there are none."""
    first: Act | None = None
    """For `before`: what has to be done first."""
    tools: tuple[str, ...] = ()
    """Tools that were called by their names."""
    others: bool = False
    """Whether it is about every tool but those named, or but those that do it: `only use search_orders`."""
    severity: Literal["block", "confirm"] = "block"
    """`confirm` where the author wants to be asked."""
    until: str | None = None
    """The day to whose end it holds, ISO; None: to the end of the session."""
    per: Literal["session", "day", ""] = "session"
    """Over what a number of calls would be counted; empty: over what nothing counts, such as a week."""
    locale: str = "en"
    """BCP 47 tag of the author, lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWords:
    """What `bind` may know of a tool."""

    name: str
    description: str = ""
    meanings: Mapping[str, str] = EMPTY
    """Argument → meaning, as in `ToolFacts.meanings`."""
    risk: str = ""
    """`read`, `write`, `high`; empty where it is not known before the arguments are."""
