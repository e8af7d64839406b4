"""What was said before the part of a session that is loaded: provenance knows the whole, whatever is folded.

A drive loads the newest snapshot and what the window shows. Only where a call is judged by where its values were said
is the rest read again: all of it the first time in a process, after that what has come since. Source: SPEC B11, M10.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from backstay.agents.judging.judge_state import say_rules
from backstay.agents.state import SessionState
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.provenance import SessionSources
from backstay.core.canon import canonical
from backstay.core.messages import ToolCall
from backstay.store.protocol import RunStore
from backstay.tools.tool import Tool
from backstay.tools.toolset import Toolset

_PAGE = 500
MOST_RECORDS = 20_000
"""Of the sessions of one store that are remembered, all together: some 40 MB where turns are short."""


class Recollection(NamedTuple):
    """The sources of a session up to a record, and what folding the next one needs."""

    seq: int
    run_id: str
    """Of that record; another one under this number means another session of the same name."""
    sources: SessionSources
    open: dict[str, PendingAction]
    instructions: str


class Recollections:
    """The sources of the sessions that this process was the last to drive; the longest unused leave.

    An entry is taken out while a session is driven and comes back when everything is written: what a drive that failed
    has folded is never used again. It belongs to one set of rules, since the words of rules are among its sources.
    """

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[RunStore, OrderedDict[tuple[str, str], Recollection]] = WeakKeyDictionary()

    def take(self, store: RunStore, session_id: str, policy_digest: str) -> Recollection | None:
        """The sources of a session as far as they are known; whoever takes them has them alone."""
        kept = self._kept.get(store)
        return None if kept is None else kept.pop((session_id, policy_digest), None)

    def keep(self, store: RunStore, state: SessionState, policy_digest: str, run_id: str) -> None:
        """Remember the sources of a session where the whole of it is in them, once all is written.

        Args:
            store: where the session is.
            state: the session; it is not folded any further.
            policy_digest: of the rules whose words are among the sources.
            run_id: of the session's last record.
        """
        if state.is_partial or not state.snapshot_seq:  # a session without a snapshot is always loaded whole
            return
        kept = self._kept.setdefault(store, OrderedDict())
        kept[state.session_id, policy_digest] = Recollection(
            state.seq, run_id, state.sources, dict(state.open), state.instructions
        )
        kept.move_to_end((state.session_id, policy_digest))
        while sum(one.seq for one in kept.values()) > MOST_RECORDS:
            kept.popitem(last=False)


recollections = Recollections()


async def recollect(
    state: SessionState,
    store: RunStore,
    calls: Sequence[ToolCall],
    *,
    toolset: Toolset,
    own: Sequence[Constraint],
    rules: Sequence[Constraint],
    policy_digest: str,
) -> None:
    """Complete `state.sources` if judging these calls may look into it.

    Args:
        state: the session as it was loaded.
        store: where the whole of it is.
        calls: what is about to be judged.
        toolset: the agent's tools.
        own: the agent's own rules, whose words count as said.
        rules: all rules in force.
        policy_digest: of the agent's rules and limits.
    """
    if not state.is_partial or not (_is_about_words(rules) or any(_leads_out(toolset.get(one.name)) for one in calls)):
        return
    known = recollections.take(store, state.session_id, policy_digest)
    whole = None if known is None else await _continued(state, store, known)
    if whole is None:
        whole = await _folded(SessionState(state.session_id), store, 0)
        say_rules(whole, own)
    state.sources, state.is_partial = whole.sources, False


async def _continued(state: SessionState, store: RunStore, known: Recollection) -> SessionState | None:
    """The session from a record on that is known already; None where that record is not what it was."""
    before = await store.read(state.session_id, after=known.seq - 1, limit=1)
    if known.seq > state.seq or not before or before[0].run_id != known.run_id:
        return None
    later = SessionState(state.session_id)
    later.sources, later.open, later.instructions = known.sources, dict(known.open), known.instructions
    return await _folded(later, store, known.seq)


async def _folded(whole: SessionState, store: RunStore, after: int) -> SessionState:
    while page := await store.read(whole.session_id, after=after, limit=_PAGE):
        for record in page:
            whole.fold(record)
        after = page[-1].seq
    return whole


def _is_about_words(rules: Sequence[Constraint]) -> bool:
    return any(one.check is not None and '"said"' in canonical(one.check) for one in rules)


def _leads_out(tool: Tool | None) -> bool:
    """Whether a call may change or send something; one that is not known, or proposed, may."""
    if tool is None or tool.risk != "read":
        return True
    facts = tool.facts(None)
    return bool(facts.sinks or facts.egress)
