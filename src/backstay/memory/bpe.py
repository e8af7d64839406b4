"""Exact counting for those who want it: byte-pair tables out of the extra `tokenizer`, loaded at first use.

Source: SPEC M9.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from backstay.core.errors import SetupError
from backstay.core.messages import Message
from backstay.memory.counting import message_tokens

ENCODINGS = {"o200k": "o200k_base", "cl100k": "cl100k_base", "voyage3": "voyage3_base"}
"""Our name → the tables' own."""


class Encoding:
    """Counts texts exactly as one family of models does.

    Args:
        name: `o200k` (OpenAI since GPT-4o), `cl100k` (before it), `voyage3`.

    Raises:
        SetupError: code `setup`, for an unknown name, or when the extra is not installed.
    """

    def __init__(self, name: str = "o200k") -> None:
        if name not in ENCODINGS:
            raise SetupError(f"{name!r} is no encoding; there are {', '.join(ENCODINGS)}")
        self.name = name
        self._tables = _load(ENCODINGS[name])

    def count(self, text: str) -> int:
        """Tokens of a text. A lone half of a surrogate pair counts like a question mark."""
        found: int = self._tables.count(text.encode("utf-8", "replace").decode("utf-8"))
        return found

    def __call__(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of each message: a `tokenize` handler of `TokenMemory`."""
        return [message_tokens(message, self.count) for message in messages]


def _load(name: str) -> Any:
    try:
        with warnings.catch_warnings():  # its own start-up uses what importlib calls deprecated
            warnings.simplefilter("ignore", DeprecationWarning)
            from bpe_openai._bindings import tokenizer_for_encoding
    except ImportError:
        raise SetupError(
            "exact counting needs the tokenizer tables, which are not installed. Run: pip install 'backstay[tokenizer]'"
        ) from None
    return tokenizer_for_encoding(name)
