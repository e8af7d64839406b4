"""A request, read once: its words, numbers, days, times of day and quotations with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

from backstay.models.embedded.dates import Moment, days_of, times_of
from backstay.models.embedded.numbers import Number, numbers_of
from backstay.models.embedded.words import Place, Span, Token, functional, often_functional, spans_of, tokens_of

_QUOTED = re.compile(
    r"\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|『([^』]+)』|《([^》]+)》|«([^»]+)»|(?<!\w)['‘]([^'’]+)['’](?!\w)"
)
_TERM = re.compile("(?:之前|以前|前|之后|以后|起|截止|到期)(?:付款|完成|交)?")
_MOST_SPANS = 240
"""Spans looked at in one request; the cost of encoding them is linear."""


@dataclass(frozen=True)
class Reading:
    """One text as the rest of the package looks at it."""

    text: str
    today: date

    @cached_property
    def tokens(self) -> list[Token]:
        """Its words."""
        return tokens_of(self.text)

    @cached_property
    def glue(self) -> frozenset[int]:
        """Numbers of the tokens that carry no meaning of their own."""
        return functional(self.text, self.tokens)

    @cached_property
    def borders(self) -> frozenset[int]:
        """Numbers of the tokens beside which a phrase may begin or end: the glue, and what often is."""
        return self.glue | often_functional(self.text, self.tokens)

    @cached_property
    def numbers(self) -> list[Number]:
        """Its numbers, without those inside days, times and identifiers like C-104."""
        moments = [one.place for one in (*self.days, *self.times)]
        return [one for one in numbers_of(self.text) if not any(_meet(one.place, place) for place in moments)]

    @cached_property
    def days(self) -> list[Moment]:
        """Its days, with the words that only say that they are a term: 周五之前."""
        return [replace(one, place=_with_term(self.text, one.place)) for one in days_of(self.text, self.today)]

    @cached_property
    def times(self) -> list[Moment]:
        """Its times of day."""
        return times_of(self.text)

    @cached_property
    def quotes(self) -> list[Place]:
        """What stands in quotation marks, the marks excluded."""
        return [
            next(found.span(n) for n in range(1, found.re.groups + 1) if found[n])
            for found in _QUOTED.finditer(self.text)
        ]

    @cached_property
    def spans(self) -> list[Span]:
        """Every row of words that may be a value."""
        return list(spans_of(self.text, self.tokens))[:_MOST_SPANS]

    def span(self, place: Place) -> Span | None:
        """The tokens within a place, as a span; None if there is none."""
        inside = [n for n, token in enumerate(self.tokens) if place[0] <= token.start and token.end <= place[1]]
        while inside and self.tokens[inside[-1]].cue == "$" and self.tokens[inside[-1]].text in ".。":
            inside.pop()
        if not inside:
            return None
        start, end = self.tokens[inside[0]].start, self.tokens[inside[-1]].end
        return Span(self.text[start:end], start, end, inside[0], inside[-1])


def _with_term(text: str, place: Place) -> Place:
    term = _TERM.match(text, place[1])
    return (place[0], term.end()) if term else place


def _meet(one: Place, other: Place) -> bool:
    return one[0] < other[1] and other[0] < one[1]
