"""Decorated functions keep their static types, and mistakes with them are found before anything runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASSERTIONS = Path(__file__).with_name("typed_tools.py")
WRONG = {
    number for number, line in enumerate(ASSERTIONS.read_text("utf-8").splitlines(), start=1) if "# wrong: " in line
}
"""Lines in which a checker must find something; in no other."""


def test_mypy_sees_the_types_of_decorated_functions_and_the_mistakes() -> None:
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--config-file", str(ROOT / "pyproject.toml")]
    said = subprocess.run([*command, str(ASSERTIONS)], capture_output=True, text=True, cwd=ROOT, timeout=300).stdout
    assert {int(number) for number in re.findall(r"typed_tools\.py:(\d+): error", said)} == WRONG, said


def test_pyright_sees_the_same_where_it_is_installed() -> None:
    """It is no dependency of ours, since it brings Node with it; the examples must satisfy it too."""
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    files = [str(ASSERTIONS), *map(str, sorted((ROOT / "examples").rglob("*.py")))]
    command = [pyright, "--pythonpath", sys.executable, "--outputjson", *files]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300).stdout
    found = json.loads(said)["generalDiagnostics"]
    assert all(Path(one["file"]) == ASSERTIONS for one in found), found
    assert {one["range"]["start"]["line"] + 1 for one in found} == WRONG, found
