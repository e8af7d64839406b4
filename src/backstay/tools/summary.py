"""What a model is shown of a result: a text within a bound, cut at the borders of records, never in silence.

Source: SPEC T4 ("40 of 312 rows").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backstay.core.canon import canonical
from backstay.core.messages import Json


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


def summarise(data: Json, max_tokens: int) -> Summary:
    """Write a result's data as text of at most about `max_tokens` tokens.

    A list is cut between rows, an object with one long list likewise, a text between lines. `None`, an empty list,
    `0` and an empty text stay four different things.
    """
    whole = data if isinstance(data, str) else canonical(data)
    if isinstance(data, str) and not data:
        return Summary('""', False)
    if weigh(whole) <= max_tokens:
        return Summary(whole, False)
    if isinstance(data, list | tuple) and len(data) > 1:
        return _rows([canonical(row) for row in data], max_tokens, "rows")
    if isinstance(data, str):
        return _rows(data.splitlines(), max_tokens, "lines")
    if isinstance(data, Mapping):
        return _object(data, whole, max_tokens)
    return _characters(whole, max_tokens)


def _object(data: Mapping[str, Json], whole: str, max_tokens: int) -> Summary:
    long = max(data, key=lambda key: len(canonical(data[key])))
    rows = data[long]
    rest = canonical({key: value for key, value in data.items() if key != long})
    left = max_tokens - weigh(rest)
    if not isinstance(rows, list | tuple) or len(rows) < 2 or left < max_tokens // 2:
        return _characters(whole, max_tokens)
    return Summary(f"{rest}\n{long}: {_rows([canonical(row) for row in rows], left, 'rows').text}", True)


def _rows(rows: list[str], max_tokens: int, noun: str) -> Summary:
    kept, spent = 0, 16
    for row in rows:
        spent += weigh(row) + 1
        if spent > max_tokens:
            break
        kept += 1
    if kept == 0:
        return _characters("\n".join(rows), max_tokens)
    return Summary("\n".join([f"{kept:,} of {len(rows):,} {noun}:", *rows[:kept]]), True)


def _characters(text: str, max_tokens: int) -> Summary:
    room = max(1, max_tokens - 16)
    size = max(1, len(text) * room // weigh(text))
    while size > 1 and (weight := weigh(text[:size])) > room:  # its beginning is denser than the whole
        size = max(1, size * room // weight)
    return Summary(f"{size:,} of {len(text):,} characters:\n{text[:size]}", True)
