"""Arguments of one tool out of one request: every kind of slot in the order in which it leaves least to the next.

What is certain goes first and takes its place in the text: quotations, identifiers, days, times, numbers with units,
closed sets; the words that are left are for the text slots. No string comes from anywhere but the user's words, except
values of a closed set and computed ones (days, times, expressions). Source: notes embedded-model 4; issue 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter

from backstay.core.encoder import Encoder
from backstay.core.messages import Json, ToolSpec
from backstay.models.embedded.arithmetic import expression_of
from backstay.models.embedded.choices import Mention, mentions_of
from backstay.models.embedded.cues import cues_for, leads_to, neighbours
from backstay.models.embedded.lists import items_of
from backstay.models.embedded.numbers import Number, plain
from backstay.models.embedded.payloads import payload_of
from backstay.models.embedded.reading import Reading
from backstay.models.embedded.slots import Slot, slots_of
from backstay.models.embedded.texts import Ground, assigned
from backstay.models.embedded.vectors import cosines
from backstay.models.embedded.words import Place

_LEAD = 0.05
"""By how much a value must be nearer to the request than the next one, as a cosine; else the user is asked."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What a request gives a tool."""

    args: dict[str, Json]
    missing: tuple[Slot, ...]
    """Required slots that nothing in the request fills."""


@dataclass(slots=True)
class _Work:
    """One filling: what is found so far, and which places of the text are used up."""

    spec: ToolSpec
    reading: Reading
    encoder: Encoder
    slots: tuple[Slot, ...]
    refused: frozenset[str]
    args: dict[str, Json] = field(default_factory=dict)
    taken: list[Place] = field(default_factory=list)

    @property
    def ground(self) -> Ground:
        """What the scoring of spans looks at."""
        return Ground(self.spec, self.reading, tuple(self.taken), self.encoder, self.refused)

    def open(self, *kinds: str) -> list[Slot]:
        """Slots of these kinds that have no value yet, required ones first."""
        found = [slot for slot in self.slots if slot.kind in kinds and slot.name not in self.args]
        return sorted(found, key=lambda slot: not slot.is_required)

    def put(self, slot: Slot, value: Json, place: Place | None) -> None:
        """Set a value and use up its place."""
        self.args[slot.name] = value
        if place is not None:
            self.taken.append(place)

    def is_free(self, place: Place) -> bool:
        """Whether no other slot has used it."""
        return not any(place[0] < end and start < place[1] for start, end in self.taken)


def fill(
    spec: ToolSpec,
    reading: Reading,
    encoder: Encoder,
    *,
    refused: frozenset[str] = frozenset(),
) -> Filled:
    """Fill in what the request says; nothing is invented, and what is optional and unsaid stays out.

    Args:
        spec: the tool.
        reading: the request.
        encoder: compares meanings.
        refused: values that the tool has refused, not to be tried again.
    """
    work = _Work(spec, reading, encoder, slots_of(spec), refused)
    for step in _STEPS:
        step(work)
    args = {slot.name: work.args[slot.name] for slot in work.slots if slot.name in work.args}
    missing = tuple(slot for slot in work.slots if slot.is_required and slot.name not in args)
    return Filled(args, missing)


def _fill_composed(work: _Work) -> None:
    for slot in work.open("text", "payload"):
        if slot.is_composed and work.reading.text.strip():
            work.put(slot, work.reading.text, None)


def _fill_expressions(work: _Work) -> None:
    for slot in work.open("expression"):
        if (found := expression_of(work.reading.text)) is not None:
            work.put(slot, *found)


def _fill_patterns(work: _Work) -> None:
    for slot in work.open("pattern"):
        found = [span for span in work.reading.spans if span.text not in work.refused]
        found = [span for span in found if work.is_free((span.start, span.end)) and slot.fits(span.text)]
        found = [span for span in found if span.text.isascii()] or found
        money = [one.place for one in work.reading.numbers if one.is_money or one.seconds]
        found = [span for span in found if not any(span.overlaps(place) for place in money)]
        if found:
            best = max(
                found,
                key=lambda span: (_is_led(work, slot, span.first, span.last), span.last - span.first, -span.start),
            )
            work.put(slot, best.text, (best.start, best.end))


def _is_led(work: _Work, slot: Slot, first: int, last: int) -> float:
    left, right = neighbours(work.reading.tokens, first, last)
    cues = cues_for(work.spec, slot.name)
    named = left in slot.name.casefold().split("_")
    return 2.0 * named + 1.0 * (left in cues.left) + 0.5 * (right in cues.right) + 1.0 * leads_to(left, slot.name)


def _fill_moments(work: _Work) -> None:
    for kind, found in (("date", work.reading.days), ("time", work.reading.times)):
        free = [one for one in found if work.is_free(one.place)]
        for slot, one in zip(work.open(kind), free, strict=False):
            work.put(slot, one.value, one.place)
    for slot in work.open("moment"):
        days, times = work.reading.days, work.reading.times
        if days and times:
            work.put(slot, f"{days[0].value}T{times[0].value}:00", days[0].place)
            work.taken.append(times[0].place)


