"""The peers' environment: made on first use, beside the repository's own; and what the peers' scripts have counted."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measure import ROOT
from bench.retention.sessions import Session

FOLDER = ROOT / ".venv-peer-memory"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PEERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "langchain": (
        "bench.retention.peers.langchain_memory",
        ("first sentences", "first sentences/whole", "tail", "tail/whole", "user messages", "user messages/whole"),
    ),
    "llama-index": ("bench.retention.peers.llama_index_memory", ("first sentences", "tail", "user messages")),
}
"""Name → its script, and the summarisers that it is run with."""
_INSTALL_SECONDS = 900


def counted(peer: str, sessions: Iterable[Session], processes: int) -> list[tuple[str, dict[str, Counter[str]]]]:
    """Play the sessions with a peer: for each of its summarisers, what was counted by language.

    Raises:
        OSError: when the environment cannot be made.
        subprocess.SubprocessError: the same, or when the peer's script fails.
    """
    python = _python()
    module, summarisers = PEERS[peer]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.jsonl"
        path.write_text("".join(json.dumps(one.as_json(), ensure_ascii=False) + "\n" for one in sessions), "utf-8")
        with ThreadPoolExecutor(processes) as pool:
            found = pool.map(lambda name: _run([str(python), "-m", module, str(path), name]), summarisers)
            return list(zip(summarisers, found, strict=True))


def versions() -> str:
    """What is compared, with versions."""
    return ", ".join(REQUIREMENTS.read_text("utf-8").split())


def _run(command: Sequence[str]) -> dict[str, Counter[str]]:
    told = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, Counter[str]] = {}
    for line in told.splitlines():
        outcome = json.loads(line)
        found.setdefault(outcome.pop("language"), Counter()).update(outcome)
    return found


def _python() -> Path:
    """The environment's interpreter, with everything installed that the requirements name."""
    python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = FOLDER / "installed.txt"
    wanted = REQUIREMENTS.read_text("utf-8")
    if python.exists() and done.exists() and done.read_text("utf-8") == wanted:
        return python
    print(f"peer: making {FOLDER.name} with {versions()}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True, timeout=_INSTALL_SECONDS)
    (FOLDER / ".gitignore").write_text("*\n", "utf-8")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True, timeout=_INSTALL_SECONDS)
    done.write_text(wanted, "utf-8")
    return python
