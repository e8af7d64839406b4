"""The peer's environment: made on first use, beside the repository's own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import ROOT

FOLDER = ROOT / ".venv-peer"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
INSTALL_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Peer:
    """What the peer's script printed, or why there is nothing."""

    name: str = ""
    measured: dict[str, float] = field(default_factory=dict)
    missing: str = ""


def measure(names: Sequence[str]) -> Peer:
    """Run the peer's script for these scenarios; whatever goes wrong leaves the table without a peer."""
    try:
        python = _python()
        found = subprocess.run(
            [str(python), "-m", "bench.peer.agent_framework", *names],
            check=True,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"peer: {error}", file=sys.stderr)
        return Peer(missing=f"{type(error).__name__}, see above")
    told = json.loads(found.stdout.splitlines()[-1])
    return Peer(name=told["peer"], measured=told["measured"])


def _python() -> Path:
    """The environment's interpreter, with everything installed that the requirements name."""
    python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = FOLDER / "installed.txt"
    wanted = REQUIREMENTS.read_text()
    if python.exists() and done.exists() and done.read_text() == wanted:
        return python
    print(f"peer: making {FOLDER.name} with {' '.join(wanted.split())}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True, timeout=INSTALL_SECONDS)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True, timeout=INSTALL_SECONDS)
    done.write_text(wanted)
    return python
