"""Driving runs from a command: traced, watched, and left where they are on Ctrl-C.

The first Ctrl-C stops what runs in this process and gives the sessions back, so that the runs are due and nothing is
lost; the second ends the process at once, which a run survives as it survives any crash. Source: SPEC C1, D1.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from backstay.agents.drive import live
from backstay.cli.exits import INTERRUPTED
from backstay.cli.printing import Printer
from backstay.cli.progress import Progress
from backstay.core.events import events
from backstay.store.protocol import RunStore
from backstay.trace import Recorder

T = TypeVar("T")


@contextlib.asynccontextmanager
async def watched(store: RunStore, out: Printer, *, stream: bool | None = False) -> AsyncIterator[Progress]:
    """Print and trace every run that is driven inside; `stream` None means: on a terminal only."""
    progress = Progress(out, stream=(out.is_terminal if stream is None else stream) and not out.as_json)
    recorder = Recorder(store)
    offs = [recorder.attach(events), progress.attach(events)]
    try:
        yield progress
    finally:
        for off in offs:
            off()
        await recorder.close()


class Interrupted(Exception):
    """Ctrl-C came before any run was at work."""


async def until_interrupted(work: Awaitable[T], out: Printer) -> T:
    """Await the work; on Ctrl-C every run at work ends its drive as still running, which leaves it due.

    Raises:
        Interrupted: when Ctrl-C came while nothing was at work, for instance while an input waited for its turn.
    """
    task = asyncio.ensure_future(work)
    pressed = 0

    def on_interrupt() -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            os._exit(INTERRUPTED)
        out.note("stopping; press Ctrl-C again to end at once", "yellow")
        if not live.leave("Ctrl-C stopped it; it can be resumed"):
            task.cancel()

    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers on its loop
        loop.add_signal_handler(signal.SIGINT, on_interrupt)
    try:
        return await task
    except asyncio.CancelledError:
        if pressed:
            raise Interrupted from None
        raise
    finally:
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
