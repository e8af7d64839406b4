"""Checks of the call as a whole: what has to come before it, what a developer's own function says, and never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backstay.boundary.predicates.language import (
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    keys,
    left_out,
    listed,
    named,
    never_missing,
    nothing_given,
    shown,
)


def _ready_forbid(check: Check) -> Test:
    broken = (Breach("", "", _text_forbid(check)),)
    return lambda _bound, _scene: broken


def _ready_before(check: Check) -> Test:
    tools, text = tuple(check["tools"]), _text_before(check)

    def test(_bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        return () if any(scene.done.get(one, 0) > 0 for one in tools) else (Breach("", "", text),)

    return test


def _ready_function(check: Check) -> Test:
    name, text = check["name"], _text_function(check)

    def test(bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        function = scene.functions.get(name)
        if function is None:
            raise ValueError(f"no function {name!r} is known: Boundary(functions={{{name!r}: ...}})")
        if _missing(check, bound):
            return nothing_given(text)
        try:
            said = function(scene.args, scene.principal)
        except Exception as error:  # whatever a developer's function raises, the call is denied
            raise ValueError(f"functions[{name!r}] raised {type(error).__name__}") from error
        if said is True:
            return ()
        if said is not False and not isinstance(said, str):
            raise ValueError(f"functions[{name!r}] returned {type(said).__name__}, expected a bool or a reason")
        return (Breach("", "", f"{text}: {shown(said)}" if said else text),)

    return test


def _missing(check: Check, bound: Sequence[Bound]) -> bool:
    return bool(bound) and left_out(check, bound)


def _text_forbid(_check: Check) -> str:
    return "never"


def _text_before(check: Check) -> str:
    return f"only after {' or '.join(map(shown, check['tools']))}"


def _text_function(check: Check) -> str:
    return f"only as {check['name']} says"


CALLS: Mapping[str, Op] = {
    "forbid": Op(_ready_forbid, never_missing, lambda check, _depth: keys(check, set()), _text_forbid),
    "before": Op(
        _ready_before,
        never_missing,
        lambda check, _depth: keys(check, {"tools"}) + listed(check, "tools", lambda _one: True, "tool name"),
        _text_before,
    ),
    "function": Op(
        _ready_function, _missing, lambda check, _depth: keys(check, {"name"}) + named(check, "name"), _text_function
    ),
}
