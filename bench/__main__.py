"""`python -m bench`: every scenario in a process of its own, ours beside its budget and beside the peers.

Exits 1 only where a scenario of ours crashed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from bench.measure import ROOT
from bench.peer import environment
from bench.peer.environment import Peer
from bench.scenarios import MODULE_OF
from bench.table import Row, as_json, beside_peers, printed

WITH_PEER = ("import_cost", "one_tool", "ten_rounds", "concurrent")
"""Scenarios that the peers' scripts measure as well."""
ALIASES = {"import": "import_cost", "judge": "judge_call", "memory": "memory_record"}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether everything ran."""
    options = _options(argv)
    names = [ALIASES.get(name, name) for name in options.only] or list(MODULE_OF)
    rows: list[Row] = []
    peers = [Peer(name=name) for name in _chosen(options)]
    for name in names:
        found = _run(name)
        if name in WITH_PEER:
            # Right afterwards, so that all meet the same machine.
            peers = [environment.with_more(peer, name) for peer in peers]
        rows += [_beside(row, peers) for row in found]
    tables = (_heading(peers), printed(rows), beside_peers(rows, [peer.name for peer in peers if peer.measured]))
    print(*filter(None, tables), sep="\n\n")
    if options.json:
        options.json.write_text(as_json(rows, _about(peers)), encoding="utf-8")
    return 1 if any(row.crashed for row in rows) else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What Backstay costs, beside its budgets.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file as well")
    parser.add_argument(
        "--only", action="append", default=[], choices=[*MODULE_OF, *ALIASES], metavar="NAME",
        help=f"measure only this (may be given several times): {', '.join(MODULE_OF)}",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--peer", action="append", default=[], choices=environment.NAMES, metavar="NAME",
        help=f"only beside this peer (may be given several times): {', '.join(environment.NAMES)}",
    )  # fmt: skip
    which.add_argument("--no-peer", action="store_true", help="leave the peers out")
    return parser.parse_args(argv)


def _chosen(options: argparse.Namespace) -> list[str]:
    """The peers' names, in the order of the columns."""
    wanted = () if options.no_peer else options.peer or environment.NAMES
    return [name for name in environment.NAMES if name in wanted]


def _run(name: str) -> list[Row]:
    print(f"bench: {name}", file=sys.stderr)
    command = [sys.executable, "-m", "bench.child", name]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if found.returncode != 0:
        print(found.stderr, file=sys.stderr)
        said = found.stderr.strip().splitlines() or [f"exit code {found.returncode}"]
        return [Row(scenario=name, what="did not run", crashed=True, note=said[-1][:200])]
    return [Row(**row) for row in json.loads(found.stdout.splitlines()[-1])]


def _beside(row: Row, peers: Sequence[Peer]) -> Row:
    """The row with the peers' figures, where they have one."""
    notes = [row.note] if row.note else []
    if row.verdict == "over" and row.lowest is not None and row.budget is not None and row.lowest <= row.budget:
        notes.append(f"lowest repeat {row.lowest:.3g} {row.unit}: within the budget on a quieter machine")
    return replace(
        row,
        peers=_figures(peers, row.peer_key),
        guarded_peers=_figures(peers, f"{row.peer_key}.guarded"),
        note="; ".join(notes),
    )


def _figures(peers: Sequence[Peer], key: str) -> dict[str, float]:
    return {peer.name: peer.measured[key] for peer in peers if key in peer.measured}


def _heading(peers: Sequence[Peer]) -> str:
    told = ", ".join(peer.told for peer in peers if peer.told) or "none"
    lines = [f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} CPUs; peers: {told}"]
    lines += [f"peer not available: {peer.name} ({peer.missing})" for peer in peers if peer.missing]
    return "\n".join(lines)


def _about(peers: Sequence[Peer]) -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "peers": [asdict(peer) for peer in peers],
    }


if __name__ == "__main__":
    sys.exit(main())
