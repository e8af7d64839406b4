"""The cache of a process."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from backstay.core.messages import ToolResult
from backstay.tools.cache.flights import Flights
from backstay.tools.cache.protocol import check_bounds


class MemoryCache(Flights):
    """The last `size` results, each for `ttl` seconds. Runs in several threads may share it."""

    def __init__(self, size: int = 256, ttl: float = 300.0) -> None:
        check_bounds(size, ttl)
        super().__init__()
        self._size = size
        self._ttl = ttl
        self._kept: OrderedDict[str, tuple[float, ToolResult]] = OrderedDict()
        self._lock = Lock()

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
        """Keep a result, letting go of the one not used for longest. One with files is not kept."""
        if result.artifacts:
            return
        with self._lock:
            self._kept[key] = (now + self._ttl, result)
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
