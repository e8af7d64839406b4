"""Long-term memory that ends with the process, for tests and trials: the same answers as the file's."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import log
from pathlib import Path

from backstay.core.context import Principal
from backstay.core.encoder import Encoder
from backstay.core.errors import SetupError
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
from backstay.memory.longterm.ranking import CANDIDATES, Vectors, encoded, fused, nearest
from backstay.memory.longterm.words import terms
from backstay.store.access import may_see

_K1, _B = 1.2, 0.75
"""BM25's usual constants, which SQLite's FTS5 has too."""


class InMemoryLongTerm:
    """A `LongTermMemory` in objects of this process.

    Args:
        encoder: makes vectors, so that entries are found by meaning too.
        clock: seconds since 1970.
    """

    def __init__(self, *, encoder: Encoder | None = None, clock: Callable[[], float] = time.time) -> None:
        self._encoder = encoder
        self._clock = clock
        self._entries: dict[int, Entry] = {}
        self._words: dict[int, Counter[str]] = {}
        self._vectors: dict[int, bytes] = {}
        self._next = 1

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
        """See `LongTermMemory.add`."""
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
        return tuple([self._kept(entry, vector) for entry, vector in zip(fresh, vectors, strict=True)])

    def _kept(self, entry: Entry, vector: bytes) -> Entry:
        for number, known in self._entries.items():
            if _key(known) == _key(entry):
                self._entries[number] = merged(known, entry)
                return self._entries[number]
        number, self._next = self._next, self._next + 1
        self._entries[number], self._words[number] = entry, Counter(terms(entry.text))
        if vector:
            self._vectors[number] = vector
        return entry

    async def search(self, query: str, *, principal: Principal, limit: int = 5) -> tuple[Found, ...]:
        """See `LongTermMemory.search`."""
        vector = (await encoded(self._encoder, [query]))[0] if query.strip() else b""
        now = self._clock()
        mine = {
            number: one
            for number, one in self._entries.items()
            if one.tenant == principal.tenant
            and one.person in (principal.id, "")
            and (one.expires_at is None or one.expires_at > now)
        }
        rankings = [self._by_words(query, mine)]
        cosines: dict[int, float] = {}
        if vector:
            cosines = nearest(vector, Vectors.of([(n, self._vectors[n]) for n in mine if n in self._vectors]))
            rankings.append(list(cosines))
        found = [
            Found(entry=mine[number], score=score, closeness=cosines.get(number, 0.0))
            for number, score in fused(rankings).items()
        ]
        return weighed(without_doubles(found)[: max(0, limit)], query)

    def _by_words(self, query: str, mine: dict[int, Entry]) -> list[int]:
        wanted = dict.fromkeys(terms(query))
        if not wanted or not mine:
            return []
        mean = sum(self._words[number].total() for number in mine) / len(mine) or 1.0
        scores: dict[int, float] = {}
        for word in wanted:
            having = [number for number in mine if word in self._words[number]]
            worth = max(1e-6, log((len(mine) - len(having) + 0.5) / (len(having) + 0.5)))
            for number in having:
                times, size = self._words[number][word], self._words[number].total()
                share = times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * size / mean))
                scores[number] = scores.get(number, 0.0) + worth * share
        return sorted(scores, key=lambda number: (-scores[number], number))[:CANDIDATES]

    async def entry(self, entry_id: str, *, principal: Principal | None = None) -> Entry:
        """See `LongTermMemory.entry`."""
        for one in self._entries.values():
            if one.id == entry_id and _sees(principal, one):
                return one
        raise not_there(entry_id)

    async def entries(
        self, *, principal: Principal | None = None, after: str = "", limit: int = 50
    ) -> tuple[Entry, ...]:
        """See `LongTermMemory.entries`."""
        found = sorted((one for one in self._entries.values() if _sees(principal, one)), key=lambda one: one.id)
        return tuple([one for one in found if one.id > after][:limit])

    async def forget(self, *, principal: Principal | None = None, entry_id: str = "", source: str = "") -> int:
        """See `LongTermMemory.forget`."""
        if principal is None and not entry_id and not source:
            raise SetupError("name whose memory, which entry or which source is to go", code="memory.owner")
        gone: list[int] = []
        for number, one in self._entries.items():
            if not _owns(principal, one) or (entry_id and one.id != entry_id) or (source and source not in one.sources):
                continue
            rest = tuple(each for each in one.sources if each != source)
            if source and rest and not entry_id:
                self._entries[number] = replace(one, sources=rest)
            else:
                gone.append(number)
        return self._drop(gone)

    async def expire(self, now: float) -> int:
        """See `LongTermMemory.expire`."""
        return self._drop(
            [n for n, one in self._entries.items() if one.expires_at is not None and one.expires_at <= now]
        )

    async def close(self) -> None:
        """Nothing to let go of."""

    def _drop(self, numbers: Iterable[int]) -> int:
        gone = list(numbers)
        for number in gone:
            del self._entries[number], self._words[number]
            self._vectors.pop(number, None)
        return len(gone)


def _key(entry: Entry) -> tuple[str, str, str, bool]:
    return entry.tenant, entry.person, digest_of(entry.text), entry.label.trusted


def _sees(principal: Principal | None, entry: Entry) -> bool:
    is_shared = principal is not None and entry.person == "" and entry.tenant == principal.tenant
    return is_shared or may_see(principal, (entry.tenant, entry.person))


def _owns(principal: Principal | None, entry: Entry) -> bool:
    """Whether an entry is this very person's; what all of a tenant share is its staff's to forget, by its id."""
    return principal is None or (entry.tenant, entry.person) == (principal.tenant, principal.id)
