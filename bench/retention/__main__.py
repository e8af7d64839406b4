"""python -m bench.retention [--sessions 1000] [--windows 20] [--first 0] [--processes 2] [--peer NAME]...

Sessions in English and Chinese: a task and one to six rules, said in chat sentences over many turns, between looks at
real rows, until the history is so many windows of 8,000 tokens long. A rule is tried twice at random and once at the
end: the scripted model makes a call that keeps it and one that breaks it. For every request of a real agent: is the
block of rules the same bytes as in the one before, unless a rule was said or confirmed between them, and does each rule
stand there in the user's words; is the goal there; does it fit the window. For every call: is each break refused (put
to a person where the rule is only proposed, or asks to be asked) and never carried out, and each other call carried
out. Exits 1 if not.

`--peer langchain`, `--peer llama-index`: the same sessions over a peer's summarising memory too, in an environment of
its own, with the scripted summarisers of `peers/summarisers.py`. It counts whether the words of a rule still stand in
requests, which says nothing of how well a model would sum up or obey.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from bench.retention.ours import SUMMARISERS, VIOLATIONS, WINDOW, Outcome, played
from bench.retention.peers.environment import PEERS, counted, versions
from bench.retention.sessions import session

LEAST_WINDOWS = 4
_BATCH = 100
"""After so many sessions a word on stderr."""
_TOLD = 10
"""Violations that are printed in words."""


def main() -> int:
    """Play, print the tables, and return the exit code."""
    options = _options()
    numbers = range(options.first, options.first + options.sessions)
    began = time.monotonic()
    outcomes = list(_played(numbers, options.windows, options.processes))
    print("\n".join(table(outcomes)))
    print(f"\n{len(outcomes):,} sessions of {options.windows} windows in {time.monotonic() - began:,.0f} s\n")
    if options.peer:
        print("\n".join(_compared(options.peer, outcomes, options.windows, options.processes)))
    wrong = [one for outcome in outcomes for one in outcome.wrong]
    print("\n".join(wrong[:_TOLD]) if wrong else "no violation")
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.retention")
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--windows", type=int, default=20, help="length of the history, in windows of 8,000 tokens")
    parser.add_argument("--first", type=int, default=0, help="number of the first session: its seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--peer", action="append", choices=sorted(PEERS), help="compare with it; may be repeated")
    options = parser.parse_args()
    if options.windows < LEAST_WINDOWS:
        parser.error(f"--windows {options.windows}: at least {LEAST_WINDOWS}, since in fewer nothing is folded")
    return options


def _played(numbers: Sequence[int], windows: int, processes: int) -> Iterator[Outcome]:
    with ProcessPoolExecutor(processes) as pool:
        for at, outcome in enumerate(pool.map(partial(played, windows=windows), numbers, chunksize=4), 1):
            yield outcome
            if at % _BATCH == 0:
                print(f"{at:,} of {len(numbers):,} sessions", file=sys.stderr)


def table(outcomes: Iterable[Outcome]) -> list[str]:
    """A line for each language and number of rules, then by who has summed up."""
    found = list(outcomes)
    head = (
        f"{'language':9} {'rules':>5} {'sessions':>8} {'requests':>9} {'folds':>6} {'largest':>7}"
        f" {'breaks':>7} {'refused':>7} {'held':>6} {'allowed':>7} {'done':>7}"
        f" | {' '.join(f'{one:>7}' for one in VIOLATIONS)}   (violations)"
    )
    lines = [head]
    for language, rules in sorted({(one.language, one.rules) for one in found}):
        some = [one for one in found if (one.language, one.rules) == (language, rules)]
        lines.append(f"{language:9} {rules:5} {_cells(some)}")
    lines.append(f"{'all':9} {'':5} {_cells(found)}")
    for name in SUMMARISERS:
        some = [one for one in found if one.summariser == name]
        lines.append(f"{'  ' + name:15} {_cells(some)}")
    return lines


def _cells(outcomes: Sequence[Outcome]) -> str:
    counts = sum((one.counts for one in outcomes), Counter[str]())
    largest = max((one.largest for one in outcomes), default=0)
    return (
        f"{len(outcomes):8,} {counts['requests']:9,} {counts['folds']:6,} {largest / WINDOW:7.1%}"
        f" {counts['breaks']:7,} {counts['refused']:7,} {counts['held']:6,} {counts['allowed']:7,} {counts['done']:7,}"
        f" | {' '.join(f'{counts[one]:7,}' for one in VIOLATIONS)}"
    )


def _compared(peers: Sequence[str], outcomes: Sequence[Outcome], windows: int, processes: int) -> Iterator[str]:
    yield f"rules whose words stand in requests ({versions()})"
    yield (
        f"{'memory':12} {'summariser':24} {'language':9} {'rules':>5} {'at the end':>10} {'in every request':>17}"
        f" {'breaks':>7} {'carried out':>12}"
    )
    for name in SUMMARISERS:
        yield from _rows("backstay", name, _by_language(one for one in outcomes if one.summariser == name))
    sessions = [session(one.number, tokens=windows * WINDOW) for one in outcomes]
    for peer in peers:
        try:
            for summariser, found in counted(peer, sessions, processes):
                yield from _rows(peer, summariser, found)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{peer}: {error}", file=sys.stderr)
            yield f"{peer}: not measured, {type(error).__name__}, see above"
    yield ""


def _by_language(outcomes: Iterable[Outcome]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for one in outcomes:
        counts = found.setdefault(one.language, Counter())
        counts.update(one.counts)
    return found


def _rows(memory: str, summariser: str, found: Mapping[str, Counter[str]]) -> Iterator[str]:
    for language, counts in sorted(found.items()):
        rules = counts["rules"]
        yield (
            f"{memory:12} {summariser:24} {language:9} {rules:5,} {counts['at_end'] / rules:10.0%}"
            f" {counts['always'] / rules:17.0%} {counts['breaks']:7,} {counts['carried_out']:12,}"
        )


if __name__ == "__main__":
    sys.exit(main())
