"""What of a call cannot be traced to somebody who may be believed: destinations, free text, secrets.

Destinations are traced at all times, even before anything untrusted was read; the words of a call that names none, such
as an entry in the user's own calendar, are all that says what it is about, and are traced as one. Once untrusted text
was read, free text that nobody trusted has said is untraced too. A secret may only go to a destination that the policy
has cleared.
Source: SPEC B11; notes on AgentDojo: a model that is hostile from its first token meets the same tracing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from backstay.boundary.provenance.tokens import addresses
from backstay.core.context import Origin, ToolFacts
from backstay.core.messages import Args, Json, Label
from backstay.core.schema.marks import ANY_KEY


class Sources(Protocol):
    """What has been said in a session, as an index."""

    def origin(self, path: str, value: str, *, exact: bool, kind: str = "") -> Origin:
        """Where a value of the arguments stands in trusted text; `trusted` is False if nowhere."""
        ...

    def is_public(self, value: str) -> bool:
        """Whether the value stands in something that is no secret, trusted or not."""
        ...

    def is_said(self, value: str, *, exact: bool, kind: str = "") -> bool:
        """Whether the value stands in a message of the user, whoever else may have said it too."""
        ...


T = TypeVar("T")


class Leaf(NamedTuple):
    """One text or number of the arguments."""

    path: str
    """Where it stands: `lines.0.sku`."""
    name: str
    """As meanings and sinks call that place, without the numbers of list items: `lines.sku`."""
    text: str
    is_text: bool
    """False for a number, which says nothing to a reader."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What `trace` found of one call."""

    destinations: tuple[Origin, ...] = ()
    """Destinations that nobody trusted has named, addresses inside free text among them."""
    texts: tuple[str, ...] = ()
    """Arguments with words that nobody trusted has said, once they count."""
    leaks: tuple[str, ...] = ()
    """Destinations not cleared, of a call that may carry a secret."""


NOTHING = Flow()


def trace(
    args: Args, tool: ToolFacts, label: Label, sources: Sources, cleared: frozenset[str], *, is_exposed: bool = True
) -> Flow:
    """Say what of the call is not traced; a read that carries nothing out is not looked at.

    Args:
        args: the canonical arguments.
        tool: its facts.
        label: of the session so far.
        sources: its trusted texts.
        cleared: destinations that secrets may go to, and `tool:NAME` for a tool whose calls may carry them.
        is_exposed: whether the agent can come to read untrusted text. Then a call that names no destination is traced
            by its words from the first one on: a model that was turned before anybody looked has nothing else to show.
    """
    if tool.risk == "read" and not tool.egress:
        return NOTHING
    named: list[Origin] = []
    others: list[Leaf] = []
    for leaf in _leaves(args):
        if _is_sink(leaf, tool):
            named.append(_origin(leaf, tool, sources))
        elif leaf.is_text and not _is_traced(leaf, tool, sources):
            others.append(leaf)
    untraced = [one for one in named if not one.trusted] if named else []
    if not (untraced or others):
        return NOTHING
    is_aimless = is_exposed and not named and f"tool:{tool.name}" not in cleared
    return Flow(
        destinations=(*sorted(untraced, key=_by_path), *_hidden(others, sources)),
        texts=tuple(dict.fromkeys(one.path for one in others)) if is_aimless or not label.trusted else (),
        leaks=_leaks(named, others, tool, label, sources, cleared),
    )


def _hidden(others: Iterable[Leaf], sources: Sources) -> Iterator[Origin]:
    """Addresses inside texts that nobody trusted has said."""
    for leaf in others:
        for address in addresses(leaf.text):
            found = sources.origin(leaf.path, address, exact=False)
            if not found.trusted:
                yield found


