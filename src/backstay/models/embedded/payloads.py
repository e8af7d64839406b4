"""Texts that are carried as they were said: a note, a message. What follows a colon, "that" or 说, to the end.

Source: issue 3 (copied spans).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from backstay.models.embedded.slots import Slot
from backstay.models.embedded.texts import Ground
from backstay.models.embedded.words import Place

_MARK = re.compile(
    r"[:：]\s*|\bthat\s+(?=\w)|(?<=[消信短])息?说\s*|(?<=告诉)[^我你他她，,]{1,4}(?=[我你他她])", re.IGNORECASE
)
_LABEL = re.compile(r"[,，;；]\s*[^\s,，:：。]{1,8}[:：](?=\s*[^\s\d])")
"""The next of several labelled values: 任务：…，负责人：…"""
_TAIL = re.compile(r"[\s.。]*$|,? *(?:please|thanks|thank you)[\s.!]*$|，?谢谢[。！]*$", re.IGNORECASE)


def has_mark(text: str) -> bool:
    """Whether a text has a part that is to be carried as it stands."""
    return mark_of(text) is not None


def mark_of(text: str) -> re.Match[str] | None:
    """The mark after which a text is carried as it stands."""
    return next((found for found in _MARK.finditer(text) if found.start() > 0 and not _in_number(text, found)), None)


def payload_of(slot: Slot, ground: Ground) -> Place | None:
    """Where the text stands; None if the request has no such mark, and a span has to be found instead."""
    text = ground.reading.text
    if len(ground.reading.quotes) == 1:
        return ground.reading.quotes[0]
    mark = mark_of(text)
    if mark is None:
        return None
    start, end = mark.end(), _cut(mark.end(), ground)
    tail = _TAIL.search(text, start, end)
    end = tail.start() if tail else end
    return (start, end) if start < end else None


def _in_number(text: str, mark: re.Match[str]) -> bool:
    """A colon in 10:30, or in a URL."""
    return text[mark.start() - 1].isdigit() and text[mark.end() : mark.end() + 1].isdigit() and mark.group() == ":"


def _cut(start: int, ground: Ground) -> int:
    """The end of the text, or the place where another slot's value begins that the cue before it belongs to."""
    label = _LABEL.search(ground.reading.text, start)
    if label:
        return label.start()
    after = [place[0] for place in ground.taken if place[0] >= start]
    if not after:
        return len(ground.reading.text)
    first = min(after)
    before = [token for token in ground.reading.tokens if start <= token.start and token.end <= first]
    while before and (before[-1].is_mark or before[-1].cue in _words(ground)):
        before.pop()
    return before[-1].end if before else first


def _words(ground: Ground) -> frozenset[str]:
    """Names of the tool's slots, which introduce their values."""
    properties = ground.spec.schema.get("properties")
    names = {name.casefold() for name in properties} if isinstance(properties, Mapping) else set()
    return frozenset(names | {name.rstrip("s") for name in names} | {"标签", "标", "签", "with", "and"})
