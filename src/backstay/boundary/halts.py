"""Halts: an agent, a tool, a tenant or everything is stopped until somebody lifts it. Pure; the store keeps the rows.

Source: SPEC B25.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

HaltScope: TypeAlias = Literal["agent", "tool", "tenant", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """A stop that is in force until it is lifted."""

    scope: HaltScope
    name: str = ""
    """Of the agent, the tool or the tenant; empty for `all`."""
    by: str
    at: float
    """Seconds since 1970."""
    reason: str = ""

    @property
    def what(self) -> str:
        """What is stopped, in words."""
        return "everything" if self.scope == "all" else f"the {self.scope} {self.name!r}"

    @property
    def told(self) -> str:
        """Why nothing goes on, in one line."""
        return f"{self.what} was halted by {self.by}" + (f": {self.reason}" if self.reason else "")


def halting(halts: Iterable[Halt], agents: Collection[str], tenant: str, tools: Collection[str] = ()) -> Halt | None:
    """The first halt that stops these agents, this tenant or one of these tools; None where nothing does."""
    for one in halts:
        match one.scope:
            case "all":
                is_hit = True
            case "agent":
                is_hit = one.name in agents
            case "tenant":
                is_hit = one.name == tenant
            case "tool":
                is_hit = one.name in tools
        if is_hit:
            return one
    return None
