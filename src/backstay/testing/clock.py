"""A clock that only sleeping moves."""

from __future__ import annotations

import asyncio


class FakeClock:
    """Seconds since 1970 that stand still until somebody sleeps: `agent.override(clock=clock, sleep=clock.sleep)`.

    Args:
        now: where it begins.
    """

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self.now = now
        self.slept: list[float] = []
        """Every wait in seconds, oldest first."""

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move the clock at once, and give other tasks a turn."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
