"""`judge`: may this call run? One pure function with default deny; everything it may know is in `JudgeState`.

The order is fixed: known tool and principal → canonical arguments → constraints → limits and cycle → earlier refusals
and the plan → provenance → tier. What raises inside is a denial, and so is what no stage knows. A later stage can
make the verdict stricter, never looser; a rule that is only observed is noted and changes nothing. Source: SPEC
B1–B4, B6, B10, B17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, TypeAlias

from backstay.boundary.actions import PendingAction
from backstay.boundary.arguments import Group
from backstay.boundary.constraints import Constraint
from backstay.boundary.grants import Grant
from backstay.boundary.plan import Plan
from backstay.boundary.policy import Boundary
from backstay.boundary.predicates import WRONG, Breach, Scene, added, is_missing, limit_text, most, why_not
from backstay.boundary.predicates.language import shown
from backstay.boundary.provenance import Flow, Sources, origins, trace
from backstay.boundary.rules import Rule, account, rules_for
from backstay.core.canon import EMPTY, digest, freeze
from backstay.core.context import Origin, Principal, Reserve, ToolFacts, Verdict
from backstay.core.messages import PLAIN, Args, Json, Label, ToolCall

Presence: TypeAlias = Literal["attended", "inbox", "unattended"]

_TRACED: Mapping[str, Literal["note", "ask", "deny"]] = {"observe": "note", "confirm": "ask", "block": "deny"}
"""What the policy makes of something untraced, where it enforces what it finds."""
_TIER = "tier.high"
_TOLD = 5
"""So many breaches of one rule are told; a list of a thousand lines has a thousand."""


@dataclass(slots=True, kw_only=True)
class JudgeState:
    """All that `judge` may know of the session. Every look-up is O(1). One per call, so it is not frozen."""

    now: float
    principal: Principal
    agents: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    sources: Sources
    spent: Mapping[str, Decimal] = EMPTY
    done: Mapping[str, int] = EMPTY
    label: Label = PLAIN
    is_exposed: bool = True
    """Whether the agent can come to read untrusted text."""
    refused: frozenset[str] = frozenset()
    """Digests of calls a person has refused in this session."""
    ask: frozenset[str] = frozenset()
    """Names of tools for which a requirement wants a person asked."""
    grants: tuple[Grant, ...] = ()
    """Standing grants that may cover the call; each answers the question of the tier alone."""
    cycle: str | None = None
    """The cycle of delegation that this call would close, in words."""
    plan: Plan | None = None
    """What was fixed before anything untrusted was read."""
    planned: Mapping[str, int] = EMPTY
    """Calls under way → the steps of the plan that they are, where the plan does not know it yet."""
    key: str = ""
    """Of the call, as the plan knows it."""
    presence: Presence = "inbox"
    decided: PendingAction | None = None
    """The approved action that is being executed. It turns an ask into an allow only for that very call, the same
    digest, the same tool, and no rule that did not ask before."""


@dataclass(slots=True)
class _Finding:
    """One rule's word: refused, to be asked, or noted without any effect."""

    rule: str
    outcome: Literal["note", "ask", "deny"]
    code: str
    message: str


def judge(call: ToolCall, tool: ToolFacts, policy: Boundary, state: JudgeState) -> Verdict:
    """Return what may become of the call: allow, ask a person, or deny.

    Never raises: whatever goes wrong inside is a denial with code `boundary.error`. Its `rules` are those that
    asked or refused, and `noted:ID` for a broken one that is only observed or warns, also of `provenance.…`.
    """
    try:
        stranger = _stranger(call, tool, state)
        if stranger is not None:
            return _verdict("deny", [stranger], call, "", tool)
        args = freeze(call.args)
        if not isinstance(args, Mapping):
            raise TypeError("arguments are a JSON object")
        frozen = call if args is call.args else replace(call, args=args)
        return _weigh(frozen, call_digest(call.name, args), tool, policy, state)
    except Exception as error:
        told = f"The boundary could not judge this call ({type(error).__name__}), so it does not run."
        return _verdict("deny", [_Finding("boundary.error", "deny", "boundary.error", told)], call, "", tool)


