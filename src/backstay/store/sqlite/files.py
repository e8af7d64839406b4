"""Jobs on the files of sessions: one row for each digest of bytes, one for each handle of a session."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

from backstay.core.messages import Artifact
from backstay.store import checks, codec
from backstay.store.sqlite.rows import text

Prepared: TypeAlias = "tuple[Artifact, str, bytes]"
"""What is known of a file, the digest of its bytes, the bytes."""

_BLOB = "INSERT OR IGNORE INTO blobs (digest, data) VALUES (?, ?)"
_KNOWN = "SELECT body FROM artifacts WHERE session_id = ? AND ref = ?"
_KEEP = "INSERT OR REPLACE INTO artifacts (session_id, ref, digest, body) VALUES (?, ?, ?, ?)"
_GET = """SELECT a.body, b.data FROM artifacts a JOIN blobs b ON b.digest = a.digest
    WHERE a.session_id = (SELECT root_id FROM sessions WHERE session_id = ?) AND a.ref = ?"""
_COPY = """INSERT INTO artifacts (session_id, ref, digest, body) SELECT ?, ref, digest, body FROM artifacts
    WHERE session_id = (SELECT root_id FROM sessions WHERE session_id = ?)"""
_DIGESTS = "SELECT DISTINCT digest FROM artifacts WHERE session_id = ?"
_DROP = "DELETE FROM artifacts WHERE session_id = ?"
_DROP_BLOB = """DELETE FROM blobs WHERE digest = ?
    AND NOT EXISTS (SELECT 1 FROM artifacts a WHERE a.digest = blobs.digest)"""


def prepared(files: Sequence[tuple[Artifact, bytes]]) -> list[Prepared]:
    """Files with their digests, made before a transaction is begun."""
    return [(artifact, hashlib.sha256(data).hexdigest(), data) for artifact, data in files]


def keep(db: sqlite3.Connection, root_id: str, files: Sequence[Prepared]) -> None:
    """Keep files for a session; one that is there already gets the stricter label."""
    for artifact, digest, data in files:
        known = db.execute(_KNOWN, (root_id, artifact.ref)).fetchone()
        if known is not None:
            artifact = checks.relabelled(codec.load(Artifact, known[0]), artifact.label)
        db.execute(_BLOB, (digest, data))
        db.execute(_KEEP, (root_id, artifact.ref, digest, text(codec.dump(artifact))))


def get(db: sqlite3.Connection, session_id: str, ref: str) -> tuple[Artifact, bytes]:
    """A file of a session, or NotFoundError."""
    row = db.execute(_GET, (session_id, ref)).fetchone()
    if row is None:
        raise checks.no_artifact(ref)
    return codec.load(Artifact, row[0]), row[1]


def copy(db: sqlite3.Connection, session_id: str, target: str) -> None:
    """Let another session hold all that one holds."""
    db.execute(_COPY, (target, session_id))


def forget(db: sqlite3.Connection, session_id: str) -> None:
    """Forget a session's files, and bytes that nobody holds any more."""
    digests = db.execute(_DIGESTS, (session_id,)).fetchall()
    db.execute(_DROP, (session_id,))
    db.executemany(_DROP_BLOB, digests)
