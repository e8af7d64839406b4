"""Worker threads for synchronous tools: our own, so that an abandoned call never starves another.

A thread that is busy with a call nobody waits for any more is simply not counted; a fresh call gets an idle thread or a
new one. Threads are daemons: the process can end. Source: SPEC T1, T12.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

_log = logging.getLogger("backstay.tools")
_IDLE_SECONDS = 30.0

Job = tuple["asyncio.AbstractEventLoop", "asyncio.Future[Any]", Callable[[], Any], str]


class _Worker:
    """One thread and the box its next call is put into."""

    def __init__(self, idle: list[_Worker]) -> None:
        self._idle = idle
        self.box: queue.SimpleQueue[Job] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="backstay-tool", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                loop, future, function, name = self.box.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                try:
                    self._idle.remove(self)
                except ValueError:
                    continue
                return
            _run(loop, future, function, name)
            del loop, future, function
            self._idle.append(self)


def _run(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], function: Callable[[], Any], name: str) -> None:
    value, error = None, None
    try:
        value = function()
    except BaseException as raised:
        error = raised
    try:
        loop.call_soon_threadsafe(_settle, future, value, error, name)
    except RuntimeError:
        _log.warning("%s ended after its event loop was closed; its result is discarded", name)


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None, name: str) -> None:
    if future.cancelled():
        outcome = f"raised {type(error).__name__}" if error else "returned"
        _log.warning("%s %s after nobody waited for it any more; its result is discarded", name, outcome)
    elif error is None:
        future.set_result(value)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        future.set_exception(error)
    else:
        future.set_exception(RuntimeError(f"{name} raised {type(error).__name__}: {error}"))


_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child inherits the list, but none of the threads


async def run_in_thread(function: Callable[[], Any], name: str) -> Any:
    """Run a synchronous function in a worker thread and return what it returns.

    Cancelling returns at once; the thread cannot be stopped, its late result is discarded and a warning logged.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker(_idle)
    worker.box.put((loop, future, lambda: context.run(function), name))
    return await future
