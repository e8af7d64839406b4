"""`python -m bench.rules`: how well sentences become rules, for each part and language.

Exits with 1 when the part that was developed on falls below its floor or anything is enforced that was not said.
`--develop` reads that part alone and names its failures; those of the part set aside are never named.
"""

from __future__ import annotations

import argparse
import sys

from bench.rules.cases import PARTS
from bench.rules.score import Score, rows, score

FLOOR = 0.95
"""Recall on `develop`, each language."""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.rules", description=__doc__)
    parser.add_argument("--develop", action="store_true", help="the part developed on alone, with its failures")
    only = parser.parse_args().develop
    print("part       lang    n  enforced as said        wrong  advisory kept  noise")
    failed = False
    for part in PARTS[:1] if only else PARTS:
        scores = score(part)
        print("\n".join(rows(part, scores)))
        failed |= any(one.wrong or (part == "develop" and one.recall < FLOOR) for one in scores.values())
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
