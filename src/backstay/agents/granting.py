"""Making a standing grant: its rules are read and bound like any other, and one that could never hold is refused.

Source: SPEC B12.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from backstay.agents.definition import Definition
from backstay.boundary.constraints import Constraint
from backstay.boundary.deciding import needs_of
from backstay.boundary.grants import Grant
from backstay.boundary.predicates import is_total
from backstay.boundary.rules import rules_for
from backstay.boundary.text import bind, parse_rule
from backstay.core.context import Principal, ToolFacts
from backstay.core.errors import DecisionError, SetupError
from backstay.core.ids import new_id
from backstay.core.messages import ToolCall


def make_grant(
    definition: Definition,
    tool: str,
    rules: Sequence[str | Constraint],
    *,
    by: Principal | str,
    until: float,
    principal: Principal | None,
    tenant: str,
    now: float,
) -> Grant:
    """Return a grant that may be put in force.

    Raises:
        SetupError: code `grant.unbound`, for an unknown tool, no rules, none that caps a sum or a count, a rule
            that cannot be enforced or binds to nothing of the tool, and a day that is over.
        DecisionError: `decider.self`, `decider.role`, `decider.kind`, `decider.tenant`: who grants has to be one who
            may decide every such action.
    """
    found = definition.toolset.get(tool)
    if found is None:
        raise SetupError(f"a grant for {tool!r}: the agent {definition.name!r} has no such tool", code="grant.unbound")
    if isinstance(rules, str):
        raise SetupError(f"rules={rules!r}: expected a list of rules, got one text", code="grant.unbound")
    if not until > now:
        raise SetupError(f"a grant for {tool!r} ends in the past; until= is seconds since 1970", code="grant.unbound")
    grant_id, facts = new_id("g"), found.facts(None)
    bound = tuple(_bound(definition, one, f"{grant_id}.{n}", tool, facts) for n, one in enumerate(rules, 1))
    if not any(one.check is not None and is_total(one.check) for one in bound):
        told = "give a rule that caps a sum or a count, such as 'at most 200 EUR of refunds a day'"
        raise SetupError(f"a grant for {tool!r} without a cap: {told}", code="grant.unbound")
    grant = Grant(
        id=grant_id,
        agent=definition.name,
        tool=tool,
        rules=bound,
        tenant=principal.tenant if principal else tenant,
        person=principal.id if principal else "",
        by=by if isinstance(by, str) else by.id,
        at=now,
        until=until,
    )
    _may_grant(definition, grant, by, principal, facts)
    return grant


def _bound(definition: Definition, rule: str | Constraint, id_: str, tool: str, facts: ToolFacts) -> Constraint:
    if isinstance(rule, str):
        draft = parse_rule(rule, now=time.time(), tools=definition.words)
        rule = bind(draft, [one for one in definition.words if one.name == tool], author="operator", id=id_)
    made = replace(rule, id=id_, tools=(tool,), severity="block", mode="enforce", on_missing="deny")
    ready = rules_for((made,), facts)
    argument, meaning = made.bind.get("argument"), made.bind.get("meaning")
    is_there = (
        not made.bind
        or (argument is not None and argument.partition(".")[0] in _arguments(definition, tool))
        or any(one == meaning or one.partition(":")[0] == meaning for one in facts.meanings.values())
    )
    if made.check is None or not ready.rules or not is_there:
        raise SetupError(
            f"the rule {made.text!r} of a grant cannot be enforced on {tool}; name one of its arguments or amounts",
            code="grant.unbound",
        )
    return made


def _arguments(definition: Definition, tool: str) -> frozenset[str]:
    found = definition.toolset.get(tool)
    return frozenset(found.input_schema.model_fields) if found is not None else frozenset()


def _may_grant(
    definition: Definition, grant: Grant, by: Principal | str, principal: Principal | None, facts: ToolFacts
) -> None:
    """Whoever grants could decide every action that the grant covers, and is not the only one it serves."""
    if isinstance(by, str):
        return  # the caller is the door
    if by.tenant != grant.tenant:
        raise DecisionError("a grant is given inside a tenant", code="decider.tenant")
    deciders = definition.boundary.deciders
    call = ToolCall(id="", name=grant.tool, args={})
    strictest = [needs_of((one,), call, facts) for one in deciders if not one.tools or grant.tool in one.tools]
    needs_of_bands = [
        needs_of((replace(one, above=None),), call, facts)
        for one in deciders
        if one.above is not None and (not one.tools or grant.tool in one.tools)
    ]
    for needs in (*strictest, *needs_of_bands):
        if needs.roles and not needs.roles & by.roles:
            told = f"actions of {grant.tool} are decided by {' or '.join(sorted(needs.roles))}; {by.id} is neither"
            raise DecisionError(told, code="decider.role")
    if by.kind in ("customer", "anonymous"):
        raise DecisionError(f"{by.id} is {by.kind} and grants nothing", code="decider.kind")
    if by.kind != "developer" and grant.person in ("", by.id) and principal is not None and principal.id == by.id:
        raise DecisionError(f"{by.id} cannot grant to themselves", code="decider.self")
