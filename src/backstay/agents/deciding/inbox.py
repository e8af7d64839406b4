"""Rows of the inbox that ask a person something without a call, and how many questions a run has put already.

Source: SPEC B4 ("at most 8 questions a run"), B7, B10, G11, M5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from backstay.agents.run_state import RunState
from backstay.boundary.actions import PendingAction
from backstay.core.messages import Json
from backstay.store.records import RunRow


def question_row(
    row: RunRow,
    agents: tuple[str, ...],
    *,
    id: str,
    question: str,
    key: str,
    now: float,
    seconds: float,
    kind: Literal["question", "narrowing"] = "question",
    rules: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    preview: str = "",
    choices: Json = None,
) -> PendingAction:
    """Make a row that asks.

    Args:
        row: the run that asks.
        agents: the chain of delegation.
        id: of the new row.
        question: for the person.
        key: digest by which the same question is known again.
        now: seconds since 1970.
        seconds: how long it waits.
        kind: a question, or what to leave out of a request that is too large.
        rules: which rules it is about.
        targets: what it is about.
        preview: what an answer would do.
        choices: what may be answered.
    """
    return PendingAction(
        id=id,
        kind=kind,
        version=1,
        state="open",
        run_id=row.run_id,
        session_id=row.session_id,
        trace_id=row.trace_id,
        principal=row.principal,
        agents=agents,
        call=None,
        reason="",
        args_digest=key,
        tool_digest="",
        policy_digest="",
        targets=targets,
        origins=(),
        rules=rules,
        preview=preview,
        reversible=True,
        question=question,
        choices=choices,
        asked_at=now,
        expires_at=now + seconds,
    )


def asked(run: RunState, queued: Iterable[PendingAction]) -> int:
    """Questions put to people for the run since its last input, answered ones too: a tired person says yes to all."""
    return run.asked + sum(one.is_question and one.run_id == run.run_id for one in queued)
