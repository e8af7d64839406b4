"""Writing a decision. It needs no app and no credentials of one: whoever owns the app executes. Source: SPEC B4."""

from __future__ import annotations

import time

from backstay.boundary.actions import Decision, PendingAction
from backstay.core.canon import FrozenDict, freeze
from backstay.core.context import Principal
from backstay.core.hiding import hide_json
from backstay.core.messages import Args, Json
from backstay.core.redaction import hide
from backstay.store.protocol import RunStore
from backstay.store.records import AuditRow


async def decide(
    store: RunStore,
    action: PendingAction,
    *,
    approve: bool,
    by: Principal | str,
    via: str,
    reason: str = "",
    args: Args | None = None,
    trust: bool = False,
    answer: Json = None,
    principal: Principal | None = None,
    at: float | None = None,
) -> PendingAction:
    """Write a decision about an action as it was seen, and return the row as it stands now.

    Args:
        store: where the action is.
        action: the row that was on the screen; its version and digest are what the decision is about.
        approve: whether it may happen.
        by: who decides: a principal as a door has authenticated it, or a name where the caller is the door.
        via: through what: `cli`, `terminal`, `api`.
        reason: told to the model and kept.
        args: other arguments; judged anew before anything runs.
        trust: with an approval, whether its destinations may be believed for the rest of the session, so that
            nobody is asked where they come from again.
        answer: to a question that takes one.
        principal: for whom; an action that they may not see is not found. None: the program's own look.
        at: seconds since 1970; now where it is left out.

    Raises:
        NotFoundError: when there is no such action, or it is nothing that `principal` may see.
        DecisionError: when the decision cannot stand: decided already, expired, changed, tampered with.
    """
    if principal is not None:
        await store.action(action.id, principal=principal)
    edited = hide_json(freeze(args)) if args is not None else None
    decision = Decision(
        approve=approve,
        by=by if isinstance(by, str) else by.id,
        via=via,
        at=time.time() if at is None else at,
        args_digest=action.args_digest,
        reason=hide(reason),
        args=edited if isinstance(edited, FrozenDict) else None,
        trust=trust and approve,
        answer=hide_json(freeze(answer)) if approve else None,
        decider=None if isinstance(by, str) else by,
    )
    return await store.decide(action.id, action.version, decision, decision_audit(action, decision))


def decision_audit(action: PendingAction, decision: Decision) -> AuditRow:
    """The audit row that is written with a decision."""
    return AuditRow(
        run_id=action.run_id,
        slot=action.call.slot if action.call else 0,
        kind="decision",
        tool=action.call.name if action.call else "",
        args_digest=decision.args_digest,
        result_digest="approved" if decision.approve else "refused",
        rules=action.rules,
        who=decision.by,
        at=decision.at,
    )
