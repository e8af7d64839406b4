"""Paths under a folder: POSIX, by whole components, `..` resolved in the text. What may be read in two ways is a doubt.

Links are not followed, since nothing is looked up: a tool that opens files has to keep to its root itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from unicodedata import category, normalize

from backstay.boundary.predicates.language import (
    MAX_VALUE,
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    doubt,
    each,
    keys,
    left_out,
    listed,
    shown,
)
from backstay.core.patterns import Pattern

_SCHEME = Pattern(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PERCENT = Pattern(r"%[0-9A-Fa-f]{2}|%u[0-9A-Fa-f]{4}")
_LOOK_ALIKE = "\u2215\u2044\u29f8\u2216\u29f5"
"""Slashes that normalising leaves alone, and that people and some programs take for one."""


class PathDoubt(ValueError):
    """A text that may be read as more than one path; the message is the reason."""


@lru_cache(maxsize=512)
def parts_of(text: str) -> tuple[str, ...]:
    """The components of a path, `.` and `..` resolved; the first is `/` where the path is absolute.

    Raises:
        PathDoubt: with the reason, for what may be read in more than one way.
    """
    if not text or len(text) > MAX_VALUE:
        raise PathDoubt("it is empty" if not text else "it is too long")
    _plain(text)
    absolute = text.startswith("/")
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            if not parts and not absolute:
                raise PathDoubt("it leads out of where it begins")
            parts = parts[:-1]
        elif part.startswith("~"):
            raise PathDoubt("it holds a '~', which may stand for a home folder")
        elif part not in ("", "."):
            parts.append(part)
    return ("/", *parts) if absolute else tuple(parts)


def _plain(text: str) -> None:
    if "\\" in text:
        raise PathDoubt("it holds a backslash")
    if _SCHEME.match(text):
        raise PathDoubt("it begins like a URL or a drive")
    if _PERCENT.search(text):
        raise PathDoubt("it holds a percent escape")
    if text.isascii() and text.isprintable():
        return
    if any(category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text):
        raise PathDoubt("it holds an invisible character")
    folded = normalize("NFKC", text)
    if any(folded.count(mark) != text.count(mark) for mark in "/.~\\%:") or any(one in text for one in _LOOK_ALIKE):
        raise PathDoubt("it holds a character that looks like a path's own")


def lies_under(parts: Sequence[str], root: Sequence[str]) -> bool:
    """Whether a path is a folder or lies in it, by whole components."""
    return tuple(parts[: len(root)]) == tuple(root)


def _ready(check: Check) -> Test:
    text = _text(check)
    roots = [_folded(parts_of(one)) for one in check["under"]]
    base = check.get("base")
    start = None if base is None else str(base).rstrip("/")

    def judge(one: Bound, _scene: Scene) -> Breach | None:
        if not isinstance(one.value, str):
            return doubt(one, f"{text}; the value is no path")
        given = one.value if start is None or one.value.startswith("/") or not one.value else f"{start}/{one.value}"
        try:
            if given is not one.value:
                _plain(one.value)  # behind a folder a scheme or a drive would look like one more folder
            parts, loose = _folded(parts_of(given))
        except PathDoubt as reason:
            return doubt(one, f"{text}; the value is not clear: {reason}")
        if any(lies_under(parts, root) for root, _ in roots):
            return None
        alike = [loosely for _, loosely in roots if (loosely[:1] == ("/",)) == (loose[:1] == ("/",))]
        if len(alike) < len(roots):
            kind = "a whole path, from / on" if loose[:1] != ("/",) else "a path from the working folder on"
            return doubt(one, f"{text}; where the value lies cannot be told, give {kind}")
        if any(lies_under(loose, root) for root in alike):
            return doubt(one, f"{text}; the value differs in letter case alone")
        return Breach(one.path, shown(one.value), text)

    return each(check, text, judge)


def _folded(parts: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The components as they are, and as a file system that ignores case or form takes them."""
    return tuple(normalize("NFC", one) for one in parts), tuple(normalize("NFKC", one).casefold() for one in parts)


def _is_path(text: object) -> bool:
    try:
        return bool(parts_of(str(text)))
    except PathDoubt:
        return False


def _problems(check: Check, _depth: int) -> list[str]:
    found = keys(check, {"under"}, frozenset({"base"})) + listed(check, "under", _is_path, "path")
    base = check.get("base", "/")
    if not (isinstance(base, str) and base.startswith("/") and _is_path(base)):
        found.append(f"base must be a whole path such as '/srv/app', got {shown(base)}")
    return found


def _text(check: Check) -> str:
    return f"only under {', '.join(map(shown, check['under']))}"


PATHS: Mapping[str, Op] = {"path": Op(_ready, left_out, _problems, _text)}
