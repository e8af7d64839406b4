"""A cache in one SQLite file, shared by any number of processes of one user on one machine.

A cache never fails a call: what cannot be read is a miss, what cannot be written is not kept. Every row carries a
digest, so a damaged file gives misses and never another result. Source: SPEC T8.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from pathlib import Path
from threading import Lock
from typing import Any, cast

from backstay.core.canon import canonical, freeze
from backstay.core.errors import ToolDefinitionError
from backstay.core.logs import logger
from backstay.core.messages import Label, ToolResult
from backstay.tools.cache.flights import Flights
from backstay.tools.cache.protocol import check_bounds

_log = logger("backstay.tools")

APPLICATION_ID = 0x42414343
"""`BACC`, in the header of the file: what tells a cache of ours from other programs' files."""
_BUSY_SECONDS = 1.0
_VERSION = 1
_MAGIC = b"SQLite format 3\x00"
_TABLE = """CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY, ends REAL NOT NULL, used REAL NOT NULL, body TEXT NOT NULL, digest TEXT NOT NULL)"""
_GET = "SELECT ends, body, digest FROM results WHERE key = ?"
_PUT = "INSERT OR REPLACE INTO results (key, ends, used, body, digest) VALUES (?, ?, ?, ?, ?)"
_TRIM = """DELETE FROM results WHERE ends <= ? OR key IN (
    SELECT key FROM results ORDER BY used DESC, rowid DESC LIMIT -1 OFFSET ?)"""


class DiskCache(Flights):
    """The last `size` results in a file, each for `ttl` seconds.

    Equal calls at once run once within a process; two processes may both run a call that neither has kept yet. Results
    whose label is secret, and results that came with files, are not written.

    Args:
        path: the file; made if it is not there, readable for its owner alone. Its folder has to be there.
        size: how many results it holds; the ones not used for longest go first.
        ttl: seconds a result counts.

    Raises:
        ToolDefinitionError: code `cache.file`, when the file is none of ours or cannot be written. A damaged one of
            ours is made anew, with a warning in the log.
    """

    def __init__(self, path: str | Path, size: int = 1_024, ttl: float = 3_600.0) -> None:
        check_bounds(size, ttl)
        super().__init__()
        self.path = Path(path).expanduser().absolute()
        self._size = size
        self._ttl = ttl
        self._lock = Lock()
        self._pid = 0
        self._db: sqlite3.Connection | None = None
        try:
            _check_ours(self.path)
            with self._lock:
                self._opened()
        except (OSError, sqlite3.Error) as error:
            raise ToolDefinitionError(
                f"the cache {self.path} cannot be used ({error}); name a file in a folder that can be written",
                code="cache.file",
            ) from error

    def get(self, key: str, now: float) -> ToolResult | None:
        """The result, or None if there is none, it is too old, or it cannot be read."""
        with self._lock:
            row = self._try(lambda db: _read(db, _digest_of(key), now))
        return None if row is None else _result_of(row)

    def put(self, key: str, result: ToolResult, now: float) -> None:
        """Keep a result, letting go of the one not used for longest. One with files or a secret is not kept."""
        if result.artifacts or result.label.secrecy == "secret":
            return
        name, body = _digest_of(key), _body_of(result)
        row = (name, now + self._ttl, now, body, _seal(name, body))
        with self._lock:
            self._try(lambda db: _write(db, row, now, self._size))

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            self._forget()

    def _try(self, work: Any) -> Any:
        """Do something with the file; what goes wrong with it costs a result, never a call."""
        try:
            return work(self._opened())
        except sqlite3.OperationalError as error:  # locked, full, read-only: it may be well again
            _log.warning("the cache %s could not be used: %s", self.path, error)
        except (sqlite3.Error, OSError) as error:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._rebuild(error)
        return None

    def _opened(self) -> sqlite3.Connection:
        if self._db is None or self._pid != os.getpid():  # a connection does not survive a fork
            self._db, self._pid = None, os.getpid()
            try:
                self._db = _connect(self.path)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:
                self._rebuild(error)
        assert self._db is not None
        return self._db

    def _rebuild(self, error: Exception) -> None:
        _log.warning("the cache %s is damaged (%s) and is made anew", self.path, error)
        self._forget()
        for end in ("", "-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)
        self._db, self._pid = _connect(self.path), os.getpid()

    def _forget(self) -> None:
        if self._db is not None and self._pid == os.getpid():
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db = None


def _check_ours(path: Path) -> None:
    """Refuse a file that another program has written: it is not ours to make anew. One of ours is its owner's alone."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        head = file.read(72)
    if not head.startswith(_MAGIC) or head[68:72] != APPLICATION_ID.to_bytes(4, "big"):
        raise ToolDefinitionError(
            f"{path} is no cache of Backstay; nothing was changed. Name another file, or delete this one",
            code="cache.file",
        )
    with contextlib.suppress(OSError):
        path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600))
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute(f"PRAGMA application_id={APPLICATION_ID:d}")  # takes no bound value
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA secure_delete=ON")
        db.execute(_TABLE)
    except BaseException:
        db.close()
        raise
    return db


def _read(db: sqlite3.Connection, name: str, now: float) -> str | None:
    row = db.execute(_GET, (name,)).fetchone()
    if row is None or row[0] <= now or row[2] != _seal(name, row[1]):
        return None
    with contextlib.suppress(sqlite3.OperationalError):  # another process writes; this only orders what goes first
        db.execute("UPDATE results SET used = max(used, ?) WHERE key = ?", (now, name))
    return str(row[1])


def _write(db: sqlite3.Connection, row: tuple[object, ...], now: float, size: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(_PUT, row)
        db.execute(_TRIM, (now, size))
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _digest_of(key: str) -> str:
    """Arguments may be private, so the file holds their digest."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _seal(name: str, body: str) -> str:
    return hashlib.sha256(f"{name}\n{body}".encode("utf-8", "surrogatepass")).hexdigest()


def _body_of(result: ToolResult) -> str:
    label = _plain_label(result.label)
    labels = [[path, _plain_label(one)] for path, one in result.labels]
    return json.dumps(
        {
            "v": _VERSION, "summary": result.summary, "data": json.loads(canonical(result.data)),
            "keep": list(result.keep), "ref": result.ref, "label": label, "labels": labels,
        }
    )  # fmt: skip


def _plain_label(label: Label) -> list[Any]:
    return [label.trusted, label.secrecy]


def _result_of(body: str) -> ToolResult | None:
    try:
        found = json.loads(body)
        if found["v"] != _VERSION:
            return None
        return ToolResult(
            ok=True,
            summary=found["summary"],
            data=freeze(found["data"]),
            keep=tuple(found["keep"]),
            ref=found["ref"],
            label=_label_of(found["label"]),
            labels=tuple((path, _label_of(one)) for path, one in found["labels"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _label_of(plain: list[Any]) -> Label:
    trusted, secrecy = plain
    return Label(trusted=bool(trusted), secrecy=cast("Any", secrecy))
