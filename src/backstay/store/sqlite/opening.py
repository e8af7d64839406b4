"""Opening the file: connections, the schema and its version, the key; and what SQLite's errors mean.

A file that is newer, foreign or damaged is refused before anything is written to it.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

from backstay.core.errors import BackstayError, CorruptError, FullError, StoreError
from backstay.store.chain import Chain, key_of
from backstay.store.migrations import MIGRATIONS
from backstay.store.owners import is_gone

APPLICATION_ID = 0x4241434B
"""`BACK`, in the header of the file: what tells our files from other programs'."""
_SCARCE_BYTES = 1 << 16


def connect(path: Path, *, busy_seconds: float, synchronous: str) -> sqlite3.Connection:
    """Return a connection in autocommit, usable from any one thread at a time; a new file is its owner's alone."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    db.create_function("is_gone", 1, is_gone)
    db.execute(_SYNCHRONOUS[synchronous])
    db.execute(_CHECKPOINT)
    db.execute(_CACHE)
    return db


_CHECKPOINT = "PRAGMA wal_autocheckpoint=4000"
"""Pages (16 MB): most are written over again before they are copied into the file."""
_CACHE = "PRAGMA cache_size=-8000"
_SYNCHRONOUS = {"FULL": "PRAGMA synchronous=FULL", "NORMAL": "PRAGMA synchronous=NORMAL"}


def prepare(db: sqlite3.Connection, path: Path) -> Chain:
    """Bring the file up to the present schema and return the chain with its key.

    Raises:
        CorruptError: `store.version` for a newer or foreign file, `store.key` for another key.
    """
    version = _version(db, path)
    if version == 0:
        db.execute("PRAGMA journal_mode=WAL")
    chain = Chain(key_of(path.parent, known=version > 0))
    if version < len(MIGRATIONS):
        _migrate(db, path, chain)
    (stored,) = db.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
    if stored != chain.fingerprint:
        raise CorruptError(
            f"{path.parent / 'key'} is not the key that {path} was written with; restore it from a backup",
            code="store.key",
        )
    db.execute("PRAGMA secure_delete=ON")
    return chain


def _version(db: sqlite3.Connection, path: Path) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    owner: int = db.execute("PRAGMA application_id").fetchone()[0]
    is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if owner != APPLICATION_ID and not is_empty:
        raise CorruptError(
            f"{path} is another program's database; nothing was changed. Name another file", code="store.version"
        )
    if version > len(MIGRATIONS):
        raise CorruptError(
            f"{path} was written by a newer Backstay (schema {version}, this one knows {len(MIGRATIONS)}); "
            "nothing was changed. Upgrade it (pip install -U backstay)",
            code="store.version",
        )
    return version


def _migrate(db: sqlite3.Connection, path: Path, chain: Chain) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        # Looked up again: another process may have migrated while this one waited for the lock.
        for n in range(_version(db, path), len(MIGRATIONS)):
            for statement in MIGRATIONS[n]:
                db.execute(statement)
        db.execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('key', ?)", (chain.fingerprint,))
        # PRAGMA takes no bound values; both are integers of this program.
        db.execute(f"PRAGMA user_version={len(MIGRATIONS):d}")
        db.execute(f"PRAGMA application_id={APPLICATION_ID:d}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def meaning(error: sqlite3.Error | OSError, path: Path) -> BackstayError:
    """Return what an error of SQLite or the system means for who called the store."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if isinstance(error, OSError):
        name = "SQLITE_FULL" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "SQLITE_CANTOPEN"
    if name.startswith("SQLITE_IOERR") and _is_full(path):
        name = "SQLITE_FULL"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return CorruptError(
            f"{path} is damaged or no database ({error}); nothing was changed. Restore it from a backup"
        )
    if name == "SQLITE_FULL":
        return FullError(f"no room is left for {path}; nothing of this was written. Free some space and try again")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StoreError(f"{path} cannot be written ({error}); choose a folder that can", code="store.readonly")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(f"{path} was locked by another program for too long; end it and try again", code="store.busy")
    return StoreError(f"{path} could not be used ({name or type(error).__name__}: {error})")


def _is_full(path: Path) -> bool:
    try:
        room = os.statvfs(path.parent)
    except (OSError, AttributeError):
        return False
    return room.f_bavail * room.f_frsize < _SCARCE_BYTES
