"""Which entries answer a question: rank by words, rank by meaning, and both fused by their ranks.

Fusing ranks needs no common scale: 1 / (60 + rank), summed (reciprocal rank fusion; Cormack, Clarke, Büttcher 2009).
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import mul
from typing import Any

from backstay.core.encoder import Encoder

CANDIDATES = 50
"""Entries that each ranking names."""
_RANK_AT = 60
CLOSE = 0.2
"""Cosine below which a text is not about the question; chosen on `bench/retrieval`."""
_WORDS_AS_COSINE = 1.5
"""What common words are worth beside a cosine, so that one bound serves both; chosen on `bench/retrieval`."""


def fused(rankings: Iterable[Sequence[int]]) -> dict[int, float]:
    """Entry → score, best first, over rankings that each name entries best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (_RANK_AT + rank)
    return dict(sorted(scores.items(), key=lambda one: (-one[1], one[0])))


def named(encoder: Encoder | None) -> str:
    """What tells vectors of one encoder from those of another."""
    return "" if encoder is None else f"{type(encoder).__module__}:{type(encoder).__qualname__}"


async def encoded(encoder: Encoder | None, texts: Sequence[str]) -> list[bytes]:
    """Vectors as 32-bit floats, made in a thread, since an encoder may take seconds to load; empty without one."""
    if encoder is None:
        return [b""] * len(texts)
    found = await asyncio.to_thread(encoder.encode, list(texts))
    return [array("f", [float(one) for one in vector]).tobytes() for vector in found]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of one length, one after the other, and whose they are."""

    numbers: tuple[int, ...]
    table: bytes

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bytes]]) -> Vectors:
        """Put vectors side by side; those of another length than the first are left out."""
        size = len(rows[0][1]) if rows else 0
        same = [(number, vector) for number, vector in rows if len(vector) == size]
        return cls(tuple(number for number, _ in same), b"".join(vector for _, vector in same))


def nearest(query: bytes, vectors: Vectors, most: int = CANDIDATES) -> dict[int, float]:
    """Entry → cosine, closest first; none that is about something else, none of another length."""
    if not vectors.numbers or len(query) * len(vectors.numbers) != len(vectors.table):
        return {}
    cosines = _dots(query, vectors)
    close = [(-cosine, number) for cosine, number in zip(cosines, vectors.numbers, strict=True) if cosine >= CLOSE]
    return {number: -cosine for cosine, number in sorted(close)[:most]}


def in_common(one: Sequence[str], other: Sequence[str]) -> float:
    """How much two texts say in the same terms, 0..1: their common terms over the geometric mean of how many each has
    (Ochiai 1957)."""
    first, second = set(one), set(other)
    if not first or not second:
        return 0.0
    return min(1.0, _WORDS_AS_COSINE * len(first & second) / sqrt(len(first) * len(second)))


def _dots(query: bytes, vectors: Vectors) -> list[float]:
    numpy = _numpy()
    if numpy is not None:
        table = numpy.frombuffer(vectors.table, dtype="float32").reshape(len(vectors.numbers), -1)
        found: list[float] = (table @ numpy.frombuffer(query, dtype="float32")).tolist()
        return found
    mine, table = array("f", query), array("f", vectors.table)
    size = len(mine)
    return [sum(map(mul, mine, table[at : at + size])) for at in range(0, len(table), size)]


def _numpy() -> Any:
    """Numpy where it is installed (the embedded model's encoder brings it): 100 times faster, otherwise the same."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy
