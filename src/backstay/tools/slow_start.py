"""Slow start: how many attempts may be under way at one downstream, as far as it has shown that it answers.

A downstream that hangs faults nobody before its first timeout, so faults alone bound nothing. Each answer makes room
for one more, which doubles what a healthy downstream is given with every round; a fault halves it. Where nothing comes
back at all, one more goes through each second, so that calls that merely take long do not wait for each other.
Source: SPEC T7.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from threading import Lock

START = 64
"""Attempts under way at once at a downstream of which nothing is known."""
LEAST = 5
PATIENCE_SECONDS = 1.0
"""After so long without an answer one more goes through."""


class SlowStart:
    """The room at one downstream. Runs in several threads and loops may share it."""

    def __init__(self) -> None:
        self.room = START
        self.under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._lock = Lock()

    def take(self) -> None:
        """Take room, whether or not there is any: for what must not wait."""
        with self._lock:
            self.under_way += 1

    async def wait(self) -> bool:
        """Take room if there is any and nobody waits for it; else wait a turn, and say that it was not taken.

        Raises:
            CancelledError: when it is stopped from outside; its turn goes to the next.
        """
        with self._lock:
            if self.under_way < self.room:
                self.under_way += 1
                return True
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            patience = PATIENCE_SECONDS * len(self._waiting)
        try:
            async with asyncio.timeout(patience):
                await turn
        except TimeoutError:
            with self._lock:
                self._leave_queue(turn)
                self.room += 1
        except asyncio.CancelledError:
            with self._lock:
                self._leave_queue(turn)
                self._wake(self.room - self.under_way)
            raise
        return False

    def give_back(self, *, ok: bool | None) -> None:
        """An attempt is over: it was answered, it was a fault, or (None) it says nothing of the downstream."""
        with self._lock:
            self.under_way = max(0, self.under_way - 1)
            if ok:
                self.room += 1
            elif ok is False:
                self.room = max(LEAST, self.room // 2)
            self._wake(self.room - self.under_way)

    def start_anew(self) -> None:
        """Forget what it had shown: it comes back from an outage."""
        with self._lock:
            self.room = START

    def wake_all(self) -> None:
        """Let everybody who waits look again: there is nothing to wait for."""
        with self._lock:
            self._wake(len(self._waiting))

    def _leave_queue(self, turn: asyncio.Future[None]) -> None:
        with suppress(ValueError):
            self._waiting.remove(turn)

    def _wake(self, many: int) -> None:
        for _ in range(min(many, len(self._waiting))):
            turn = self._waiting.popleft()
            with suppress(RuntimeError):  # its loop has ended, and it with it
                turn.get_loop().call_soon_threadsafe(_begin, turn)


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
