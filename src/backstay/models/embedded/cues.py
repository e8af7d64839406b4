"""What a tool's examples teach: between which words a value stands. From "Flights from Madrid to Rome" a slot learns
that its value follows "from" and is followed by "to". Chinese likewise, by characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from backstay.core.messages import Json, ToolSpec
from backstay.models.embedded.words import Token, is_cjk, tokens_of

START, END = "^", "$"
_AROUND: Mapping[str, frozenset[str]] = {
    "from": frozenset(["from", "source", "origin", "start", "sender", "departure"]),
    "to": frozenset(["to", "target", "destination", "recipient", "receiver", "language", "end"]),
    "into": frozenset(["to", "target", "language"]),
    "in": frozenset(["in", "place", "city", "location", "room", "country", "language", "area"]),
    "at": frozenset(["at", "place", "location", "restaurant", "venue"]),
    "by": frozenset(["by", "artist", "author"]),
    "of": frozenset(["customer", "name", "person", "topic", "owner", "symbol", "company"]),
    "for": frozenset(["query", "topic", "customer", "person"]),
    "about": frozenset(["topic", "subject"]),
    "with": frozenset(["ingredients", "attendees", "people"]),
    "从": frozenset(["from", "source", "origin", "start"]),
    "由": frozenset(["from", "source", "origin", "assignee", "owner", "old"]),
    "到": frozenset(["to", "target", "destination", "city", "place"]),
    "往": frozenset(["to", "target", "destination", "city", "place"]),
    "去": frozenset(["to", "target", "destination", "city", "place"]),
    "成": frozenset(["to", "target", "language"]),
    "为": frozenset(["to", "target", "new", "person", "client", "customer"]),
    "叫": frozenset(["new", "assignee", "person"]),
    "给": frozenset(["recipient", "person", "client", "customer", "assignee", "to"]),
    "向": frozenset(["recipient", "person", "client", "customer", "to"]),
    "让": frozenset(["assignee", "person", "recipient"]),
    "把": frozenset(["item", "goods", "task", "old"]),
    "将": frozenset(["item", "goods", "task", "old"]),
    "在": frozenset(["place", "city", "location", "room", "restaurant", "district", "area", "project"]),
}
"""Prepositions and the names of slots that they lead to, for tools that come without examples."""


@dataclass(frozen=True, slots=True)
class Cues:
    """Neighbours of a slot's values, as `Token.cue` writes them; `^` and `$` are the ends of a text."""

    left: frozenset[str]
    right: frozenset[str]
    starts: frozenset[str]
    """First words of examples in which the value is set, for what no neighbour tells."""


def cues_for(spec: ToolSpec, slot: str) -> Cues:
    """The cues that the examples of a tool teach for a slot."""
    return _cues_of(tuple((text, _written(args.get(slot))) for text, args in spec.examples))


@lru_cache(maxsize=512)
def _cues_of(shown: tuple[tuple[str, tuple[str, ...]], ...]) -> Cues:
    left: set[str] = set()
    right: set[str] = set()
    starts: set[str] = set()
    for text, values in shown:
        for value in values:
            _learn(text, value, left, right, starts)
    return Cues(frozenset(left), frozenset(right), frozenset(starts))


def _written(value: Json) -> tuple[str, ...]:
    """A value as it may stand in a text; nothing for what has no words of its own."""
    if isinstance(value, tuple | list):
        return tuple(one for item in value for one in _written(item))
    return () if value is None or isinstance(value, bool | Mapping) else (str(value),)


def leads_to(token: str, slot: str) -> bool:
    """Whether a preposition usually stands before such a slot."""
    return not _AROUND.get(token, frozenset()).isdisjoint(slot.casefold().split("_"))


def neighbours(tokens: list[Token], first: int, last: int) -> tuple[str, str]:
    """The cues to the left and right of a row of tokens."""
    left = tokens[first - 1].cue if first else START
    right = tokens[last + 1].cue if last + 1 < len(tokens) else END
    return left, right


def _learn(text: str, said: str, left: set[str], right: set[str], starts: set[str]) -> None:
    at = text.casefold().find(said.casefold()) if said else -1
    if at < 0:
        return
    tokens = tokens_of(text)
    inside = [n for n, token in enumerate(tokens) if token.start < at + len(said) and at < token.end]
    if not inside:
        return
    before, after = neighbours(tokens, inside[0], inside[-1])
    left.add(before)
    right.add(after)
    if not is_cjk(text):
        starts.add(tokens[0].cue)
