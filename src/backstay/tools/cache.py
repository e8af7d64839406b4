"""Caches of results of read-only tools. A falsy hit is a hit, failures are not stored, equal calls at once run once.

The key is the canonical JSON of the *validated* input with the tool's name and version, and the principal if the tool
takes a context. Source: SPEC T8.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from threading import Lock
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


class MemoryCache:
    """The last `size` results, each for `ttl` seconds. Runs in several threads may share it."""

    def __init__(self, size: int = 256, ttl: float = 300.0) -> None:
        if size < 1 or not ttl > 0:
            raise ToolDefinitionError(f"a cache holds at least one result for more than 0 seconds, got {size}, {ttl:g}")
        self._size = size
        self._ttl = ttl
        self._kept: OrderedDict[str, tuple[float, ToolResult]] = OrderedDict()
        self._lock = Lock()
        self._flying: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[ToolResult]] = {}

    def get(self, key: str, now: float) -> ToolResult | None:
        """The result, or None if there is none or it is too old."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            if found[0] <= now:
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
            return found[1]

    def put(self, key: str, result: ToolResult, now: float) -> None:
        """Keep a result, letting go of the one not used for longest."""
        with self._lock:
            self._kept[key] = (now + self._ttl, result)
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    async def once(self, key: str, make: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """Run `make` once for all of this event loop who ask for the key meanwhile.

        If the first is cancelled or raises, the next one runs it.
        """
        loop = asyncio.get_running_loop()
        place = (loop, key)
        while (flying := self._flying.get(place)) is not None:
            try:
                return await asyncio.shield(flying)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not flying.cancelled() or (task is not None and task.cancelling()):
                    raise
        future: asyncio.Future[ToolResult] = loop.create_future()
        self._flying[place] = future
        try:
            result = await make()
        except BaseException:
            future.cancel()
            raise
        else:
            future.set_result(result)
            return result
        finally:
            del self._flying[place]
