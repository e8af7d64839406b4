"""Long-term memory in a SQLite file of its own: full text by FTS5 over our own terms, vectors as blobs.

A file of its own, because it is kept, searched, backed up and forgotten by other rules than a journal, which is only
ever added to. Source: SPEC M3.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from backstay.core.context import Principal
from backstay.core.encoder import Encoder
from backstay.core.errors import CorruptError, SetupError
from backstay.core.messages import PLAIN, Label
from backstay.memory.longterm.entry import (
    Author,
    Entry,
    Found,
    digest_of,
    entries_of,
    merged,
    not_there,
    weighed,
    without_doubles,
)
from backstay.memory.longterm.ranking import CANDIDATES, Vectors, encoded, fused, named, nearest
from backstay.memory.longterm.words import terms
from backstay.store.access import STAFF
from backstay.store.sqlite.opening import connect, meaning
from backstay.store.sqlite.writer import Writer

APPLICATION_ID = 0x424D454D
"""`BMEM`, in the header of the file."""
_VERSION = 1
_CACHED = 4
"""Persons whose vectors are kept in memory; 2 KB an entry."""
_SCHEMA = (
    """CREATE TABLE entries (
        n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, person TEXT NOT NULL,
        digest TEXT NOT NULL, trusted INTEGER NOT NULL, secrecy TEXT NOT NULL, author TEXT NOT NULL,
        text TEXT NOT NULL, sources TEXT NOT NULL, created_at REAL NOT NULL, expires_at REAL,
        encoder TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (tenant, person, digest, trusted))""",
    "CREATE INDEX entries_expiry ON entries (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE VIRTUAL TABLE words USING fts5 (owner, terms, tokenize = 'unicode61 remove_diacritics 0')",
)
_ENTRY = "id, tenant, person, text, author, trusted, secrecy, sources, created_at, expires_at"
_BY_WORDS = """SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 0.0, 1.0), rowid LIMIT ?"""
_VECTORS = """SELECT n, vector FROM entries WHERE tenant = ? AND person IN (?, '') AND encoder = ? ORDER BY n"""
_SOME = f"""SELECT n, {_ENTRY} FROM entries WHERE n IN (SELECT value FROM json_each(?))
    AND tenant = ? AND person IN (?, '') AND (expires_at IS NULL OR expires_at > ?)"""
_KNOWN = f"SELECT n, {_ENTRY} FROM entries WHERE tenant = ? AND person = ? AND digest = ? AND trusted = ?"
_PAGE = f"SELECT {_ENTRY} FROM entries WHERE id > ?{{seen}} ORDER BY id LIMIT ?"
_ONE = f"SELECT {_ENTRY} FROM entries WHERE id = ?{{seen}}"
_ADD = """INSERT INTO entries (id, tenant, person, text, author, trusted, secrecy, sources, created_at, expires_at,
    digest, encoder, vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_CHANGE = "UPDATE entries SET sources = ?, secrecy = ?, author = ?, expires_at = ? WHERE n = ?"

Row: TypeAlias = "tuple[str, str, str, str, Author, int, str, str, float, float | None]"


class SQLiteLongTerm:
    """A `LongTermMemory` in one file; opened at its first use, made if it is not there, for its owner alone.

    Args:
        path: the file.
        encoder: makes vectors, so that entries are found by meaning too; entries of another encoder, or of none, are
            found by their words.
        clock: seconds since 1970.
        busy_seconds: how long to wait for another process that writes.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        encoder: Encoder | None = None,
        clock: Callable[[], float] = time.time,
        busy_seconds: float = 30.0,
    ) -> None:
        self.path = Path(path).expanduser().absolute()
        self._encoder = encoder
        self._clock = clock
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._vectors: dict[tuple[str, str], Vectors] = {}
        self._version = 0
        self._opened: tuple[sqlite3.Connection, Writer] | None = None

    async def add(
        self,
        what: str | Path,
        *,
        principal: Principal,
        source: str = "",
        author: Author = "developer",
        label: Label = PLAIN,
        expires_at: float | None = None,
        shared: bool = False,
    ) -> tuple[Entry, ...]:
        """See `LongTermMemory.add`. All pieces of a document are written in one transaction."""
        fresh = entries_of(
            what,
            principal=principal,
            source=source,
            author=author,
            label=label,
            expires_at=expires_at,
            shared=shared,
            now=self._clock(),
        )
        vectors = await encoded(self._encoder, [one.text for one in fresh])
        by = named(self._encoder)
        _, writer = self._open()
        return await writer.run(lambda db: tuple(_kept(db, one, v, by) for one, v in zip(fresh, vectors, strict=True)))

    async def search(self, query: str, *, principal: Principal, limit: int = 5) -> tuple[Found, ...]:
        """See `LongTermMemory.search`."""
        vector = (await encoded(self._encoder, [query]))[0] if query.strip() else b""
        found = await asyncio.to_thread(self._found, terms(query), vector, principal)
        return weighed(without_doubles(found)[: max(0, limit)], query)

    def _found(self, words: Sequence[str], vector: bytes, principal: Principal) -> list[Found]:
        db, _ = self._open()
        now = self._clock()
        owners = " OR ".join(_owner(principal.tenant, person) for person in dict.fromkeys((principal.id, "")))
        with self._lock:
            rankings: list[list[int]] = []
            if words:
                wanted = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
                match = f"owner:({owners}) AND terms:({wanted})"
                rankings.append([row[0] for row in db.execute(_BY_WORDS, (match, CANDIDATES))])
            cosines = nearest(vector, self._vectors_of(principal, db)) if vector else {}
            rankings.append(list(cosines))
            scores = fused(rankings)
            rows = db.execute(_SOME, (json.dumps(list(scores)), principal.tenant, principal.id, now))
            entries = {row[0]: _entry(row[1:]) for row in rows}
        return [
            Found(entry=entries[n], score=score, closeness=cosines.get(n, 0.0))
            for n, score in scores.items()
            if n in entries
        ]

    def _vectors_of(self, principal: Principal, db: sqlite3.Connection) -> Vectors:
        """All vectors that a principal may look at, read once as long as nothing in the file changes."""
        (version,) = db.execute("PRAGMA data_version").fetchone()  # every write goes through another connection
        if version != self._version:
            self._vectors.clear()
            self._version = version
        key = (principal.tenant, principal.id)
        found = self._vectors.get(key)
        if found is None:
            found = Vectors.of(db.execute(_VECTORS, (*key, named(self._encoder))).fetchall())
            self._vectors[key] = found
            while len(self._vectors) > _CACHED:
                self._vectors.pop(next(iter(self._vectors)))
        return found

    async def entry(self, entry_id: str, *, principal: Principal | None = None) -> Entry:
        """See `LongTermMemory.entry`."""
        seen, values = _seen_by(principal)
        rows = self._read(_ONE.format(seen=seen), (entry_id, *values))
        if not rows:
            raise not_there(entry_id)
        return _entry(rows[0])

    async def entries(
        self, *, principal: Principal | None = None, after: str = "", limit: int = 50
    ) -> tuple[Entry, ...]:
        """See `LongTermMemory.entries`."""
        seen, values = _seen_by(principal)
        return tuple(_entry(row) for row in self._read(_PAGE.format(seen=seen), (after, *values, limit)))

    async def forget(self, *, principal: Principal | None = None, entry_id: str = "", source: str = "") -> int:
        """See `LongTermMemory.forget`. Words that are forgotten leave the index too."""
        if principal is None and not entry_id and not source:
            raise SetupError("name whose memory, which entry or which source is to go", code="memory.owner")
        _, writer = self._open()
        return await writer.run(lambda db: _forgotten(db, principal, entry_id, source))

    async def expire(self, now: float) -> int:
        """See `LongTermMemory.expire`."""
        _, writer = self._open()
        return await writer.run(
            lambda db: _dropped(
                db, [row[0] for row in db.execute("SELECT n FROM entries WHERE expires_at <= ?", (now,))]
            )
        )

    async def close(self) -> None:
        """Write what is queued and let go of the file; a further use opens it again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened[1].close()
            opened[0].close()

    def _read(self, statement: str, values: Sequence[object]) -> list[Row]:
        db, _ = self._open()
        with self._lock:
            return db.execute(statement, tuple(values)).fetchall()

    def _open(self) -> tuple[sqlite3.Connection, Writer]:
        with self._lock:
            if self._opened is None:
                try:
                    self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    db = connect(self.path, busy_seconds=self._busy_seconds, synchronous="FULL")
                    try:
                        _prepare(db, self.path)
                        writer = Writer(self.path, busy_seconds=self._busy_seconds)
                    except BaseException:
                        db.close()
                        raise
                except (sqlite3.Error, OSError) as error:
                    raise meaning(error, self.path) from error
                db.execute("PRAGMA query_only=ON")
                self._opened = db, writer
            return self._opened


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables, or check that they are ours.

    Raises:
        CorruptError: code `store.version`, for another program's file or a newer one; nothing is changed.
    """
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    owner: int = db.execute("PRAGMA application_id").fetchone()[0]
    is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if version > _VERSION or (owner != APPLICATION_ID and not is_empty):
        raise CorruptError(
            f"{path} is no long-term memory, or a newer Backstay's; nothing was changed. Name another file",
            code="store.version",
        )
    if is_empty:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("BEGIN IMMEDIATE")
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:  # nobody was faster
            for statement in _SCHEMA:
                db.execute(statement)
            db.execute(f"PRAGMA user_version={_VERSION:d}")
            db.execute(f"PRAGMA application_id={APPLICATION_ID:d}")
        db.execute("COMMIT")
    db.execute("PRAGMA secure_delete=ON")


def _owner(tenant: str, person: str) -> str:
    """A person as one term of the index."""
    return "o" + hashlib.sha256(f"{len(tenant)}:{tenant}{person}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _kept(db: sqlite3.Connection, entry: Entry, vector: bytes, encoder: str) -> Entry:
    digest = digest_of(entry.text)
    key = (entry.tenant, entry.person, digest, int(entry.label.trusted))
    row = db.execute(_KNOWN, key).fetchone()
    if row is not None:
        both = merged(_entry(row[1:]), entry)
        values = (json.dumps(both.sources), both.label.secrecy, both.author, both.expires_at, row[0])
        db.execute(_CHANGE, values)
        return both
    label = entry.label
    number = db.execute(
        _ADD,
        (
            entry.id, entry.tenant, entry.person, entry.text, entry.author, int(label.trusted), label.secrecy,
            json.dumps(entry.sources), entry.created_at, entry.expires_at, digest, encoder if vector else "", vector,
        ),
    ).lastrowid  # fmt: skip
    words = (number, _owner(entry.tenant, entry.person), " ".join(terms(entry.text)))
    db.execute("INSERT INTO words (rowid, owner, terms) VALUES (?, ?, ?)", words)
    return entry


def _entry(row: Row) -> Entry:
    id_, tenant, person, text, author, trusted, secrecy, sources, created_at, expires_at = row
    return Entry(
        id=id_,
        tenant=tenant,
        person=person,
        text=text,
        author=author,
        label=Label(trusted=bool(trusted), secrecy=secrecy),  # type: ignore[arg-type]  # written from a Label
        sources=tuple(json.loads(sources)),
        created_at=created_at,
        expires_at=expires_at,
    )


def _forgotten(db: sqlite3.Connection, principal: Principal | None, entry_id: str, source: str) -> int:
    clauses, values = ["1"], list[str]()
    if principal is not None:
        clauses.append("tenant = ? AND person = ?")
        values += [principal.tenant, principal.id]
    if entry_id:
        clauses.append("id = ?")
        values.append(entry_id)
    if source:
        clauses.append("EXISTS (SELECT 1 FROM json_each(entries.sources) WHERE value = ?)")
        values.append(source)
    gone: list[int] = []
    for number, told in db.execute(f"SELECT n, sources FROM entries WHERE {' AND '.join(clauses)}", values).fetchall():
        rest = [one for one in json.loads(told) if one != source]
        if source and rest and not entry_id:
            db.execute("UPDATE entries SET sources = ? WHERE n = ?", (json.dumps(rest), number))
        else:
            gone.append(number)
    return _dropped(db, gone)


def _dropped(db: sqlite3.Connection, numbers: Sequence[int]) -> int:
    for number in numbers:
        db.execute("DELETE FROM entries WHERE n = ?", (number,))
        db.execute("DELETE FROM words WHERE rowid = ?", (number,))
    if numbers:  # what is deleted from the index stands in its old segments until they are merged
        db.execute("INSERT INTO words (words) VALUES ('optimize')")
    return len(numbers)


def _seen_by(principal: Principal | None) -> tuple[str, tuple[str, ...]]:
    """What somebody may see: what is their own or their tenant's, staff all of their tenant, the process everything."""
    if principal is None:
        return "", ()
    if principal.kind in STAFF:
        return " AND tenant = ?", (principal.tenant,)
    return " AND tenant = ? AND person IN (?, '')", (principal.tenant, principal.id)
