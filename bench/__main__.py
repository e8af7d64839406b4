"""`python -m bench`: every scenario in a process of its own, one table. Exits 1 only where a scenario crashed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.measure import ROOT
from bench.peer import environment
from bench.peer.environment import Peer
from bench.scenarios import MODULE_OF
from bench.table import Row, as_json, printed

WITH_PEER = ("import_cost", "one_tool", "ten_rounds", "concurrent")
"""Scenarios that the peer's script measures as well."""
NOT_ASKED = "not asked for"
ALIASES = {"import": "import_cost", "judge": "judge_call", "memory": "memory_record"}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether everything ran."""
    options = _options(argv)
    names = [ALIASES.get(name, name) for name in options.only] or list(MODULE_OF)
    rows: list[Row] = []
    peer = Peer(missing=NOT_ASKED)
    for name in names:
        found = _run(name)
        if name in WITH_PEER and not options.no_peer:
            peer = _with_more(peer, name)
        rows += [_beside(row, peer) for row in found]
    print(_heading(peer), printed(rows), sep="\n\n")
    if options.json:
        options.json.write_text(as_json(rows, _about(peer)), encoding="utf-8")
    return 1 if any(row.crashed for row in rows) else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What Backstay costs, beside its budgets.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file as well")
    parser.add_argument(
        "--only", action="append", default=[], choices=[*MODULE_OF, *ALIASES], metavar="NAME",
        help=f"measure only this (may be given several times): {', '.join(MODULE_OF)}",
    )  # fmt: skip
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    return parser.parse_args(argv)


def _run(name: str) -> list[Row]:
    print(f"bench: {name}", file=sys.stderr)
    command = [sys.executable, "-m", "bench.child", name]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if found.returncode != 0:
        print(found.stderr, file=sys.stderr)
        said = found.stderr.strip().splitlines() or [f"exit code {found.returncode}"]
        return [Row(scenario=name, what="did not run", crashed=True, note=said[-1][:200])]
    return [Row(**row) for row in json.loads(found.stdout.splitlines()[-1])]


def _with_more(peer: Peer, name: str) -> Peer:
    """Let the peer do the same right afterwards, so that both meet the same machine."""
    if peer.missing and peer.missing != NOT_ASKED:
        return peer
    print(f"bench: {name}, peer", file=sys.stderr)
    found = environment.measure([name])
    return replace(found, measured=peer.measured | found.measured)


def _beside(row: Row, peer: Peer) -> Row:
    """The row with the peer's figure, if it has one."""
    found = peer.measured.get(row.peer_key)
    shipped = peer.measured.get(f"{row.peer_key}.shipped")
    notes = [row.note] if row.note else []
    if row.verdict == "over" and row.lowest is not None and row.budget is not None and row.lowest <= row.budget:
        notes.append(f"lowest repeat {row.lowest:.3g} {row.unit}: within the budget on a quieter machine")
    if shipped is not None:
        notes.append(f"the peer with the layers of its own clients and the same guards: {shipped:.3g} {row.unit}")
    return replace(row, peer=found, note="; ".join(notes))


def _heading(peer: Peer) -> str:
    who = f"peer: {peer.name}" if peer.measured else f"peer: not available ({peer.missing})"
    return f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} CPUs; {who}"


def _about(peer: Peer) -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "peer": peer.name,
        "peer_measured": peer.measured,
    }


if __name__ == "__main__":
    sys.exit(main())
