"""The audit chain: rows that prove they are all there, in order, as they were written.

Each row's hash is an HMAC over the hash before it and the row; a head per session holds the number of rows and the last
hash under an HMAC of its own, so that a chain whose tail was cut off is found as well. Persons stand in it as keyed
pseudonyms. The same key seals the rows of the inbox. Source: SPEC B16; DESIGN 8.11.
"""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from backstay.core.errors import CorruptError, StoreError
from backstay.store.records import AuditRow

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Link:
    """A row as it is stored: its place in the chain, from 1, and its hash."""

    n: int
    row: AuditRow
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """Where a session's chain ends. `seal` is an HMAC over the session, the number of rows and the last hash."""

    n: int
    hash: str
    seal: str


class Chain:
    """Makes and checks chains with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def fingerprint(self) -> str:
        """What a store keeps of its key, to know it again."""
        return self.seal("backstay key")

    def seal(self, *fields: object) -> str:
        """Return the HMAC-SHA256 of some fields (text, numbers, tuples of them) as 64 hexadecimal characters.

        What is hashed is `ascii` of the tuple: quoted, so that borders count, and the same on every Python.
        """
        return hmac.digest(self._key, ascii(fields).encode("ascii"), "sha256").hex()

    def pseudonym(self, who: str) -> str:
        """Return 16 hexadecimal characters that stand for a person and cannot be turned back without the key."""
        return self.seal("who", who)[:16]

    def extend(self, session_id: str, head: Head | None, rows: Iterable[AuditRow]) -> tuple[list[Link], Head | None]:
        """Return the rows as links behind a head, persons replaced, and the new head."""
        links: list[Link] = []
        n, last = (head.n, head.hash) if head else (0, "")
        for row in rows:
            stored = self._stored(row)
            n, last = n + 1, self._hash(session_id, n + 1, last, stored)
            links.append(Link(n, stored, last))
        if not links:
            return links, head
        return links, Head(n, last, self.seal(session_id, n, last))

    def verify(self, session_id: str, links: Sequence[Link], head: Head | None) -> list[str]:
        """Return what is wrong with a chain, oldest first; empty if it holds."""
        wrong: list[str] = []
        last = ""
        for n, link in enumerate(links, 1):
            if link.n != n:
                wrong.append(
                    f"session {session_id!r}: row {n} of the audit chain is missing; row {link.n} stands there"
                )
                break
            last = self._hash(session_id, n, last, link.row)
            if not hmac.compare_digest(last.encode(), link.hash.encode("utf-8", "surrogatepass")):
                wrong.append(f"session {session_id!r}: row {n} of the audit chain is not as it was written")
                break
        return wrong + self._verify_head(session_id, links, head)

    def _verify_head(self, session_id: str, links: Sequence[Link], head: Head | None) -> list[str]:
        if head is None:
            return [f"session {session_id!r}: the head of the audit chain is missing"] if links else []
        if self.seal(session_id, head.n, head.hash) != head.seal:
            return [f"session {session_id!r}: the head of the audit chain is not as it was written"]
        if head.n != len(links):
            return [f"session {session_id!r}: the audit chain has {len(links)} rows, {head.n} were written"]
        if links and links[-1].hash != head.hash:
            return [f"session {session_id!r}: the audit chain does not end where it was written to end"]
        return []

    def _stored(self, row: AuditRow) -> AuditRow:
        return AuditRow(
            run_id=row.run_id,
            slot=row.slot,
            kind=row.kind,
            tool=storable(row.tool),
            args_digest=row.args_digest,
            result_digest=row.result_digest,
            rules=tuple([storable(rule) for rule in row.rules]),
            who=self.pseudonym(row.who),
            at=float(row.at),
        )

    def _hash(self, session_id: str, n: int, last: str, row: AuditRow) -> str:
        return self.seal(
            session_id, n, last, row.run_id, row.slot, row.kind, row.tool, row.args_digest, row.result_digest,
            row.rules, row.who, row.at,
        )  # fmt: skip


def storable(text: str) -> str:
    """Return text that every database can hold: a model may name a tool with half a character or a NUL."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def key_of(folder: Path, *, known: bool) -> bytes:
    """Return the key in a folder (`key`, mode 0600); made there if there is none.

    Args:
        folder: the folder of the database.
        known: whether the database was written with a key already, so that a new one would break its seals.

    Raises:
        CorruptError: code `store.key`, when the key is gone or is not one.
    """
    path = folder / "key"
    if not known and not path.exists():
        _make_key(path)
    try:
        key = path.read_bytes()
    except FileNotFoundError as error:
        raise CorruptError(
            f"{path} is missing: it seals the actions and audit rows of this store; restore it from a backup",
            code="store.key",
        ) from error
    if len(key) != KEY_BYTES:
        raise CorruptError(f"{path} is not a key of {KEY_BYTES} bytes; restore it from a backup", code="store.key")
    return key


def _make_key(path: Path) -> None:
    """Write the whole key under another name first, so that nobody ever reads half of it."""
    draft = path.with_name(f"key.{os.getpid()}.{time.monotonic_ns()}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, os.urandom(KEY_BYTES))
            os.fsync(handle)
        finally:
            os.close(handle)
        _publish(draft, path)
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}); choose a folder that can", code="store.readonly"
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links; two processes that both make a first key here are told apart at opening.
        if not path.exists():
            draft.rename(path)
