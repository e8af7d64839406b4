"""Constraints: the user's, operator's and developer's rules as records, and where they bind.

A constraint is data: verbatim text, a check in the closed language of `predicates`, and what it binds to. It is
never summarised, never voted on, and evaluated before every call. Source: SPEC B6, B7; DESIGN 8.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

from backstay.boundary.predicates import check_problems, is_missing, limit_text
from backstay.core.canon import EMPTY, FrozenDict, digest, freeze
from backstay.core.errors import ConstraintError
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

    @classmethod
    def of(
        cls,
        text: str,
        check: Args,
        *,
        meaning: str = "",
        argument: str = "",
        tools: Iterable[str] = (),
        agents: Iterable[str] = (),
        id: str = "",
        author: Author = "developer",
        until: str | None = None,
        on_missing: OnMissing = "deny",
        severity: Severity = "block",
        mode: Literal["enforce", "observe"] = "enforce",
        supersedes: str | None = None,
    ) -> Constraint:
        """Make a rule of a check from `backstay.boundary.checks`.

        Args:
            text: the rule in your words, as people and models are shown it.
            check: what has to hold.
            meaning: what it is about by meaning (`money`, `window`, `path`, `url`, `recipient`, `id:order`), or
            argument: by an argument's name, dotted for fields inside. Neither: the call as a whole.
            tools: names of the tools it binds; none: every tool that has the meaning or argument.
            agents: names of the agents it binds; none: all.
            id: by default made of what the rule says, so that it stays the same.
            author: whose rule it is.
            until: see the field.
            on_missing: what a bound argument that was left out leads to.
            severity: `block` refuses, `confirm` asks a person, `warn` notes.
            mode: `observe` notes and does nothing else.
            supersedes: id of the rule that it stands in for.

        Raises:
            ConstraintError: when the check is wrong, or needs an argument and none is named.
        """
        problems = check_problems(check)
        if problems:
            raise ConstraintError(f"the check of {text!r} is wrong: {'; '.join(problems)}")
        if meaning and argument:
            raise ConstraintError(f"{text!r} is about a meaning or about an argument, not about both")
        bind = FrozenDict({"meaning": meaning} if meaning else {"argument": argument} if argument else {})
        if not bind and is_missing(check, ()):
            raise ConstraintError(f"{text!r} needs something to be about: give meaning= or argument=")
        named, frozen = _names("tools", tools), freeze(check)
        assert isinstance(frozen, Mapping)
        return cls(
            id=id or f"k-{digest([text, frozen, bind, named])[:8]}",
            text=text,
            render=": ".join(filter(None, (", ".join(named), limit_text(frozen)))),
            author=author,
            tools=named,
            agents=_names("agents", agents),
            until=until,
            bind=bind,
            check=frozen,
            on_missing=on_missing,
            severity=severity,
            mode=mode,
            supersedes=supersedes,
        )

    def explain(self) -> str:
        """Say in plain English whose rule it is, what it is about, what has to hold, and what a break leads to."""
        told = f"{self.id} is a rule of the {self.author}: {self.text!r}."
        if self.check is None:
            return f"{told} It is advisory: shown to the model in every request, and checked by nobody."
        reach = f"every call of {' or '.join(self.tools)}" if self.tools else "every call that has it"
        about = _about(self.bind)
        told += (
            f" Before {reach if self.bind or self.tools else 'every call'}, {about} must be: {limit_text(self.check)}."
        )
        if self.bind:
            told += f" Left out, it {_LEFT_OUT[self.on_missing]}."
        if self.agents:
            told += f" It binds {' and '.join(self.agents)} alone."
        return f"{told} {self._consequence} {self._life}"

    @property
    def _consequence(self) -> str:
        if self.mode == "observe" or self.severity == "warn":
            return "What breaks it is noted and runs."
        if self.status == "proposed" or self.severity == "confirm":
            return "What breaks it waits for a person."
        return "What breaks it is refused."

    @property
    def _life(self) -> str:
        if not self.is_active:
            return f"It is {self.status} and binds nothing."
        ends = {None: "for as long as the session lasts", "run": "until the run ends"}
        return f"It holds {ends.get(self.until, f'until {self.until}')}."

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


_LEFT_OUT: Mapping[str, str] = MappingProxyType({"deny": "is refused", "ask": "asks a person", "allow": "is let be"})
_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "money": "every amount of money",
        "window": "every span of time",
        "path": "every path",
        "url": "every URL",
        "recipient": "every recipient",
    }
)


def _about(bind: Mapping[str, str]) -> str:
    if "argument" in bind:
        return f"the argument {bind['argument']!r}"
    meaning = bind.get("meaning", "")
    kind, _, name = meaning.partition(":")
    if kind == "id":
        return f"every {name} id"
    return _MEANINGS.get(meaning) or (f"every number of {name}" if kind == "quantity" else meaning or "the call")


def _names(field: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise ConstraintError(f"{field}={given!r}: expected a list of names, got one text; write {field}=[{given!r}]")
    return tuple(given)


def may_loosen(author: Author, other: Author) -> bool:
    """Whether an author may loosen, replace or revoke another's rule: only one of the same class or a higher one."""
    return RANK[author] >= RANK[other]


def revoked(rule: Constraint, *, by: Author) -> Constraint:
    """Return the record that puts a rule out of force; appended to the session, it holds from the next call on.

    Raises:
        ConstraintError: code `constraint.author`, when the rule is of an author of a higher class.
    """
    if not may_loosen(by, rule.author):
        raise ConstraintError(
            f"rule {rule.id!r} is the {rule.author}'s, and the {by} may not revoke it", code="constraint.author"
        )
    return replace(rule, author=by, status="revoked")


def amended(rules: Mapping[str, Constraint], new: Constraint) -> dict[str, Constraint]:
    """Return the rules with a further record: what it replaces or supersedes goes, where its author may do that.

    Where not, both hold: what applies is the intersection. A record that would only take a higher author's rule away is
    ignored. Source: SPEC B7.
    """
    found = dict(rules)
    old = found.get(new.id)
    if old is not None and not may_loosen(new.author, old.author):
        if not new.is_active:
            return found
        new = replace(new, id=f"{new.id}@{new.author}")
    superseded = found.get(new.supersedes or "")
    if superseded is not None and superseded.id != new.id and may_loosen(new.author, superseded.author):
        del found[superseded.id]
    found[new.id] = new
    return found
