"""The command line as a user has it: another process, real files, no terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Said:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """Runs `backstay` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("BACKSTAY")}
        self.env |= {"COLUMNS": "60", "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "utf-8"}

    def __call__(self, *words: str, stdin: str = "", **env: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "backstay", *words],
            cwd=self.folder,
            env=self.env | env,
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "backstay", *words],
            cwd=self.folder,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def pending(self, state: str = "open") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self("pending", "--state", state, "--json").json["pending"]
        return found
