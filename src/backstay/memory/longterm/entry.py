"""What long-term memory keeps: entries, each with its owner, its label, who wrote it and where it is from.

Source: SPEC M3, B11, B22.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from backstay.core.context import Principal
from backstay.core.errors import NotFoundError, SetupError
from backstay.core.ids import new_id
from backstay.core.messages import PLAIN, Label
from backstay.memory.longterm.pieces import pieces, text_of
from backstay.memory.longterm.ranking import in_common
from backstay.memory.longterm.words import terms

Author: TypeAlias = Literal["model", "user", "developer"]
"""Whose words an entry is: the model's own (never believed word for word), the user's, quoted, or the program's."""
_RANK: tuple[Author, ...] = ("model", "user", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that is remembered."""

    id: str
    tenant: str
    person: str
    """Whose it is; empty: everybody's of the tenant."""
    text: str
    author: Author
    label: Label = PLAIN
    """Of the conversation it was learnt in; what retrieves it inherits it."""
    sources: tuple[str, ...] = ()
    """Where it is from, oldest first: `session:message` of a conversation, or the path of a document."""
    created_at: float = 0.0
    """Seconds since 1970."""
    expires_at: float | None = None
    """From when it is no longer found; None: never."""

    @property
    def is_believed(self) -> bool:
        """Whether its words may count as those of somebody who gives orders."""
        return self.label.trusted and self.author != "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entry that was looked for."""

    entry: Entry
    score: float
    """The larger, the better; only to be compared within one search."""
    closeness: float = 1.0
    """How close it is to what was looked for, in meaning or in words, 0..1; to be compared over searches. A memory that
    cannot tell leaves it at 1."""


class LongTermMemory(Protocol):
    """What outlives a session, for each principal. In memory and in a file of SQLite; one suite tests both."""

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
        """Keep a text, or the text of a file; what is long is cut into pieces at its paragraphs.

        What is there already gains a source. An untrusted entry never becomes trusted, nor takes a trusted one's place.

        Args:
            what: the text, or the path of a UTF-8 file.
            principal: whose it is.
            source: where it is from; the path, for a file.
            author: whose words they are.
            label: of where they are from.
            expires_at: seconds since 1970 from which it is no longer found.
            shared: for everybody of the tenant; only a program may say so.

        Returns:
            The entries that hold it, in the order of the text.

        Raises:
            SetupError: code `memory.owner`, for a principal without an id; `memory.empty`, where there are no words.
        """
        ...

    async def search(self, query: str, *, principal: Principal, limit: int = 5) -> tuple[Found, ...]:
        """What is remembered of this, for this principal and for all of the tenant; best first."""
        ...

    async def entry(self, entry_id: str, *, principal: Principal | None = None) -> Entry:
        """One entry. Raises `NotFoundError` where there is none that the principal may see; None sees all."""
        ...

    async def entries(
        self, *, principal: Principal | None = None, after: str = "", limit: int = 50
    ) -> tuple[Entry, ...]:
        """A page of entries in order of id; None: everybody's."""
        ...

    async def forget(self, *, principal: Principal | None = None, entry_id: str = "", source: str = "") -> int:
        """Delete an entry, or all that have this source alone, and return how many went.

        An entry with further sources loses this one only. With neither: everything of the principal.

        Raises:
            SetupError: code `memory.owner`, where neither a principal nor anything else is named.
        """
        ...

    async def expire(self, now: float) -> int:
        """Delete what has expired, and return how many entries went."""
        ...

    async def close(self) -> None:
        """Let go of files and threads."""
        ...


def digest_of(text: str) -> str:
    """What two texts that say the same in the same words have in common: case, width, spaces and end marks apart."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    flat = re.sub(r"\s+", " ", plain).strip(" .!;,。！；，")
    return hashlib.sha256(flat.encode("utf-8", "surrogatepass")).hexdigest()


def merged(known: Entry, more: Entry) -> Entry:
    """An entry that was said once more: further sources, the stricter secrecy, the longer life, the better author."""
    expires = None if known.expires_at is None or more.expires_at is None else max(known.expires_at, more.expires_at)
    return replace(
        known,
        sources=tuple(dict.fromkeys((*known.sources, *more.sources))),
        label=known.label.join(more.label),
        author=max(known.author, more.author, key=_RANK.index),
        expires_at=expires,
    )


def entries_of(
    what: str | Path,
    *,
    principal: Principal,
    source: str,
    author: Author,
    label: Label,
    expires_at: float | None,
    shared: bool,
    now: float,
) -> list[Entry]:
    """The entries that hold a text or a file, in the order of its text; see `LongTermMemory.add`."""
    person, where = owner_for(principal, shared=shared), source or (str(what) if isinstance(what, Path) else "")
    return [
        Entry(
            id=new_id("k"),
            tenant=principal.tenant,
            person=person,
            text=text,
            author=author,
            label=label,
            sources=(where,) if where else (),
            created_at=now,
            expires_at=expires_at,
        )
        for text in pieces(text_of(what))
    ]


def owner_for(principal: Principal, *, shared: bool) -> str:
    """The person an entry belongs to.

    Raises:
        SetupError: code `memory.owner`.
    """
    if shared:
        return ""
    if not principal.id:
        raise SetupError("nobody is named whose memory this is: give the principal an id", code="memory.owner")
    return principal.id


def without_doubles(found: Sequence[Found]) -> list[Found]:
    """Of two entries in the same words the trusted one, wherever it stood."""
    best: dict[str, Found] = {}
    for one in found:
        key = digest_of(one.entry.text)
        other = best.get(key)
        if other is None or (one.entry.label.trusted and not other.entry.label.trusted):
            best[key] = replace(one, score=max(one.score, other.score if other else 0.0))
    return sorted(best.values(), key=lambda one: -one.score)


def weighed(found: Sequence[Found], query: str) -> tuple[Found, ...]:
    """The entries with how close they are, where common words say more than the cosine that they carry."""
    asked = terms(query)
    return tuple(replace(one, closeness=max(one.closeness, in_common(asked, terms(one.entry.text)))) for one in found)


def not_there(entry_id: str) -> NotFoundError:
    """The error for an entry that is not there, or not theirs."""
    return NotFoundError(f"there is no memory {entry_id[:80]!r}; `backstay memory ls` lists them")