def _fill_numbers(work: _Work) -> None:
    for slot in sorted(work.open("integer", "number"), key=lambda slot: not slot.unit):
        free = [one for one in work.reading.numbers if work.is_free(one.place)]
        free = [one for one in free if not one.is_article or slot.kind == "integer"]
        fitting = [(value, one) for one in free if (value := slot.amount(one)) is not None]
        if not fitting:
            continue
        value, number = max(fitting, key=lambda pair: _fits(work, slot, pair[1]))
        if slot.kind == "integer" and value != int(value):
            continue
        work.put(slot, plain(value), number.whole)


_MONEY = re.compile(r"amount|price|cost|sum|fee|budget|money|pay|spent|EUR|USD|how much", re.IGNORECASE)
_PERCENT = re.compile(r"percent|%|brightness|level|rate|volume", re.IGNORECASE)


def _fits(work: _Work, slot: Slot, number: Number) -> float:
    span = work.reading.span(number.place)
    led = _is_led(work, slot, span.first, span.last) if span else 0.0
    money = number.is_money and _MONEY.search(slot.words) is not None
    percent = number.is_percent and _PERCENT.search(slot.words) is not None
    return led + 2.0 * money + 2.0 * percent - number.place[0] / 1000


def _fill_choices(work: _Work) -> None:
    slots = work.open("choice")
    for choices in dict.fromkeys(slot.choices for slot in slots):
        alike = [slot for slot in slots if slot.choices == choices]
        found = [one for one in mentions_of(work.reading.text, choices) if work.is_free(one.place) or len(alike) == 1]
        _share_out(work, alike, found)
    for slot in work.open("choice"):
        if len(slot.choices) == 1:
            work.put(slot, slot.choices[0], None)


def _share_out(work: _Work, slots: list[Slot], found: list[Mention]) -> None:
    """Give mentions to slots of one set: by the words around them, else in the order in which they stand."""
    left = list(found)
    while left and slots:
        pairs = [
            (_mention_fit(work, slot, one), -n, -m, slot, one)
            for n, slot in enumerate(slots)
            for m, one in enumerate(left)
        ]
        _, _, _, slot, one = max(pairs, key=lambda pair: pair[:3])
        work.put(slot, one.value, one.place)
        slots = [other for other in slots if other is not slot]
        left = [other for other in left if other.value != one.value]


def _mention_fit(work: _Work, slot: Slot, mention: Mention) -> float:
    span = work.reading.span(mention.place)
    if span is None:
        return 0.0
    left, right = neighbours(work.reading.tokens, span.first, span.last)
    cues = cues_for(work.spec, slot.name)
    led = 1.5 * (left in cues.left) + 0.5 * (right in cues.right and right != "$") + 1.0 * leads_to(left, slot.name)
    return (
        led
        if left == "#" or left in cues.left or not any(left in cues_for(work.spec, o.name).left for o in work.slots)
        else -led
    )


def _fill_booleans(work: _Work) -> None:
    for slot in work.open("boolean"):
        name = slot.name.casefold().replace("_", " ")
        found = re.search(
            rf"\b(no|not|without|don't)?\s*(?:be\s)?{re.escape(name)}\b", work.reading.text, re.IGNORECASE
        )
        if found:
            work.put(slot, found[1] is None, found.span())


def _fill_lists(work: _Work) -> None:
    for slot in work.open("list"):
        if slot.items is None or slot.items.kind not in ("text", "payload"):
            continue
        found = items_of(slot, work.ground)
        if found is not None:
            work.put(slot, tuple(found[0]), found[1])


def _fill_payloads(work: _Work) -> None:
    for slot in work.open("payload"):
        place = payload_of(slot, work.ground)
        if place is not None:
            work.put(slot, work.reading.text[slice(*place)], place)


def _fill_texts(work: _Work) -> None:
    slots = work.open("text", "payload")
    ground = work.ground
    for name, one in assigned(slots, ground).items():
        slot = next(slot for slot in slots if slot.name == name)
        work.put(slot, one.span.text, (one.span.start, one.span.end))


def _imply_choices(work: _Work) -> None:
    """A required value of a closed set that the request does not name: the nearest in meaning, if it clearly leads."""
    for slot in work.open("choice"):
        if not slot.is_required or not work.reading.text:
            continue
        ordered = _by_meaning(slot, work.reading.text, work.encoder)
        if len(ordered) == 1 or ordered[0][0] - ordered[1][0] >= _LEAD:
            work.put(slot, ordered[0][1], None)


def nearest(slot: Slot, text: str, encoder: Encoder) -> Json:
    """The value of a closed set that is nearest to a text, however far."""
    return _by_meaning(slot, text, encoder)[0][1]


def _by_meaning(slot: Slot, text: str, encoder: Encoder) -> list[tuple[float, Json]]:
    near = cosines(encoder.encode([str(one) for one in slot.choices]), encoder.encode([text]))
    return sorted(zip(near[:, 0].tolist(), slot.choices, strict=True), key=itemgetter(0), reverse=True)


_STEPS: tuple[Callable[[_Work], None], ...] = (
    _fill_composed,
    _fill_expressions,
    _fill_patterns,
    _fill_lists,
    _fill_payloads,
    _fill_moments,
    _fill_choices,
    _fill_numbers,
    _fill_booleans,
    _fill_texts,
    _imply_choices,
)
