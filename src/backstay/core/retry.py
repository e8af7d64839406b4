"""When to try again and how long to wait: one rule for tools and for model clients.

Source: SPEC T5 (two attempts, 1 s before the second, 3 s before a third; a longer `Retry-After` wins), L5.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How many attempts, and the waits between them in seconds."""

    max_attempts: int = 2
    waits: tuple[float, ...] = (1.0, 3.0)
    """Seconds before the second, third… attempt; the last value goes on."""
    jitter: float = 0.0
    """Up to this share of the wait is added at random, so that many clients do not come back at once."""

    def wait(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) has failed."""
        base = self.waits[min(attempt, len(self.waits)) - 1] if self.waits else 0.0
        longer = max(base, retry_after or 0.0)
        return longer * (1 + random.uniform(0, self.jitter)) if self.jitter else longer


TOOL_RETRY = RetryPolicy()
MODEL_RETRY = RetryPolicy(max_attempts=3, waits=(0.5, 2.0), jitter=0.25)
