"""A sentence without its modifiers: what `modifiers` and the two `asking` modules give back."""

from __future__ import annotations

from typing import NamedTuple


class Plain(NamedTuple):
    """A sentence without its modifiers."""

    text: str
    asks: bool = False
    """Whether the author wants to be asked."""
    until: str | None = None
    """The last day on which it holds, ISO."""
    today: bool = False
    """Whether that day is today, so that a total is one of the day."""
