"""Halts, as whoever drives a run sees them: looked for at each step border and before each model request and tool call.

One small number tells whether anything has changed, so the look costs next to nothing. A halted run parks: it ends its
drive `waiting` with code `halted`, its open calls stay open, and it is due again when something is lifted.
Source: SPEC B25.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from backstay.agents.journal import Journal
from backstay.boundary.grants import Grant
from backstay.boundary.halts import Halt, halting
from backstay.core.messages import ToolResult

HALTED = "halted"


class Watcher:
    """What stands beside one run, read again when it has changed.

    Args:
        journal: of the run.
        agents: its chain of delegation.
    """

    def __init__(self, journal: Journal, agents: tuple[str, ...]) -> None:
        self._journal = journal
        self._agents = agents
        self._halts: Sequence[Halt] = ()
        self.changes = 0
        """The change up to which this is known."""
        self.grants: tuple[Grant, ...] = ()
        """Standing grants that may cover calls of this run."""

    async def look(self) -> None:
        """Read what stands, if it has changed."""
        standing, row = self._journal.store.standing, self._journal.row
        changes = await standing.changes()
        if changes != self.changes:
            self._halts = await standing.halts()
            self.grants = tuple(await standing.grants(agent=self._agents[-1], principal=row.principal))
            self.changes = changes

    async def halt(self, tools: Collection[str] = ()) -> Halt | None:
        """The halt that stops this run, or one of these tools; None if it may go on."""
        await self.look()
        if not self._halts:
            return None
        return halting(self._halts, self._agents, self._journal.row.principal.tenant, tools)

    async def refusal(self, tool: str = "") -> ToolResult | None:
        """What becomes of a call that is about to begin while its step is under way and it is halted."""
        halt = await self.halt((tool,) if tool else ())
        if halt is None:
            return None
        told = f"{tool or 'The model'} did not run: {halt.told}. Nothing has happened."
        return ToolResult(ok=False, summary=told, error=told, code=HALTED, via="refused")
