"""What became of the mutants: kept from run to run while neither the module nor the tests in question have changed."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.mutants.near import PACKAGE, modules

EXPLAINED = Path(__file__).with_name("explained.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one mutant."""

    id: str
    module: str
    """Digest of the module's source."""
    tests: str
    """Digest of the file with the test that failed; of a survivor: of all near tests."""
    killed_by: str
    """The test, or `import` or `time`; empty: it survived."""
    ran: int
    """Tests that run the changed line."""


class Results:
    """A file of JSON lines; the last line of a mutant counts."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        self._root = root
        self._known: dict[str, Result] = {}
        self.read()

    def read(self) -> None:
        """Know what other processes have added."""
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        self._known = {one["id"]: Result(**one) for one in map(json.loads, lines)}

    def known(self, id: str, module: str, tests: Sequence[str]) -> Result | None:
        """The result that still stands."""
        one = self._known.get(id)
        if one is None or one.module != digest(self._root, [module]) or one.tests != self._of(one.killed_by, tests):
            return None
        return one

    def forget_survivors(self) -> frozenset[str]:
        """Forget what survived when it was last tried, and return it."""
        found = frozenset(one.id for one in self._known.values() if not one.killed_by)
        self._known = {id: one for id, one in self._known.items() if id not in found}
        if found:
            self._path.write_text("".join(map(_line, self._known.values())), encoding="utf-8")
        return found

    def add(self, id: str, module: str, tests: Sequence[str], *, killed_by: str, ran: int) -> None:
        """Keep a result."""
        digests = digest(self._root, [module]), self._of(killed_by, tests)
        one = Result(id=id, module=digests[0], tests=digests[1], killed_by=killed_by, ran=ran)
        self._known[id] = one
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(_line(one))

    def _of(self, killed_by: str, tests: Sequence[str]) -> str:
        file = killed_by.partition("::")[0]
        return digest(self._root, [file] if "::" in killed_by else [] if killed_by == "import" else tests)


def _line(one: Result) -> str:
    return json.dumps(asdict(one)) + "\n"


class Lines:
    """Which lines each test runs, by files of tests; kept while neither the tests nor the boundary have changed."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        self._root = root
        sources = [root / PACKAGE / one for one in modules(root)]
        self._sources = [str(one.relative_to(root)) for one in sources]
        self._known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def of(self, file: str) -> dict[str, Any] | None:
        """What was watched, if it still stands."""
        found = self._known.get(file)
        return None if found is None or found["digest"] != self._digest(file) else found

    def add(self, file: str, found: dict[str, Any]) -> None:
        """Keep what was watched."""
        self._known[file] = {**found, "digest": self._digest(file)}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._known), encoding="utf-8")

    def _digest(self, file: str) -> str:
        return digest(self._root, [*self._sources, file])


def digest(root: Path, files: Sequence[str]) -> str:
    """Of the content of files of the tree."""
    made = hashlib.sha256()
    for one in files:
        path = root / one
        made.update(one.encode() + (path.read_bytes() if path.exists() else b"gone"))
    return made.hexdigest()[:16]


def explained() -> dict[str, str]:
    """Mutants that change nothing that can be seen → why."""
    return {one["id"]: one["why"] for one in tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["mutant"]}
