"""The table of the language and what is asked of it; the compound checks `all`, `any`, `not`.

The compound ones stand beside the table because they look their parts up in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn

from backstay.boundary.predicates.calls import CALLS
from backstay.boundary.predicates.globs import GLOBS
from backstay.boundary.predicates.hosts import HOSTS
from backstay.boundary.predicates.language import Bound, Breach, Check, Op, Scene, Test, keys, shown
from backstay.boundary.predicates.numbers import COMPARISONS, scaled
from backstay.boundary.predicates.others import OTHERS
from backstay.boundary.predicates.paths import PATHS
from backstay.boundary.predicates.sets import SETS
from backstay.boundary.predicates.totals import TOTALS
from backstay.boundary.predicates.units import selects, time_unit
from backstay.boundary.predicates.windows import WINDOWS
from backstay.core.messages import Args

_DEEPEST = 16
_MOST = 256
"""Parts of a compound check, at all depths."""


def evaluate(check: Args, bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
    """Return what in the bound arguments breaks the check; empty: it holds.

    Ask `is_missing` first: arguments that were left out are the business of `on_missing`, and what is evaluated all
    the same counts as broken, as does each part of an `all` or `any` that was left out.

    Args:
        check: a check without `check_problems`.
        bound: every argument of the call that the constraint binds to.
        scene: what else the check may know.

    Raises:
        ValueError: when it cannot be evaluated (an unknown op or zone, an argument of another kind). Deny then.
    """
    try:
        return ready(check)(bound, scene)
    except ValueError:
        raise
    except WRONG as error:
        raise ValueError(why_not(error)) from error


def ready(check: Args) -> Test:
    """Return the test of a check, its operands read once, so that it may be used for many calls.

    Making it never raises; the test raises one of `WRONG` wherever the check cannot be evaluated.
    """
    try:
        return _OPS[check["op"]].ready(check)  # type: ignore[index]  # caught below
    except WRONG as error:
        told = why_not(error)
    return lambda _bound, _scene: _cannot(told)


WRONG = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, OSError)
"""What a test raises where it cannot say whether the check holds."""


def _cannot(told: str) -> NoReturn:
    raise ValueError(told)


def why_not(error: Exception) -> str:
    """Say why a check cannot be evaluated."""
    if type(error) is ValueError:
        return str(error)
    return f"the check cannot be evaluated: {type(error).__name__}: {error}"


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
    if sum(1 for _ in islice(parts(check), _MOST + 1)) > _MOST:
        return [f"a check may have {_MOST} parts"]
    return _problems(check, 0)


def parts(check: object) -> Iterator[Mapping[str, Any]]:
    """Yield a check and every check inside it, whatever they are."""
    waiting = [check]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, Mapping):
            continue
        yield one
        inside = one.get("of")
        if one.get("op") == "not":
            waiting.append(inside)
        elif one.get("op") in ("all", "any") and isinstance(inside, list | tuple):
            waiting += inside[:_MOST]


def unfit(check: Mapping[str, Any], meaning: str) -> str:
    """Say why no value of this meaning could ever stand under a check without parts; empty if one might."""
    op = check.get("op")
    if op == "window":
        return (
            "" if meaning.startswith("date_range:") or time_unit(meaning) else f"no span of time, but {_said(meaning)}"
        )
    if op in COMPARISONS or op == "sum":
        currency = check.get("currency") or (check.get("money") if op == "sum" else None)
        try:
            return scaled(meaning, None if currency else check.get("unit"), currency)[2]
        except ValueError:
            return f"not in {currency or check.get('unit')}, but {_said(meaning)}"
    return ""


def _said(meaning: str) -> str:
    return repr(meaning) if meaning else "without a meaning"


def limit_text(check: Args) -> str:
    """Return the rule in one line of English: `at most 200 EUR`, `only the last 30 days`."""
    return _OPS[str(check["op"])].text(check)


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


def _part(check: Check) -> Test:
    test = _OPS[check["op"]].ready(check)
    return (lambda bound, scene: test(_mine(check, bound), scene)) if _wanted(check) else test


def _ready_all(check: Check) -> Test:
    tests = [_part(one) for one in check["of"]]
    return lambda bound, scene: tuple(breach for test in tests for breach in test(bound, scene))


def _ready_any(check: Check) -> Test:
    tests = [_part(one) for one in check["of"]]

    def test(bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        broken: list[Breach] = []
        for part in tests:
            found = part(bound, scene)
            if not found:
                return ()
            broken += found
        return tuple(broken)

    return test


def _ready_not(check: Check) -> Test:
    part, text = _part(check["of"]), limit_text(check)

    def test(bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        found = part(bound, scene)
        if any(one.is_doubt for one in found):
            return found
        if found:
            return ()
        values = [one for one in bound if one.value is not None] or [Bound("", "", "")]
        return tuple(Breach(one.path, shown(one.value), text) for one in values)

    return test


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
    inside = check.get("of")
    if not isinstance(inside, list | tuple) or not inside:
        return [*found, "of must be an array of at least one check"]
    return found + [problem for part in inside for problem in _problems(part, depth + 1)]


def _problems_not(check: Check, depth: int) -> list[str]:
    return keys(check, {"of"}) or _problems(check["of"], depth + 1)


def _text_of(check: Check) -> str:
    return (" and " if check["op"] == "all" else " or ").join(limit_text(part) for part in check["of"])


_OPS: Mapping[str, Op] = {
    **COMPARISONS,
    **SETS,
    **WINDOWS,
    **PATHS,
    **HOSTS,
    **GLOBS,
    **TOTALS,
    **OTHERS,
    **CALLS,
    "all": Op(_ready_all, _missing_of, _problems_of, _text_of),
    "any": Op(_ready_any, _missing_of, _problems_of, _text_of),
    "not": Op(_ready_not, _missing_not, _problems_not, lambda check: f"not ({limit_text(check['of'])})"),
}
