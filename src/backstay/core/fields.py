"""Fields of a result by name: which values of its data a declaration such as `keep` or `untrusted` is about.

A name is that of a field wherever it stands, or several joined by dots, the last ones of its path; list items have no
number. `*` stands for any letters of a name. Source: SPEC T4, T13.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from backstay.core.messages import Json


class Field(NamedTuple):
    """A field that was found."""

    path: tuple[str, ...]
    """Names from the root of the data, without numbers of list items."""
    value: Json
    name: str
    """The declared name that it answers to."""
    is_listed: bool
    """Whether it stands inside a list, so that there may be more of the same path."""


def fields_named(data: Json, names: Iterable[str]) -> Iterator[Field]:
    """Yield the outermost fields that one of the names stands for, in the order of the data."""
    yield from _found(data, (), tuple((name, name.split(".")) for name in names), False)


def _found(
    data: Json, path: tuple[str, ...], names: Sequence[tuple[str, Sequence[str]]], is_listed: bool
) -> Iterator[Field]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            inner = (*path, key)
            name = next((name for name, wanted in names if _ends_with(inner, wanted)), None)
            if name is not None:
                yield Field(inner, value, name, is_listed)
            else:
                yield from _found(value, inner, names, is_listed)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _found(item, path, names, True)


def _ends_with(path: Sequence[str], wanted: Sequence[str]) -> bool:
    if len(wanted) > len(path):
        return False
    ends = zip(path[len(path) - len(wanted) :], wanted, strict=True)
    return all(key == name or ("*" in name and fnmatchcase(key, name)) for key, name in ends)
