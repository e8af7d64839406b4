"""Probes: calls near the borders of some rules, for each tool, every argument given."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice, product
from typing import Any

from backstay.boundary.constraints import Constraint
from backstay.boundary.predicates import selects
from backstay.boundary.text import ToolWords

SAID = "said@said.example https://said.example/ /said/it said-1"
"""What the user has written: the only values that `own_words` lets through."""
_MOST_CALLS = 4_000
_LENGTHS = (*range(16), 26, 27, 28, 29, 30, 31, 45, 60, 61, 90, 92, 180, 365, 366, 1000)
_PATHS = ("/zz/q.bin", "/said/it")
_HOSTS = ("zz.test", "said.example")
_NAMES = ("Zz", "said-1")


@dataclass(slots=True)
class Borders:
    """The operands of some checks, by what they are."""

    numbers: set[float] = field(default_factory=set)
    days: set[date] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


def borders(rules: Sequence[Constraint]) -> Borders:
    """Collect the operands of the checks of some rules."""
    found = Borders()
    for rule in rules:
        _collect(rule.check or {}, found)
    return found


def _collect(value: Any, found: Borders) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in ("op", "currency", "unit", "per", "tools"):
                _collect(inner, found)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, found)
    elif isinstance(value, int):
        found.numbers.add(value)
    elif isinstance(value, str):
        _collect_text(value, found)


def _collect_text(value: str, found: Borders) -> None:
    try:
        found.numbers.add(float(value))
    except ValueError:
        try:
            found.days.add(date.fromisoformat(value))
        except ValueError:
            found.texts.add(value)


def calls_of(tool: ToolWords, near: Borders, meanings: Collection[str], today: date) -> Iterator[Mapping[str, Any]]:
    """Yield the arguments of calls of a tool on both sides of every border, at most 4,000.

    Args:
        tool: the tool.
        near: the borders.
        meanings: what the rules bind to; an argument that none of them reaches has one value.
        today: from which spans of time count back.
    """
    values = []
    for meaning in tool.meanings.values():
        found = list(dict.fromkeys(_values(meaning, near, today)))
        values.append(found if any(selects(one, meaning) for one in meanings) else found[:1])
    for chosen in islice(product(*values), _MOST_CALLS):
        yield dict(zip(tool.meanings, chosen, strict=True))


def _values(meaning: str, near: Borders, today: date) -> Iterator[Any]:
    kind, _, unit = meaning.partition(":")
    match kind:
        case "money":
            yield from (f"{n:.2f}" for one in sorted(near.numbers) for n in (one - 0.01, one, one + 0.01) if n >= 0)
            yield "1.00"
        case "quantity":
            yield from _lengths(near)
        case "date_range":
            yield from (_span(day, unit) for day in _dates(near, today))
        case "path":
            yield from (*_PATHS, *(one for text in near.texts for one in _paths(text)))
        case "url":
            yield from (f"https://{host}/a" for text in (*_HOSTS, *near.texts) for host in _hosts(text))
        case "recipient":
            yield from (f"a@{host}" for text in (*_HOSTS, *near.texts) for host in _hosts(text))
            yield from (name for text in (*_NAMES, *near.texts) for name in _names(text))
        case "id":
            yield from (name for text in (*_NAMES, *near.texts) for name in _names(text))
        case _:
            yield "text"


def _lengths(near: Borders) -> Iterator[int]:
    yield from _LENGTHS
    for one in sorted(near.numbers):
        for of in (1, 7, 30):
            yield from (n for n in (int(one / of) - 1, int(one / of), int(one / of) + 1) if n >= 0)


def _dates(near: Borders, today: date) -> Iterator[date]:
    back = {*_LENGTHS, *(int(one * of) for one in near.numbers if 0 < one < 400 for of in (1, 7, 30))}
    for day in (*near.days, *(today - timedelta(n) for n in sorted(back) if n < 20_000)):
        yield from (day - timedelta(1), day, day + timedelta(1))


def _span(day: date, unit: str) -> str:
    return f"{day}/{day}" if unit == "whole" else day.isoformat()


def _paths(text: str) -> Iterator[str]:
    """A path as it is, within and beside it; names that a pattern takes and such as are near to one."""
    if "*" not in text:
        yield from (text, f"{text}/in.txt", f"{text}x", f"{text.rpartition('/')[0]}/beside.txt")
        return
    name = text.replace("**/", "").replace("**", "a").replace("*", "a")
    yield from (name, f"{name}x", f"/far/{name}", f"far/off/{name}", name.replace("a", "b/c", 1))


def _hosts(text: str) -> Iterator[str]:
    host = text.replace("*", "").strip("@")
    if "." in host and "/" not in host and " " not in host:
        yield from (host.rpartition("@")[2], f"sub.{host.rpartition('@')[2]}", f"x{host.rpartition('@')[2]}")


def _names(text: str) -> Iterator[str]:
    name = text.strip("*")
    if name:
        yield from (name, f"{name} Major", f"x{name[1:]}")
