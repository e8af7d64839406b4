"""The work of every peer, the check that it was done, how it is measured and how it is told.

A peer's script says how its framework is put together; the rest stands here, so that all do the same. The peers'
environments run this file: standard library only.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

from bench.measure import Spread, cpu_each, cpu_of_code, spread

Line: TypeAlias = tuple[str, dict[str, int]] | str
"""What the scripted model says in a step: a call of a tool with its arguments, or text."""
Once: TypeAlias = Callable[[], Awaitable[Any]]
"""One run; what it gives is the framework's own."""
Compose: TypeAlias = Callable[[Sequence[Line], float], Once]
"""From the model's lines and the seconds of each request to what runs them."""

PROMPT = "add 1 and 2"
ONE_CALL: tuple[Line, ...] = (("add", {"a": 1, "b": 2}), "3")
TEN_CALLS: tuple[Line, ...] = (*(("add", {"a": number, "b": 1}) for number in range(10)), "done")
FORBIDDEN: tuple[Line, ...] = (("add", {"a": 200, "b": 2}), "refused")
CONCURRENT = 1_000
REQUEST_SECONDS = 0.01


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run left behind, in no framework's words."""

    answer: str
    messages: int
    """Without the prompt."""
    returned: tuple[str, ...]
    """What the tool gave back, as text, in order."""


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A peer, put together twice of its public classes."""

    packages: tuple[str, ...]
    """The distributions that its figures are of."""
    front: str
    """The statement that imports its agent and its way of making tools."""
    lean: Compose
    """What the work needs and nothing else, telemetry off: its fastest."""
    guarded: Compose
    """What its users have who want the two rules checked before a call, and hear of what happens."""
    outcome: Callable[[Any], Outcome]


def is_forbidden(given: Mapping[str, Any]) -> bool:
    """Whether one of the two rules of our side is broken."""
    return bool(given["a"] > 100 or given["b"] < 0)


def one_tool(peer: Framework) -> dict[str, float]:
    """Milliseconds of CPU for a run with one tool call, in both compositions."""
    asyncio.run(_refused(peer))
    costs = {
        name: asyncio.run(_cost(peer, compose, ONE_CALL, runs=2_000, warm_up=200))
        for name, compose in (("one_tool", peer.lean), ("one_tool.guarded", peer.guarded))
    }
    return {name: cost.median * 1e3 for name, cost in costs.items()}


def ten_rounds(peer: Framework) -> dict[str, float]:
    """Milliseconds of CPU for a run of ten tool rounds; lean, as our side has neither rules nor a listener there."""
    return {"ten_rounds": asyncio.run(_cost(peer, peer.lean, TEN_CALLS, runs=400, warm_up=20)).median * 1e3}


def concurrent(peer: Framework) -> dict[str, float]:
    """Seconds until a thousand runs at once have ended, with requests of 10 ms."""

    async def wall() -> float:
        once = peer.lean(ONE_CALL, REQUEST_SECONDS)
        await _checked(peer, once, ONE_CALL)
        waited = []
        for _ in range(5):
            began = time.perf_counter()
            results = await asyncio.gather(*(once() for _ in range(CONCURRENT)))
            waited.append(time.perf_counter() - began)
            assert all(peer.outcome(result).answer == ONE_CALL[-1] for result in results)
        return spread(waited).median

    return {"concurrent": asyncio.run(wall())}


def import_cost(peer: Framework) -> dict[str, float]:
    """Milliseconds of CPU that importing agent and tool adds to a bare interpreter."""
    return {"import": cpu_of_code(peer.front).median * 1e3}


MEASURES: Mapping[str, Callable[[Framework], dict[str, float]]] = {
    "import_cost": import_cost,
    "one_tool": one_tool,
    "ten_rounds": ten_rounds,
    "concurrent": concurrent,
}


def main(peer: Framework, names: Sequence[str]) -> None:
    """Measure what is named, or everything, and print one JSON object on the last line."""
    found: dict[str, float] = {}
    for name in names or MEASURES:
        found |= MEASURES[name](peer)
    told = " + ".join(f"{package} {version(package)}" for package in peer.packages)
    print(json.dumps({"told": told, "measured": found}))


async def _cost(peer: Framework, compose: Compose, lines: Sequence[Line], *, runs: int, warm_up: int) -> Spread:
    once = compose(lines, 0.0)
    await _checked(peer, once, lines)
    return await cpu_each(once, runs=runs, warm_up=warm_up)


async def _checked(peer: Framework, once: Once, lines: Sequence[Line]) -> None:
    """Run once outside the measurement and make sure that it did what is measured."""
    calls = [line[1] for line in lines if not isinstance(line, str)]
    expected = Outcome(
        answer=str(lines[-1]),
        messages=len(lines) + len(calls),
        returned=tuple(str(given["a"] + given["b"]) for given in calls),
    )
    found = peer.outcome(await once())
    if found != expected:
        raise AssertionError(f"the peer ended with {found}; expected {expected}")


async def _refused(peer: Framework) -> None:
    """Make sure that the guard is asked: a forbidden call must not reach the tool."""
    found = peer.outcome(await peer.guarded(FORBIDDEN, 0.0)())
    if found.answer != FORBIDDEN[-1] or "202" in found.returned:
        raise AssertionError(f"the peer ran a forbidden call: {found}")
