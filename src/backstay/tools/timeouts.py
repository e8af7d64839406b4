"""A body under its timeout: control comes back in time, even from a body that does not stop.

A body works in a task of its own. When its time is up, or when whoever waits for it is cancelled, it is cancelled and
given a tenth of a second to close what it has open. A body that swallows the cancellation, and a thread, go on; nobody
waits for them, what they return is discarded, and both are said: in the result and in the log. Source: SPEC T12.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from backstay.core.errors import ToolError
from backstay.core.logs import logger
from backstay.tools.threads import UNSTOPPED

GRACE_SECONDS = 0.1
"""What a cancelled body is given to end; after that it is left behind."""

_log = logger("backstay.tools")


class _Outcome(NamedTuple):
    """How a body ended. Errors are carried, since some of them would end the event loop if a task raised them."""

    value: object = None
    error: BaseException | None = None


_left: set[asyncio.Task[None]] = set()
"""Bodies left behind; the event loop itself keeps only weak references to tasks."""


async def within(seconds: float, body: Callable[[], Awaitable[object]], name: str) -> object:
    """Return what the body returns, if it does so in time.

    Args:
        seconds: how long it may take, by the wall clock.
        body: what to run.
        name: of the tool, for messages.

    Raises:
        ToolError: code `tool.timeout`, retryable; it says if the body could not be stopped.
        CancelledError: when this is cancelled from outside, or the body raised it by itself.
        BaseException: whatever else the body raises.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[_Outcome | None] = loop.create_future()
    unstopped: list[str] = []
    before = UNSTOPPED.set(unstopped)  # the task gets a copy of the context that holds the same list
    task = loop.create_task(_run(body, ended))
    UNSTOPPED.reset(before)
    timer = loop.call_later(seconds, _settle, ended, None)
    try:
        outcome = await ended
    except asyncio.CancelledError:
        await _stop(task, name, unstopped)
        raise
    finally:
        timer.cancel()
    if outcome is None:
        await _stop(task, name, unstopped)
        raise _timeout(name, seconds, is_stopped=not unstopped)
    if outcome.error is not None:
        try:
            raise outcome.error
        finally:
            del outcome  # its traceback holds this frame
    return outcome.value


async def _run(body: Callable[[], Awaitable[object]], ended: asyncio.Future[_Outcome | None]) -> None:
    """Run the body and tell whoever waits at once, which a task's own callbacks do one turn of the loop later."""
    try:
        outcome = _Outcome(value=await body())
    except GeneratorExit:
        raise
    except BaseException as error:
        outcome = _Outcome(error=error)
    _settle(ended, outcome)


def _settle(ended: asyncio.Future[_Outcome | None], outcome: _Outcome | None) -> None:
    if not ended.done():
        ended.set_result(outcome)


async def _stop(task: asyncio.Task[None], name: str, unstopped: list[str]) -> None:
    """Cancel the body and wait for it a moment; one that does not end is left behind and named in the list."""
    task.cancel()
    try:
        await asyncio.wait((task,), timeout=GRACE_SECONDS)
    finally:
        if not task.done():
            unstopped.append(name)
            _left.add(task)
            task.add_done_callback(partial(_late, name))
            _log.warning("%s does not stop when it is cancelled; it is left behind and nobody waits for it", name)


def _late(name: str, task: asyncio.Task[None]) -> None:
    _left.discard(task)
    _log.warning("%s ended after nobody waited for it any more; its result is discarded", name)


def _timeout(name: str, seconds: float, *, is_stopped: bool) -> ToolError:
    told = f"{name} did not answer within {seconds:g} seconds"
    if not is_stopped:
        told += ", and it could not be stopped: it may still take effect, and what it returns is discarded"
    return ToolError(f"{told}.", retryable=True, code="tool.timeout")
