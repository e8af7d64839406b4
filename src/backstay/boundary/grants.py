"""Standing grants: an approver lets an action run without being asked, within rules and caps, until a day.

A grant answers the tier's question alone. Block constraints, earlier refusals, requirements and provenance are judged
as ever: a destination that nobody who may be believed has named is asked about, grant or no grant. Source: SPEC B12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay.boundary.constraints import Constraint
from backstay.core.context import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What may run without a question. Only calls that break none of its rules are covered."""

    id: str
    agent: str
    tool: str
    rules: tuple[Constraint, ...]
    """Predicates and caps, bound to the tool; a cap with `per: day` is counted per principal and day, over sessions."""
    tenant: str
    person: str
    """Id of the principal for whose runs it holds; empty: for everybody of the tenant."""
    by: str
    at: float
    until: float
    """Seconds since 1970, end excluded."""

    def covers(self, agents: Sequence[str], principal: Principal, tool: str, now: float) -> bool:
        """Whether it may be asked about a call at all; its rules are looked at after that."""
        return (
            self.tool == tool
            and self.agent == (agents[-1] if agents else "")
            and self.tenant == principal.tenant
            and self.person in ("", principal.id)
            and now < self.until
        )
