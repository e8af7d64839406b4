"""Deferred calls: the row that waits for a callback, and the callback. Delivered once; all else is only recorded.

Source: SPEC T15; G3 (the result enters as a notice).
"""

from __future__ import annotations

import hmac

from backstay.boundary.actions import CALLBACK, Decision, PendingAction
from backstay.core.canon import FrozenDict, digest, freeze
from backstay.core.errors import DecisionError
from backstay.core.hiding import hide_json
from backstay.core.messages import Json, Label, ToolResult
from backstay.store.protocol import RunStore
from backstay.store.records import AuditRow
from backstay.tools.deferred import deferred_id
from backstay.tools.summary import summarise

_LATE = {"action.expired": "deferred.late", "action.decided": "deferred.duplicate"}


async def deliver(
    store: RunStore, token: str, result: Json | ToolResult, signature: str, *, at: float
) -> PendingAction:
    """Write down what came of a deferred call, and return its row.

    Args:
        store: where the run is.
        token: as the tool gave it.
        result: JSON, or a `ToolResult` for what has failed.
        signature: what `ctx.host.sign(token)` gave the tool.
        at: seconds since 1970.

    Raises:
        NotFoundError: nobody waits for this token, and nobody ever did.
        DecisionError: `deferred.signature`, `deferred.duplicate`, `deferred.late`: recorded, not applied.
    """
    action = await store.action(deferred_id(token))
    answer = hide_json(freeze(_plain(result)))
    if not hmac.compare_digest(store.sign(token).encode(), signature.encode("utf-8", "surrogatepass")):
        await store.note(action.id, _refused(action, "deferred.signature", answer, at))
        raise DecisionError(f"the signature of a callback for {action.id} is wrong", code="deferred.signature")
    decision = Decision(approve=True, by=CALLBACK, via=CALLBACK, at=at, args_digest=action.args_digest, answer=answer)
    audit = AuditRow(
        run_id=action.run_id,
        slot=action.call.slot if action.call else 0,
        kind="decision",
        tool=action.call.name if action.call else "",
        args_digest=action.args_digest,
        result_digest=digest(answer),
        rules=(CALLBACK,),
        who=CALLBACK,
        at=at,
    )
    try:
        return await store.decide(action.id, action.version, decision, audit)
    except DecisionError as error:
        code = _LATE.get(error.code)
        if code is None:
            raise
        await store.note(action.id, _refused(action, code, answer, at))
        raise DecisionError(f"a callback for {action.id} was recorded and changed nothing", code=code) from error


def _plain(result: Json | ToolResult) -> Json:
    if isinstance(result, ToolResult):
        return {"ok": result.ok, "summary": result.summary, "data": result.data}
    return {"ok": True, "summary": "", "data": result}


def delivered(answer: Json, label: Label, tokens: int) -> ToolResult:
    """The result that a callback has brought, with the label of the tool it belongs to."""
    given = answer if isinstance(answer, FrozenDict) else FrozenDict(ok=True, summary="", data=answer)
    said, data, ok = given.get("summary"), given.get("data"), given.get("ok") is True
    summary = said if isinstance(said, str) and said else summarise(data, tokens).text
    error = None if ok else summary
    return ToolResult(ok=ok, summary=summary, data=data, error=error, code=None if ok else "tool.failed", label=label)


def _refused(action: PendingAction, code: str, answer: Json, at: float) -> AuditRow:
    return AuditRow(
        run_id=action.run_id,
        slot=action.call.slot if action.call else 0,
        kind="refusal",
        tool=action.call.name if action.call else "",
        args_digest=action.args_digest,
        result_digest=digest(answer),
        rules=(code,),
        who=CALLBACK,
        at=at,
    )
