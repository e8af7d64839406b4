"""How the rules of several requirements become one answer. Pure, and in one place.

Per tool: allowed = AND; hidden, forced, ask, prevent-stop = OR; hidden is not allowed. The reason is that of the
highest-priority rule that refuses; of several forced tools the one with the highest-priority forcing rule wins. A tool
that is forced and refused is refused; one that is forced has to be called before the run may end. Source: SPEC G5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backstay.agents.requirements.rule import Requirement, Rule, StepView
from backstay.core.errors import BackstayError, RequirementError


class Ruled(NamedTuple):
    """A rule and whose it is."""

    by: str
    priority: int
    rule: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """What all rules come to."""

    allowed: tuple[str, ...]
    """In the order of the tools. Where one is forced, it alone."""
    free: frozenset[str]
    """What would be allowed if none were forced."""
    forced: str | None
    ask: frozenset[str]
    told: Mapping[str, str]
    """Tool that the model may know of and may not call → why, for the prompt."""
    refused: Mapping[str, str]
    """Tool → why a call of it is refused; hidden ones too, and those beside a forced one."""
    most: Mapping[str, int]
    """Tool → calls in this step."""
    unmet: str
    """Why the run may not end; empty if it may."""


def rules_of(requirements: Sequence[Requirement], view: StepView) -> list[Ruled]:
    """Ask every requirement, the highest priority first; those of one priority in the order they were given.

    Raises:
        RequirementError: naming the requirement that raised.
    """
    ruled: list[Ruled] = []
    for one in requirements:
        try:
            ruled += [Ruled(one.name, one.priority, rule) for rule in one.rules(view)]
        except BackstayError:
            raise
        except Exception as error:  # code of the user's: the run ends with its name
            raise RequirementError(f"{one.name} raised {type(error).__name__}: {error}") from error
    return sorted(ruled, key=lambda each: -each.priority)


def combine(ruled: Sequence[Ruled], names: Sequence[str], *, may_be_empty: bool = False) -> Combined:
    """Combine rules, the highest priority first, over the tools that there are in this step.

    Args:
        ruled: as `rules_of` gives them; those about other tools are passed over.
        names: the tools, in their order.
        may_be_empty: whether nothing left is no error, since something else holds tools back for a step.

    Raises:
        RequirementError: code `requirement.nothing_left`, when nothing may be called and the run may not end.
    """
    mine: dict[str, list[Ruled]] = {name: [] for name in names}
    for each in ruled:
        if each.rule.target in mine:
            mine[each.rule.target].append(each)
    refusing = {name: [each for each in of if not each.rule.allowed or each.rule.hidden] for name, of in mine.items()}
    hidden = {name for name, of in mine.items() if any(each.rule.hidden for each in of)}
    allowed = tuple(name for name in names if not refusing[name])
    refused = {name: of[0].rule.reason or "not now" for name, of in refusing.items() if of}
    told = {name: why for name, why in refused.items() if name not in hidden}
    holding = [each for each in ruled if each.rule.prevent_stop]
    if not allowed and holding and not may_be_empty:
        raise RequirementError(_nothing_left(refusing, holding), code="requirement.nothing_left")
    forcing = next((each for each in ruled if each.rule.forced and each.rule.target in allowed), None)
    forced = forcing.rule.target if forcing is not None else None
    if forcing is not None:
        holding.insert(0, forcing)
        refused |= {name: f"{forced} has to be called in this step" for name in allowed if name != forced}
    return Combined(
        allowed=allowed if forced is None else (forced,),
        free=frozenset(allowed),
        forced=forced,
        ask=frozenset(each.rule.target for each in ruled if each.rule.ask),
        told=told,
        refused=refused,
        most=_most(mine),
        unmet=_unmet(holding) if allowed else "",
    )


def _most(mine: Mapping[str, Sequence[Ruled]]) -> dict[str, int]:
    found = {name: [each.rule.most for each in of if each.rule.most is not None] for name, of in mine.items()}
    return {name: min(numbers) for name, numbers in found.items() if numbers}


def _unmet(holding: Sequence[Ruled]) -> str:
    if not holding:
        return ""
    first = holding[0].rule
    return first.reason or (f"{first.target} has to be called first" if first.target else "it is too early to end")


def _nothing_left(refusing: Mapping[str, Sequence[Ruled]], holding: Sequence[Ruled]) -> str:
    lines = [
        f"{each.by} refuses {name} ({each.rule.reason or 'no reason'})" for name, of in refusing.items() for each in of
    ]
    lines += [f"{each.by} does not let the run end ({each.rule.reason or 'no reason'})" for each in holding]
    return "the requirements leave nothing to do: " + "; ".join(lines)


def _why(each: Ruled) -> str:
    return each.rule.reason or "no reason given"
