"""What was found in long-term memory for an input: which entries a request shows, and how. Pure.

Source: SPEC M3, M4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from backstay.memory.estimator import estimate
from backstay.memory.longterm.entry import Found, digest_of
from backstay.memory.longterm.remembering import Remembering
from backstay.store.records import Retrieved, Snippet

_HEAD = "Remembered from earlier conversations and documents:"
_LEAST = 40
"""Tokens below which the beginning of an entry is not worth showing."""
_SOURCE = 80
"""Characters of a source."""


def picked(
    found: Iterable[Found], settings: Remembering, *, most_tokens: int, known: Iterable[str] = ()
) -> tuple[Snippet, ...]:
    """The entries that a request shows, best first, as many as fit; the best is cut if it is too long by itself.

    Args:
        found: what a search gave, best first.
        settings: how close an entry has to be, and how many there may be.
        most_tokens: that all of it may have.
        known: texts that stand in the request already.
    """
    left, said = most_tokens - estimate(_HEAD), {digest_of(one) for one in known}
    kept: list[Snippet] = []
    for one in found:
        if len(kept) == settings.retrieve_entries:
            break
        if one.closeness < settings.least_close or digest_of(one.entry.text) in said:
            continue
        snippet = _within(_snippet(one), left) if not kept else _snippet(one)
        tokens = 0 if snippet is None else estimate(_line(snippet)) + 1
        if snippet is not None and tokens <= left:
            kept.append(snippet)
            left -= tokens
    return tuple(kept)


def retrieved_text(retrieved: Retrieved | None) -> str:
    """What a request says of it, an entry a line; empty where there is nothing."""
    if retrieved is None or not retrieved.snippets:
        return ""
    return "\n".join([_HEAD, *map(_line, retrieved.snippets)])


def _snippet(found: Found) -> Snippet:
    entry = found.entry
    return Snippet(
        id=entry.id,
        text=" ".join(entry.text.split()),
        sources=entry.sources,
        created_at=entry.created_at,
        label=entry.label,
        is_believed=entry.is_believed,
    )


def _within(snippet: Snippet, most: int) -> Snippet | None:
    """The snippet with as much of its text as fits. What is cut proves nothing: half a number is another number."""
    tokens = estimate(_line(snippet)) + 1
    if tokens <= most:
        return snippet
    if most < _LEAST:
        return None
    text = snippet.text
    while tokens > most and text:
        text = text[: int(len(text) * most / tokens * 0.95)]
        snippet = replace(snippet, text=f"{text}…", is_believed=False)
        tokens = estimate(_line(snippet)) + 1
    return snippet if text else None


def _line(snippet: Snippet) -> str:
    day = datetime.fromtimestamp(snippet.created_at, UTC).strftime("%Y-%m-%d")
    doubt = "" if snippet.label.trusted else ", from text that nobody vouches for"
    return f"- [{snippet.id}, {day}{_from(snippet.sources)}{doubt}] {snippet.text}"


def _from(sources: Sequence[str]) -> str:
    if not sources:
        return ""
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return f", from {' '.join(sources[0].split())[:_SOURCE]}{more}"
