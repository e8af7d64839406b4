"""A run as a stream of events: a task and a queue behind `async with`. Source: SPEC G2, G9; TYPES."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from types import TracebackType
from typing import Any

from backstay.agents.definition import Definition
from backstay.agents.drive import live, told
from backstay.agents.result import RunResult
from backstay.agents.run_state import CANCELLED
from backstay.core.errors import SetupError
from backstay.core.events import Event, Listener, OutputPartial, RunStart
from backstay.core.messages import PLAIN, Usage
from backstay.store.protocol import RunStore
from backstay.store.records import ENDED

_detached: set[asyncio.Task[Any]] = set()
"""Runs whose reader has gone and that go on: the loop itself holds tasks only weakly."""


class RunStream:
    """Events of one run as they happen, then its result. Leaving the block cancels the run, unless detached.

    Args:
        start: starts the run with one more listener, and returns its result.
        definition: of the agent.
        store: where the run is journalled.
    """

    def __init__(
        self, start: Callable[[Listener], Awaitable[RunResult[Any]]], definition: Definition, store: RunStore
    ) -> None:
        self._start = start
        self._definition = definition
        self._store = store
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Task[RunResult[Any]] | None = None
        self._is_detached = False
        self._is_left = False
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
        if self._is_left and isinstance(event, RunStart):
            self._running().cancel()  # a middleware has begun again
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
            self._is_left = True
            self.cancel("the stream was left")
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is not None and kind is None and not self._is_read:
            await task

    _is_read = False

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._queue.get()) is not None:
            yield event
        self._queue.put_nowait(None)

    async def partials(self) -> AsyncIterator[Any]:
        """The answer of a type while it is written, and at the end the output itself; read instead of the events.

        Each value is of the output type where what there is of it validates already, and the plain JSON value else.
        What a later attempt or a later step writes replaces what was given before. The last value is the run's output;
        a run without one ends after what it has shown.

        Raises:
            SetupError: code `run.stream`, for an agent that answers with text, which `model.delta` has in pieces.
        """
        output = self._definition.output
        if output.is_text:
            raise SetupError(
                "this agent answers with text, which has no partial objects: read the events, `model.delta` holds its"
                " pieces",
                code="run.stream",
            )
        last: Any = None
        async for event in self:
            if isinstance(event, OutputPartial) and event.run_id == self.run_id:
                last = output.so_far(event.value)
                yield last
        final = (await self.result()).output
        if final is not None and (type(final) is not type(last) or final != last):
            yield final

    async def result(self) -> RunResult[Any]:
        """Wait for the end and return the result, also of a run that was cancelled; raises what the run raised."""
        self._is_read = True
        task = self._running()
        await asyncio.wait([task])
        return await self._as_journalled() if task.cancelled() else task.result()

    async def _as_journalled(self) -> RunResult[Any]:
        """How a run stands whose task has not lived to say it."""
        reason = "the run was cancelled before it began"
        if not self.run_id:
            return RunResult(
                status="cancelled", code=CANCELLED, reason=reason, output=None, run_id="", session_id="", trace_id="",
                label=PLAIN, steps=0, new_messages=(), usage=Usage(), cost_usd=Decimal(0),
            )  # fmt: skip
        row = await self._store.run(self.run_id)
        result = await told(self._store, row, self._definition)
        if row.status in ENDED or row.status == "waiting":
            return result
        return replace(result, status="cancelled", code=CANCELLED, reason="the task that drove the run was cancelled")

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
