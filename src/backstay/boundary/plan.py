"""The plan grant: what an agent is going to do, fixed before it reads what other people wrote.

    steps: search(), read(id = result of step 1), mail(to = "ann@shop.com", text = anything)

A step names a tool, how often, and of its arguments a literal or the result of an earlier step. Once the session has
heard untrusted text, a call that changes something or carries data out has to fit a step that is not used up; any
other is asked about or refused. A plan only narrows: constraints, tracing and tiers hold as before. The one thing it
settles is the question about free text, where the step itself fixes that text. Source: SPEC B12; notes on AgentDojo:
counts of calls alone let an attack use a step before its owner does, argument templates do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from backstay.boundary.provenance import TrustedText, sink_values, texts_in
from backstay.boundary.provenance.tokens import amount_key
from backstay.core.canon import EMPTY, FrozenDict, canonical, freeze
from backstay.core.context import ToolFacts
from backstay.core.errors import SetupError
from backstay.core.messages import Args, Json

PlanMode: TypeAlias = Literal["off", "ask", "deny"]
_RESULT = "result_of"
_KEPT = 64
"""Indexes of results that are remembered."""


def result_of(step: int) -> Json:
    """Of a step's argument: whatever the result of an earlier step holds, as whole words, numbers or addresses."""
    return FrozenDict({_RESULT: step})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step: `PlanStep(tool="mail", args={"to": result_of(1)})`.

    Args:
        tool: its name; a high one counts as well.
        args: argument → its value as JSON, or `result_of(k)`. An argument that is left out is free, unless it names a
            destination: those have to be fixed.
        count: how many calls.
    """

    tool: str
    args: Args = EMPTY
    count: int = 1

    def __post_init__(self) -> None:
        try:
            frozen = freeze(self.args)
        except TypeError as error:
            raise SetupError(f"PlanStep({self.tool}): {error}; write values as JSON", code="plan.invalid") from error
        if not isinstance(frozen, Mapping):
            raise SetupError(f"PlanStep(args={self.args!r}): expected names with values", code="plan.invalid")
        object.__setattr__(self, "args", frozen)

    @property
    def fixed(self) -> frozenset[str]:
        """Arguments whose value stands in the step itself."""
        return frozenset(name for name, value in self.args.items() if reference(value) is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGrant:
    """A plan as it was fixed; the body of a `grant` record."""

    steps: tuple[PlanStep, ...]
    by: Literal["program", "model"] = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan with what is used of it. `after` gives the next one; nothing changes."""

    steps: tuple[PlanStep, ...]
    by: Literal["program", "model"] = "model"
    used: Mapping[str, int] = field(default_factory=FrozenDict)
    """Call (run and slot) → number of the step it has used."""
    results: tuple[tuple[int, Json], ...] = ()
    """What came of steps that later ones refer to: step and data."""

    def after(self, call: str, step: int, data: Json = None) -> Plan:
        """The plan after a call that was one of its steps; `data` is what came of it, None for nothing to refer to."""
        used = FrozenDict({**self.used, call: step})
        is_wanted = data is not None and any(step in _references(one) for one in self.steps)
        return replace(self, used=used, results=(*self.results, (step, data)) if is_wanted else self.results)

    def step_for(self, call: str, args: Args, tool: ToolFacts, open_: Mapping[str, int] = EMPTY) -> int:
        """The number of the step that a call is, from 1; 0 if it is none that is left.

        Args:
            call: its key; one that a planned call's own body makes is covered by that call.
            args: canonical.
            tool: its facts.
            open_: calls under way that are not in `used` yet.
        """
        used = {**self.used, **open_} if open_ else self.used
        outer, nested, _ = call.partition("/")
        if nested:
            return used.get(outer, 0)
        known, count = used.get(call, 0), Counter(used.values())
        for number, step in enumerate(self.steps, 1):
            is_left = number == known if known else count[number] < step.count
            if is_left and self._fits(step, args, tool):
                return number
        return 0

    def _fits(self, step: PlanStep, args: Args, tool: ToolFacts) -> bool:
        if step.tool != tool.name:
            return False
        if any(not self._is_as_planned(name, value, args.get(name), tool) for name, value in step.args.items()):
            return False
        free = ((path.partition(".")[0], value) for path, value in sink_values(args, tool))
        return all(root in step.args or value in tool.constants.get(root, ()) for root, value in free)

    def _is_as_planned(self, name: str, wanted: Json, given: Json, tool: ToolFacts) -> bool:
        earlier = reference(wanted)
        is_id = tool.meanings.get(name, "").startswith("id:")
        if earlier is None:
            return _is_same(wanted, given, exact=is_id)
        data = tuple(found for step, found in self.results if step == earlier)
        texts = [text for _, text in texts_in(given)]
        return bool(texts) and bool(data) and all(_stands_in(data, text, exact=is_id) for text in texts)


