"""`python -m bench.mutants`: try the mutants of the boundary, print a row a module and every survivor.

Exits 1 where one survived that nobody has explained, or an explained one is gone, 2 where the tests fail without any
change.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.mutants import child
from bench.mutants.near import PACKAGE, modules
from bench.mutants.operators import Mutant, mutants_of
from bench.mutants.results import Lines, Results, explained
from bench.mutants.trial import NotGreenError, Row, Trial

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "mutants" / "results.jsonl"
WATCHED = ROOT / "build" / "mutants" / "lines.json"
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", ".hypothesis", ".*_cache", ".backstay", "build", "dist"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Try the mutants on a copy of the tree, and print what became of them."""
    options = _options(argv)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder).resolve() / "tree"
        shutil.copytree(ROOT, root, ignore=_LEFT_OUT, symlinks=True)
        child.load(root)
        return _run(root, options)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="modules whose path has this word")
    parser.add_argument("--sample", type=int, metavar="N", help="at most so many mutants of each module, by the seed")
    parser.add_argument("--seed", type=int, default=1, help="of the sample, 1 unless given")
    parser.add_argument("--minutes", type=float, default=35.0, help="start no more after this time, 35 unless given")
    parser.add_argument("--seconds", type=float, default=10.0, help="of tests a mutant, the quickest; 10 unless given")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    parser.add_argument("--survivors", action="store_true", help="try again only what survived earlier")
    return parser.parse_args(argv)


def _run(root: Path, options: argparse.Namespace) -> int:
    if options.fresh:
        KEPT.unlink(missing_ok=True)
    results = Results(KEPT, root)
    trial = Trial(
        root, results, Lines(WATCHED, root), until=time.monotonic() + 60 * options.minutes, enough=options.seconds
    )
    survivors = results.forget_survivors() if options.survivors else None
    rows: list[Row] = []
    why = explained()
    there: set[str] = set()
    for module in modules(root):
        if options.only and not any(word in module for word in options.only):
            continue
        found = mutants_of(module, (root / PACKAGE / module).read_text(encoding="utf-8"))
        there |= {one.id for one in found}
        chosen = [one for one in _chosen(found, options) if survivors is None or one.id in survivors]
        rows.append(Row(module, len(found)))
        try:
            trial.of(rows[-1], chosen)
        except NotGreenError as error:
            print(error, file=sys.stderr)
            return 2
        _print(rows[-1], why)
    gone = [] if options.only else [one for one in why if one not in there]
    if gone:
        print(f"explained, but no mutant any more: {', '.join(gone)}")
    return _sum(rows, why) or bool(gone)


def _chosen(found: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    if options.sample is None or options.sample >= len(found):
        return found
    kept = {one.id for one in random.Random(options.seed).sample(found, options.sample)}
    return [one for one in found if one.id in kept]


def _print(row: Row, why: dict[str, str]) -> None:
    killed = row.tried - len(row.survived)
    print(f"{row.module:36} {row.all:4} mutants {row.tried:4} tried {killed:4} killed {len(row.survived):3} survived")
    for mutant, result in row.survived:
        if mutant.id not in why:
            where = f"{PACKAGE / row.module}:{mutant.line}"
            print(f"  {mutant.id} {where} {mutant.function}: {mutant.before} -> {mutant.after}  [{result.ran} tests]")
    sys.stdout.flush()


def _sum(rows: Sequence[Row], why: dict[str, str]) -> int:
    lost = sum(one.id not in why for row in rows for one, _ in row.survived)
    tried, survived = sum(row.tried for row in rows), sum(len(row.survived) for row in rows)
    print(
        f"{sum(row.all for row in rows)} mutants, {tried} tried, {tried - survived} killed, {survived} survived, "
        f"{survived - lost} of them explained"
    )
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
