"""The table of the language and what is asked of it; `forbid` and the compound checks `all`, `any`, `not`.

The compound ones stand beside the table because they look their parts up in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backstay.boundary.predicates.language import Bound, Breach, Check, Op, keys, shown
from backstay.boundary.predicates.numbers import COMPARISONS
from backstay.boundary.predicates.sets import SETS
from backstay.boundary.predicates.units import selects
from backstay.boundary.predicates.windows import WINDOWS
from backstay.core.messages import Args

_DEEPEST = 16


def evaluate(check: Args, bound: Sequence[Bound], *, now: float, zone: str) -> tuple[Breach, ...]:
    """Return what in the bound arguments breaks the check; empty: it holds.

    Ask `is_missing` first: arguments that were left out are the business of `on_missing`, and what is evaluated all
    the same counts as broken, as does each part of an `all` or `any` that was left out.

    Args:
        check: a check without `check_problems`.
        bound: every argument of the call that the constraint binds to.
        now: seconds since 1970; relative windows are measured from here.
        zone: IANA time zone of the principal, in which days begin and end.

    Raises:
        ValueError: when it cannot be evaluated (an unknown op or zone, an argument of another kind). Deny then.
    """
    try:
        return _OPS[check["op"]].judge(check, bound, now, zone)  # type: ignore[index]  # caught below
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError) as error:
        raise ValueError(f"the check cannot be evaluated: {type(error).__name__}: {error}") from error


def is_missing(check: Args, bound: Sequence[Bound]) -> bool:
    """Say whether the arguments that the check needs were left out, so that `on_missing` applies.

    A window needs something that bounds it from below (and, with `to`, from above): an end alone does not make a span.
    An `all` or `any` is missing when every part of it is; a `forbid` needs nothing.

    Raises:
        ValueError: when the check is not of this language.
    """
    try:
        return _OPS[check["op"]].missing(check, bound)  # type: ignore[index]  # caught below
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the check cannot be evaluated: {type(error).__name__}: {error}") from error


def check_problems(check: object) -> list[str]:
    """Return what is wrong with a check, one sentence each; empty if it can be evaluated."""
    return _problems(check, 0)


def limit_text(check: Args) -> str:
    """Return the rule in one line of English: `at most 200 EUR`, `only the last 30 days`."""
    return _OPS[str(check["op"])].text(check)


def _judge_forbid(check: Check, _bound: Sequence[Bound], _now: float, _zone: str) -> tuple[Breach, ...]:
    return (Breach("", "", limit_text(check)),)


def _wanted(check: Check) -> str:
    """The meaning that a part of a compound check is about; empty: whatever the constraint binds to."""
    if check["op"] == "window":
        return "window"
    if "money" in check:
        return "money"
    return f"quantity:{check['unit']}" if "unit" in check else ""


def _mine(check: Check, bound: Sequence[Bound]) -> Sequence[Bound]:
    """What of the bound arguments a part is about: one call may have an amount and dates, and a rule speak of both."""
    wanted = _wanted(check)
    if not wanted:
        return bound
    kind = wanted.partition(":")[0]
    # Another unit, or an argument named without a meaning, is not skipped: it breaks the part or cannot be evaluated.
    return [one for one in bound if selects(wanted, one.meaning)] or [
        one for one in bound if one.meaning.partition(":")[0] in (kind, "")
    ]


def _part(check: Check, bound: Sequence[Bound], now: float, zone: str) -> tuple[Breach, ...]:
    return _OPS[check["op"]].judge(check, _mine(check, bound), now, zone)


def _judge_all(check: Check, bound: Sequence[Bound], now: float, zone: str) -> tuple[Breach, ...]:
    return tuple(breach for part in check["of"] for breach in _part(part, bound, now, zone))


def _judge_any(check: Check, bound: Sequence[Bound], now: float, zone: str) -> tuple[Breach, ...]:
    broken: list[Breach] = []
    for part in check["of"]:
        found = _part(part, bound, now, zone)
        if not found:
            return ()
        broken += found
    return tuple(broken)


def _judge_not(check: Check, bound: Sequence[Bound], now: float, zone: str) -> tuple[Breach, ...]:
    found = _part(check["of"], bound, now, zone)
    if any(one.is_doubt for one in found):
        return found
    if found:
        return ()
    values = [one for one in bound if one.value is not None] or [Bound("", "", "")]
    return tuple(Breach(one.path, shown(one.value), limit_text(check)) for one in values)


def _missing_of(check: Check, bound: Sequence[Bound]) -> bool:
    return all(_OPS[part["op"]].missing(part, _mine(part, bound)) for part in check["of"])


def _missing_not(check: Check, bound: Sequence[Bound]) -> bool:
    return _OPS[check["of"]["op"]].missing(check["of"], _mine(check["of"], bound))


def _problems(check: object, depth: int) -> list[str]:
    if depth > _DEEPEST:
        return [f"checks may be nested {_DEEPEST} deep"]
    if not isinstance(check, Mapping):
        return [f"a check is an object with an 'op', got {shown(str(check))}"]
    op = check.get("op")
    if not isinstance(op, str) or op not in _OPS:
        return [f"unknown op {shown(str(op))!r}; known are {', '.join(sorted(_OPS))}"]
    return _OPS[op].problems(check, depth)


def _problems_of(check: Check, depth: int) -> list[str]:
    found = keys(check, {"of"})
    parts = check.get("of")
    if not isinstance(parts, list | tuple) or not parts:
        return [*found, "of must be an array of at least one check"]
    return found + [problem for part in parts for problem in _problems(part, depth + 1)]


def _problems_not(check: Check, depth: int) -> list[str]:
    return keys(check, {"of"}) or _problems(check["of"], depth + 1)


def _problems_forbid(check: Check, _depth: int) -> list[str]:
    return keys(check, set())


def _text_of(check: Check) -> str:
    return (" and " if check["op"] == "all" else " or ").join(limit_text(part) for part in check["of"])


_OPS: Mapping[str, Op] = {
    **COMPARISONS,
    **SETS,
    **WINDOWS,
    "forbid": Op(_judge_forbid, lambda _check, _bound: False, _problems_forbid, lambda _check: "never"),
    "all": Op(_judge_all, _missing_of, _problems_of, _text_of),
    "any": Op(_judge_any, _missing_of, _problems_of, _text_of),
    "not": Op(_judge_not, _missing_not, _problems_not, lambda check: f"not ({limit_text(check['of'])})"),
}
