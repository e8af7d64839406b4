"""Whether a run that nobody attends may go on with what its session has heard. Source: SPEC B13."""

from __future__ import annotations

from backstay.agents.work import Ending, Work
from backstay.boundary.session_check import refusal


def unsafe(work: Work) -> Ending | None:
    """How the run ends if it could do too much by itself.

    What an earlier run, or long-term memory, has brought into the session counts like a tool's output.
    """
    if work.presence != "unattended":
        return None
    told = refusal(work.definition.reach_with(work.journal.state.label), work.presence)
    return None if told is None else Ending(status="stopped", code="session.unsafe", reason=told)
