"""The boundary: what may happen. Pure judgement over plain data, without I/O."""

from backstay.boundary import checks
from backstay.boundary.actions import Decision, PendingAction
from backstay.boundary.budgets import Budget
from backstay.boundary.constraints import Constraint
from backstay.boundary.deciding import Deciders
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.plan import PlanStep, result_of
from backstay.boundary.policy import Boundary, Limits

__all__ = [
    "Boundary",
    "Budget",
    "Constraint",
    "Deciders",
    "Decision",
    "JudgeState",
    "Limits",
    "PendingAction",
    "PlanStep",
    "checks",
    "judge",
    "result_of",
]
