"""`AskPermissionRequirement`: a person is asked before certain tools run. Source: SPEC G5.

It can only ask more: a question goes through the boundary like any other, into the inbox or to the approver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backstay.agents.requirements.rule import Rule, StepView
from backstay.agents.requirements.targets import Targets, find, known_targets
from backstay.tools.tool import Tool
from backstay.tools.toolset import PROPOSE


@dataclass(frozen=True, slots=True)
class AskPermissionRequirement:
    """Calls of these tools wait for a person, whatever their risk.

    Raises:
        RequirementError: for an unknown target when the agent is made.
    """

    include: Targets | None = None
    """The tools it is about; None: all of them."""
    exclude: Targets = field(default=(), kw_only=True)
    """These are not asked about, unless something else asks."""
    priority: int = field(default=11, kw_only=True)
    enabled: bool = field(default=True, kw_only=True)
    reason: str = field(default="", kw_only=True)

    @property
    def name(self) -> str:
        """As errors list it."""
        return "AskPermissionRequirement"

    def bind(self, tools: Sequence[Tool]) -> AskPermissionRequirement:
        """A copy with the names of this agent's tools. `propose_action` asks anyhow."""
        given = known_targets(tools) if self.include is None else self.include
        left_out = find(self.exclude, tools, self.name)
        names = tuple(one for one in find(given, tools, self.name) if one not in left_out and one != PROPOSE)
        return replace(self, include=names, exclude=left_out)

    def rules(self, view: StepView) -> tuple[Rule, ...]:
        """One rule a tool."""
        names = self.include if self.enabled and isinstance(self.include, tuple) else ()
        return tuple(Rule(target=str(one), ask=True, reason=self.reason) for one in names)
