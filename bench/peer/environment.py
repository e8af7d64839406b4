"""The peers' environments: made on first use, beside the repository's own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.measure import ROOT

NAMES = ("agent-framework", "pydantic-ai", "openai-agents", "langgraph")
"""In the order of the columns. Each has a script of this name here, and a file of requirements."""
REQUIREMENTS = Path(__file__).with_name("requirements")
INSTALL_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A peer, and what its script has printed so far."""

    name: str
    told: str = ""
    """Its distributions with their versions; empty until something was measured."""
    measured: dict[str, float] = field(default_factory=dict)
    missing: str = ""
    """Why it measures no more; empty as long as it does."""


def with_more(peer: Peer, scenario: str) -> Peer:
    """Let the peer do this scenario too; whatever goes wrong leaves the table without its figures."""
    if peer.missing:
        return peer
    print(f"bench: {scenario}, {peer.name}", file=sys.stderr)
    command = ["-m", f"bench.peer.{peer.name.replace('-', '_')}", scenario]
    try:
        python = _python(peer.name)
        found = subprocess.run([str(python), *command], check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{peer.name}: {error}", file=sys.stderr)
        return replace(peer, missing=f"{type(error).__name__}, see above")
    said = json.loads(found.stdout.splitlines()[-1])
    return replace(peer, told=said["told"], measured=peer.measured | said["measured"])


def _python(name: str) -> Path:
    """The environment's interpreter, with everything installed that the requirements name."""
    folder = ROOT / f".venv-peer-{name}"
    requirements = REQUIREMENTS / f"{name}.txt"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = folder / "installed.txt"
    wanted = requirements.read_text()
    if python.exists() and done.exists() and done.read_text() == wanted:
        return python
    print(f"{name}: making {folder.name} with {' '.join(wanted.split())}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=INSTALL_SECONDS)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    subprocess.run([*pip, "-r", str(requirements)], check=True, timeout=INSTALL_SECONDS)
    done.write_text(wanted)
    return python
