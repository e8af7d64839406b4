"""Summarisers without a model, each of a stated behaviour. Standard library only.

They are given (who, text) of what leaves the memory, oldest first, and their own notes of before where there are some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Said: TypeAlias = "tuple[str, str]"
HEAD = "Notes so far:"
"""How notes begin, so that they are known when they come back as a message."""
_MOST = 12_000
"""UTF-8 bytes of the notes that take first sentences: 3,000 to 4,000 tokens, less than half of the window."""
_TAIL = 2_000
_CUT = 200
_SENTENCE = re.compile(r".*?(?:[.!?](?=\s|$)|[。！？]|$)", re.DOTALL)


def first_sentences(before: str, said: Sequence[Said]) -> str:
    """Keep the first sentence of each message, at most 200 characters.

    Where these are too many, the oldest leave, and what the user has said leaves last.
    """
    found = (f"{who}: {_first(text)[:_CUT]}" for who, text in said if text.strip())
    lines = [*filter(None, before.split("\n")), *found]
    while sum(len(line.encode()) + 1 for line in lines) > _MOST:
        lines.remove(next((line for line in lines if not line.startswith("user: ")), lines[0]))
    return "\n".join(lines)


def tail(before: str, said: Sequence[Said]) -> str:
    """Keep the last 2,000 characters of everything."""
    return "\n".join([before, *(f"{who}: {text}" for who, text in said)])[-_TAIL:]


def user_messages(before: str, said: Sequence[Said]) -> str:
    """Keep every message of the user, cut to 200 characters, however many there are."""
    found = (f"user: {' '.join(text.split())[:_CUT]}" for who, text in said if who == "user")
    return "\n".join([*filter(None, [before]), *found])


SUMMARISERS: Mapping[str, Callable[[str, Sequence[Said]], str]] = {
    "first sentences": first_sentences,
    "tail": tail,
    "user messages": user_messages,
}


def summed_up(name: str, said: Sequence[Said]) -> str:
    """Notes on these messages; one that carries the notes of before is taken for them."""
    before = "\n".join(text.partition(HEAD)[2].strip() for _, text in said if HEAD in text)
    fresh = [one for one in said if HEAD not in one[1]]
    return f"{HEAD}\n{SUMMARISERS[name](before, fresh)}"


def _first(text: str) -> str:
    found = _SENTENCE.match(" ".join(text.split()))
    return found.group() if found else ""
