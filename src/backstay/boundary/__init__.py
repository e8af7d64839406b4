"""The boundary: what may happen. Pure judgement over plain data, without I/O."""

from backstay.boundary.actions import Decision, PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.policy import Boundary, Limits

__all__ = ["Boundary", "Constraint", "Decision", "JudgeState", "Limits", "PendingAction", "judge"]
