"""Checks as Python calls, for rules that a program states: `Constraint.of("at most 5", at_most("5"), argument="n")`.

Each returns a check of the closed language of `predicates`: plain JSON that can be stored, compared and shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal, TypeAlias

from backstay.boundary.predicates import check_problems
from backstay.core.canon import FrozenDict, freeze
from backstay.core.errors import ConstraintError
from backstay.core.messages import Args, Json

Amount: TypeAlias = "int | str | Decimal"
Period: TypeAlias = Literal["session", "day"]


def _check(**operands: object) -> Args:
    given = {key: _plain(value) for key, value in operands.items() if value is not None}
    problems = check_problems(given)
    if problems:
        raise ConstraintError(f"this is no check: {'; '.join(problems)}")
    frozen = freeze(given)
    assert isinstance(frozen, FrozenDict)
    return frozen


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | dict) else value


def _compare(op: str, amount: Amount, of: str) -> Args:
    if len(of) == 3 and of.isupper() and of.isascii():
        return _check(op=op, money=str(amount), currency=of)
    return _check(op=op, number=str(amount), unit=of or None)


def at_most(amount: Amount, of: str = "") -> Args:
    """Amounts up to this one; `of` is a currency (`EUR`) or a unit (`items`), nothing for a plain number."""
    return _compare("le", amount, of)


def at_least(amount: Amount, of: str = "") -> Args:
    """Amounts from this one on; `of` as in `at_most`."""
    return _compare("ge", amount, of)


def less_than(amount: Amount, of: str = "") -> Args:
    """Amounts below this one; `of` as in `at_most`."""
    return _compare("lt", amount, of)


def more_than(amount: Amount, of: str = "") -> Args:
    """Amounts above this one; `of` as in `at_most`."""
    return _compare("gt", amount, of)


def one_of(*values: str | int) -> Args:
    """One of these; texts are compared NFKC and case-folded."""
    return _check(op="in", values=values)


def none_of(*values: str | int) -> Args:
    """None of these."""
    return _check(op="not_in", values=values)


def last(*, days: int | None = None, months: int | None = None) -> Args:
    """A span of time in the last so many days, or months, measured anew at every call in the person's zone."""
    return _check(op="window", days=days, months=months)


def within(first: str | None = None, until: str | None = None) -> Args:
    """A span of time from one day to another, both included; ISO dates."""
    return _check(op="window", **{"from": first, "to": until})


def under(*folders: str, base: str | None = None) -> Args:
    """A path in one of these folders; `base` is the folder that relative values are in."""
    return _check(op="path", under=folders, base=base)


def at_host(*hosts: str) -> Args:
    """A URL, mail address or host at one of these hosts or a subdomain of one."""
    return _check(op="host", **{"in": hosts})


def like(*patterns: str) -> Args:
    """A text like one of these patterns: `*` and `?` stop at a `/`, `**` does not."""
    return _check(op="glob", like=patterns)


def calls(most: int, *, per: Period) -> Args:
    """So many calls in a session, or on a day and over all sessions of one principal in the store."""
    return _check(op="count", max=most, per=per)


def total(most: Amount, of: str = "", *, per: Period) -> Args:
    """A sum of amounts in a session, or on a day over all of a principal's sessions; `of` as in `at_most`."""
    is_money = len(of) == 3 and of.isupper() and of.isascii()
    return _check(
        op="sum", max=str(most), money=of if is_money else None, unit=None if is_money else of or None, per=per
    )


def same_as(argument: str) -> Args:
    """The same as another argument of the call."""
    return _check(op="same_as", argument=argument)


def among(argument: str) -> Args:
    """Among the values of another argument of the call."""
    return _check(op="subset_of", argument=argument)


def own_words() -> Args:
    """What stands as a whole word, number or address in a message of the user."""
    return _check(op="own_words")


def claim(name: str) -> Args:
    """What the principal's claim of this name says, or one of what it lists."""
    return _check(op="claim", name=name)


def owned(kind: str | None = None) -> Args:
    """Identifiers of things that belong to the principal, as `Boundary(owners={kind: function})` tells."""
    return _check(op="owned_by", kind=kind)


def after(*tools: str) -> Args:
    """Only once one of these tools has succeeded in the session."""
    return _check(op="before", tools=tools)


def function(name: str) -> Args:
    """As the program's own function says: `Boundary(functions={name: function})`."""
    return _check(op="function", name=name)


def never() -> Args:
    """Not at all."""
    return _check(op="forbid")


def all_of(*checks: Json) -> Args:
    """Every one of these."""
    return _check(op="all", of=checks)


def any_of(*checks: Json) -> Args:
    """At least one of these."""
    return _check(op="any", of=checks)


def negated(check: Json) -> Args:
    """Anything but this; what cannot be read breaks it too."""
    return _check(op="not", of=check)
