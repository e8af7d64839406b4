"""Halts and grants of a process. See `Standing`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from backstay.boundary.grants import Grant
from backstay.boundary.halts import Halt, HaltScope
from backstay.core.context import Principal
from backstay.store.memory.tables import Tables
from backstay.store.standing import CHAIN, grant_audit, halt_audit, is_for


class MemoryStanding:
    """A `Standing` over the tables of a memory store.

    Args:
        tables: where the counter and the audit chain are.
        opened: the lock, or an error where the store is closed.
    """

    def __init__(self, tables: Tables, opened: Callable[[], AbstractContextManager[object]]) -> None:
        self._t = tables
        self._opened = opened
        self._halts: dict[tuple[str, str], Halt] = {}
        self._grants: dict[str, Grant] = {}

    async def changes(self) -> int:
        """See `Standing.changes`. One integer, so nothing is locked."""
        return self._t.changes

    async def halts(self) -> Sequence[Halt]:
        """See `Standing.halts`."""
        with self._opened():
            return list(self._halts.values())

    async def halt(self, halt: Halt) -> bool:
        """See `Standing.halt`."""
        with self._opened():
            if (halt.scope, halt.name) in self._halts:
                return False
            self._halts[halt.scope, halt.name] = halt
            self._t.changes += 1
            row = halt_audit(halt.scope, halt.name, by=halt.by, at=halt.at, is_lifted=False)
            self._t.write_audit(CHAIN, (row,))
            return True

    async def lift(self, scope: HaltScope, name: str, *, by: str, at: float) -> bool:
        """See `Standing.lift`."""
        with self._opened():
            if self._halts.pop((scope, name), None) is None:
                return False
            self._t.changes += 1
            self._t.write_audit(CHAIN, (halt_audit(scope, name, by=by, at=at, is_lifted=True),))
            return True

    async def grant(self, grant: Grant) -> None:
        """See `Standing.grant`."""
        with self._opened():
            self._grants[grant.id] = grant
            self._t.changes += 1
            self._t.write_audit(CHAIN, (grant_audit(grant, by=grant.by, at=grant.at, is_revoked=False),))

    async def revoke(self, grant_id: str, *, by: str, at: float) -> bool:
        """See `Standing.revoke`."""
        with self._opened():
            gone = self._grants.pop(grant_id, None)
            if gone is None:
                return False
            self._t.changes += 1
            self._t.write_audit(CHAIN, (grant_audit(gone, by=by, at=at, is_revoked=True),))
            return True

    async def grants(self, *, agent: str = "", principal: Principal | None = None) -> Sequence[Grant]:
        """See `Standing.grants`."""
        with self._opened():
            return [one for one in self._grants.values() if is_for(one, agent, principal)]