def call_digest(name: str, args: Json) -> str:
    """SHA-256 over tool name and canonical arguments: what verdicts, decisions and effects are bound to."""
    return digest({"args": args, "tool": name})


def _stranger(call: ToolCall, tool: ToolFacts, state: JudgeState) -> _Finding | None:
    if call.name != tool.name:
        return _Finding("tool", "deny", "tool.unknown", f"There is no tool {call.name!r}.")
    if not state.principal.id.strip():
        return _Finding("principal", "deny", "principal.missing", "Nobody is named for whom this would be done.")
    return None


def _weigh(call: ToolCall, digest_: str, tool: ToolFacts, policy: Boundary, state: JudgeState) -> Verdict:
    found: list[_Finding] = []
    reserve: list[Reserve] = []
    planned = state.plan.step_for(state.key, call.args, tool, state.planned) if state.plan is not None else 0
    for finding in _stages(call, digest_, tool, policy, state, reserve, planned):
        found.append(finding)
        if finding.outcome == "deny":
            return _verdict("deny", [finding], call, digest_, tool, origins(call.args, tool, state.sources))
    found.sort(key=lambda one: one.outcome == "ask")  # what is noted comes first, so that the last word is a question's
    asking = [one for one in found if one.outcome == "ask"]
    if not asking or _is_decided(call, digest_, tool, asking, state.decided):
        return _verdict("allow", found, call, digest_, tool, reserve=tuple(reserve), planned=planned)
    grant = _covering(call, tool, policy, state, reserve) if {one.rule for one in asking} == {_TIER} else None
    if grant is not None:
        noted = [_Finding(f"granted:{grant.id}", "note", "", ""), *(one for one in found if one.outcome == "note")]
        return _verdict("allow", noted, call, digest_, tool, reserve=tuple(reserve), planned=planned)
    named = origins(call.args, tool, state.sources)
    if state.presence != "unattended":
        return _verdict("ask", found, call, digest_, tool, named, planned=planned)
    nobody = _Finding("unattended", "deny", "action.unattended", "Nobody is there to be asked.")
    return _verdict("deny", [*asking, nobody], call, digest_, tool, named)


def _covering(
    call: ToolCall, tool: ToolFacts, policy: Boundary, state: JudgeState, reserve: list[Reserve]
) -> Grant | None:
    """The first standing grant that covers the call; what it counts goes into `reserve`."""
    for grant in state.grants:
        if not grant.covers(state.agents, state.principal, call.name, state.now):
            continue
        if len(rules_for(grant.rules, tool).rules) != len(grant.rules):
            continue
        own: list[Reserve] = []
        enforced = policy if policy.mode == "enforce" else replace(policy, mode="enforce")
        within = replace(state, constraints=grant.rules)
        # A call of which no cap counts anything, such as one with an empty list, is not what was granted.
        if not any(_broken_rules(call.args, tool, enforced, within, own)) and own:
            held = {one.key for one in reserve}
            reserve += [one for one in own if one.key not in held]
            return grant
    return None


def _verdict(
    outcome: Literal["allow", "ask", "deny"],
    found: Sequence[_Finding],
    call: ToolCall,
    digest_: str,
    tool: ToolFacts,
    origins: tuple[Origin, ...] = (),
    reserve: tuple[Reserve, ...] = (),
    planned: int = 0,
) -> Verdict:
    if not found:
        return Verdict(outcome=outcome, call=call, digest=digest_, risk=tool.risk, reserve=reserve, plan=planned)
    told = [one.message for one in found if outcome != "allow" or one.outcome == "note"]
    return Verdict(
        outcome=outcome,
        call=call,
        digest=digest_,
        risk=tool.risk,
        rules=tuple(one.rule for one in found),
        code="" if outcome == "allow" else found[-1].code,
        message=" ".join(filter(None, told)),
        origins=origins,
        reserve=reserve,
        plan=planned,
    )


def _is_decided(
    call: ToolCall, digest_: str, tool: ToolFacts, asking: Sequence[_Finding], decided: PendingAction | None
) -> bool:
    return (
        decided is not None
        and _is_about(decided, call, digest_)
        and decided.tool_digest == tool.digest
        and {one.rule for one in asking} <= set(decided.rules)
    )


