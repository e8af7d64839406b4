"""Orders: rules about what may be done, where, with whom and in which order, as both languages state them.

An order is what one pattern of a language found; `place_order` says what a rule about places checks and what it binds
to. The patterns stand in `english_orders` and `chinese_orders`. Source: SPEC B6, B8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay.boundary.text.drafts import Act
from backstay.boundary.text.lexicon import families, is_wide
from backstay.boundary.text.words import set_of
from backstay.core.canon import FrozenDict
from backstay.core.messages import Args

FORBID: Args = FrozenDict({"op": "forbid"})
OWN_WORDS: Args = FrozenDict({"op": "own_words"})
BEFORE: Args = FrozenDict({"op": "before", "tools": ()})
"""Without the tools that have to come first: `bind` finds them."""

_REACHES = frozenset(
    {
        "send",
        "email",
        "message",
        "contact",
        "call",
        "invite",
        "transfer",
        "pay",
        "share",
        "publish",
        "notify",
        "forward",
        "topup",
    }
)
"""Families of what is done to a recipient."""
_TRADES = frozenset({"buy", "book", "ship", "refund", "cancel", "charge", "invoice", "rent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A rule as a pattern found it; see `Draft` for the fields."""

    check: Args
    meaning: str = ""
    acts: tuple[Act, ...] = ()
    first: Act | None = None
    tools: tuple[str, ...] = ()
    others: bool = False
    """Whether it is about every tool but those that are named, or that do what is said."""


def forbidden(act: Act) -> Order:
    """Never do it."""
    return Order(check=FORBID, acts=(act,))


def all_but(act: Act) -> Order:
    """Nothing but this."""
    return Order(check=FORBID, acts=(act,), others=True)


def in_order(first: Act, then: Act) -> Order:
    """The one before the other."""
    return Order(check=BEFORE, acts=(then,), first=first)


def about_tools(names: Sequence[str], *, allow: bool) -> Order:
    """Never these tools, or none but these."""
    return Order(check=FORBID, tools=tuple(names), others=allow)


def named_order(names: Sequence[str], *, verb: str = "", allow: bool, things: tuple[str, ...] = ()) -> Order | None:
    """A rule about who or what is dealt with, by name."""
    return place_order("n", names, verb=verb, allow=allow, things=things)


def place_order(
    kind: str, values: Sequence[str], *, verb: str, allow: bool, things: tuple[str, ...] = ()
) -> Order | None:
    """A rule that something may only, or never, be done in these places; None where the verb does not go with them.

    Args:
        kind: that of the mark, see `places`.
        values: the places.
        verb: the author's; empty where none was said, as in `none of those in brackets`.
        allow: whether these alone are allowed; else they are forbidden.
        things: what else the sentence says it is done to.
    """
    if kind == "t":
        return about_tools(values, allow=allow) if not _foreign(kind, things) else None
    meaning = _meaning(kind, verb, allow=allow)
    if meaning is None:
        return None
    wide = not verb or (is_wide(verb) and not things)
    acts = () if wide else (Act(verb=verb, things=_foreign(kind, things), is_placed=True),)
    return Order(check=_check(kind, tuple(values), allow=allow), meaning=meaning, acts=acts)


_SAME = {
    "p": set_of("file files folder folders directory directories data document documents path paths"),
    "g": set_of("file files"),
    "h": set_of("site sites website websites page pages domain domains host hosts address addresses user users"),
    "a": set_of("address addresses account accounts"),
    "n": frozenset({"money"}),
    "t": set_of("tool tools function functions command any"),
}
"""Things that the place is one of: they narrow nothing."""


def _foreign(kind: str, things: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(thing for thing in things if thing not in _SAME.get(kind, ()))


def _meaning(kind: str, verb: str, *, allow: bool) -> str | None:
    if kind in "pg":
        return "path"
    known = families(verb) if verb else frozenset()
    if kind == "a":
        return "recipient"
    if kind == "h" and not known & _REACHES:
        return "url" if "look" in known or (allow and (not known or "any" in known)) else "host"
    if known & _REACHES:
        return "recipient"
    return "named" if not verb or known & _TRADES or "any" not in known else None


def _check(kind: str, values: tuple[str, ...], *, allow: bool) -> Args:
    if kind == "a" or (kind == "n" and allow):
        return FrozenDict({"op": "in" if allow else "not_in", "values": values})
    if kind == "g":  # a pattern without a folder is meant wherever the file lies
        values = tuple(value if "/" in value else f"**/{value}" for value in values)
    if kind == "n":
        check = FrozenDict({"op": "glob", "like": tuple(f"*{value}*" for value in values)})
    else:
        op, key = {"p": ("path", "under"), "g": ("glob", "like"), "h": ("host", "in")}[kind]
        check = FrozenDict({"op": op, key: values})
    return check if allow else FrozenDict({"op": "not", "of": check})
