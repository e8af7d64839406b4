"""`@requirement`: a requirement out of a function of the view. Source: SPEC G5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from backstay.agents.requirements.rule import Rule, StepView
from backstay.agents.requirements.targets import Targets, find
from backstay.core.errors import RequirementError
from backstay.tools.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRequirement:
    """What `@requirement` makes. It may speak of its targets only."""

    function: Callable[[StepView], Sequence[Rule]]
    targets: Targets
    name: str
    priority: int = 10
    enabled: bool = True
    names: tuple[str, ...] = field(default=())
    """The targets, found."""

    def bind(self, tools: Sequence[Tool]) -> FunctionRequirement:
        """A copy with the names of this agent's tools."""
        return replace(self, names=find(self.targets, tools, self.name))

    def rules(self, view: StepView) -> Sequence[Rule]:
        """What the function says.

        Raises:
            RequirementError: for a rule about a tool that is not among its targets.
        """
        if not self.enabled:
            return ()
        said = tuple(self.function(view))
        for rule in said:
            if rule.target and rule.target not in self.names:
                raise RequirementError(
                    f"{self.name}: a rule about {rule.target!r}, and its targets are: {', '.join(self.names) or 'none'}"
                )
        return said


def requirement(
    targets: Targets = (), *, name: str = "", priority: int = 10, enabled: bool = True
) -> Callable[[Callable[[StepView], Sequence[Rule]]], FunctionRequirement]:
    """Make a requirement from a pure function: `@requirement("refund")`, then `def two_eyes(view): return [Rule(...)]`.

    Args:
        targets: the tools its rules may be about; checked when the agent is made.
        name: as errors list it; the function's name where it is left out.
        priority: the higher one's reason and the higher one's forcing win.
        enabled: False switches it off.
    """

    def make(function: Callable[[StepView], Sequence[Rule]]) -> FunctionRequirement:
        return FunctionRequirement(
            function=function, targets=targets, name=name or function.__name__, priority=priority, enabled=enabled
        )

    return make