def _is_about(decided: PendingAction | None, call: ToolCall, digest_: str) -> bool:
    """Whether it is this call that was approved: a call that its body makes is another, even with equal arguments."""
    if decided is None or decided.call is None:
        return False
    return decided.args_digest == digest_ and decided.call.id == call.id


def _stages(
    call: ToolCall,
    digest_: str,
    tool: ToolFacts,
    policy: Boundary,
    state: JudgeState,
    reserve: list[Reserve],
    planned: int,
) -> Iterator[_Finding]:
    if state.constraints:
        yield from _broken_rules(call.args, tool, policy, state, reserve)
    if state.cycle is not None:
        yield _Finding("cycle", "deny", "limit.cycle", f"This would go round in a circle: {state.cycle}.")
    if digest_ in state.refused and not _is_about(state.decided, call, digest_):
        yield _Finding("refused", "deny", "action.refused", "A person has refused exactly this; do not ask again.")
    if policy.plan != "off" and not planned and not state.label.trusted and (tool.risk != "read" or tool.egress):
        told = "Untrusted text was read, and this is no step that is left of the plan that was fixed before."
        yield _Finding("plan", policy.plan, "plan.outside", told)
    if call.name in state.ask:
        yield _Finding("requirement", "ask", "action.waiting", "A person has to agree first.")
    if policy.provenance != "off":
        flow = trace(call.args, tool, state.label, state.sources, policy.cleared, is_exposed=state.is_exposed)
        if planned and state.plan is not None and flow.texts:
            fixed = state.plan.steps[planned - 1].fixed
            flow = replace(flow, texts=tuple(one for one in flow.texts if one.partition(".")[0] not in fixed))
        yield from _untraced(flow, tool, "note" if policy.mode == "observe" else _TRACED[policy.provenance])
    if tool.risk == "high":
        yield _Finding(_TIER, "ask", "action.waiting", "High impact: a person decides.")
    elif tool.risk not in ("read", "write"):
        told = f"The risk of {tool.name} is {tool.risk!r}; expected read, write or high."
        yield _Finding("tier", "deny", "boundary.error", told)


def _untraced(flow: Flow, tool: ToolFacts, outcome: Literal["note", "ask", "deny"]) -> Iterator[_Finding]:
    mark = "noted:" if outcome == "note" else ""
    if flow.leaks:
        told = f"The conversation has seen a secret, and {_few(flow.leaks, ', ')} is not cleared for one."
        leaks: Literal["note", "deny"] = "note" if outcome == "note" else "deny"
        yield _Finding(f"{mark}provenance.secret", leaks, "provenance.secret", told)
    if flow.destinations:
        named = _few([f"{one.path} is {shown(one.value)!r}" for one in flow.destinations], "; ")
        told = f"{named}: nobody who may be believed has named that."
        yield _Finding(f"{mark}provenance.destination", outcome, "provenance.untraced", told)
    if flow.texts and tool.risk != "high":
        told = f"{_few(flow.texts, ', ')} says what nobody who may be believed has said."
        yield _Finding(f"{mark}provenance.text", outcome, "provenance.untraced", told)


def _broken_rules(
    args: Args, tool: ToolFacts, policy: Boundary, state: JudgeState, reserve: list[Reserve]
) -> Iterator[_Finding]:
    """Every rule that is broken, told; what the sums and counts among them would hold goes into `reserve`."""
    ready = rules_for(state.constraints, tool)
    scene = _scene(args, policy, state)
    groups: list[Sequence[Group] | None] = [None] * len(ready.bindings)
    for rule in ready.rules:
        constraint = rule.constraint
        if not rule.lasts and not _is_in_force(constraint, state):
            continue
        hits: list[_Hit] = []
        try:
            bound = groups[rule.place]
            if bound is None:
                bound = groups[rule.place] = ready.bindings[rule.place](args)
            if rule.is_total:
                bound, at = _together(bound), _with_used(rule, scene, state)
                if bound:
                    reserve += _reserved(rule, bound[0], at, policy, state)
            else:
                at = scene
            for group in bound:
                broken = rule.test(group, at)
                if broken:  # which what is missing always is
                    hits.append((group, broken))
            if hits:
                yield from _breaks(rule, policy, hits)
        except WRONG as error:
            told = f"it cannot be checked on this call: {why_not(error)}"
            yield _finding(constraint, policy, told, "boundary.error")


