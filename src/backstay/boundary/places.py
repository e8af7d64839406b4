"""Where a path's label is kept: one key for a path, however it is spelled, and one for each folder around it.

Two spellings of one path give one key: `a//b`, `./a/b`, `A/B` (as a file system that ignores letter case takes it).
What may be read in two ways is kept by its own spelling. Keys are digests, so that no path stands where labels are
kept. Source: SPEC B11 ("files written inherit").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from unicodedata import normalize

from backstay.boundary.arguments import ANY_KEY, KEYS
from backstay.boundary.predicates.paths import PathDoubt, parts_of
from backstay.core.canon import digest
from backstay.core.context import ToolFacts
from backstay.core.messages import Args, Json

_PATH = "path"


def paths_in(args: Args, tool: ToolFacts, *, sinks_only: bool = False) -> tuple[str, ...]:
    """Every path that the arguments of a call name.

    Args:
        args: canonical.
        tool: its facts.
        sinks_only: only those that are destinations.
    """
    if _PATH not in tool.meanings.values():
        return ()
    return tuple(dict.fromkeys(_values(args, tool, sinks_only=sinks_only)))


def _values(args: Args, tool: ToolFacts, *, sinks_only: bool) -> Iterator[str]:
    for name, meaning in tool.meanings.items():
        if meaning == _PATH and not (sinks_only and not any(f"{name}.".startswith(f"{one}.") for one in tool.sinks)):
            yield from _at(args, name.split("."))


def _at(value: Json, keys: Sequence[str]) -> Iterator[str]:
    """The texts at a dotted place, through lists and through objects with keys of their own."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _at(item, keys)
    elif not keys:
        if isinstance(value, str):
            yield value
    elif isinstance(value, Mapping):
        if keys[0] == KEYS:
            yield from value
        for item in value.values() if keys[0] == ANY_KEY else [value.get(keys[0])]:
            yield from _at(item, keys[1:])


def key_of(path: str) -> str:
    """The key of a path itself."""
    return digest(["path", _parts(path)])


def inside_of(path: str) -> str:
    """The key of what lies in a folder, at any depth: it is read by a tool that is given the folder."""
    return digest(["inside", _parts(path)])


def around(path: str) -> Iterator[str]:
    """The `inside_of` keys of every folder that a path lies in, the nearest first."""
    parts = _parts(path)
    for end in range(len(parts) - 1, -1, -1):
        yield digest(["inside", parts[:end]])


def _parts(path: str) -> tuple[str, ...]:
    try:
        return tuple(normalize("NFKC", one).casefold() for one in parts_of(path))
    except PathDoubt:
        return ("?", path)