def _leaks(
    named: Sequence[Origin],
    others: Iterable[Leaf],
    tool: ToolFacts,
    label: Label,
    sources: Sources,
    cleared: frozenset[str],
) -> tuple[str, ...]:
    if label.secrecy != "secret" or f"tool:{tool.name}" in cleared:
        return ()
    carried = [one.text for one in others] + [one.value for one in named if not one.trusted]
    if all(sources.is_public(text) for text in carried):
        return ()
    if not named:
        return (f"tool:{tool.name}",)
    return tuple(one.value for one in named if one.value not in cleared)


def origins(args: Args, tool: ToolFacts, sources: Sources) -> tuple[Origin, ...]:
    """Where every destination of the call came from."""
    found = [_origin(leaf, tool, sources) for leaf in _leaves(args) if _is_sink(leaf, tool)]
    return tuple(sorted(found, key=_by_path))


def sink_values(args: Args, tool: ToolFacts) -> Iterator[tuple[str, str]]:
    """Every value of the arguments that names a destination, with its dotted path."""
    for leaf in sorted(leaf for leaf in _leaves(args) if _is_sink(leaf, tool)):
        yield leaf.path, leaf.text


def _by_path(origin: Origin) -> str:
    return origin.path


def _origin(leaf: Leaf, tool: ToolFacts, sources: Sources) -> Origin:
    if leaf.text in _of(tool.constants, leaf.name, _NONE):
        return Origin(path=leaf.path, value=leaf.text, message_id=None, span=None, trusted=True, source="schema")
    known = ANY_KEY if ANY_KEY in tool.meanings and _is_extra(leaf.name, tool) else leaf.name
    mark, _, kind = _of(tool.meanings, known, "").partition(":")
    return sources.origin(leaf.path, leaf.text, exact=mark == "id", kind=kind if mark == "id" else "")


def _is_traced(leaf: Leaf, tool: ToolFacts, sources: Sources) -> bool:
    return (
        _of(tool.meanings, leaf.name, "").startswith(_CLOSED)
        or leaf.text in _of(tool.constants, leaf.name, _NONE)
        or sources.origin(leaf.path, leaf.text, exact=False).trusted
    )


_CLOSED = ("money:", "quantity:", "date_range:")
"""Meanings whose values say nothing but a number or a day."""
_NONE: frozenset[str] = frozenset()


def _of(facts: Mapping[str, T], name: str, missing: T) -> T:
    """What is said of an argument; `lines.*.sku` speaks of the `sku` in an object with keys of its own."""
    found = facts.get(name)
    if found is not None or "." not in name:
        return missing if found is None else found
    keys = name.split(".")
    for known, value in facts.items():
        parts = known.split(".") if "*" in known else []
        if len(parts) == len(keys) and all(part in ("*", key) for part, key in zip(parts, keys, strict=True)):
            return value
    return missing


def _is_sink(leaf: Leaf, tool: ToolFacts) -> bool:
    name, sinks = leaf.name, tool.sinks
    if name in sinks or ("." in name and any(name.startswith(f"{sink}.") for sink in sinks)):
        return True
    return ANY_KEY in sinks and leaf.is_text and _is_extra(name, tool)


def _is_extra(name: str, tool: ToolFacts) -> bool:
    """Whether the argument went into `**kwargs`: the declared ones all stand among the meanings, marked or not."""
    root = name.partition(".")[0]
    return all(one.partition(".")[0] != root for one in tool.meanings)


def _leaves(args: Args) -> Iterator[Leaf]:
    """Every text and number of the arguments; of an object inside them the keys too, which a model may choose."""
    for name, value in args.items():
        if type(value) is str:
            if value:
                yield Leaf(name, name, value, True)
        elif value is not None and value is not True and value is not False:
            yield from _inside(value, name, name)


def _inside(value: Json, path: str, name: str) -> Iterator[Leaf]:
    if isinstance(value, str):
        if value:
            yield Leaf(path, name, value, True)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield Leaf(f"{path}.{key}", f"{name}.*key", key, True)
            yield from _inside(item, f"{path}.{key}", f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _inside(item, f"{path}.{index}", name)
    elif value is not None and not isinstance(value, bool):
        yield Leaf(path, name, str(value), False)
