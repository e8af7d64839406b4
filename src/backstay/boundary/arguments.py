"""Which arguments of a call a constraint binds to: by name or by meaning, through objects and lists of objects.

Every item of a list is judged by itself, together with what stands around it: a missing price in one line must not hide
behind the price of another. Source: SPEC B6, T11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from backstay.boundary.constraints import Constraint
from backstay.boundary.predicates import Bound, selects
from backstay.core.context import ToolFacts
from backstay.core.messages import Args, Json

Group: TypeAlias = Sequence[Bound]
"""What is judged together: all arguments a rule binds to, or those of one list item with what stands around it."""

Names: TypeAlias = Sequence[tuple[str, str]]
"""Arguments, dotted, with what they mean; empty where they have no mark."""
Place: TypeAlias = tuple[str, str, Json]
"""The innermost list item it lies in (empty: none), full path and value."""

NOTHING: Sequence[Group] = ((),)
"""A call as a whole, or one in which nothing is there to bind to."""


class Bindings:
    """One call as rules see it. Rules that bind alike share one look-up."""

    __slots__ = ("_args", "_meant", "_named", "_tool")

    def __init__(self, args: Args, tool: ToolFacts) -> None:
        self._args = args
        self._tool = tool
        self._named: dict[str, Sequence[Group]] = {}
        self._meant: dict[str, Sequence[Group]] = {}

    def of(self, constraint: Constraint) -> Sequence[Group]:
        """The groups a constraint has to hold for; empty where it does not touch this tool at all.

        A constraint that names the tool touches it always: where nothing is there to bind to, it is missing.

        Raises:
            ValueError: when what stands at the bound place cannot be told, such as an object with keys of its own.
        """
        argument = constraint.bind.get("argument")
        if argument is not None:
            found = self._named.get(argument)
            if found is None:
                found = self._named[argument] = _groups(self._args, self._called(argument))
        elif (meaning := constraint.bind.get("meaning")) is None:
            return NOTHING
        else:
            found = self._meant.get(meaning)
            if found is None:
                found = self._meant[meaning] = _groups(self._args, self._meaning(meaning))
        return found or (NOTHING if constraint.tools else ())

    def _called(self, argument: str) -> Names:
        tool, root = self._tool, argument.partition(".")[0]
        if root in self._args or root in tool.sinks or root in tool.texts or argument in tool.meanings:
            return [(argument, tool.meanings.get(argument, ""))]
        return []

    def _meaning(self, meaning: str) -> Names:
        return [(name, has) for name, has in self._tool.meanings.items() if selects(meaning, has)]


def _groups(args: Args, names: Names) -> Sequence[Group]:
    """One group for each innermost item of a list; the arguments of no item are a group only if there is no item."""
    flat = [Bound(name, has, args.get(name)) for name, has in names if "." not in name]
    if len(flat) == len(names):
        return [flat] if flat else ()
    own: dict[str, list[Bound]] = {}
    for name, has in names:
        for item, path, value in _places(args, name):
            own.setdefault(item, []).append(Bound(path, has, value))
    outer = {around for item in own for around in _outside(item)}
    return [group for item in own if item not in outer for group in _around(item, own)]


def _around(item: str, own: Mapping[str, list[Bound]]) -> Iterator[Group]:
    around = [one for place in _outside(item) for one in own.get(place, ())]
    if any(one.value is not None for one in own[item]):
        yield [*own[item], *around]
        return
    yield own[item]  # missing, whatever stands around it
    if any(one.value is not None for one in around):
        yield around


def _outside(item: str) -> Iterator[str]:
    """The places an item lies in, from the inside out: `lines.0.parts.1` lies in `lines.0` and in the call."""
    while item:
        item = item.rpartition(".")[0]
        yield item


def _places(args: Args, path: str) -> list[Place]:
    """What stands at a dotted path; None where it was left out.

    A list without items stands at the path itself, so that a rule can say whether nothing is too little.
    """
    places: list[Place] = [("", "", args)]
    for key in path.split("."):
        places = [place for item, at, value in places for place in _step(item, at, value, key)]
    return places


def _step(item: str, at: str, value: Json, key: str) -> Iterator[Place]:
    path = f"{at}.{key}" if at else key
    if isinstance(value, list | tuple):
        if not value:
            yield item, path, ()
        for index, inner in enumerate(value):
            yield from _step(f"{at}.{index}", f"{at}.{index}", inner, key)
        return
    inside: Mapping[str, Json] = value if isinstance(value, Mapping) else {}
    # An object with keys of its own, say lines by name, could hide what the rule is about.
    if at and key not in inside and any(_holds_objects(one) for one in inside.values()):
        raise ValueError(f"{at} has no {key!r}, and what stands inside it cannot be told")
    yield item, path, inside.get(key)


def _holds_objects(value: Json) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_objects(one) for one in value)
    return isinstance(value, Mapping)
