"""Where a long-term memory lies: in this process, or in a file beside the store of the runs."""

from __future__ import annotations

from pathlib import Path

from backstay.core.encoder import Encoder
from backstay.core.errors import StoreError
from backstay.memory.longterm.entry import LongTermMemory
from backstay.memory.longterm.in_memory import InMemoryLongTerm
from backstay.memory.longterm.sqlite import SQLiteLongTerm

_SQLITE = "sqlite:///"


def open_long_term(
    where: str | Path = ".backstay/store.memory.db", *, encoder: Encoder | None = None
) -> LongTermMemory:
    """A long-term memory by its place; a file is opened at its first use.

    Args:
        where: `memory:`, or the path of a file.
        encoder: finds entries by meaning too, such as `backstay.models.embedded.encoder.shared_encoder()`.
    """
    if str(where) == "memory:":
        return InMemoryLongTerm(encoder=encoder)
    return SQLiteLongTerm(where, encoder=encoder)


def beside(store: str | Path) -> Path:
    """The file of the long-term memory that goes with a store's: `store.memory.db` beside `store.db`.

    Raises:
        StoreError: code `store.url`, for a store that is no file.
    """
    text = str(store).removeprefix(_SQLITE)
    if text == "memory:" or "://" in text:
        raise StoreError(f"{text!r} is no file, so no long-term memory lies beside it", code="store.url")
    return Path(text).expanduser().absolute().with_suffix(".memory.db")
