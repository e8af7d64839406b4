"""Text that shows what it holds: no control characters, nothing that turns the reading direction or cannot be seen."""

from __future__ import annotations

from backstay.core.patterns import Pattern

_HIDDEN = Pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides of the reading direction
    "\U000e0000-\U000e007f]"  # tags: letters that nobody sees and every model reads
)


def printable(text: str) -> str:
    """Return the text without what a reader could not see, newlines and tabs kept. Joiners of words and emoji stay."""
    return text if text.isprintable() else _HIDDEN.sub("", text)
