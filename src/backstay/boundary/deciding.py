"""Who may decide: roles, amount bands, quorum, nobody their own, in pure functions over one row and one decision.

What a row needs is taken from the boundary when it is asked and stands in the row, since deciding needs no app; it is
looked at again when the action is executed. Source: SPEC B23.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from backstay.boundary.actions import Decision, Needs, PendingAction
from backstay.core.context import Principal, ToolFacts
from backstay.core.errors import DecisionError, SetupError
from backstay.core.messages import Json, ToolCall

_DECIDED_BY_PEOPLE = frozenset({"approval", "in_doubt"})
_NEVER = frozenset({"customer", "anonymous"})
"""Kinds of principals that decide only where one of their roles is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """Who decides calls that are put to a person. Of several rows that fit, the one of the highest band counts.

    Args:
        tools: names; none: every tool that asks.
        roles: a decider has at least one of them; none: any operator, member or developer of the tenant.
        quorum: how many different people have to approve. One refusal is enough.
        above: the row is for calls of more money than this, summed over the call; None: for every amount.
        currency: of `above`. An amount in another currency, or one that cannot be read, counts as above.
        own: whether somebody may approve what they have asked for themselves.
    """

    tools: Sequence[str] = ()
    roles: Sequence[str] = ()
    quorum: int = 1
    above: Decimal | int | None = None
    currency: str = ""
    own: bool = False

    def __post_init__(self) -> None:
        for name in ("tools", "roles"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(one, str) and one for one in given):
                raise SetupError(f"Deciders({name}={given!r}): expected a list of names", code="deciders.invalid")
            object.__setattr__(self, name, tuple(sorted(set(given))))
        if isinstance(self.quorum, bool) or not isinstance(self.quorum, int) or self.quorum < 1:
            raise SetupError(f"Deciders(quorum={self.quorum!r}): expected 1 or more", code="deciders.invalid")
        if self.above is not None and not self.currency:
            raise SetupError(
                f"Deciders(above={self.above}): say in which currency, such as currency='EUR'", code="deciders.invalid"
            )

    def fits(self, call: ToolCall, tool: ToolFacts) -> bool:
        """Whether the row is for this call."""
        if self.tools and call.name not in self.tools:
            return False
        return self.above is None or _is_above(call, tool, Decimal(self.above), self.currency)


def needs_of(deciders: Iterable[Deciders], call: ToolCall, tool: ToolFacts) -> Needs:
    """What it takes to decide this call."""
    fitting = [one for one in deciders if one.fits(call, tool)]
    if not fitting:
        return Needs()
    best = max(fitting, key=lambda one: (-1 if one.above is None else one.above, bool(one.tools), one.quorum))
    return Needs(roles=frozenset(best.roles), quorum=best.quorum, own=best.own)


def _is_above(call: ToolCall, tool: ToolFacts, amount: Decimal, currency: str) -> bool:
    total = Decimal(0)
    for path, meaning in tool.meanings.items():
        kind, _, named = meaning.partition(":")
        if kind != "money":
            continue
        for value in _at(call.args, path.split(".")):
            try:
                read = Decimal(str(value))
            except InvalidOperation:
                return True
            if (named and named != currency) or not read.is_finite():
                return True
            total += abs(read)
    return total > amount


def money_of(call: ToolCall, tool: ToolFacts) -> tuple[tuple[str, Decimal], ...]:
    """Currency and sum of all amounts of a call that can be read."""
    sums: dict[str, Decimal] = {}
    for path, meaning in tool.meanings.items():
        kind, _, currency = meaning.partition(":")
        for value in _at(call.args, path.split(".")) if kind == "money" else ():
            try:
                read = Decimal(str(value))
            except InvalidOperation:
                continue
            if read.is_finite():
                sums[currency] = sums.get(currency, Decimal(0)) + read
    return tuple(sums.items())


def _at(value: Json, names: Sequence[str]) -> list[Json]:
    """The values at a dotted path; a list on the way stands for each of its items."""
    if isinstance(value, list | tuple):
        return [found for one in value for found in _at(one, [name for name in names if name not in ("*", "[]")])]
    if not names:
        return [] if value is None else [value]
    name, *rest = names
    name = name.removesuffix("[]")
    return _at(value.get(name), rest) if hasattr(value, "get") else []  # type: ignore[union-attr]  # it has get


def check(action: PendingAction, decision: Decision) -> None:
    """Refuse a decision of somebody who may not take it.

    Raises:
        DecisionError: `decider.tenant`, `decider.role`, `decider.kind`, `decider.self`, `decider.voted`,
            `decider.edit`; nothing is changed.
    """
    who = decider_of(action, decision)
    if who.tenant != action.principal.tenant:
        raise DecisionError(f"{action.id} belongs to another tenant", code="decider.tenant")
    if action.kind not in _DECIDED_BY_PEOPLE:
        return
    is_own = who.id == action.principal.id
    if is_own and not decision.approve:
        return  # withdrawing one's own wish
    refused = _refusal(action, action.needs, who, is_own=is_own)
    if refused is not None:
        raise DecisionError(refused[1], code=refused[0])
    if decision.approve and any(one.by == decision.by for one in action.votes):
        raise DecisionError(f"{who.id} has approved {action.id} already", code="decider.voted")
    if action.needs.quorum > 1 and decision.args is not None:
        told = f"{action.id} is decided by {action.needs.quorum} people, who have to see the same arguments"
        raise DecisionError(f"{told}; refuse it and let it be asked anew", code="decider.edit")


def decider_of(action: PendingAction, decision: Decision) -> Principal:
    """Who decided: as the door has authenticated them, else somebody with the store in their hands."""
    return decision.decider or Principal(id=decision.by, tenant=action.principal.tenant, kind="developer")


def _refusal(action: PendingAction, needs: Needs, who: Principal, *, is_own: bool) -> tuple[str, str] | None:
    if needs.roles and not needs.roles & who.roles:
        return "decider.role", f"{action.id} is decided by {' or '.join(sorted(needs.roles))}; {who.id} is neither"
    is_plain = not needs.roles and needs.quorum == 1
    is_developers = is_plain and who.kind == action.principal.kind == "developer"
    if is_own and not needs.own and not is_developers:
        return "decider.self", f"{who.id} has asked for {action.id}; somebody else decides it"
    if who.kind in _NEVER and not needs.roles and not (is_own and needs.own):
        return "decider.kind", f"{who.id} is {who.kind} and decides nothing"
    return None


def is_enough(action: PendingAction, decision: Decision) -> bool:
    """Whether this approval is the last one that is needed."""
    return len({one.by for one in (*action.votes, decision)}) >= action.needs.quorum


def stands(needs: Needs, action: PendingAction, decision: Decision) -> bool:
    """Whether those who approved would be enough for what is needed now, or for other arguments."""
    if needs == action.needs:
        return True
    deciders = {one.by: decider_of(action, one) for one in (*action.votes, decision)}
    may = [
        who for who in deciders.values() if _refusal(action, needs, who, is_own=who.id == action.principal.id) is None
    ]
    return len(may) >= needs.quorum
