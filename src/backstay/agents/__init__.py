"""Agents: the definition, the one loop, and what drives it."""

from backstay.agents.agent import Agent
from backstay.agents.deciding.decide import decide
from backstay.agents.drive import Given, drive
from backstay.agents.middleware import Middleware
from backstay.agents.requirements import AskPermissionRequirement, ConditionalRequirement, Rule, StepView, requirement
from backstay.agents.result import RunResult
from backstay.agents.stream import RunStream

__all__ = [
    "Agent",
    "AskPermissionRequirement",
    "ConditionalRequirement",
    "Given",
    "Middleware",
    "Rule",
    "RunResult",
    "RunStream",
    "StepView",
    "decide",
    "drive",
    "requirement",
]
