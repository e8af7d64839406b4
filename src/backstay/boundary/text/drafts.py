"""Drafts: what a sentence says as a rule, before anybody bound it to a tool. Source: SPEC B7, B8; DESIGN 8.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backstay.core.canon import EMPTY
from backstay.core.messages import Args


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One rule read from a text."""

    text: str
    """The author's sentence, verbatim."""
    span: tuple[int, int]
    """Characters of the text that was parsed, end excluded: `text[start:end]` is `self.text`."""
    check: Args | None
    """The predicate; None where the words are a rule that no predicate says: advisory."""
    meaning: str
    """What it binds to: `money`, `window`, `quantity:items`; empty for an advisory rule."""
    scope: tuple[str, ...] = ()
    """The author's words for what it is about, as `bind` looks them up: `refund`, `退款`."""
    render: str = ""
    """The rule as it was understood, in one line, or why it could not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWords:
    """What `bind` may know of a tool."""

    name: str
    description: str = ""
    meanings: Mapping[str, str] = EMPTY
    """Argument → meaning, as in `ToolFacts.meanings`."""
