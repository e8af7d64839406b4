"""Worker threads for synchronous tools: our own, so that an abandoned call never starves another.

A thread that is busy with a call nobody waits for any more is simply not counted; a fresh call gets an idle thread or a
new one. Threads are daemons: the process can end. Source: SPEC T1, T12.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from backstay.core.logs import logger

_log = logger("backstay.tools")
_IDLE_SECONDS = 30.0

UNSTOPPED: ContextVar[list[str] | None] = ContextVar("UNSTOPPED", default=None)
"""Where a call names what of it goes on although it was cancelled; set by whoever bounds the call."""


@dataclass(slots=True)
class Job:
    """One call of a function, on its way through a thread. Either the thread begins it or the loop gives it up."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    function: Callable[[], Any]
    name: str
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _is_at_work: bool = False
    _is_given_up: bool = False

    def begin(self) -> bool:
        """In the thread: whether it may still begin."""
        with self._lock:
            self._is_at_work = not self._is_given_up
            return self._is_at_work

    def end(self) -> None:
        """In the thread: the function has returned or raised."""
        with self._lock:
            self._is_at_work = False

    def give_up(self) -> bool:
        """In the loop: nobody waits any more; whether the function is at work, and so goes on."""
        with self._lock:
            self._is_given_up = True
            return self._is_at_work


class _Worker:
    """One thread and the box its next call is put into."""

    def __init__(self, idle: list[_Worker]) -> None:
        self._idle = idle
        self.box: queue.SimpleQueue[Job] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="backstay-tool", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self.box.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                try:
                    self._idle.remove(self)
                except ValueError:
                    continue
                return
            if job.begin():
                _run(job)
            del job
            self._idle.append(self)


def _run(job: Job) -> None:
    value, error = None, None
    try:
        value = job.function()
    except BaseException as raised:
        error = raised
    job.end()
    try:
        job.loop.call_soon_threadsafe(_settle, job.future, value, error, job.name)
    except RuntimeError:
        _log.warning("%s ended after its event loop was closed; its result is discarded", job.name)


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

    Cancelling returns at once. A function that has begun cannot be stopped: `UNSTOPPED` is told, its late result is
    discarded and a warning logged. One that has not begun never will.
    """
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    job = Job(loop, loop.create_future(), lambda: context.run(function), name)
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker(_idle)
    worker.box.put(job)
    try:
        return await job.future
    except asyncio.CancelledError:
        told = UNSTOPPED.get()
        if job.give_up() and told is not None:
            told.append(name)
        raise
