"""Several things in one argument: a region of the request, split at commas and "and"."""

from __future__ import annotations

import re
from dataclasses import replace

from backstay.models.embedded.cues import cues_for, neighbours
from backstay.models.embedded.slots import Slot
from backstay.models.embedded.texts import Ground, ranked
from backstay.models.embedded.words import Place, is_cjk

_SPLIT = re.compile(r"\s*(?:,\s*and\s+|,|，|、|;|；|\s+and\s+|\s+&\s+|以及|和|与|跟|及)\s*", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|a|an|some|my|more)\s+(?=\w)", re.IGNORECASE)
_LABEL = re.compile(r"[:：\s]*")


def items_of(slot: Slot, ground: Ground) -> tuple[list[str], Place] | None:
    """The things, and the place they stand in; None if none is found."""
    if ground.reading.quotes:
        outside = (*ground.taken, *(ground.reading.quotes if len(ground.reading.quotes) == 1 else ()))
        ground = replace(ground, heeds_quotes=False, taken=outside)
    place = _named(slot, ground) or _seeded(slot, ground)
    if place is None:
        return None
    place = _trimmed(place, slot, ground)
    items = [_ARTICLE.sub("", one).strip(" .。?？!！") for one in _SPLIT.split(ground.reading.text[slice(*place)])]
    items = [one for one in items if one]
    return (items, place) if items else None


def _trimmed(place: Place, slot: Slot, ground: Ground) -> Place:
    """Without what stands in front of the first thing or behind the last in Chinese: 张伟和刘洋[参加年会]."""
    text = ground.reading.text
    parts = [one for one in _SPLIT.finditer(text, *place) if one.start() > place[0]]
    if not is_cjk(text[slice(*place)]) or not parts:
        return place
    spans = {(one.span.start, one.span.end): one.score for one in ranked(_as_text(slot), ground)}
    first = {at: score for at, score in spans.items() if place[0] <= at[0] and at[1] == parts[0].start()}
    last = {at: score for at, score in spans.items() if at[0] == parts[-1].end() and at[1] <= place[1]}
    start = max(first, key=lambda at: first[at], default=place)[0]
    end = max(last, key=lambda at: last[at], default=place)[1]
    return start, end


def _named(slot: Slot, ground: Ground) -> Place | None:
    """What follows the slot's own name: "labels security and door"."""
    name = slot.name.casefold()
    singular = name[:-1] if name.endswith("s") else name
    found = re.search(
        rf"\b(?:{re.escape(name)}|{re.escape(singular)})\b[:\s]+(?=\w)", ground.reading.text, re.IGNORECASE
    )
    if found is None:
        return None
    return _up_to_the_end(found.end(), ground)


def _up_to_the_end(start: int, ground: Ground) -> Place | None:
    end = len(ground.reading.text.rstrip(" .。?？!！"))
    return (start, end) if start < end else None


def _seeded(slot: Slot, ground: Ground) -> Place | None:
    """From the best single candidate to both sides, over words joined by commas and "and"."""
    if not slot.is_required or slot.items is None:
        return None
    tokens, glue = ground.reading.tokens, ground.reading.glue
    joined = {n for n, token in enumerate(tokens) if token.cue in _JOINS}
    cues = cues_for(ground.spec, slot.name)
    led = {n for n, token in enumerate(tokens) if token.cue in cues.left | cues.right | cues.starts}
    articles = {n for n, token in enumerate(tokens) if token.cue in _ARTICLES}
    groups = _groups(len(tokens), (glue | led) - joined - articles, joined | articles, ground)
    if not groups:
        return None
    best = {one.span.first: one.score for one in reversed(ranked(_as_text(slot), ground))}

    def worth(group: tuple[int, int]) -> float:
        left, right = neighbours(tokens, *group)
        inside = [score for first, score in best.items() if group[0] <= first <= group[1]]
        joins = sum(1 for n in range(*group) if n in joined)  # the more things, the surer
        return max(inside, default=0.0) + 0.8 * joins + 0.8 * (left in cues.left) + 0.3 * (right in cues.right)

    first, last = max(groups, key=worth)
    return tokens[first].start, tokens[last].end


_ARTICLES = frozenset(["the", "a", "an", "some", "my"])
_JOINS = frozenset([",", "，", "、", "and", "和", "与", "跟", "及", "&"])


def _groups(count: int, stops: frozenset[int] | set[int], joined: set[int], ground: Ground) -> list[tuple[int, int]]:
    """Rows of words between joining words, marks and used places; commas and "and" inside hold a row together."""
    tokens, groups, start = ground.reading.tokens, [], None
    for n in range(count + 1):
        closes = n == count or n in stops or (tokens[n].is_mark and n not in joined) or _used(n, ground)
        if not closes:
            start = n if start is None else start
        elif start is not None:
            groups.append((start, n - 1))
            start = None
    trimmed = []
    for first, last in groups:
        while first <= last and first in joined:
            first += 1
        while last >= first and last in joined:
            last -= 1
        if first <= last:
            trimmed.append((first, last))
    return trimmed


def _used(n: int, ground: Ground) -> bool:
    token = ground.reading.tokens[n]
    return any(start < token.end and token.start < end for start, end in ground.taken)


def _as_text(slot: Slot) -> Slot:
    return replace(slot, kind="text")
