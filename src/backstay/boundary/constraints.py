"""Constraints: the user's, operator's and developer's rules as records, and where they bind.

A constraint is data: verbatim text, a check in the closed language of `predicates`, and what it binds to. It is
never summarised, never voted on, and evaluated before every call. Source: SPEC B6, B7; DESIGN 8.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

from backstay.core.canon import EMPTY
from backstay.core.messages import Args

Author: TypeAlias = Literal["developer", "operator", "user"]
Severity: TypeAlias = Literal["block", "confirm", "warn"]
OnMissing: TypeAlias = Literal["deny", "ask", "allow"]
ConstraintStatus: TypeAlias = Literal["proposed", "confirmed", "superseded", "revoked", "expired"]

RANK: Mapping[Author, int] = MappingProxyType({"user": 0, "operator": 1, "developer": 2})
"""Who may loosen whose rule: only an author of the same or a higher rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One rule. What applies to a call is the intersection of all that bind to it."""

    id: str
    text: str
    """The author's words, verbatim."""
    render: str
    """The rule as the framework understood it, in one line."""
    author: Author = "developer"
    message_id: str | None = None
    """The user's message it was read from."""
    span: tuple[int, int] | None = None
    """Characters of that message, end excluded."""
    tools: tuple[str, ...] = ()
    """Names of the tools it binds; empty: every tool that has the meaning or argument."""
    agents: tuple[str, ...] = ()
    until: str | None = None
    """End of its life: None for the session, `run`, or an ISO time; a date means to the end of that day."""
    bind: Mapping[str, str] = EMPTY
    """`{"meaning": "money"}`, `{"meaning": "window"}` or `{"argument": "amount"}`; empty: the call as a whole."""
    check: Args | None = None
    """The predicate, in the language of `predicates`; None is advisory: shown, never pretended to be enforced."""
    on_missing: OnMissing = "deny"
    """What a bound argument that was left out leads to."""
    severity: Severity = "block"
    mode: Literal["enforce", "observe"] = "enforce"
    supersedes: str | None = None
    status: ConstraintStatus = "confirmed"

    @property
    def is_active(self) -> bool:
        """Whether it is in force: confirmed, or proposed (then a break asks instead of being refused)."""
        return self.status not in ("superseded", "revoked", "expired")

    def is_over(self, now: float, zone: str) -> bool:
        """Whether the time it was made for has passed. A day is over when it ends in the principal's zone.

        What cannot be read as a time never comes: a rule does not lapse by a slip of the pen. The end of a run is not
        for the clock to tell; whoever ends the run revokes the rule.
        """
        return self.until not in (None, "run") and now >= _end(self.until or "", zone)


@lru_cache(maxsize=256)
def _end(until: str, zone: str) -> float:
    """Seconds since 1970; infinity where it is no ISO time or no zone."""
    try:
        end = datetime.fromisoformat(until)
        if len(until) <= 10:
            end += timedelta(days=1)
        return (end if end.tzinfo else end.replace(tzinfo=ZoneInfo(zone))).timestamp()
    except (ValueError, OverflowError, KeyError, OSError):
        return math.inf
