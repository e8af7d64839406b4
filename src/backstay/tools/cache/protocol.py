"""What the pipeline needs of a cache."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import ToolResult


class Cache(Protocol):
    """Keeps results by key. Results are frozen, so handing one out is handing out a copy."""

    def get(self, key: str, now: float) -> ToolResult | None:
        """The result, or None if there is none or it is too old."""
        ...

    def put(self, key: str, result: ToolResult, now: float) -> None:
        """Keep a result."""
        ...

    async def once(self, key: str, make: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Run `make` once for all who ask for the key meanwhile."""
        ...


def check_bounds(size: int, ttl: float) -> None:
    """Refuse a cache that could hold nothing.

    Raises:
        ToolDefinitionError: naming both numbers.
    """
    if size < 1 or not ttl > 0:
        raise ToolDefinitionError(f"a cache holds at least one result for more than 0 seconds, got {size}, {ttl:g}")
