"""`judge`: may this call run? One pure function with default deny; everything it may know is in `JudgeState`.

The order is fixed: known tool and principal → canonical arguments → constraints → limits and cycle → grants and
earlier refusals → provenance → tier. What raises inside is a denial. A later stage can make the verdict stricter,
never looser. Source: SPEC B1–B4, B6, B10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.policy import Boundary
from backstay.boundary.predicates import Bound, evaluate, is_missing, limit_text, selects
from backstay.core.canon import EMPTY, digest, freeze
from backstay.core.context import Origin, Principal, ToolFacts, Verdict
from backstay.core.messages import PLAIN, Args, Json, Label, ToolCall

Presence: TypeAlias = Literal["attended", "inbox", "unattended"]


class Sources(Protocol):
    """The trusted texts of a session, as an index."""

    def origin(self, path: str, value: str, *, exact: bool) -> Origin:
        """Where a value of the arguments stands in trusted text; `trusted` is False if nowhere."""
        ...


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
    refused: frozenset[str] = frozenset()
    """Digests of calls a person has refused in this session."""
    ask: frozenset[str] = frozenset()
    """Names of tools for which a requirement wants a person asked."""
    grants: tuple[Args, ...] = ()
    cycle: str | None = None
    """The cycle of delegation that this call would close, in words."""
    presence: Presence = "inbox"
    decided: PendingAction | None = None
    """The approved action that is being executed. It turns an ask into an allow only for the same digest, the same
    tool, and no rule that did not ask before."""


@dataclass(slots=True)
class _Finding:
    """One rule's word: refused or to be asked."""

    rule: str
    outcome: Literal["ask", "deny"]
    code: str
    message: str


def judge(call: ToolCall, tool: ToolFacts, policy: Boundary, state: JudgeState) -> Verdict:
    """Return what may become of the call: allow, ask a person, or deny.

    Never raises: whatever goes wrong inside is a denial with code `boundary.error`.
    """
    try:
        args = freeze(call.args)
        if not isinstance(args, Mapping):
            raise TypeError("arguments are a JSON object")
        frozen = call if args is call.args else _with_args(call, args)
        return _weigh(frozen, call_digest(call.name, args), tool, policy, state)
    except Exception as error:
        return Verdict(
            outcome="deny",
            call=call,
            digest="",
            risk=tool.risk,
            rules=("boundary.error",),
            code="boundary.error",
            message=f"The boundary could not judge this call ({type(error).__name__}), so it does not run.",
        )


def call_digest(name: str, args: Json) -> str:
    """SHA-256 over tool name and canonical arguments: what verdicts, decisions and effects are bound to."""
    return digest({"args": args, "tool": name})


def _with_args(call: ToolCall, args: Args) -> ToolCall:
    return ToolCall(id=call.id, name=call.name, args=args, slot=call.slot, raw=call.raw, proposed=call.proposed)


def _weigh(call: ToolCall, digest_: str, tool: ToolFacts, policy: Boundary, state: JudgeState) -> Verdict:
    findings: list[_Finding] = []
    for finding in _stages(call, digest_, tool, policy, state):
        findings.append(finding)
        if finding.outcome == "deny":
            break
    if not findings:
        return Verdict(outcome="allow", call=call, digest=digest_, risk=tool.risk)
    last = findings[-1]
    rules = tuple(finding.rule for finding in findings)
    if last.outcome == "ask" and _is_decided(digest_, rules, tool, state.decided):
        return Verdict(outcome="allow", call=call, digest=digest_, risk=tool.risk, rules=rules)
    if last.outcome == "ask" and state.presence == "unattended":
        last = _Finding(last.rule, "deny", "action.unattended", f"{last.message} Nobody is there to be asked.")
    return Verdict(
        outcome=last.outcome,
        call=call,
        digest=digest_,
        risk=tool.risk,
        rules=rules if last.outcome == "ask" else (last.rule,),
        code=last.code,
        message=last.message,
        origins=_origins(call.args, tool, state.sources),
    )


def _is_decided(digest_: str, rules: tuple[str, ...], tool: ToolFacts, decided: PendingAction | None) -> bool:
    return (
        decided is not None
        and decided.args_digest == digest_
        and decided.tool_digest == tool.digest
        and set(rules) <= set(decided.rules)
    )


