"""Requirements: at each step, which tools the next request offers, forces, asks about, and whether the run may end."""

from backstay.agents.requirements.binding import bind_all, plain
from backstay.agents.requirements.combine import Combined, Ruled, combine, rules_of
from backstay.agents.requirements.conditional import ConditionalRequirement
from backstay.agents.requirements.function import FunctionRequirement, requirement
from backstay.agents.requirements.permission import AskPermissionRequirement
from backstay.agents.requirements.rule import Requirement, Rule, StepView
from backstay.agents.requirements.targets import Target, Targets

__all__ = [
    "AskPermissionRequirement",
    "Combined",
    "ConditionalRequirement",
    "FunctionRequirement",
    "Requirement",
    "Rule",
    "Ruled",
    "StepView",
    "Target",
    "Targets",
    "bind_all",
    "combine",
    "plain",
    "requirement",
    "rules_of",
]
