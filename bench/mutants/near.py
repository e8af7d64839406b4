"""Which modules are changed, and which tests stand near enough to notice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path("src/backstay")
FIRST = (
    "judge", "predicates/numbers", "predicates/windows", "predicates/sets", "predicates/paths", "predicates/hosts",
    "predicates/totals", "provenance/tracing", "provenance/sources", "provenance/tokens",
)  # fmt: skip
"""What is tried first, since the minutes may not last for all."""
OTHERS = (
    "rules", "arguments", "checks", "plan", "budgets", "cycle", "session_check", "grants", "deciding", "halts",
    "answers", "differences", "places",
)  # fmt: skip
ROOMS = ("predicates", "provenance")

EVERYWHERE = ("tests/boundary/test_*.py",)
NOT_NEAR = ("tests/boundary/test_text*.py", "tests/boundary/test_mutation_run.py")
"""Reading rules from text, which the judge never does, and the test of this run."""
MORE: Mapping[str, tuple[str, ...]] = {
    "answers": ("tests/agents/test_questions.py",),
    "budgets": ("tests/agents/test_budgets.py",),
    "deciding": ("tests/agents/test_deciders.py",),
    "differences": ("tests/agents/test_decide.py",),
    "halts": ("tests/agents/test_halt.py", "tests/store/test_standing.py"),
    "plan": ("tests/agents/test_plan_run.py",),
    "session_check": ("tests/agents/test_session_check.py",),
}
"""Tests of runs for what is tried in them only."""


def modules(root: Path) -> list[str]:
    """Return the modules of the boundary that are changed, the first ones first, as paths in the package."""
    boundary = root / PACKAGE / "boundary"
    rooms = [f"{room}/{one.stem}" for room in ROOMS for one in sorted((boundary / room).glob("*.py"))]
    return [f"boundary/{one}.py" for one in dict.fromkeys((*FIRST, *OTHERS, *rooms))]


def files_near(root: Path, module: str) -> list[str]:
    """Return the files of tests that are tried on a module."""
    name = module.removeprefix("boundary/").removesuffix(".py")
    far = {one for pattern in NOT_NEAR for one in root.glob(pattern)}
    near = [one for pattern in EVERYWHERE for one in sorted(root.glob(pattern)) if one not in far]
    return [str(one.relative_to(root)) for one in near] + list(MORE.get(name, ()))
