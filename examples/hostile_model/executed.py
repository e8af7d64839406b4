"""What was really done, read back from the store: never what was asked for, refused, or waits.

The journal says which calls ran and which actions were carried out; the audit chain, which is written before an effect,
says how many effects there were, also of calls that another call's body has made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from backstay import PendingAction
from backstay.boundary import Decision
from backstay.core.messages import Args, Json, ToolCall, ToolReturn
from backstay.store.protocol import RunStore
from backstay.store.records import Asked, Decided, Notice, Record, Reply, Results

_PAGE = 200
_BEGAN = ("ran", "in_doubt")
_DONE = ("done", "in_doubt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A call that ran."""

    name: str
    args: Args | None
    """As they were executed; None for a call of which only the audit chain knows."""
    result: Json
    """Its data; of an approved action what the user was told of it."""
    ok: bool
    is_certain: bool = True
    """False where it began and nobody knows how it ended."""
    by_person: bool = False
    """Whether a person had approved it."""


async def executed(store: RunStore, session_id: str) -> list[Executed]:
    """Every call of a session that ran, in order."""
    calls: dict[str, ToolCall] = {}
    actions: dict[str, PendingAction] = {}
    decisions: dict[str, Decision] = {}
    found: list[Executed] = []
    known: Counter[str] = Counter()
    async for record in records(store, session_id):
        match record.body:
            case Reply(reply=reply):
                calls |= {one.id: one for one in reply.calls}
            case Asked(action=action):
                actions[action.id] = action
            case Decided(action_id=action_id, decision=decision):
                decisions[action_id] = decision
            case Results(returns=returns):
                began = [one for one in returns if one.result.via in _BEGAN and one.call_id in calls]
                known.update(one.name for one in began)
                found += [_ran(one, calls[one.call_id]) for one in began if not one.result.is_void]
            case Notice():
                done = _carried_out(record.body, actions, decisions)
                known.update(one.name for one in done)
                found += done
    return found + await _nested(store, session_id, known)


async def executed_everywhere(store: RunStore) -> list[Executed]:
    """Every call of every session of a store that ran, sub-agents' sessions among them."""
    sessions: dict[str, None] = {}
    after = ""
    while page := await store.runs(after=after):
        sessions |= {row.session_id: None for row in page}
        after = page[-1].run_id
    return [one for session in sessions for one in await executed(store, session)]


async def records(store: RunStore, session_id: str) -> AsyncIterator[Record]:
    """A session's records, page by page."""
    after = 0
    while page := await store.read(session_id, after=after, limit=_PAGE):
        for record in page:
            yield record
        after = page[-1].seq


def _ran(one: ToolReturn, call: ToolCall) -> Executed:
    result = one.result
    return Executed(
        name=one.name,
        args=call.args,
        result=result.data if result.ok else result.error,
        ok=result.ok,
        is_certain=result.via == "ran",
    )


def _carried_out(body: Notice, actions: dict[str, PendingAction], decisions: dict[str, Decision]) -> list[Executed]:
    action, decision = actions.get(body.action_id), decisions.get(body.action_id)
    if action is None or action.call is None or action.kind != "approval" or body.state not in _DONE:
        return []
    args = decision.args if decision is not None and decision.args is not None else action.call.args
    return [
        Executed(
            name=action.call.name,
            args=args,
            result=body.message.text,
            ok=body.ok,
            is_certain=body.state == "done",
            by_person=True,
        )
    ]


async def _nested(store: RunStore, session_id: str, known: Counter[str]) -> list[Executed]:
    """Effects that the audit chain knows and the journal does not: calls inside another call's body."""
    begun = Counter(row.tool for row, _ in await store.audit(session_id) if row.kind == "begin")
    more = (begun - known).elements()
    return [Executed(name=name, args=None, result=None, ok=True, is_certain=False) for name in more]
