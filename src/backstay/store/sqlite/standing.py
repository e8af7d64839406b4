"""Halts and grants in the file. See `Standing`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from backstay.boundary.grants import Grant
from backstay.boundary.halts import Halt, HaltScope
from backstay.core.context import Principal
from backstay.store import checks, codec
from backstay.store.chain import Chain
from backstay.store.records import AuditRow
from backstay.store.sqlite import effects
from backstay.store.sqlite.rows import text
from backstay.store.sqlite.writer import Writer
from backstay.store.standing import CHAIN, grant_audit, halt_audit, is_for

_CHANGES = "SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'standing'"
_CHANGED = "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'standing'"
_HALT = "INSERT OR IGNORE INTO halts (scope, name, at, body, seal) VALUES (?, ?, ?, ?, ?)"
_GRANT = "INSERT OR REPLACE INTO grants (id, at, body, seal) VALUES (?, ?, ?, ?)"


class SQLiteStanding:
    """A `Standing` over the tables of a SQLite store. Rows are sealed: one that somebody else has written counts for
    nothing where it would allow, and stops all that its columns name where it would halt.

    Args:
        writer: the store's thread that writes.
        read: its connection that reads.
        chain: its key.
    """

    def __init__(
        self, writer: Writer, read: Callable[[], AbstractContextManager[sqlite3.Connection]], chain: Chain
    ) -> None:
        self._writer = writer
        self._read = read
        self._chain = chain

    async def changes(self) -> int:
        """See `Standing.changes`."""
        with self._read() as db:
            return int(db.execute(_CHANGES).fetchone()[0])

    async def halts(self) -> Sequence[Halt]:
        """See `Standing.halts`. A halt whose seal is broken still halts: stopping is the safe side."""
        with self._read() as db:
            rows = db.execute("SELECT body FROM halts ORDER BY at, scope, name").fetchall()
        return [codec.load(Halt, body) for (body,) in rows]

    async def halt(self, halt: Halt) -> bool:
        """See `Standing.halt`."""
        checks.named(halt.name, halt.by)
        body = codec.dump(halt)
        row = (halt.scope, halt.name, halt.at, text(body), self._chain.seal("halt", body))
        audit = halt_audit(halt.scope, halt.name, by=halt.by, at=halt.at, is_lifted=False)
        return await self._writer.run(lambda db: self._change(db, db.execute(_HALT, row).rowcount, audit))

    async def lift(self, scope: HaltScope, name: str, *, by: str, at: float) -> bool:
        """See `Standing.lift`."""
        checks.named(name, by)
        audit = halt_audit(scope, name, by=by, at=at, is_lifted=True)

        def job(db: sqlite3.Connection) -> bool:
            gone = db.execute("DELETE FROM halts WHERE scope = ? AND name = ?", (scope, name))
            return self._change(db, gone.rowcount, audit)

        return await self._writer.run(job)

    async def grant(self, grant: Grant) -> None:
        """See `Standing.grant`."""
        checks.named(grant.id, grant.by)
        body = codec.dump(grant)
        row = (grant.id, grant.at, text(body), self._chain.seal("grant", body))
        audit = grant_audit(grant, by=grant.by, at=grant.at, is_revoked=False)
        await self._writer.run(lambda db: self._change(db, db.execute(_GRANT, row).rowcount, audit))

    async def revoke(self, grant_id: str, *, by: str, at: float) -> bool:
        """See `Standing.revoke`."""
        checks.named(grant_id, by)

        def job(db: sqlite3.Connection) -> bool:
            row = db.execute("DELETE FROM grants WHERE id = ? RETURNING body", (grant_id,)).fetchone()
            if row is None:
                return False
            gone = codec.load(Grant, _plain(row[0]))
            return self._change(db, 1, grant_audit(gone, by=by, at=at, is_revoked=True))

        return await self._writer.run(job)

    async def grants(self, *, agent: str = "", principal: Principal | None = None) -> Sequence[Grant]:
        """See `Standing.grants`. One whose seal is broken is none."""
        with self._read() as db:
            rows = db.execute("SELECT body, seal FROM grants ORDER BY at, id").fetchall()
        bodies = [(_plain(body), seal) for body, seal in rows]
        found = [codec.load(Grant, body) for body, seal in bodies if self._chain.seal("grant", body) == seal]
        return [one for one in found if is_for(one, agent, principal)]

    def _change(self, db: sqlite3.Connection, count: int, audit: AuditRow) -> bool:
        if count < 1:
            return False
        db.execute(_CHANGED)
        effects.write_audit(db, self._chain, CHAIN, (audit,))
        return True


def _plain(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")
