"""Rows of measurements, and the two tables they are printed as: beside the budgets, and beside the peers."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Verdict: TypeAlias = Literal["ok", "over", "skipped", "crashed", ""]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement. The median where it was repeated."""

    scenario: str
    what: str
    measured: float | None = None
    """None: it was not measured; `note` says why."""
    unit: str = ""
    budget: float | None = None
    """The most it may be, in the same unit; None where the design sets none."""
    lowest: float | None = None
    """Of the repeats: how far the median is from an undisturbed machine."""
    highest: float | None = None
    peer_key: str = ""
    """Under which name the peers' scripts report the same work; empty where they have no such thing."""
    peers: Mapping[str, float] = field(default_factory=dict)
    """Peer → what the same work costs it, with nothing but what the work needs."""
    guarded_peers: Mapping[str, float] = field(default_factory=dict)
    """Peer → the same with the rules and the listener that our side has."""
    note: str = ""
    crashed: bool = False

    @property
    def verdict(self) -> Verdict:
        """How it stands to its budget."""
        if self.crashed:
            return "crashed"
        if self.measured is None:
            return "skipped"
        if self.budget is None:
            return ""
        return "ok" if self.measured <= self.budget else "over"

    def ratios(self, figures: Mapping[str, float]) -> dict[str, float]:
        """Peer → how many times as much it needs; empty where our side was not measured."""
        return {name: figure / self.measured for name, figure in figures.items()} if self.measured else {}


HEADER = ("what", "measured", "budget", "verdict")
LEGEND = """\
(n×) is peer ÷ ours. Ours has two rules and a listener in one_tool and concurrent; a peer only where it is guarded, and
then put together as its users do it. Else it has nothing but what the work needs, telemetry off."""


def printed(rows: Sequence[Row]) -> str:
    """Return the table of the budgets, notes below it."""
    notes = [f"  {row.scenario}: {row.what}: {row.note}" for row in rows if row.note]
    return "\n".join([_aligned([HEADER, *map(_cells, rows)]), *(["", "notes", *notes] if notes else [])])


def beside_peers(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return the table of the peers, one column each; empty where none of them measured anything.

    Args:
        rows: All that was measured; those without a peer are left out.
        names: The peers, in the order of their columns.
    """
    lines: list[tuple[str, ...]] = []
    for row in rows:
        if row.peers:
            lines.append((f"{row.scenario}: {row.what}", *_peer_cells(row, row.peers, names)))
        if row.guarded_peers:
            lines.append((f"{row.scenario}: the same, peers guarded", *_peer_cells(row, row.guarded_peers, names)))
    return "\n".join([_aligned([("beside the peers", "ours", *names), *lines]), LEGEND]) if lines else ""


def as_json(rows: Sequence[Row], about: dict[str, Any]) -> str:
    """Return the rows, verdicts and ratios included, and what is known of the machine."""
    found = [asdict(row) | _judged(row) for row in rows]
    return json.dumps({"about": about, "rows": found}, ensure_ascii=False, indent=1) + "\n"


def _judged(row: Row) -> dict[str, Any]:
    return {
        "verdict": row.verdict,
        "ratios": row.ratios(row.peers),
        "guarded_ratios": row.ratios(row.guarded_peers),
    }


def _cells(row: Row) -> tuple[str, ...]:
    return (
        f"{row.scenario}: {row.what}",
        _amount(row.measured, row.unit),
        _amount(row.budget, row.unit),
        row.verdict,
    )


def _peer_cells(row: Row, figures: Mapping[str, float], names: Sequence[str]) -> tuple[str, ...]:
    shown = {name: _amount(figure, row.unit) for name, figure in figures.items()}
    shown |= {name: f"{shown[name]} ({ratio:.1f}×)" for name, ratio in row.ratios(figures).items()}
    return (_amount(row.measured, row.unit), *(shown.get(name, "") for name in names))


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    number = f"{value:.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """The lines with their columns under each other, a rule below the first."""
    widths = [max(_width(cell) for cell in column) for column in zip(*lines, strict=True)]
    shown = [_line(line, widths) for line in lines]
    shown.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(shown)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