def reference(value: Json) -> int | None:
    """The step whose result an argument refers to; None for a literal."""
    step = value.get(_RESULT) if isinstance(value, Mapping) and len(value) == 1 else None
    return step if type(step) is int else None


def _references(step: PlanStep) -> set[int]:
    return {found for value in step.args.values() if (found := reference(value)) is not None}


def _is_same(wanted: Json, given: Json, *, exact: bool) -> bool:
    if isinstance(wanted, Mapping) or isinstance(given, Mapping):
        if not (isinstance(wanted, Mapping) and isinstance(given, Mapping) and wanted.keys() == given.keys()):
            return False
        return all(_is_same(value, given[name], exact=exact) for name, value in wanted.items())
    if isinstance(wanted, list | tuple) or isinstance(given, list | tuple):
        if not (isinstance(wanted, list | tuple) and isinstance(given, list | tuple) and len(wanted) == len(given)):
            return False
        return all(_is_same(one, other, exact=exact) for one, other in zip(wanted, given, strict=True))
    if canonical(wanted) == canonical(given):
        return True
    if any(value is None or isinstance(value, bool) for value in (wanted, given)):
        return False
    worth = amount_key(str(wanted))
    return str(wanted) == str(given) or (not exact and worth is not None and worth == amount_key(str(given)))


_indexes: dict[int, tuple[tuple[Json, ...], TrustedText]] = {}


def _stands_in(data: tuple[Json, ...], text: str, *, exact: bool) -> bool:
    """Whether a text stands in a result as a whole token, or is one of its texts."""
    key = hash(tuple(id(one) for one in data))
    known = _indexes.get(key)
    if (
        known is None
        or len(known[0]) != len(data)
        or any(one is not two for one, two in zip(known[0], data, strict=True))
    ):
        index = TrustedText()
        for one in data:
            index.learn("", one, "plan")
        if len(_indexes) >= _KEPT:
            _indexes.clear()
        known = _indexes[key] = (data, index)
    return known[1].origin("", text, exact=exact).trusted


def problems(steps: Sequence[PlanStep], arguments: Mapping[str, frozenset[str] | None]) -> Iterator[str]:
    """What is wrong with a plan, one sentence each.

    Args:
        steps: in order.
        arguments: of every tool there is, its names; None where any name will do.
    """
    if not steps:
        yield "a plan has at least one step"
    for number, step in enumerate(steps, 1):
        if step.tool not in arguments:
            yield f"step {number} names the tool {step.tool!r}; there are {_listed(arguments)}"
            continue
        if type(step.count) is not int or step.count < 1:
            yield f"step {number} has the count {step.count!r}, expected a number of calls from 1"
        known = arguments[step.tool]
        if known is not None:
            for name in sorted(step.args.keys() - known):
                yield f"step {number} fixes {name!r}, which {step.tool} does not take; it takes {_listed(known)}"
        for earlier in sorted(_references(step)):
            if not 1 <= earlier < number:
                yield f"step {number} refers to the result of step {earlier}, which is no earlier step"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
