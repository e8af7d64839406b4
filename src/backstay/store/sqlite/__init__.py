"""The durable store in one SQLite file."""

from backstay.store.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
