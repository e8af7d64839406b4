"""A run as a stream of events: a task and a queue behind `async with`. Source: SPEC G2, G9; TYPES."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any

from backstay.agents.drive import live
from backstay.agents.result import RunResult
from backstay.core.errors import SetupError
from backstay.core.events import Event, Listener

_detached: set[asyncio.Task[Any]] = set()
"""Runs whose reader has gone and that go on: the loop itself holds tasks only weakly."""


class RunStream:
    """Events of one run as they happen, then its result. Leaving the block cancels the run, unless detached."""

    def __init__(self, start: Callable[[Listener], Awaitable[RunResult[Any]]]) -> None:
        self._start = start
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Task[RunResult[Any]] | None = None
        self._is_detached = False
        self.run_id = ""
        """Known once the first event is there."""

    async def __aenter__(self) -> RunStream:
        self._task = asyncio.ensure_future(self._run())
        return self

    async def _run(self) -> RunResult[Any]:
        try:
            return await self._start(self._take)
        finally:
            self._queue.put_nowait(None)

    def _take(self, event: Event) -> None:
        self.run_id = self.run_id or event.run_id
        if not self._is_detached:
            self._queue.put_nowait(event)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = self._running()
        if self._is_detached:
            if not task.done():
                _detached.add(task)
                task.add_done_callback(_detached.discard)
            return
        if not task.done():
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is not None and kind is None and not self._is_read:
            await task

    _is_read = False

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._queue.get()) is not None:
            yield event
        self._queue.put_nowait(None)

    async def result(self) -> RunResult[Any]:
        """Wait for the end and return the result; raises what the run raised."""
        self._is_read = True
        return await asyncio.shield(self._running())

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop the run; its result then says so."""
        if not live.cancel(self.run_id, reason):
            self._running().cancel()

    def detach(self) -> None:
        """Let the run go on after the block is left."""
        self._is_detached = True

    def _running(self) -> asyncio.Task[RunResult[Any]]:
        if self._task is None:
            raise SetupError(
                "the stream is not open: use `async with agent.run_stream(...) as stream`", code="run.stream"
            )
        return self._task
