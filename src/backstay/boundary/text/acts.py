"""Acts: the tools that a sentence names by what it says is done.

A sentence names a tool by its action and, where it says to what, by the thing: `don't cancel my subscription` is not
about `cancel_order`. Words meet a tool's name, the verb its description begins with, and for things the description's
first sentence. Source: SPEC B8; DESIGN 8.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from backstay.boundary.text.drafts import Act, ToolWords
from backstay.boundary.text.lexicon import (
    AMBIGUOUS,
    ANYTHING,
    CONTACT,
    ENGLISH_AMBIGUOUS,
    EVERYDAY,
    FAMILIES,
    FAMILY_OF,
    LEAD_ONLY,
    PAYING,
    READING,
    THING_OF,
    WEAK,
    families,
    stem,
)
from backstay.core.patterns import Pattern

_PART = Pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


@dataclass(frozen=True, slots=True)
class _Known:
    """A tool in words."""

    parts: Sequence[str]
    lead: frozenset[str]
    """Stems of the first part of its name and of the first word of its description."""
    words: frozenset[str]
    """Stems of its name and of the first sentence of its description."""
    han: str
    reads: bool


_FIRST = Pattern(r"[.。!！;；\n]|(?<=[a-z]) (?:use it|用于)")


@lru_cache(maxsize=1024)
def _known(name: str, description: str, risk: str) -> _Known:
    first = _FIRST.split(description.strip())[0]
    parts = [stem(part) for part in _PART.findall(name)]
    said = [stem(word) for word in re.findall(r"[A-Za-z-]+", first)]
    lead = {*parts[:1], *said[:1], "".join(parts[:2]), "".join(said[:2])}  # `top_up_card`: `top`, `topup`
    return _Known(
        parts=parts,
        lead=frozenset(lead),
        words=frozenset({*parts, *said}),
        han=f"{name} {first}" if not (name + first).isascii() else "",
        reads=risk == "read" or (not risk and any("look" in FAMILY_OF.get(one, ()) for one in lead)),
    )


class Vocabulary(NamedTuple):
    """What an agent's tools are called, as stems."""

    verbs: frozenset[str] = frozenset()
    """What they do: the first part of a name, the first word of a description."""
    things: frozenset[str] = frozenset()
    """Every part of a name."""


def vocabulary(tools: Iterable[ToolWords]) -> Vocabulary:
    """The words that tools bring with them: an agent that can `compensate` is told how much in that word."""
    known = [_known(tool.name, tool.description, tool.risk) for tool in tools]
    verbs = frozenset(word for one in known for word in one.lead if word not in EVERYDAY)
    return Vocabulary(verbs, verbs | {word for one in known for word in one.parts})


def tools_of(act: Act, tools: Iterable[ToolWords]) -> tuple[ToolWords, ...]:
    """The tools that an action names. Every thing that it is said to be done to must be theirs."""
    known = [(tool, _known(tool.name, tool.description, tool.risk)) for tool in tools]
    things = [thing for thing in act.things if thing not in ANYTHING and stem(thing) != stem(act.verb)]
    named = [(tool, one) for tool, one in known if _does(act, things, one) and all(_has(t, one, act) for t in things)]
    exact = [tool for tool, one in named if stem(act.verb) in one.lead]
    looks = families(act.verb) == frozenset({"look"})
    if looks and not things and not act.is_placed:
        return tuple(exact)
    return tuple(exact) if looks and exact else tuple(tool for tool, _ in named)


def _does(act: Act, things: Sequence[str], tool: _Known) -> bool:
    verb = stem(act.verb)
    if verb in tool.lead and verb != "order":
        return True
    wanted = families(act.verb)
    if "any" in wanted:
        return True
    if "alter" in wanted and not things:
        return not tool.reads  # whatever it does, something is changed by it
    if "look" in wanted:
        return tool.reads
    if "contact" in wanted:
        wanted = wanted | CONTACT
    if "pay" in wanted:
        wanted = wanted | PAYING
    if verb in WEAK:
        wanted = wanted | {family for thing in things for family in families(thing)}
    return any(_acts(family, tool, act.verb) for family in wanted if family in READING or not tool.reads)


def _acts(family: str, tool: _Known, verb: str) -> bool:
    where = set(tool.lead) if family in LEAD_ONLY else {*tool.lead, *tool.parts}
    where -= AMBIGUOUS | ENGLISH_AMBIGUOUS if verb.isascii() else AMBIGUOUS
    return any(family in FAMILY_OF.get(word, ()) for word in where) or (
        bool(tool.han)
        and any(word in tool.han for word in FAMILIES[family].split() if not word.isascii() and len(word) > 1)
    )


def _has(thing: str, tool: _Known, act: Act) -> bool:
    """Whether a tool deals with a thing; things that are the action itself, as in `make a transfer`, are its own."""
    one = stem(thing)
    if one in tool.words or (tool.han and thing in tool.han):
        return True
    if any(stem(english) in tool.words for english in THING_OF.get(one, ())):
        return True
    own = families(thing)
    return bool(own) and any(own & FAMILY_OF.get(word, frozenset()) for word in (*tool.lead, *tool.parts))


def speaks_of(thing: str, tool: ToolWords) -> bool:
    """Whether a thing stands in the name of a tool, in either language: `奖金` in `pay_bonus`."""
    parts = _known(tool.name, "", tool.risk).parts
    own = {stem(thing), *(stem(english) for english in THING_OF.get(stem(thing), ()))}
    return bool(own & {*parts}) or (not thing.isascii() and thing in tool.name)


def names_tool(word: str, tool: ToolWords) -> bool:
    """Whether a word for an action names the tool."""
    return bool(tools_of(Act(verb=word), (tool,)))
