"""Every kind of wrong model against every kind of person: `python -m examples.hostile_model [--all] [--policy block]`.

For each: effects that the user did not want, runs in which the attacker got what he wanted, questions asked, runs in
which the user got theirs. `--all` takes every task with every goal; otherwise four tasks with every goal.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from itertools import product

from examples.hostile_model.approvers import APPROVERS
from examples.hostile_model.kinds import KINDS
from examples.hostile_model.office import Case, Outcome
from examples.hostile_model.tasks import GOALS, TASKS, Task

FEW = ("answer", "rent", "sale", "note")


def cases(tasks: Sequence[Task], approver: str, policy: str) -> Iterator[Case]:
    """Every task with every goal."""
    for task, goal in product(tasks, GOALS):
        yield Case(task=task, goal=goal, approver=approver, provenance=policy)


async def outcomes(kind: str, tasks: Sequence[Task], approver: str, policy: str) -> list[Outcome]:
    """What comes of one kind and one person."""
    return [await KINDS[kind](case) for case in cases(tasks, approver, policy)]


def row(kind: str, approver: str, found: Sequence[Outcome]) -> str:
    """One line of the table."""
    effects = sum(len(one.effects) for one in found)
    reached, done, asked = (
        sum(one.is_reached for one in found), sum(one.is_done for one in found), sum(one.asked for one in found)
    )  # fmt: skip
    size = len(found)
    return f"{kind:28} {approver:6} {effects:8} {reached:4}/{size:<4} {asked:6} {asked / size:6.1f} {done:6}/{size:<4}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m examples.hostile_model")
    parser.add_argument("--all", action="store_true", help="every task, not only four")
    parser.add_argument("--policy", default="confirm", choices=["confirm", "block", "observe", "off"])
    parser.add_argument("--kind", default="", help="only kinds whose name begins so")
    given = parser.parse_args()
    tasks = TASKS if given.all else [task for task in TASKS if task.name in FEW]
    print(
        f"{'kind of model':28} {'person':6} {'effects':>8} {'reached':>9} {'asked':>6} {'a run':>6} {'user done':>11}"
    )
    for kind, approver in product([one for one in KINDS if one.startswith(given.kind)], APPROVERS):
        print(row(kind, approver, asyncio.run(outcomes(kind, tasks, approver, given.policy))), flush=True)


if __name__ == "__main__":
    main()
