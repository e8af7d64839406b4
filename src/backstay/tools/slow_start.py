"""Slow start: how many attempts may be under way at one downstream, as far as it has shown that it answers.

A downstream that hangs faults nobody before its first timeout, so faults alone bound nothing. Each answer makes room
for one more, which doubles what a healthy downstream is given with every round; a fault halves it. Where nothing comes
back at all, one more goes through each second, so that calls that merely take long do not wait for each other.
Source: SPEC T7.
"""

from __future__ import annotations

import asyncio
from collections import deque
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

    async def wait(self) -> None:
        """Take room, in turn where there is none.

        Raises:
            CancelledError: when it is stopped from outside; its turn goes to the next.
        """
        with self._lock:
            if self.under_way < self.room and not self._waiting:
                self.under_way += 1
                return
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            patience = PATIENCE_SECONDS * len(self._waiting)
        try:
            async with asyncio.timeout(patience):
                await turn
        except TimeoutError:
            with self._lock:
                if self._leaves(turn):
                    self.room += 1
                    self.under_way += 1
        except asyncio.CancelledError:
            with self._lock:
                if not self._leaves(turn):
                    self.under_way -= 1
                self._hand_on(self.room - self.under_way)
            raise

    def give_back(self, *, ok: bool | None) -> None:
        """An attempt is over: it was answered, it was a fault, or (None) it says nothing of the downstream."""
        with self._lock:
            self.under_way = max(0, self.under_way - 1)
            if ok:
                self.room += 1
            elif ok is False:
                self.room = max(LEAST, self.room // 2)
            self._hand_on(self.room - self.under_way)

    def start_anew(self) -> None:
        """Forget what it had shown: it comes back from an outage."""
        with self._lock:
            self.room = START

    def let_go(self) -> None:
        """Let everybody who waits through: the circuit has opened and refuses them."""
        with self._lock:
            self._hand_on(len(self._waiting))

    def _leaves(self, turn: asyncio.Future[None]) -> bool:
        """Take a turn out of the queue; False if it has been given its room already."""
        try:
            self._waiting.remove(turn)
        except ValueError:
            return False
        return True

    def _hand_on(self, many: int) -> None:
        """Give room to those who wait the longest; it is theirs from here on, whoever else comes."""
        for _ in range(min(many, len(self._waiting))):
            turn = self._waiting.popleft()
            try:
                turn.get_loop().call_soon_threadsafe(_begin, turn)
            except RuntimeError:  # its loop has ended, and it with it
                continue
            self.under_way += 1


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
