"""Extraction: whether a rule that a model read out of the user's words really stands in them.

A model may find rules that no pattern finds. It may also make them up, so nothing of a proposed check is believed that
is not there to be seen: the quotation, every number, date, currency and name. Source: SPEC B7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from backstay.boundary.predicates import check_problems
from backstay.boundary.predicates.units import unit_of
from backstay.boundary.text.acts import tools_of
from backstay.boundary.text.drafts import Act, ToolWords
from backstay.boundary.text.numbers import NUMBER, number
from backstay.boundary.text.reading import parse_rule
from backstay.boundary.text.segments import own_words, plain
from backstay.boundary.text.things import Thing, read
from backstay.core.messages import Args
from backstay.core.patterns import Pattern

_NUMBERS = Pattern(NUMBER)
_TOKEN = Pattern(r"[a-z]+(?:-[a-z]+)*|[\u3400-\u9fff]{1,4}")
_LONGEST = 2_000


def extraction_problems(
    check: Args, quote: str, words: str, *, now: float, zone: str = "UTC", tools: Sequence[ToolWords] = ()
) -> tuple[str, ...]:
    """Return why a rule that a model proposes is not the user's; empty: all of it stands in their words.

    Args:
        check: the predicate that the model made of them.
        quote: the user's words that it says it read it in; a whole stretch of them, letter by letter.
        words: the user's message as it was written. Code, quotations and pasted mail in it are not theirs.
        now: seconds since 1970; what `last month` means is told from here.
        zone: IANA time zone of the user.
        tools: the agent's tools; a tool may be named by what it does instead of by its name.
    """
    problems = check_problems(check)
    if problems:
        return tuple(problems)
    said, whole = plain(quote[:_LONGEST]), plain(own_words(words))
    if not said or not _stands(said, whole):
        return (f"the quotation {quote[:80]!r} does not stand in the user's own words",)
    reading = read(said, datetime.fromtimestamp(now, ZoneInfo(zone)).date())
    things = tuple(reading.things.values())
    found = [reason for kind, value in _operands(check) if (reason := _missing(kind, value, said, things, tools))]
    return tuple(found) or _contradicted(check, quote, now=now, zone=zone)


def _stands(name: str, text: str) -> bool:
    """Whether a text stands in another one as whole tokens: `200` not in `1200`, `/etc` not in `/etc/passwd`."""
    before = r"(?<![a-z0-9_.@/~-])" if name[0].isascii() else ""
    after = r"(?![a-z0-9_@/-]|[.][a-z0-9])" if name[-1].isascii() else ""
    return re.search(f"{before}{re.escape(name)}{after}", text) is not None


def _operands(check: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Everything in a check that somebody has to have said: what kind of thing it is, and its value."""
    of = check.get("of")
    if check["op"] in ("all", "any", "not"):
        for part in [of] if isinstance(of, Mapping) else of or ():
            yield from _operands(part)
        return
    for key, value in check.items():
        kind = "currency" if check["op"] == "sum" and key == "money" else _KINDS.get(key)
        if kind:
            yield from ((kind, one) for one in (value if isinstance(value, tuple | list) else (value,)))


_KINDS = {
    key: kind
    for kind, keys in {
        "number": "money number max",
        "days": "days",
        "months": "months",
        "date": "from to",
        "currency": "currency",
        "unit": "unit",
        "name": "values of under in like name argument",
        "tool": "tools",
    }.items()
    for key in keys.split()
}


def _missing(kind: str, value: Any, said: str, things: Sequence[Thing], tools: Sequence[ToolWords]) -> str:
    stands = {
        "number": lambda: _is_number(value, said, things),
        "days": lambda: any(one.unit == "days" and one.value == value for one in things),
        "months": lambda: any(one.unit == "months" and one.value == value for one in things),
        "date": lambda: _is_date(str(value), things),
        "currency": lambda: any(one.unit == value for one in things),
        "unit": lambda: _is_unit(str(value), said, things),
        "tool": lambda: _stands(plain(str(value)), said) or _is_done(str(value), said, tools),
        "name": lambda: _is_named(value, said, things),
    }[kind]()
    return "" if stands else f"the {kind} {value!r} does not stand in the words it was read in"


def _is_number(value: Any, said: str, things: Sequence[Thing]) -> bool:
    wanted = Decimal(str(value))
    values = [number(found[0]) for found in _NUMBERS.finditer(said)]
    return wanted in values or any(one.value == wanted for one in things)


def _is_date(value: str, things: Sequence[Thing]) -> bool:
    """Whether a day was named, or lies beside a named one: `after 1 March` begins on the second."""
    day, one = date.fromisoformat(value), timedelta(1)
    ends = [end for thing in things if thing.days for end in thing.days]
    return day in ends or any(day in (end - one, end + one) for end in ends if date.min < end < date.max)


def _is_unit(value: str, said: str, things: Sequence[Thing]) -> bool:
    unit = unit_of(value)
    return any(unit_of(one.unit) == unit for one in things) or any(
        unit_of(word) == unit for word in _TOKEN.findall(said)
    )


def _is_done(name: str, said: str, tools: Sequence[ToolWords]) -> bool:
    mine = [tool for tool in tools if tool.name == name]
    return any(tools_of(Act(verb=word, is_placed=True), mine) for word in _TOKEN.findall(said))


def _is_named(value: Any, said: str, things: Sequence[Thing]) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return _is_number(value, said, things)
    parts = [part for part in re.split(r"[*?]+", plain(str(value))) if part.strip("/ ")]
    return bool(parts) and all(_stands(part.strip("/ ") if "*" in str(value) else part, said) for part in parts)


def _contradicted(check: Args, quote: str, *, now: float, zone: str) -> tuple[str, ...]:
    """Whether the parser reads the same amount in those words and the other way round: `at least` made `at most`."""
    own = parse_rule(quote, zone=zone, now=now).check
    if own is None or own["op"] == check["op"] or not {own["op"], check["op"]} <= _SIDES.keys():
        return ()
    return (
        ()
        if _SIDES[str(own["op"])] == _SIDES[str(check["op"])]
        else (f"the words say {own['op']!r}, not {check['op']!r}",)
    )


_SIDES = {"lt": "below", "le": "below", "sum": "below", "count": "below", "gt": "above", "ge": "above"}
