"""From a path or URL to a store."""

from __future__ import annotations

from pathlib import Path

from backstay.core.errors import StoreError
from backstay.store.memory import MemoryStore
from backstay.store.protocol import RunStore
from backstay.store.sqlite import SQLiteStore

_SQLITE = "sqlite:///"


def open_store(where: str | Path) -> RunStore:
    """Open the store that a setting names.

    Args:
        where: `memory:`, the path of a file, or `sqlite:///` and a path (four slashes for an absolute one). Folders
            that are not there are made, for their owner only.

    Raises:
        StoreError: `store.url` for another kind of URL, `store.readonly` where nothing can be written.
        CorruptError: for a file that is damaged, newer or somebody else's.
    """
    text = str(where)
    if text == "memory:":
        return MemoryStore()
    if text.startswith(_SQLITE):
        text = text.removeprefix(_SQLITE)
    elif "://" in text or not text:
        raise StoreError(
            f"{text.partition('://')[0]!r} is not a store; give 'memory:', a path or 'sqlite:///PATH'", code="store.url"
        )
    path = Path(text).expanduser().absolute()
    _make_folder(path.parent)
    return SQLiteStore(path)


def _make_folder(folder: Path) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        for one in reversed(missing):
            one.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be made ({error.strerror}); choose another", code="store.readonly"
        ) from error
