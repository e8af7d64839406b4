"""What a call is judged by: the rules in force and the state of its session, as `judge` wants it.

The guard of a run and the replay of a policy both make it here, so that they cannot differ. Source: SPEC B1, B17.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from backstay.agents.state import SessionState
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint, amended
from backstay.boundary.grants import Grant
from backstay.boundary.judge import JudgeState, Presence
from backstay.core.canon import EMPTY
from backstay.core.context import Principal
from backstay.core.messages import PLAIN

_NOBODY: frozenset[str] = frozenset()


def say_rules(state: SessionState, rules: Iterable[Constraint]) -> None:
    """Let a destination that an agent's own rule names be traced to it."""
    for rule in rules:
        state.sources.say(f"rule:{rule.id}", rule.text, PLAIN, "rule")


def rules_in_force(own: Sequence[Constraint], state: SessionState) -> tuple[Constraint, ...]:
    """All rules: the agent's own, then what the session's users have said, as far as they may amend them."""
    rules = {one.id: one for one in own}
    for one in state.constraints.values():
        rules = amended(rules, one)
    return tuple(rules.values())


def judge_state(
    state: SessionState,
    *,
    principal: Principal,
    agents: tuple[str, ...],
    rules: tuple[Constraint, ...],
    spent: Mapping[str, Decimal],
    presence: Presence,
    now: float,
    key: str = "",
    planned: Mapping[str, int] = EMPTY,
    ask: frozenset[str] = _NOBODY,
    grants: tuple[Grant, ...] = (),
    decided: PendingAction | None = None,
    is_exposed: bool = True,
) -> JudgeState:
    """All that may be known of the session at this moment.

    Args:
        state: the session, folded up to here.
        principal: for whom the run is.
        agents: the chain of delegation.
        rules: what `rules_in_force` says.
        spent: what the ledger holds, as this call has to see it.
        presence: whether anybody can be asked.
        now: seconds since 1970.
        key: of the call, as ledger and plan know it.
        planned: calls under way and the steps of the plan that they are.
        ask: tools for which a requirement wants a person asked.
        grants: standing grants that may cover it.
        decided: the approved action that is carried out.
        is_exposed: whether the agent can come to read untrusted text.
    """
    return JudgeState(
        now=now,
        principal=principal,
        agents=agents,
        constraints=rules,
        sources=state.sources,
        spent=spent,
        done=state.done,
        label=state.label,
        is_exposed=is_exposed or not state.label.trusted,
        refused=frozenset(state.refused) if state.refused else _NOBODY,
        plan=state.plan,
        planned=planned,
        ask=ask,
        grants=grants,
        key=key,
        presence=presence,
        decided=decided,
    )
