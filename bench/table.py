"""Rows of measurements, and the one table they are printed as."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    """Under which name the peer's script reports the same work; empty where it has no such thing."""
    peer: float | None = None
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

    @property
    def ratio(self) -> float | None:
        """How many times as much the peer needs."""
        return self.peer / self.measured if self.peer is not None and self.measured else None


HEADER = ("what", "measured", "budget", "verdict", "peer", "peer ÷ ours")


def printed(rows: Sequence[Row]) -> str:
    """Return the table, notes below it."""
    lines = [HEADER, *(_cells(row) for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(HEADER))]
    shown = [_line(line, widths) for line in lines]
    shown.insert(1, "  ".join("-" * width for width in widths))
    notes = [f"  {row.scenario}: {row.what}: {row.note}" for row in rows if row.note]
    return "\n".join([*shown, *(["", "notes", *notes] if notes else [])])


def as_json(rows: Sequence[Row], about: dict[str, Any]) -> str:
    """Return the rows, verdicts and ratios included, and what is known of the machine."""
    found = [asdict(row) | {"verdict": row.verdict, "ratio": row.ratio} for row in rows]
    return json.dumps({"about": about, "rows": found}, ensure_ascii=False, indent=1) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        f"{row.scenario}: {row.what}",
        _amount(row.measured, row.unit),
        _amount(row.budget, row.unit),
        row.verdict,
        _amount(row.peer, row.unit),
        "" if row.ratio is None else f"{row.ratio:.1f}",
    )


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    number = f"{value:.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
