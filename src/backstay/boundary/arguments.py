"""Which arguments of a call a constraint binds to: by name or by meaning, through objects and lists of objects.

Every item of a list, and every value of an object with keys of its own, is judged by itself, together with what stands
around it: a missing price in one line must not hide behind the price of another. Source: SPEC B6, T11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""The innermost list item, or value of an object with keys of its own, that it lies in (empty: none), full path and
value."""

ANY_KEY = "*"
"""The step of a path that stands for every value of an object with keys of its own, as `meanings_of` writes it."""
KEYS = "*key"
"""The step that stands for those keys themselves."""

NOTHING: Sequence[Group] = ((),)
"""A call as a whole, or one in which nothing is there to bind to."""
Binding: TypeAlias = Callable[[Args], Sequence[Group]]
"""The groups of a call that a constraint has to hold for; empty where it does not touch the call at all.

Raises:
    ValueError: when what stands at the bound place cannot be told, such as an object with keys of its own.
"""


def binding_of(constraint: Constraint, tool: ToolFacts) -> Binding:
    """Return where a constraint binds in calls of a tool, looked up once for all of them.

    A constraint that names the tool touches it always: where nothing is there to bind to, it is missing.
    """
    argument, meaning = constraint.bind.get("argument"), constraint.bind.get("meaning")
    nothing = NOTHING if constraint.tools else ()
    names: Names
    if argument is not None:
        names = [(argument, tool.meanings.get(argument, ""))]
        root = argument.partition(".")[0]
        if not (root in tool.sinks or root in tool.texts or argument in tool.meanings):
            if _is_plain(argument):
                has = names[0][1]
                return lambda args: ((Bound(argument, has, args[argument]),),) if argument in args else nothing
            return lambda args: (_groups(args, names, tool) or nothing) if root in args else nothing
    elif meaning is None:
        return lambda _args: NOTHING
    else:
        names = [(name, has) for name, has in tool.meanings.items() if selects(meaning, has)]
    if len(names) == 1 and _is_plain(names[0][0]):
        ((name, has),) = names
        return lambda args: ((Bound(name, has, args.get(name)),),)
    return lambda args: _groups(args, names, tool) or nothing


def _is_plain(name: str) -> bool:
    return "." not in name and name[:1] != ANY_KEY


def _groups(args: Args, names: Names, tool: ToolFacts) -> Sequence[Group]:
    """One group for each innermost item; the arguments of no item are a group only if there is no item."""
    flat = [Bound(name, has, args.get(name)) for name, has in names if _is_plain(name)]
    if len(flat) == len(names):
        return [flat] if flat else ()
    own: dict[str, list[Bound]] = {}
    for name, has in names:
        for item, path, value in _places(_extra(args, tool) if name[:1] == ANY_KEY else args, name):
            own.setdefault(item, []).append(Bound(path, has, value))
    outer = {around for item in own for around in _outside(item)}
    return [group for item in own if item not in outer for group in _around(item, own)]


def _extra(args: Args, tool: ToolFacts) -> Args:
    """The arguments that went into `**kwargs`: those that no meaning names."""
    known = {name.partition(".")[0] for name in tool.meanings}
    return {name: value for name, value in args.items() if name not in known}


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
    if key in (ANY_KEY, KEYS):
        yield from _entries(item, at, value, key)
        return
    # An object with keys of its own, say lines by name, could hide what the rule is about.
    if at and key not in inside and any(_holds_objects(one) for one in inside.values()):
        raise ValueError(f"{at} has no {key!r}, and what stands inside it cannot be told")
    yield item, path, inside.get(key)


def _entries(item: str, at: str, value: Json, key: str) -> Iterator[Place]:
    """The values, or the keys, of an object with keys of its own; an empty one is an empty list of them."""
    inside = value if isinstance(value, Mapping) else None
    if not inside:
        yield item, at, None if inside is None else ()
        return
    for name, one in inside.items():
        # A dot in a key must not make one entry look as if it lay in another.
        entry = f"{at}.{name.replace('.', '%2E')}" if at else name.replace(".", "%2E")
        yield entry, entry, name if key == KEYS else one


def _holds_objects(value: Json) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_objects(one) for one in value)
    return isinstance(value, Mapping)
