"""Taking in what the user says while the run is at work: an input of its own in every way but that it makes no run.

Only at a step border, so that it never stands between a call and its result. Source: SPEC G3.
"""

from __future__ import annotations

from backstay.agents.capture import capture_rules
from backstay.agents.definition import limits_with
from backstay.agents.step.safety import unsafe
from backstay.agents.work import Ending, Work
from backstay.store.records import Status


async def take_inputs(work: Work) -> Ending | None:
    """Take in all inputs that steer the run, oldest first; says how the drive ends if one of them stops it.

    A run that is being cancelled takes in nothing more: what is left becomes runs of their own.
    """
    run, journal = work.run, work.journal
    while run.cancelled is None and await journal.look():
        await journal.write(("status", _worked(work)))  # limits are per input: seconds before it count for the old one
        if not await journal.next_input():
            return None  # a decision or a wish, for the next border
        _begin(work)
        ending = unsafe(work)
        if ending is not None:
            return ending
        await capture_rules(work)
    return None


def _worked(work: Work) -> Status:
    now = work.ctx.clock()
    seconds, work.started_at = now - work.started_at, now
    return Status(status="running", active_seconds=seconds)


def _begin(work: Work) -> None:
    """Give the drive the limits of the input that has just come."""
    said = work.run.input
    work.limits = limits_with(work.definition.boundary.limits, said.limits if said else None)
    work.ctx.deadline = work.started_at + work.limits.seconds
    work.prolong(work.limits.seconds)
