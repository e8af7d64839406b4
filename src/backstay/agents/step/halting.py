"""Parking a run that a halt stops: it ends its drive `waiting` with code `halted` and is due when something is lifted.

Source: SPEC B25.
"""

from __future__ import annotations

from collections.abc import Collection

from backstay.agents.deciding.watcher import HALTED
from backstay.agents.work import Ending, Work


async def parked(work: Work, tools: Collection[str] = ()) -> Ending | None:
    """How the drive ends if the run, or one of these tools, is halted; None if it may go on."""
    halt = await work.guard.watcher.halt(tools)
    return None if halt is None else Ending(status="waiting", code=HALTED, reason=halt.told)
