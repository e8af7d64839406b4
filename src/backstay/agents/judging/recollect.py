"""What was said before the part of a session that is loaded: provenance knows the whole, whatever is folded.

A drive loads the newest snapshot and what the window shows. Only where a call is judged by where its values were said
is the rest read again, once a drive; the cost of that grows with the session. Source: SPEC B11, M10.
"""

from __future__ import annotations

from collections.abc import Sequence

from backstay.agents.judging.judge_state import say_rules
from backstay.agents.state import SessionState
from backstay.boundary.constraints import Constraint
from backstay.core.canon import canonical
from backstay.core.messages import ToolCall
from backstay.store.protocol import RunStore
from backstay.tools.tool import Tool
from backstay.tools.toolset import Toolset

_PAGE = 500


async def recollect(
    state: SessionState,
    store: RunStore,
    calls: Sequence[ToolCall],
    *,
    toolset: Toolset,
    own: Sequence[Constraint],
    rules: Sequence[Constraint],
) -> None:
    """Complete `state.sources` if judging these calls may look into it.

    Args:
        state: the session as it was loaded.
        store: where the whole of it is.
        calls: what is about to be judged.
        toolset: the agent's tools.
        own: the agent's own rules, whose words count as said.
        rules: all rules in force.
    """
    if not state.is_partial or not (_is_about_words(rules) or any(_leads_out(toolset.get(one.name)) for one in calls)):
        return
    whole, after = SessionState(state.session_id), 0
    while page := await store.read(state.session_id, after=after, limit=_PAGE):
        for record in page:
            whole.fold(record)
        after = page[-1].seq
    state.sources, state.is_partial = whole.sources, False
    say_rules(state, own)


def _is_about_words(rules: Sequence[Constraint]) -> bool:
    return any(one.check is not None and '"said"' in canonical(one.check) for one in rules)


def _leads_out(tool: Tool | None) -> bool:
    """Whether a call may change or send something; one that is not known, or proposed, may."""
    if tool is None or tool.risk != "read":
        return True
    facts = tool.facts(None)
    return bool(facts.sinks or facts.egress)
