"""What a model is shown of a result: a text within a bound, cut at the borders of records, never in silence.

`summarise` writes it, `shrink` makes an existing result's text shorter and keeps what `keep` names. What no reader
could see (control and direction characters) is not shown; `data` stays as it is. Source: SPEC T4 ("40 of 312 rows"),
M5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backstay.core.canon import canonical
from backstay.core.fields import Field, fields_named
from backstay.core.messages import Artifact, Json, ToolResult
from backstay.core.printable import printable

IDS = ("id", "ids", "*_id", "*_ids", "*Id", "*Ids")
"""Fields that stay when a result shrinks and nothing else was named."""
_SMALL = 24
"""Tokens below which a text is not worth cutting, nor a part of one worth showing."""
_LONG_TEXT = 200
"""Characters from which a text inside an object may be cut by itself."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A bounded text. `is_cut` says that there is more to read."""

    text: str
    is_cut: bool


def weigh(text: str) -> int:
    """Tokens of a text, roughly: 1/4 for a character of ASCII, 5/8 for one of other alphabets, 1 for a Chinese one."""
    if text.isascii():
        return len(text) // 4 + 1
    more = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return len(text) // 4 + more * 3 // 8 + 1


def summarise(data: Json, max_tokens: int, *, keep: Iterable[str] = (), artifacts: Sequence[Artifact] = ()) -> Summary:
    """Write a result's data as text of at most about `max_tokens` tokens (never below 24).

    A list is cut between rows, an object at its long lists and texts, a table of objects between fields, a text between
    lines. `None`, an empty list, `0` and an empty text stay four different things.

    Args:
        data: the result's JSON, or a text to be shown as it is.
        max_tokens: the bound.
        keep: names of fields whose values stand in the text even where it is cut.
        artifacts: files that came with it: each is named on a line of its own.
    """
    whole = shown(data)
    files = _files(artifacts, max_tokens // 2)
    left = max(_SMALL, max_tokens - (weigh(files) if files else 0))
    if data is None and files:
        return Summary(files, False)
    if weigh(whole) <= left:
        return Summary(_joined(whole, files), False)
    kept = _kept(fields_named(data, keep), left - _SMALL) if keep else ""
    return Summary(_joined(_within(data, whole, left - (weigh(kept) if kept else 0)), kept, files), True)


def shrink(result: ToolResult, max_tokens: int, *, ref: str | None = None) -> ToolResult:
    """Return the result with a shorter summary, for a window that has no more room; everything else stays.

    What `result.keep` names (ids, where it names nothing) stands in the new summary as it is in `data`, as far as the
    bound allows, and the summary says how much is not there. A result that is short enough, or as short as can be, is
    returned as it is.

    Args:
        result: as it was journalled.
        max_tokens: the bound of the new summary; below 24 it counts as 24.
        ref: what the rest is recalled by, where the result has no reference of its own: its call's id.
    """
    bound = max(_SMALL, max_tokens)
    if weigh(result.summary) <= bound:
        return result
    files = _files(result.artifacts, bound // 2)
    left = max(_SMALL, bound - (weigh(files) if files else 0))
    body = words_of(result)
    named = fields_named(result.data, result.keep or IDS)
    kept = _kept(named, left - _SMALL // 2)
    room = left - (weigh(kept) if kept else 0)
    if room < _SMALL and kept:
        text = _joined(kept, files)
    else:
        source: Json = result.data if _is_shown_of(body, result.data) else body
        text = _joined(_within(source, shown(source), room), kept, files)
    return replace(result, summary=text, ref=result.ref or ref) if weigh(text) < weigh(result.summary) else result


def shown(data: Json) -> str:
    """The whole of a value as a model would be shown it."""
    return printable(data if isinstance(data, str) else canonical(data)) or '""'


def file_line(artifact: Artifact) -> str:
    """How a model is told of a file: name, type, size and the handle that other tools take."""
    return f"[file {artifact.name}, {artifact.mime}, {artifact.size:,} bytes: {artifact.ref}]"


def words_of(result: ToolResult) -> str:
    """A summary without the lines that name its files."""
    lines = {file_line(one) for one in result.artifacts}
    return _joined(*(line for line in result.summary.split("\n") if line not in lines)) if lines else result.summary


def _joined(*texts: str) -> str:
    return "\n".join(text for text in texts if text)


def _files(artifacts: Sequence[Artifact], max_tokens: int) -> str:
    lines: list[str] = []
    spent = _SMALL // 2
    for one in artifacts:
        line = file_line(one)
        spent += weigh(line) + 1
        if spent > max_tokens and lines:
            return _joined(*lines, f"[{len(artifacts) - len(lines)} more files]")
        lines.append(line)
    return _joined(*lines)


def _is_shown_of(text: str, data: Json) -> bool:
    """Whether a summary was made from the data, cut or not; else it is the tool's own words."""
    return data is not None and text.rpartition("\n")[2] in shown(data)


def _kept(found: Iterator[Field], max_tokens: int) -> str:
    """The values on one line, by path; those that do not fit are counted."""
    groups: dict[str, list[Json]] = {}
    single: set[str] = set()
    spent, missing = weigh("kept: {} and 999,999 more values"), 0
    for field in found:
        path = ".".join(field.path)
        cost = weigh(shown(field.value)) + 1 + (0 if path in groups else weigh(path) + 1)
        if spent + cost > max_tokens:
            missing += 1
            continue
        spent += cost
        groups.setdefault(path, []).append(field.value)
        if not field.is_listed:
            single.add(path)
    if not groups:
        return ""
    values: Json = {path: some[0] if path in single and len(some) == 1 else some for path, some in groups.items()}
    return f"kept: {shown(values)}" + (f" and {missing:,} more values" if missing else "")


def _within(data: Json, whole: str, max_tokens: int) -> str:
    """Cut between records if that stays inside the bound, else between characters."""
    text = _cut(data, max_tokens, "") if weigh(whole) > max_tokens else whole
    return text if weigh(text) <= max_tokens else _characters(whole, max_tokens)


def _cut(data: Json, max_tokens: int, path: str) -> str:
    if isinstance(data, str):
        lines = data.splitlines()
        return _rows(lines, max_tokens, "lines", path) if len(lines) > 1 else _characters(shown(data), max_tokens)
    if isinstance(data, list | tuple) and data:
        return _rows(data, max_tokens, "rows", path)
    if isinstance(data, Mapping) and data:
        return _object(data, max_tokens, path)
    return _characters(shown(data), max_tokens)


def _rows(rows: Sequence[Json], max_tokens: int, noun: str, path: str) -> str:
    lines: list[str] = []
    spent = _SMALL // 2
    for row in rows:
        line = printable(row) if noun == "lines" and isinstance(row, str) else shown(row)
        spent += weigh(line) + 1
        if spent > max_tokens:
            break
        lines.append(line)
    if lines:
        return "\n".join([f"{len(lines):,} of {len(rows):,} {noun}:", *lines])
    if noun == "lines":
        return _characters(shown("\n".join(str(row) for row in rows)), max_tokens)
    head = f"0 of {len(rows):,} {noun}, the first begins:"
    return f"{head}\n{_cut(rows[0], max_tokens - weigh(head) - 1, f'{path}0.')}"


def _object(data: Mapping[str, Json], max_tokens: int, path: str) -> str:
    """The short fields in one piece, then every long list and text with its path and a fair share of the room."""
    parts = sorted(_long_parts(data, ()), key=lambda part: part[2])
    weight, lifted = weigh(shown(data)), dict[tuple[str, ...], tuple[Json, int]]()
    while parts and weight > max_tokens // 2:
        place, value, cost = parts.pop()
        lifted[place] = value, cost
        weight -= cost
    rest = shown(_without(data, (), lifted))
    room = max_tokens - weigh(rest) - sum(weigh(".".join(place)) + 2 for place in lifted) - len(path) // 4
    if not lifted or room < _SMALL * len(lifted):
        return _fields(data, max_tokens, path)
    texts = [rest] if rest != "{}" else []
    shares = _shares({place: cost for place, (_, cost) in lifted.items()}, room)
    for place, (value, cost) in lifted.items():
        name = path + ".".join(place)
        texts.append(f"{name}: {shown(value) if cost <= shares[place] else _cut(value, shares[place], f'{name}.')}")
    return "\n".join(texts)


def _fields(data: Mapping[str, Json], max_tokens: int, path: str) -> str:
    if len(data) == 1:
        ((key, value),) = data.items()
        return f"{path}{key}: {_cut(value, max_tokens - weigh(path + key) - 1, f'{path}{key}.')}"
    return _rows([{key: value} for key, value in data.items()], max_tokens, "fields", path)


def _long_parts(data: Mapping[str, Json], place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json, int]]:
    """What can be cut by itself inside an object and the objects in it, with its weight."""
    for key, value in data.items():
        inner = (*place, key)
        if isinstance(value, Mapping):
            yield from _long_parts(value, inner)
        elif (isinstance(value, list | tuple) and value) or (isinstance(value, str) and len(value) > _LONG_TEXT):
            yield inner, value, weigh(shown(value))


def _without(data: Mapping[str, Json], place: tuple[str, ...], lifted: Mapping[tuple[str, ...], Any]) -> Json:
    rest: dict[str, Json] = {}
    for key, value in data.items():
        inner = (*place, key)
        if inner not in lifted:
            rest[key] = _without(value, inner, lifted) if isinstance(value, Mapping) else value
    return rest


def _shares(costs: Mapping[tuple[str, ...], int], room: int) -> dict[tuple[str, ...], int]:
    """What each may have of the room: the cheap ones all they need, the others equally much of what they leave."""
    shares: dict[tuple[str, ...], int] = {}
    for place in sorted(costs, key=lambda one: costs[one]):
        shares[place] = min(costs[place], room // (len(costs) - len(shares)))
        room -= shares[place]
    return shares


def _characters(text: str, max_tokens: int) -> str:
    room = max(1, max_tokens - 16)
    size = max(1, len(text) * room // weigh(text))
    while size > 1 and (weight := weigh(text[:size])) > room:  # its beginning is denser than the whole
        size = max(1, size * room // weight)
    return f"{size:,} of {len(text):,} characters:\n{text[:size]}"
