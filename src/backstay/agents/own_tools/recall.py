"""Pages of an earlier result: rows, matches or a field inside, under the same bound as any result.

Every page says which rows it holds, of how many, and how to read on. Source: SPEC T4, K9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backstay.core.errors import ToolInputError
from backstay.core.messages import Json, ToolResult
from backstay.tools.summary import shown, summarise, weigh, words_of

_PIECE = 1_000
"""Characters of a piece of a text that has lines too long for a page."""
_HEAD_TOKENS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the model asked to read."""

    rows: str | None = None
    grep: str | None = None
    path: str | None = None


class _Rows(NamedTuple):
    """A value as rows, each with its number and, where it has one, the path that leads into it."""

    noun: str
    total: int
    rows: Sequence[tuple[int, Json]]
    paths: Sequence[str] | None


def page(found: ToolResult, ref: str, wanted: Wanted, max_tokens: int) -> ToolResult:
    """Return the wanted part of a result, as much as fits, with the result's label.

    Args:
        found: the earlier result.
        ref: what it was asked by; the page carries it where there is more to read.
        wanted: which part. With `grep`, `rows` counts the matches.
        max_tokens: the bound of what the model is shown.

    Raises:
        ToolInputError: for rows and paths that lead nowhere.
    """
    data: Json = found.data if found.data is not None else words_of(found)
    all_rows = _as_rows(_at(data, wanted.path), wanted.path or "", max_tokens)
    matching = [row for row in all_rows.rows if wanted.grep is None or _has(row[1], wanted.grep)]
    start, end = _bounds(wanted.rows, len(matching))
    lines, kept = _fitting(matching[start:end], all_rows, wanted, max_tokens - _HEAD_TOKENS)
    upto = start + len(kept)
    text = "\n".join([_head(all_rows, wanted, len(matching), start, upto, end), *lines])
    is_all = wanted.path is None and upto - start == all_rows.total
    return ToolResult(ok=True, summary=text, data=tuple(kept), label=found.label, ref=None if is_all else ref)


def _as_rows(value: Json, path: str, max_tokens: int) -> _Rows:
    prefix = f"{path}." if path else ""
    if isinstance(value, str):
        lines, noun = value.splitlines() or [""], "lines"
        if any(weigh(line) > max_tokens // 2 for line in lines):
            lines, noun = [value[at : at + _PIECE] for at in range(0, len(value), _PIECE)], "pieces of the text"
        return _Rows(noun, len(lines), list(enumerate(lines)), None)
    if isinstance(value, list | tuple):
        return _Rows("rows", len(value), list(enumerate(value)), [f"{prefix}{n}" for n in range(len(value))])
    if isinstance(value, Mapping):
        fields = [{key: item} for key, item in value.items()]
        return _Rows("fields", len(fields), list(enumerate(fields)), [f"{prefix}{key}" for key in value])
    return _Rows("value", 1, [(0, value)], None)


def _at(data: Json, path: str | None) -> Json:
    """The value a dotted path leads to; list items by number, and a key that holds dots itself."""
    rest = path or ""
    while rest:
        key, _, after = rest.partition(".")
        if isinstance(data, Mapping):
            key = key if key in data else next((one for one in data if rest == one or rest.startswith(f"{one}.")), key)
            after = rest[len(key) + 1 :]
        if isinstance(data, Mapping) and key in data:
            data = data[key]
        elif isinstance(data, list | tuple) and key.isdecimal() and key.isascii() and int(key) < len(data):
            data = data[int(key)]
        else:
            raise ToolInputError(f"path: there is no {key!r} in {path!r}; {_inside(data)}")
        rest = after
    return data


def _inside(data: Json) -> str:
    if isinstance(data, Mapping):
        return f"the fields there are {', '.join(list(data)[:20]) or 'none'}"
    if isinstance(data, list | tuple):
        return f"a list of {len(data):,} rows is there, from 0"
    return "nothing is inside that"


def _has(row: Json, text: str) -> bool:
    return text.casefold() in shown(row).casefold()


def _bounds(wanted: str | None, total: int) -> tuple[int, int]:
    if not wanted:
        return 0, total
    start, colon, end = wanted.replace(" ", "").partition(":")
    for one in (start or "0", end or "0"):
        if not (one.isdecimal() and one.isascii() and len(one) < 16):
            raise ToolInputError(f"rows: expected start:end such as 40:80, got {wanted[:40]!r}")
    if not (start or end):
        raise ToolInputError(f"rows: expected start:end such as 40:80, got {wanted[:40]!r}")
    first = int(start or 0)
    last = int(end) if end else (total if colon else first + 1)
    if first >= total > 0 or last < first:
        raise ToolInputError(f"rows: there are {total:,}, from 0; got {wanted[:40]!r}")
    return first, min(last, total)


def _fitting(
    rows: Sequence[tuple[int, Json]], among: _Rows, wanted: Wanted, max_tokens: int
) -> tuple[list[str], list[Json]]:
    """The lines of the rows that fit, and the rows; at least one, cut where it is too long by itself."""
    lines: list[str] = []
    kept: list[Json] = []
    spent = 0
    for number, row in rows:
        line = shown(row) if row != "" or among.noun == "value" else ""
        if wanted.grep is not None:
            line = f"{number}: {line}"
        spent += weigh(line) + 1
        if spent > max_tokens:
            if not kept:
                lines, kept = [_cut(number, row, among, max_tokens)], [row]
            break
        lines.append(line)
        kept.append(row)
    return lines, kept


def _cut(number: int, row: Json, among: _Rows, max_tokens: int) -> str:
    where = among.paths[number] if among.paths else ""
    told = f"this one is cut; read it with path={where}" if where else "this one is cut"
    value = next(iter(row.values())) if among.noun == "fields" and isinstance(row, Mapping) else row
    return f"{told}\n{summarise(value, max_tokens - weigh(told) - 1).text}"


def _head(among: _Rows, wanted: Wanted, found: int, start: int, upto: int, end: int) -> str:
    if wanted.grep is not None:
        told = f"matches {start:,}:{upto:,} of {found:,} in {among.total:,} {among.noun}"
    else:
        told = f"{among.noun} {start:,}:{upto:,} of {found:,}"
    if upto >= found:
        return told
    last = str(end) if upto < end < found else ""
    return f"{told}; next: rows={upto}:{last}"
