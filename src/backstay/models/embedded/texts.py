"""Which words of a request are the value of a text slot. Every candidate is a row of words as the user wrote them.

A score adds up what speaks for a span: the words around it (as the tool's examples show them, or prepositions), that it
begins and ends where a phrase does, capitals, and how close its meaning is to the slot and its samples rather than to
what the tool is about. The weights were set on the developing prompts; see docs/decisions/0003-embedded-model.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from operator import attrgetter
from typing import Protocol, runtime_checkable

from backstay.core.encoder import Encoder
from backstay.core.messages import ToolSpec
from backstay.models.embedded.cues import END, START, Cues, cues_for, leads_to, neighbours
from backstay.models.embedded.names import looks_named
from backstay.models.embedded.reading import Reading
from backstay.models.embedded.slots import Slot
from backstay.models.embedded.vectors import cosines
from backstay.models.embedded.words import Place, Span, is_cjk

_KEPT = 8
"""Best candidates of a slot that are tried together with the other slots'."""
FLOOR = 0.9
"""Below this score no span is a value; it is better to ask."""


_ABOUT = 0.6
"""Cosine from which a Chinese word is what the tool is about, not a value for it."""


_LABELLED = 0.6
"""Cosine from which the word before a Chinese span is the slot's name."""
_BEFORE = re.compile('([\u4e00-\u9fff]{2,3})(?:[:：“「《"\\s]|是|叫|为){0,3}$')


@runtime_checkable
class Segmenter(Protocol):
    """An encoder that also knows where words end."""

    def borders(self, text: str) -> frozenset[int]:
        """Places of a text between its words."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A span and what speaks for it, in no unit."""

    span: Span
    score: float
    is_cued: bool
    """Whether the words around it say so, and not its meaning alone."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What scoring needs besides a span."""

    spec: ToolSpec
    reading: Reading
    taken: tuple[Place, ...]
    """Places that other slots have used."""
    encoder: Encoder
    refused: frozenset[str] = frozenset()
    """Values that the tool has refused already."""
    heeds_quotes: bool = True
    """Whether something in quotation marks is the value; several things in a row rarely are."""


def ranked(slot: Slot, ground: Ground) -> list[Scored]:
    """The candidates of one slot, best first."""
    spans = [span for span in _candidates(ground) if not any(span.overlaps(place) for place in ground.taken)]
    if not spans:
        return []
    near, topic = _meanings(spans, slot, ground)
    cues = cues_for(ground.spec, slot.name)
    hints = _hints(spans, slot, ground) if is_cjk(ground.reading.text) else [(0.0, False)] * len(spans)
    scored = [
        _score(span, slot, ground, cues, like - about, hint)
        for span, like, about, hint in zip(spans, near, topic, hints, strict=True)
    ]
    return sorted(scored, key=attrgetter("score"), reverse=True)


def assigned(slots: Sequence[Slot], ground: Ground) -> dict[str, Scored]:
    """Values for several text slots at once: the disjoint choice with the highest sum.

    An optional slot is left out unless the words around a span name it.
    """
    lists = [_options(slot, ground) for slot in slots]
    best: tuple[float, tuple[Scored | None, ...]] = (float("-inf"), ())
    for chosen in product(*lists):
        if not _are_apart([one.span for one in chosen if one]):
            continue
        total = sum(one.score if one else 0.0 for one in chosen)
        if total > best[0]:
            best = (total, chosen)
    return {slot.name: one for slot, one in zip(slots, best[1], strict=False) if one is not None}


def _options(slot: Slot, ground: Ground) -> list[Scored | None]:
    found: list[Scored | None] = [
        one for one in ranked(slot, ground)[:_KEPT] if one.score >= FLOOR and (slot.is_required or one.is_cued)
    ]
    return [*found, None]


def _candidates(ground: Ground) -> list[Span]:
    quotes = ground.reading.quotes if ground.heeds_quotes else []
    quoted = [span for place in quotes if (span := ground.reading.span(place))]
    return [span for span in quoted or ground.reading.spans if span.text not in ground.refused]


def _are_apart(spans: list[Span]) -> bool:
    ordered = sorted(spans, key=attrgetter("start"))
    return all(one.end <= other.start for one, other in pairwise(ordered))


def _meanings(spans: list[Span], slot: Slot, ground: Ground) -> tuple[list[float], list[float]]:
    """How close each span is to the slot, and to what the tool is about."""
    name = ground.spec.name.replace("_", " ")
    about = [name, *(word for word in re.findall("[a-z]{3,}", name)), slot.name.replace("_", " ")]
    like = [*slot.samples[:6], slot.description or slot.name]
    vectors = ground.encoder.encode([*(span.text for span in spans), *like, *about])
    own, liked, topics = (
        vectors[: len(spans)],
        vectors[len(spans) : len(spans) + len(like)],
        vectors[len(spans) + len(like) :],
    )
    near, topic = _closest(own, liked), _closest(own, topics)
    return near, [
        _with_inner(span, spans, topic) if is_cjk(span.text) else own for span, own in zip(spans, topic, strict=True)
    ]


def _with_inner(span: Span, spans: list[Span], topic: list[float]) -> float:
    """Of Chinese, which has no blanks: a span is about the tool if two of its characters or more are."""
    inner = (
        own
        for one, own in zip(spans, topic, strict=True)
        if span.start <= one.start and one.end <= span.end and one.end - one.start >= 2
    )
    most = max(inner, default=0.0)
    return most + 0.4 if most > _ABOUT else most


