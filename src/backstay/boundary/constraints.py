"""Constraints: the user's, operator's and developer's rules as records, and where they bind.

A constraint is data: verbatim text, a check in the closed language of `predicates`, and what it binds to. It is
never summarised, never voted on, and evaluated before every call. Source: SPEC B6, B7; DESIGN 8.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

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
    """End of its life: None for the session, `run`, or an ISO time."""
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
        return self.status in ("proposed", "confirmed")
