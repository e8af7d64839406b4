"""`python -m bench.rules`: how well sentences become rules, for each part and language.

Exits with 1 when a part that the parser is tuned by falls below its floor or has anything enforced that was not said.
`--name` reads those parts alone, `develop` and `set_aside`, and names their failures; `fresh` is read and never named.
"""

from __future__ import annotations

import argparse
import sys

from bench.rules.cases import PARTS, TUNED
from bench.rules.score import Score, rows, score

FLOOR = 0.95
"""Recall on `develop` and `set_aside`, each language."""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.rules", description=__doc__)
    parser.add_argument("--name", action="store_true", help="the tuned parts alone, with their failures")
    only = parser.parse_args().name
    print("part       lang    n  enforced as said        wrong  advisory kept  noise")
    failed = False
    for part in TUNED if only else PARTS:
        scores = score(part)
        print("\n".join(rows(part, scores)))
        failed |= part in TUNED and any(one.wrong or one.recall < FLOOR for one in scores.values())
        if only:
            _name_failures(scores)
    return 1 if failed else 0


def _name_failures(scores: dict[str, Score]) -> None:
    for one in scores.values():
        for what, cases in (("wrong", one.wrong), ("missed", one.missed), ("lost", one.lost), ("noise", one.noise)):
            for case in cases:
                print(f"  {what}: {case.text!r}")


if __name__ == "__main__":
    sys.exit(main())
