"""python -m bench.embedded [--set develop|develop_zh|held_out|fresh] [--plain N] [--strict] [--misses] [--cost]

Right tool, exact arguments and refusals of the embedded model, by language, next to a plain constrained prompt on the
same weights. `develop` and `develop_zh` (other tools, mostly Chinese) are what the pipeline was tuned on; `held_out`
was written before any run over it and is reported whatever it is. The table of synonyms was written after it and names
some of its values, so `--strict` measures without those rows: the figure to quote for tools nobody has seen.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from datetime import date

from backstay.core.messages import ModelReply, ModelRequest
from backstay.models.embedded import choices
from backstay.models.embedded.brain import Brain
from backstay.models.embedded.encoder import shared_encoder
from backstay.models.embedded.proposals import Menu
from backstay.models.embedded.router import ToolRouter
from backstay.models.embedded.runtime import Runtime, open_runtime
from backstay.models.embedded.weights import locate
from bench.embedded.cases import Case, load_cases, load_tools
from bench.embedded.cost import print_cost
from bench.embedded.plain import ask_plainly
from bench.embedded.score import Score, judge

DAY = date(2026, 11, 30)
SETS = ("develop", "develop_zh", "held_out")
UNREAD = ("fresh",)
"""Sets that are run only when they are named."""
TUNED = ("develop", "develop_zh")
"""Sets whose misses may be read."""
FLOORS = {"right": 0.95, "exact": 0.85}
"""On `develop`; below them the command exits with 1."""


_DEVELOPED = frozenset(["km", "kg", "celsius", "fahrenheit", "miles", "litres", "gallons", "lbs", "shopping", "todo"])
"""A name out of every row of synonyms that the developing prompts use."""


def runtime() -> Runtime:
    """The generator on one thread: the machine is shared."""
    return open_runtime(locate(), threads=1)


def run_pipeline(name: str) -> list[Score]:
    """Every case of a set through the embedded model."""
    tools = load_tools(name)
    menu = Menu.of(tools)
    brain = Brain(ToolRouter(), shared_encoder(), runtime)

    def ask(case: Case) -> ModelReply:
        request = ModelRequest(messages=case.messages(menu), tools=tools)
        return brain.reply(request, today=DAY, call_id="c", model="embedded")

    return _run(load_cases(name), menu, ask)


def run_plain(name: str, most: int) -> list[Score]:
    """The first cases of each kind and language, at most so many, through the plain prompt."""
    menu = Menu.of(load_tools(name))
    cases = load_cases(name)
    step = max(1, -(-len(cases) // most))
    return _run(cases[::step], menu, lambda case: ask_plainly(runtime(), menu.options, case))


def _run(cases: Iterable[Case], menu: Menu, ask: Callable[[Case], ModelReply]) -> list[Score]:
    specs = {spec.name: spec for spec in menu.options}
    scores = []
    for case in cases:
        began = time.perf_counter()
        reply = ask(case)
        scores.append(judge(case, reply, specs, time.perf_counter() - began))
    return scores


def _print(title: str, scores: list[Score]) -> None:
    for lang in ("en", "zh", "all"):
        some = [one for one in scores if lang in ("all", one.case.lang)]
        wanted = [one for one in some if one.case.tool is not None]
        outside = [one for one in some if one.case.kind == "out"]
        asked = [one for one in some if one.case.kind == "ask"]
        middle = sorted(one.seconds for one in some)[len(some) // 2] * 1000
        print(
            f"{title:<22}{lang:<5}{_share(wanted, 'is_right'):>16}{_share(wanted, 'is_exact'):>16}"
            f"{_share(outside, 'is_right'):>14}{_share(asked, 'is_right'):>8}{middle:>10.0f} ms"
        )


def _share(scores: list[Score], what: str) -> str:
    if not scores:
        return "-"
    good = sum(getattr(one, what) for one in scores)
    return f"{good}/{len(scores)} {good / len(scores):.0%}"


def _print_misses(scores: list[Score]) -> None:
    for one in scores:
        if not one.is_exact:
            print(f"  {one.case.id} {one.case.text!r}: {one.case.tool} {one.case.args} got {one.tool} {dict(one.args)}")


def _floors_hold(scores: list[Score]) -> bool:
    wanted = [one for one in scores if one.case.tool is not None]
    right = sum(one.is_right for one in wanted) / len(wanted)
    exact = sum(one.is_exact for one in wanted) / len(wanted)
    return right >= FLOORS["right"] and exact >= FLOORS["exact"]


def main() -> int:
    """Run what was asked and print a table."""
    reader = argparse.ArgumentParser(prog="python -m bench.embedded", description=__doc__.splitlines()[2])
    reader.add_argument("--set", choices=(*SETS, *UNREAD), action="append", dest="sets")
    reader.add_argument("--plain", type=int, default=34, help="most prompts a set for the plain prompt (slow); 0: none")
    reader.add_argument(
        "--misses", action="store_true", help="print the cases that are not exact (only of sets that were tuned on)"
    )
    reader.add_argument("--cost", action="store_true", help="print seconds and memory instead")
    reader.add_argument("--strict", action="store_true", help="without synonyms that only the held-out set has use for")
    given = reader.parse_args()
    if given.cost:
        return print_cost()
    print(f"{'':<22}{'':<5}{'right tool':>16}{'exact arguments':>16}{'out of scope':>14}{'asks':>8}{'median':>13}")
    if given.strict:
        choices._NAMES[:] = [names for names in choices._NAMES if names & _DEVELOPED]
    holds = True
    for name in given.sets or SETS:
        scores = run_pipeline(name)
        _print(name, scores)
        holds = holds and (name != "develop" or _floors_hold(scores))
        if given.misses and name in TUNED:
            _print_misses(scores)
        if given.plain:
            _print(f"{name}, plain prompt", run_plain(name, given.plain))
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
