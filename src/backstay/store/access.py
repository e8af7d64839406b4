"""Who may see and continue what: a session is its owner's, and its tenant's operators and developers look after it.

Every query that is asked for somebody goes through here; None is the process itself, which drives runs, keeps the file
and prints it to whoever may read the file anyway. What is not somebody's to see is not found. Source: SPEC B22.
"""

from __future__ import annotations

from typing import TypeAlias

from backstay.core.context import Principal
from backstay.core.errors import StoreError
from backstay.store.records import RunRow

Owner: TypeAlias = "tuple[str, str] | None"
"""Tenant and id of whose something is; None where nobody knows."""

STAFF = frozenset({"operator", "developer"})
"""Kinds of principals that see all of their tenant. Members, customers and anonymous ones see what is their own."""


def owner_of(principal: Principal) -> tuple[str, str]:
    """The key of a principal."""
    return principal.tenant, principal.id


def may_see(principal: Principal | None, owner: Owner) -> bool:
    """Whether somebody may see what is this owner's. Nobody sees another tenant's, nor what nobody is known to own."""
    if principal is None:
        return True
    if owner is None or owner[0] != principal.tenant:
        return False
    return principal.kind in STAFF or owner[1] == principal.id


def may_continue(principal: Principal, other: Principal) -> bool:
    """Whether an input of one principal may go on with a run of another, which then works with the other's rights."""
    if owner_of(principal) == owner_of(other):
        return True
    if principal.tenant != other.tenant:
        return False
    return principal.kind == "developer" or (principal.kind == "operator" and other.kind not in STAFF)


def may_steer(run: RunRow, at_work: RunRow) -> bool:
    """Whether an input may enter the run at work: one of the same agent and session, with rights that it has anyway."""
    is_same = (run.agent, run.session_id) == (at_work.agent, at_work.session_id)
    return is_same and may_continue(run.principal, at_work.principal)


def check_opens(principal: Principal, session_id: str, owner: Owner) -> None:
    """Check that somebody may speak in a session that is there.

    Raises:
        StoreError: code `session.owner`. It says nothing about whose the session is.
    """
    if owner is not None and not may_see(principal, owner):
        raise StoreError(
            f"session {session_id!r} is not yours; nothing was written. Use another id, or none for a new session",
            code="session.owner",
        )


def dedup_key(principal: Principal, dedup: str) -> str:
    """A person's key that starts at most one run: equal keys of two persons are two keys."""
    tenant, person = owner_of(principal)
    return f"{len(tenant)}:{tenant}{len(person)}:{person}{dedup}"
