"""What stands beside all runs: halts and grants. Every store has one, under `RunStore.standing`.

Each change raises one small counter, so that whoever drives a run can see at a step border and before a call whether
there is anything to read again. Every change is an audit row in a chain of its own, in the same transaction.
Source: SPEC B12, B16, B25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from backstay.boundary.grants import Grant
from backstay.boundary.halts import Halt, HaltScope
from backstay.core.context import Principal
from backstay.store.records import AuditRow

CHAIN = "(standing)"
"""Under this name stands the audit chain of halts and grants."""


class Standing(Protocol):
    """Halts and grants of a store."""

    async def changes(self) -> int:
        """How often something was changed; 0 where nothing ever was."""
        ...

    async def halts(self) -> Sequence[Halt]:
        """The halts in force, oldest first."""
        ...

    async def halt(self, halt: Halt) -> bool:
        """Put a halt in force; False if the same scope and name is halted already, which changes nothing."""
        ...

    async def lift(self, scope: HaltScope, name: str, *, by: str, at: float) -> bool:
        """Lift a halt, so that the runs it has parked are due; False if there is none."""
        ...

    async def grant(self, grant: Grant) -> None:
        """Put a grant in force."""
        ...

    async def revoke(self, grant_id: str, *, by: str, at: float) -> bool:
        """Take a grant back; False if there is none of that id."""
        ...

    async def grants(self, *, agent: str = "", principal: Principal | None = None) -> Sequence[Grant]:
        """The grants that were not revoked, of one agent and for one principal where they are named, oldest first."""
        ...


def halt_audit(scope: HaltScope, name: str, *, by: str, at: float, is_lifted: bool) -> AuditRow:
    """The audit row of a halt or of its end."""
    return _row("halt", name if scope == "tool" else "", "lifted" if is_lifted else "halted", f"{scope}:{name}", by, at)


def grant_audit(grant: Grant, *, by: str, at: float, is_revoked: bool) -> AuditRow:
    """The audit row of a grant or of its end."""
    return _row("grant", grant.tool, "revoked" if is_revoked else "granted", grant.id, by, at)


def _row(kind: str, tool: str, result: str, rule: str, by: str, at: float) -> AuditRow:
    return AuditRow(
        run_id="",
        slot=0,
        kind="halt" if kind == "halt" else "grant",
        tool=tool,
        args_digest="",
        result_digest=result,
        rules=(rule,),
        who=by,
        at=at,
    )


def is_for(grant: Grant, agent: str, principal: Principal | None) -> bool:
    """Whether a grant is among those that were asked for."""
    if agent and grant.agent != agent:
        return False
    return principal is None or (grant.tenant == principal.tenant and grant.person in ("", principal.id))
