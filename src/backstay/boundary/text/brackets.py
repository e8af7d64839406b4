"""Brackets: what stands in the brackets of a message, for `none of those in brackets`, `括号里那几家都不要`."""

from __future__ import annotations

import re

from backstay.boundary.text.segments import BLANK, own_words
from backstay.core.patterns import Pattern

_INSIDE = Pattern(r"[(（]([^()（）\n]{1,400})[)）]")
_BETWEEN = Pattern(r"[,，、;；/]|\s(?:and|or|&)\s|(?<=[\u3400-\u9fff])(?:和|与|或|及)(?=[\u3400-\u9fff])")
_MOST = 20
_LONGEST = 60


SPOKEN_OF = Pattern(r"bracket|parenthes|parens|括号")
"""Whether a sentence, normalised, speaks of brackets at all."""
_REACH = 1_000
"""Brackets may stand so many characters back."""


def bracketed(own: str, end: int, before: str) -> tuple[str, ...]:
    """The names in the brackets of a text, or else of the author's message before it; none where one is no name.

    Args:
        own: the text with quotations blanked, up to whose `end` brackets are looked for.
        end: the end of the sentence that speaks of brackets.
        before: the author's message before it, as it was written.
    """
    for words in (own[max(0, end - _REACH) : end], own_words(before[-_REACH:])):
        names: list[str] = []
        for inside in _INSIDE.finditer(words):
            names += (name.strip() for name in _BETWEEN.split(inside[1]))
            if len(names) > _MOST:
                return ()
        if names:
            return tuple(names) if all(_is_name(name) for name in names) else ()
    return ()


def _is_name(name: str) -> bool:
    return (
        2 <= len(name) <= _LONGEST
        and BLANK not in name
        and re.search(r"[^\W\d_]", name) is not None
        and "*" not in name
    )
