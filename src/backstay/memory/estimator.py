"""How many tokens a text has, roughly: classes of pieces and a weight for each, without any tokenizer.

One pass of one pattern, so that the time is linear whatever the text. The weights are fitted to o200k over the corpora
of `bench/tokens` (`python -m bench.tokens fit`); other tokenizers differ by a factor, which `counting` learns from the
provider's own figures. Source: SPEC M9.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

CLASSES = (
    "opaque",
    "caps",
    "caps letters",
    "word",
    "word letters",
    "digits",
    "space",
    "space more",
    "han",
    "kana",
    "hangul",
    "letter",
    "punctuation",
    "punctuation more",
    "wide",
    "other",
)
"""What is counted, in the order of the weights."""
WEIGHTS = (0.62, 1.14, 0.19, 0.92, 0.32, 1.16, 1.17, 0.04, 0.76, 0.55, 0.63, 0.24, 0.76, 0.14, 0.48, 1.5)
"""Tokens for one of each class. None is above 1.5, so that no text has more than that for each of its characters (an
emoji, the last class, has 1.8 on average)."""
TOKENS_A_CHARACTER = 1.5
"""No text has more tokens than this for each of its characters: what is surely small enough is not counted."""

_LONG_WORD = 7
"""Letters of a word that cost nothing beyond the word itself."""
_OPAQUE = 24
_SURELY_OPAQUE = 80
_DIGIT_EVERY = 12
_PIECES = re.compile(
    r"([A-Za-z0-9+/=_-]{24,})"  # maybe base64, a uuid, a hash
    r"|([A-Z]+(?![a-z]))"
    r"|([A-Z]?[a-z]+)"
    r"|([0-9]+)"
    r"|(\s+)"
    r"|([\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|([\u3040-\u30ff]+)"
    r"|([\u1100-\u11ff\uac00-\ud7af]+)"
    r"|([\u00c0-\u10ff\u1200-\u1fff]+)"
    r"|([!-/:-@\[-`{-~]+)"
    r"|([\u3000-\u303f\uff00-\uffef]+)"
    r"|(.)",
    re.DOTALL,
)
_WORDS = re.compile(_PIECES.pattern.replace("{24,}", "{0}(?!)"), re.DOTALL)
"""The same without runs that may be opaque, for those that are not."""
_SEVERAL = {6: 8, 7: 9, 8: 10, 9: 11, 11: 14, 12: 15}
"""Group of the pattern → class, for what is counted by the character."""


def features(text: str) -> list[int]:
    """How many of each class a text has, in the order of `CLASSES`."""
    found = [0] * len(CLASSES)
    _count(_PIECES, text, found)
    return found


def _count(pieces: re.Pattern[str], text: str, found: list[int]) -> None:
    for match in pieces.finditer(text):
        kind, start, end = match.lastindex, match.start(), match.end()
        size = end - start
        if kind == 3:
            found[3] += 1
            if size > _LONG_WORD:
                found[4] += size - _LONG_WORD
        elif kind == 5:
            if size > 1 or text[start] != " ":
                found[6] += 1
                found[7] += size - 1
        elif kind == 10:
            found[12] += 1
            found[13] += size - 1
        elif kind == 4:
            found[5] += (size + 2) // 3
        elif kind == 2:
            found[1] += 1
            found[2] += size - 1
        elif kind == 1:
            if _is_opaque(run := match[0]):
                found[0] += size
            else:
                _count(_WORDS, run, found)
        elif kind is not None:
            found[_SEVERAL[kind]] += size


def _is_opaque(run: str) -> bool:
    """Whether a long run of letters, digits and joiners says nothing to a tokenizer."""
    if len(run) > _SURELY_OPAQUE and "-" not in run and "_" not in run and "/" not in run:
        return True
    return sum(map(run.count, "0123456789")) * _DIGIT_EVERY >= len(run)


def estimate(text: str, weights: Sequence[float] = WEIGHTS) -> int:
    """Tokens of a text, rounded up; 0 for an empty one.

    Args:
        text: any text, of any length.
        weights: of the classes, in their order.
    """
    if not text:
        return 0
    return max(1, ceil(sum(weight * count for weight, count in zip(weights, features(text), strict=True) if count)))
