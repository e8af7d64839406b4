"""Arguments that are broken JSON → what they can only mean, or nothing.

A guess must never be executed. So `json-repair` may change punctuation alone: the text has to fall into whole strings,
numbers, literals, names and brackets that all close, and the mended object has to hold exactly these, in this order.
What breaks off, what has words around it and what quotes inside quotes could end elsewhere is not mended.
Source: SPEC L4; DESIGN 6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_CHARS = 64_000
"""A longer text is not mended: looking for a reading takes longer than asking again."""
_FENCED = re.compile(r"\s*```[a-zA-Z0-9]*[ \t]*\n(?P<inside>[^`]*)\n?```\s*")
_TOKEN = re.compile(
    r'\s*(?:(?P<double>"(?:[^"\\]|\\.)*")|(?P<single>\'(?:[^\'\\]|\\.)*\')'
    r"|(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<mark>[{}\[\]:,]))",
    re.DOTALL,
)
_LITERALS: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_PAIRS = {"}": "{", "]": "["}


def mend(text: str) -> dict[str, Any] | None:
    """Return the object that broken arguments can only mean; None where there is more than one reading, or none."""
    if len(text) > MAX_CHARS:
        return None
    fenced = _FENCED.fullmatch(text)
    inside = (fenced["inside"] if fenced else text).strip()
    if inside.startswith('"'):  # the object once more as a text
        inside = _unwrapped(inside)
    try:
        return _object(inside)
    except (ValueError, RecursionError):
        return None


def _unwrapped(text: str) -> str:
    try:
        inner = json.loads(text)
    except ValueError:
        return ""
    return inner.strip() if isinstance(inner, str) else ""


def _object(text: str) -> dict[str, Any] | None:
    """The object of a text without anything around it.

    Raises:
        ValueError: it cannot be read in one way only.
    """
    if not text.startswith("{"):
        return None
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, dict) else None
    except ValueError:
        said = list(_said(text))
    import json_repair  # 50 ms, and few models ever need it

    found = json_repair.loads(text, skip_json_loads=True)
    return found if isinstance(found, dict) and list(_held(found)) == said else None


def _said(text: str) -> Iterator[tuple[str, Any]]:
    """Names and values of a text in order, with their types."""
    at, end, before, open_ = 0, len(text), "", list[str]()
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or (at and not open_):
            raise ValueError("no token, or something behind the object")
        kind, token = str(found.lastgroup), found[str(found.lastgroup)]
        at = found.end()
        is_key = kind != "mark" and bool(open_) and open_[-1] == "{" and before in ("{", ",")
        if (token == ":") is not (before == "key"):
            raise ValueError("a name without a value, or a value without a name")
        if kind == "mark":
            _nest(token, open_)
        elif before not in ("{", "[", ":", ","):
            raise ValueError("two values without anything between")
        else:
            yield _value(kind, token, is_key=is_key)
        before = token if kind == "mark" else "key" if is_key else "value"
    if open_:
        raise ValueError("it breaks off")


def _nest(mark: str, open_: list[str]) -> None:
    if mark in "{[":
        open_.append(mark)
    elif mark in _PAIRS and (not open_ or open_.pop() != _PAIRS[mark]):
        raise ValueError("a bracket closes what is not open")


def _value(kind: str, token: str, *, is_key: bool) -> tuple[str, Any]:
    value: Any
    if kind == "single":
        token, kind = _in_double_quotes(token), "double"
    if kind == "name":
        if not is_key and token not in _LITERALS:
            raise ValueError("a word without quotes")
        value = token if is_key else _LITERALS[token]
    else:
        value = json.loads(token, strict=False)
    if is_key and not isinstance(value, str):
        raise ValueError("a name that is no text")
    return type(value).__name__, value


def _in_double_quotes(token: str) -> str:
    def turned(found: re.Match[str]) -> str:
        return {'"': '\\"', "\\'": "'"}.get(found[0], found[0])

    return '"' + re.sub(r'\\.|"', turned, token[1:-1], flags=re.DOTALL) + '"'


def _held(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield "str", key
            yield from _held(item)
    elif isinstance(value, list):
        for item in value:
            yield from _held(item)
    else:
        yield type(value).__name__, value
