"""Trying mutants while there is time; what is known from earlier stands."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import CodeType
from typing import Any

from bench.mutants import child
from bench.mutants.near import PACKAGE, files_near
from bench.mutants.operators import Mutant, applied
from bench.mutants.results import Lines, Result, Results

_PATIENCE = 20.0
"""Seconds over ten times what its tests take, after which a mutant counts as killed by going round for ever."""
_BASELINE = 900.0


@dataclass(slots=True)
class Row:
    """What became of one module's mutants."""

    module: str
    all: int
    tried: int = 0
    survived: list[tuple[Mutant, Result]] = field(default_factory=list)


class NotGreenError(Exception):
    """A test fails without any change."""


class Trial:
    """Tries the mutants of one module after the other."""

    def __init__(self, root: Path, results: Results, lines: Lines, *, until: float, enough: float) -> None:
        self._enough = enough
        self._root = root
        self._results = results
        self._lines = lines
        self._until = until

    def of(self, row: Row, chosen: Sequence[Mutant]) -> None:
        """Fill in the row of a module."""
        path = str(PACKAGE / row.module)
        files = files_near(self._root, row.module)
        unknown = any(self._results.known(one.id, path, files) is None for one in chosen)
        if unknown and time.monotonic() < self._until:
            for file in files:
                self._watch(file)
            module = _Module(self._root, row.module, files, self._lines, self._enough)
            left = max(0.0, self._until - time.monotonic()) + _BASELINE
            child.forked(lambda: child.warm(files, partial(self._warm, module, chosen)), left)
            self._results.read()
            self._cold(module, chosen)
        for mutant in chosen:
            result = self._results.known(mutant.id, path, files)
            if result is not None:
                row.tried += 1
                if not result.killed_by:
                    row.survived.append((mutant, result))

    def _watch(self, file: str) -> None:
        if self._lines.of(file) is None:
            found = child.forked(lambda: child.watched([file], self._root / PACKAGE), _BASELINE)
            if found is None or found["code"] != 0:
                raise NotGreenError(f"{file} fails without any change: {found and found['failed']}")
            self._lines.add(file, found)

    def _warm(self, module: _Module, chosen: Sequence[Mutant], warm: child.Warm) -> None:
        """Try the bodies of functions; what survives and runs at import too is left for a cold run."""
        parent = os.getppid()
        for mutant in chosen:
            if os.getppid() != parent:
                return  # nobody waits any more
            if mutant.is_inside and self._is_open(module, mutant):
                tests = module.tests(mutant)
                run = partial(warm.tried, module.name, mutant.function, module.changed(mutant), tests)
                killed_by = child.forked(run, _patience(tests)) if tests else ""
                if killed_by != "" or not module.runs_at_import(mutant):
                    self._keep(module, mutant, killed_by, len(tests))

    def _cold(self, module: _Module, chosen: Sequence[Mutant]) -> None:
        for mutant in chosen:
            if self._is_open(module, mutant):
                tests = module.tests(mutant, cold=True)
                run = partial(child.tried_cold, module.name, module.changed(mutant), tests)
                self._keep(module, mutant, child.forked(run, _patience(tests)) if tests else "", len(tests))

    def _is_open(self, module: _Module, mutant: Mutant) -> bool:
        return time.monotonic() < self._until and self._results.known(mutant.id, module.path, module.files) is None

    def _keep(self, module: _Module, mutant: Mutant, killed_by: str | None, ran: int) -> None:
        by = "time" if killed_by is None else killed_by
        self._results.add(mutant.id, module.path, module.files, killed_by=by, ran=ran)


class _Module:
    """A module under trial, and what its near tests run of it."""

    def __init__(self, root: Path, module: str, files: Sequence[str], lines: Lines, enough: float) -> None:
        self._enough = enough
        self.path = str(PACKAGE / module)
        self.name = "backstay." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self.files = files
        self._file = root / self.path
        self._source = self._file.read_text(encoding="utf-8")
        self._seen: dict[str, tuple[float, frozenset[int]]] = {}
        for file in files:
            seen: dict[str, Any] = lines.of(file) or {}
            for test, run in seen["lines"].items():
                if module in run:
                    before = self._seen.get(test, (0.0, frozenset()))[1]
                    self._seen[test] = seen["seconds"][test], before.union(run[module])

    def tests(self, mutant: Mutant, *, cold: bool = False) -> dict[str, float]:
        """The quickest tests that run the changed line, with their seconds; cold, of one that runs at import, any."""
        lines = None if cold and self.runs_at_import(mutant) else range(mutant.first, mutant.last + 1)
        near = {
            test: seconds
            for test, (seconds, run) in self._seen.items()
            if test and (lines is None or not run.isdisjoint(lines))
        }
        sums = accumulate(sorted(near.values()))
        many = sum(1 for one in sums if one <= self._enough)
        return dict(sorted(near.items(), key=lambda one: one[1])[: max(1, many)])

    def runs_at_import(self, mutant: Mutant) -> bool:
        """Whether the changed line runs when the module, or another that builds on it, is imported."""
        _, run = self._seen.get("", (0.0, frozenset()))
        return not mutant.is_inside or not run.isdisjoint(range(mutant.first, mutant.last + 1))

    def changed(self, mutant: Mutant) -> CodeType:
        """The code of the module with the change made."""
        return compile(applied(mutant, self._source), str(self._file), "exec")


def _patience(tests: dict[str, float]) -> float:
    return _PATIENCE + 10 * sum(tests.values())