def _stages(call: ToolCall, digest_: str, tool: ToolFacts, policy: Boundary, state: JudgeState) -> Iterator[_Finding]:
    if call.name != tool.name:
        yield _Finding("tool", "deny", "tool.unknown", f"There is no tool {call.name!r}.")
    if not state.principal.id:
        yield _Finding("principal", "deny", "principal.missing", "Nobody is named for whom this would be done.")
    enforced = policy.mode == "enforce"
    for constraint in state.constraints:
        finding = _broken(constraint, call.args, tool, state)
        if finding is not None and enforced:
            yield finding
    if state.cycle is not None:
        yield _Finding("cycle", "deny", "limit.cycle", f"This would go round in a circle: {state.cycle}.")
    if digest_ in state.refused and state.decided is None:
        yield _Finding("refused", "deny", "action.refused", "A person has refused exactly this; do not ask again.")
    if call.name in state.ask:
        yield _Finding("requirement", "ask", "action.waiting", "A person has to agree first.")
    if tool.risk == "high":
        yield _Finding("tier.high", "ask", "action.waiting", "High impact: a person decides.")


def _broken(constraint: Constraint, args: Args, tool: ToolFacts, state: JudgeState) -> _Finding | None:
    check = constraint.check
    if check is None or not constraint.is_active or constraint.mode == "observe" or constraint.severity == "warn":
        return None
    if constraint.tools and tool.name not in constraint.tools:
        return None
    if constraint.agents and not set(constraint.agents) & set(state.agents):
        return None
    bound = bound_values(constraint, args, tool)
    if bound is None:
        return None
    if is_missing(check, bound):
        if constraint.on_missing == "allow":
            return None
        return _finding(constraint, f"{_names(bound)} left out; {limit_text(check)}", constraint.on_missing == "ask")
    breaches = evaluate(check, bound, now=state.now, zone=state.principal.zone)
    if not breaches:
        return None
    told = "; ".join(f"{b.path} is {b.value}, allowed is {b.limit}" if b.path else b.limit for b in breaches)
    return _finding(constraint, told, False)


def bound_values(constraint: Constraint, args: Args, tool: ToolFacts) -> list[Bound] | None:
    """The arguments a constraint binds to in this call; None if it does not touch this tool at all."""
    argument = constraint.bind.get("argument")
    if argument is not None:
        found = _values(args, argument)
        if found == [(argument, None)] and not constraint.tools:
            return None
        return [Bound(path, tool.meanings.get(argument, ""), value) for path, value in found]
    meaning = constraint.bind.get("meaning")
    if meaning is None:
        return []
    bound = [
        Bound(path, has, value)
        for name, has in tool.meanings.items()
        if selects(meaning, has)
        for path, value in _values(args, name)
    ]
    return bound or None


def _values(args: Args, path: str) -> list[tuple[str, Json]]:
    """What stands at a dotted path, through every item of a list; None where it was left out."""
    if "." not in path:
        return [(path, args.get(path))]
    places: list[tuple[str, Json]] = [("", args)]
    for key in path.split("."):
        places = [(f"{at}.{key}" if at else key, _get(item, key)) for at, value in places for at, item in _items(at, value)]
    return places


def _items(path: str, value: Json) -> list[tuple[str, Json]]:
    if isinstance(value, list | tuple):
        return [(f"{path}.{index}", item) for index, item in enumerate(value)]
    return [(path, value)]


def _get(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, Mapping) else None


def _names(bound: list[Bound]) -> str:
    return ", ".join(one.path for one in bound) + (" was" if len(bound) == 1 else " were")


def _finding(constraint: Constraint, told: str, ask: bool) -> _Finding:
    rule = f"rule {constraint.id} ({constraint.text!r})"
    if ask or constraint.status == "proposed" or constraint.severity == "confirm":
        return _Finding(constraint.id, "ask", "constraint.asks", f"{rule} wants a person asked: {told}.")
    return _Finding(constraint.id, "deny", "constraint.broken", f"Refused by {rule}: {told}.")


def _origins(args: Args, tool: ToolFacts, sources: Sources) -> tuple[Origin, ...]:
    found: list[Origin] = []
    for path in sorted(tool.sinks):
        exact = tool.meanings.get(path, "").startswith("id:")
        for where, value in leaves(path, args.get(path)):
            found.append(sources.origin(where, value, exact=exact))
    return tuple(found)


def leaves(path: str, value: Json) -> Iterator[tuple[str, str]]:
    """Every text and number inside an argument, with its dotted path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(f"{path}.{key}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from leaves(f"{path}.{index}", item)
    elif value is not None:
        yield path, str(value)