def _closest(own: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> list[float]:
    return [float(one) for one in cosines(own, others).max(axis=1)]


def _hints(spans: list[Span], slot: Slot, ground: Ground) -> list[tuple[float, bool]]:
    """What speaks for spans of a Chinese text besides: unbroken words, names, a label before; and if that names it."""
    text, encoder = ground.reading.text, ground.encoder
    borders = encoder.borders(text) if isinstance(encoder, Segmenter) else frozenset(range(len(text) + 1))
    labels = {span.start: label for span in spans if (label := _label(text, span.start))}
    near = (
        dict(
            zip(
                labels,
                _closest(encoder.encode(list(labels.values())), encoder.encode([slot.name.replace("_", " ")])),
                strict=True,
            )
        )
        if labels
        else {}
    )
    found = []
    for span in spans:
        broken = (span.start not in borders) + (span.end not in borders)
        named = looks_named(span.text, slot.words)
        labelled = near.get(span.start, 0.0) >= _LABELLED
        found.append(
            (
                0.7 * named + 1.0 * labelled - 0.5 * broken + 0.15 * (not broken and len(span.text) > 1),
                named > 0 or labelled,
            )
        )
    return found


def _label(text: str, start: int) -> str:
    """Up to three Chinese characters right before a place, a colon or a copula between: 收件人孙浩, 项目叫“星海”."""
    found = _BEFORE.search(text[:start])
    return found[1] if found and found[1][-1] not in "上下里中内的了去来" else ""


def _score(
    span: Span, slot: Slot, ground: Ground, cues: Cues, meaning: float, hint: tuple[float, bool] = (0.0, False)
) -> Scored:
    reading = ground.reading
    left, right = neighbours(reading.tokens, span.first, span.last)
    cue = 0.0
    if left in cues.left:
        cue += 0.5 if left == START else 1.2
    if left in (slot.name.casefold(), *slot.name.casefold().split("_")):
        cue += 1.2
    if leads_to(left, slot.name):
        cue += 0.7
    ends = right in cues.right and right not in (END, START)
    score = 0.5 + cue + (0.6 if ends else 0.0)
    score += 0.4 * _is_border(span.first - 1, ground) + 0.4 * _is_border(span.last + 1, ground)
    score += _inside(span, slot, reading) + _shape(span, slot) + 0.9 * meaning
    return Scored(span, score + hint[0], is_cued=cue >= 0.7 or hint[1])


def _is_border(token: int, ground: Ground) -> bool:
    """Whether a phrase may end there: the text's end, a mark, a word that only joins, or a place already used."""
    tokens = ground.reading.tokens
    if not 0 <= token < len(tokens):
        return True
    one = tokens[token]
    used = any(start < one.end and one.start < end for start, end in ground.taken)
    return one.is_mark or token in ground.reading.borders or one.is_number or used


def _inside(span: Span, slot: Slot, reading: Reading) -> float:
    """What the words of the span say: joining words at its ends or inside speak against it, length a little for it."""
    glue = reading.glue
    edges = float((span.first in glue) + (span.last in glue and span.last != span.first))
    inner = sum(1.0 for n in range(span.first + 1, span.last) if n in glue and not _joins_names(n, reading))
    if all(n in glue for n in range(span.first, span.last + 1)):
        return -2.0
    marks = sum(1 for n in range(span.first, span.last + 1) if reading.tokens[n].is_mark)
    is_wordy = slot.kind == "payload" or any(one.count(" ") >= 2 for one in slot.samples)
    starts_like_a_sample = any(one.casefold().split(" ")[0] == reading.tokens[span.first].cue for one in slot.samples)
    if starts_like_a_sample and span.first in glue:
        edges -= 1
    often = reading.borders - glue
    edges += 0.3 * sum(1 for n in {span.first, span.last} if n in often)
    inner += 0.5 * sum(1 for n in range(span.first + 1, span.last) if n in often)
    price = 0.1 if is_wordy else 0.35
    length = min(span.last - span.first, 6) * (0.12 if is_wordy else 0.05)
    return length - (0.15 if is_wordy else 0.7) * edges - price * inner - 0.5 * marks


def _joins_names(n: int, reading: Reading) -> bool:
    """The "of" in "Great Wall of China"."""
    near = [one for one in (n - 1, n + 1) if not (one in reading.glue and not reading.tokens[one].text[:1].isupper())]
    return all(reading.tokens[one].text[:1].isupper() for one in near) and bool(near)


def _shape(span: Span, slot: Slot) -> float:
    if slot.shape and re.fullmatch(slot.shape, span.text):
        return 0.8
    if span.text.isdecimal():
        return -0.8
    if is_cjk(span.text):
        return -0.8 if len(span.text) == 1 else 0.0
    words = span.text.split()
    titled = all(word[:1].isupper() or len(word) <= 3 for word in words) and span.text[:1].isupper()
    sample_titled = not slot.samples or sum(one[:1].isupper() for one in slot.samples) * 2 >= len(slot.samples)
    if titled and span.first == 0:
        return 0.0
    return 0.5 if titled and sample_titled else -0.3 if not titled and sample_titled and slot.samples else 0.0
