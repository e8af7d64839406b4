"""Calls under way: who asks for what another call is finding out already waits for that one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backstay.core.messages import ToolResult


class Flights:
    """The calls under way in this process, by event loop and key."""

    def __init__(self) -> None:
        self._flying: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[ToolResult]] = {}

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
