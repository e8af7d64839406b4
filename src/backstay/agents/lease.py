"""Keeping a session while a run works on it, and stopping that run from inside its process.

Source: DESIGN 4 (fence and lease); SPEC G9.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass

from backstay.agents.run_state import CANCELLED
from backstay.agents.work import Ending
from backstay.core.errors import StoreError
from backstay.core.logs import logger
from backstay.store.protocol import RunStore
from backstay.store.records import Fence

LEASE_SECONDS = 30.0
BEAT_SECONDS = 5.0
"""How often the lease is renewed, and a wish to cancel from another process is noticed."""
WISHED = "somebody asked for it"
"""Why a run is cancelled, until its driver has read the wish."""
_log = logger("backstay.agents")


class Stop:
    """The handle by which a run at work is stopped from inside its process."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        self._scope: asyncio.Timeout | None = None

    def now(self, ending: Ending) -> None:
        """Stop the run where it is; the first reason counts."""
        if self.ending is None:
            self.ending = ending
            if self._scope is not None:
                with suppress(RuntimeError):  # a scope that has ended: the run is being closed already
                    self._scope.reschedule(asyncio.get_running_loop().time())

    def allow(self, seconds: float) -> None:
        """Let the run work for so many seconds from now on, unless it is being stopped."""
        if self.ending is None and self._scope is not None:
            until = asyncio.get_running_loop().time() + seconds
            self._scope.reschedule(until if until < math.inf else None)

    def arm(self, scope: asyncio.Timeout) -> None:
        """Name the scope that ends when the run is stopped."""
        self._scope = scope
        if self.ending is not None:
            scope.reschedule(asyncio.get_running_loop().time())


@dataclass(frozen=True, slots=True, eq=False)
class Lease:
    """The fence of a run at work, to be kept alive."""

    store: RunStore
    fence: Fence
    stop: Stop

    async def renew(self) -> None:
        """Prolong it, and notice from it that somebody else wants the run to stop."""
        try:
            state = await self.store.renew(self.fence, LEASE_SECONDS)
        except StoreError as error:
            _log.warning("the lease of session %s could not be renewed: %s", self.fence.root_id, error.message)
            return
        if state == "lost":
            told = "another process has taken over this session"
            self.stop.now(Ending(status="failed", code="store.fenced", reason=told))
        elif state == "cancel":
            self.stop.now(Ending(status="cancelled", code=CANCELLED, reason=WISHED))


class Pulse:
    """One timer for all leases of a loop: a run costs no timer of its own."""

    def __init__(self) -> None:
        self._leases: dict[asyncio.AbstractEventLoop, set[Lease]] = {}
        self._beats: set[asyncio.Task[None]] = set()

    def add(self, lease: Lease) -> None:
        """Keep a lease alive from now on."""
        loop = asyncio.get_running_loop()
        held = self._leases.get(loop)
        if held is None:
            held = self._leases[loop] = set()
            loop.call_later(BEAT_SECONDS, self._beat, loop)
        held.add(lease)

    def discard(self, lease: Lease) -> None:
        """Let it run out."""
        self._leases[asyncio.get_running_loop()].discard(lease)

    def look(self, store: RunStore, root_id: str) -> None:
        """Let whoever drives a session in this loop notice now what others wish, and not at the next beat."""
        loop = asyncio.get_running_loop()
        for lease in self._leases.get(loop, ()):
            if lease.store is store and lease.fence.root_id == root_id:
                self._renew(loop, lease)

    def _renew(self, loop: asyncio.AbstractEventLoop, lease: Lease) -> None:
        beat = loop.create_task(lease.renew())
        self._beats.add(beat)
        beat.add_done_callback(self._beats.discard)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        held = self._leases[loop]
        if not held:
            del self._leases[loop]
            return
        for lease in held:
            self._renew(loop, lease)
        loop.call_later(BEAT_SECONDS, self._beat, loop)


pulse = Pulse()
