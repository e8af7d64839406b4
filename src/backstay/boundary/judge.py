"""`judge`: may this call run? One pure function with default deny; everything it may know is in `JudgeState`.

The order is fixed: known tool and principal → canonical arguments → constraints → limits and cycle → grants and
earlier refusals → provenance → tier. What raises inside is a denial, and so is what no stage knows. A later stage can
make the verdict stricter, never looser; a rule that is only observed is noted and changes nothing.
Source: SPEC B1–B4, B6, B10, B17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from backstay.boundary.actions import PendingAction
from backstay.boundary.arguments import Bindings
from backstay.boundary.constraints import Constraint
from backstay.boundary.policy import Boundary
from backstay.boundary.predicates import Breach, evaluate, is_missing, limit_text
from backstay.core.canon import EMPTY, digest, freeze
from backstay.core.context import Origin, Principal, ToolFacts, Verdict
from backstay.core.messages import PLAIN, Args, Json, Label, ToolCall

Presence: TypeAlias = Literal["attended", "inbox", "unattended"]

_TOLD = 5
"""So many breaches of one rule are told; a list of a thousand lines has a thousand."""


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
    asked or refused, and `noted:ID` for a broken one that is only observed or warns.
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
    for finding in _stages(call, digest_, tool, policy, state):
        found.append(finding)
        if finding.outcome == "deny":
            return _verdict("deny", [finding], call, digest_, tool, _origins(call.args, tool, state.sources))
    found.sort(key=lambda one: one.outcome == "ask")  # what is noted comes first, so that the last word is a question's
    asking = [one for one in found if one.outcome == "ask"]
    if not asking or _is_decided(call, digest_, tool, asking, state.decided):
        return _verdict("allow", found, call, digest_, tool)
    origins = _origins(call.args, tool, state.sources)
    if state.presence != "unattended":
        return _verdict("ask", found, call, digest_, tool, origins)
    nobody = _Finding("unattended", "deny", "action.unattended", "Nobody is there to be asked.")
    return _verdict("deny", [*asking, nobody], call, digest_, tool, origins)


def _verdict(
    outcome: Literal["allow", "ask", "deny"],
    found: Sequence[_Finding],
    call: ToolCall,
    digest_: str,
    tool: ToolFacts,
    origins: tuple[Origin, ...] = (),
) -> Verdict:
    if not found:
        return Verdict(outcome=outcome, call=call, digest=digest_, risk=tool.risk)
    told = [one.message for one in found if outcome != "allow" or one.outcome == "note"]
    return Verdict(
        outcome=outcome,
        call=call,
        digest=digest_,
        risk=tool.risk,
        rules=tuple(one.rule for one in found),
        code="" if outcome == "allow" else found[-1].code,
        message=" ".join(told),
        origins=origins,
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


def _stages(call: ToolCall, digest_: str, tool: ToolFacts, policy: Boundary, state: JudgeState) -> Iterator[_Finding]:
    bindings = Bindings(call.args, tool)
    for constraint in state.constraints:
        if constraint.check is not None and _concerns(constraint, tool, state):
            finding = _broken(constraint, bindings, policy, state)
            if finding is not None:
                yield finding
    if state.cycle is not None:
        yield _Finding("cycle", "deny", "limit.cycle", f"This would go round in a circle: {state.cycle}.")
    if digest_ in state.refused and not _is_about(state.decided, call, digest_):
        yield _Finding("refused", "deny", "action.refused", "A person has refused exactly this; do not ask again.")
    if call.name in state.ask:
        yield _Finding("requirement", "ask", "action.waiting", "A person has to agree first.")
    if tool.risk == "high":
        yield _Finding("tier.high", "ask", "action.waiting", "High impact: a person decides.")
    elif tool.risk not in ("read", "write"):
        told = f"The risk of {tool.name} is {tool.risk!r}; expected read, write or high."
        yield _Finding("tier", "deny", "boundary.error", told)


def _concerns(constraint: Constraint, tool: ToolFacts, state: JudgeState) -> bool:
    if not constraint.is_active or (constraint.tools and tool.name not in constraint.tools):
        return False
    if constraint.agents and not any(agent in constraint.agents for agent in state.agents):
        return False
    return constraint.until is None or not constraint.is_over(state.now, state.principal.zone)


def _broken(constraint: Constraint, bindings: Bindings, policy: Boundary, state: JudgeState) -> _Finding | None:
    check = constraint.check or EMPTY
    breaches: list[Breach] = []
    missing: list[str] = []
    try:
        for bound in bindings.of(constraint):
            broken = evaluate(check, bound, now=state.now, zone=state.principal.zone)
            if not broken:  # which what is missing never is
                continue
            if not is_missing(check, bound):
                breaches += broken
            elif constraint.on_missing != "allow":
                missing += [one.path for one in bound if one.value is None] or ["what it is about"]
    except ValueError as error:
        return _finding(constraint, policy, f"it cannot be checked on this call: {error}", "boundary.error")
    if not breaches and not missing:
        return None
    # A list of a thousand lines may break a rule a thousand times, and each time what stands around it does too.
    told = list(dict.fromkeys(_told(one) for one in breaches))
    if missing:
        told.append(f"{_few(missing, ', ')} {'was' if len(missing) == 1 else 'were'} left out; {limit_text(check)}")
    asks = not breaches and constraint.on_missing == "ask"
    return _finding(constraint, policy, _few(told, "; "), "constraint.asks" if asks else "constraint.broken")


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


def _origins(args: Args, tool: ToolFacts, sources: Sources) -> tuple[Origin, ...]:
    return tuple(
        sources.origin(path, value, exact=tool.meanings.get(_plain(path), "").startswith("id:"))
        for path, value in sink_values(args, tool)
    )


def sink_values(args: Args, tool: ToolFacts) -> Iterator[tuple[str, str]]:
    """Every value of the arguments that names a destination, with its dotted path."""
    for sink in sorted(tool.sinks):
        root = sink.partition(".")[0]
        for path, value in leaves(root, args.get(root)):
            if f"{_plain(path)}.".startswith(f"{sink}."):
                yield path, value


def _plain(path: str) -> str:
    """The path as meanings and sinks name it, without the numbers of list items: `lines.sku` of `lines.0.sku`."""
    return ".".join(key for key in path.split(".") if not key.isdecimal())


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
