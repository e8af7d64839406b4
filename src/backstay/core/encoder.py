"""`Encoder`: sentences to vectors, injected into whatever compares meanings. Source: DESIGN 3 (seams)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Encoder(Protocol):
    """Turns texts into vectors of length 1, so that a dot product is their cosine."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector for each text, in their order; all of one dimension."""
        ...