def _scene(args: Args, policy: Boundary, state: JudgeState) -> Scene:
    return Scene(
        state.now,
        state.principal,
        args,
        done=state.done,
        words=state.sources,
        functions=policy.functions,
        owners=policy.owners,
    )


def _is_in_force(constraint: Constraint, state: JudgeState) -> bool:
    if constraint.agents and not any(agent in constraint.agents for agent in state.agents):
        return False
    return constraint.until is None or not constraint.is_over(state.now, state.principal.zone)


_Hit: TypeAlias = tuple[Group, Sequence[Breach]]
"""What was judged together, and what of it breaks the rule."""


def _together(groups: Sequence[Group]) -> Sequence[Group]:
    """All lines of a call as one: a sum is over all of them."""
    return [tuple(dict.fromkeys(one for group in groups for one in group))] if groups else ()


def _with_used(rule: Rule, scene: Scene, state: JudgeState) -> Scene:
    used = state.spent.get(account(rule.constraint, state.principal, state.now))
    return scene if used is None else scene._replace(used=used)


def _reserved(rule: Rule, group: Group, scene: Scene, policy: Boundary, state: JudgeState) -> Iterator[Reserve]:
    """What the call would hold in the ledger of a sum or a count."""
    amount = added(rule.check, group)
    if not amount:
        return
    one = rule.constraint
    # Where somebody has agreed to pass the limit, or it is only observed, other sessions are not stopped at it either.
    is_bound = policy.mode == one.mode == "enforce" and one.severity == "block" and not rule.test(group, scene)
    yield Reserve(account(one, state.principal, state.now), amount, most(rule.check) if is_bound else None)


def _breaks(rule: Rule, policy: Boundary, hits: Sequence[_Hit]) -> Iterator[_Finding]:
    breaches: list[Breach] = []
    missing: list[str] = []
    for group, broken in hits:
        if not is_missing(rule.check, group):
            breaches += broken
        elif rule.constraint.on_missing != "allow":
            missing += [one.path for one in group if one.value is None] or ["what it is about"]
    if not breaches and not missing:
        return
    # A list of a thousand lines may break a rule a thousand times, and each time what stands around it does too.
    told = list(dict.fromkeys(_told(one) for one in breaches))
    if missing:
        left_out = f"{_few(missing, ', ')} {'was' if len(missing) == 1 else 'were'} left out"
        told.append(f"{left_out}; {limit_text(rule.check)}")
    asks = not breaches and rule.constraint.on_missing == "ask"
    yield _finding(rule.constraint, policy, _few(told, "; "), "constraint.asks" if asks else "constraint.broken")


def _told(breach: Breach) -> str:
    return f"{breach.path} is {breach.value}, allowed is {breach.limit}" if breach.path else breach.limit


def _few(texts: Sequence[str], between: str) -> str:
    more = [f"{len(texts) - _TOLD} more"] if len(texts) > _TOLD else []
    return between.join([*texts[:_TOLD], *more])


def _finding(constraint: Constraint, policy: Boundary, told: str, code: str) -> _Finding:
    rule = f"rule {constraint.id} ({constraint.text!r})"
    if policy.mode == "observe" or constraint.mode == "observe" or constraint.severity == "warn":
        return _Finding(f"noted:{constraint.id}", "note", code, f"Noted by {rule}: {told}.")
    if code == "boundary.error":
        return _Finding(constraint.id, "deny", code, f"Refused by {rule}: {told}.")
    if code == "constraint.asks" or constraint.status == "proposed" or constraint.severity == "confirm":
        return _Finding(constraint.id, "ask", "constraint.asks", f"{rule} wants a person asked: {told}.")
    return _Finding(constraint.id, "deny", code, f"Refused by {rule}: {told}.")
