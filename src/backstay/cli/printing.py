"""What commands write: lines, tables and JSON documents, fit for a terminal, a narrow one, a pipe and a file.

Text of models, tools and users is shown with its control characters spelt out, so that nothing that was read can move
the cursor, hide a line or reverse its order on the screen where a person decides.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from backstay.core.messages import Usage
from backstay.core.redaction import hide

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_GAP = "  "


def clean(text: str) -> str:
    """Spell out control, bidirectional and invisible characters; tabs and line ends stay. No credential is shown."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", hide(text))


def one_line(text: str, limit: int = 300) -> str:
    """The text on one line of at most `limit` characters, saying so if it was longer."""
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else f"{flat[:limit]}… ({len(text):,} characters)"


def when(at: float) -> str:
    """Seconds since 1970 as a UTC time to the minute."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def away(seconds: float) -> str:
    """A length of time in its largest unit: `in 23 h`, `12 min ago`."""
    size = abs(seconds)
    unit, name = next(((u, n) for u, n in ((86_400, "d"), (3_600, "h"), (60, "min")) if size >= u), (1, "s"))
    said = f"{size / unit:.0f} {name}"
    return f"in {said}" if seconds >= 0 else f"{said} ago"


def took(seconds: float) -> str:
    """A duration as text: `0.003 s`, `12.4 s`, `0:03:20`."""
    if seconds >= 60:
        return str(timedelta(seconds=round(seconds)))
    return f"{seconds:.3f} s" if seconds < 10 else f"{seconds:.1f} s"


def money(cost_usd: Decimal | None) -> str:
    """A cost in USD; unknown is unknown, never 0."""
    if cost_usd is None:
        return "cost unknown"
    return "0 USD" if cost_usd == 0 else f"{cost_usd:.6f} USD"


def tokens(usage: Usage) -> str:
    """Tokens, in and out."""
    return f"{usage.total_tokens:,} tokens ({usage.input_tokens:,} in, {usage.output_tokens:,} out)"


class Printer:
    """Writes to standard output and standard error; with `as_json` only one document goes to standard output.

    Args:
        as_json: hold back every line; `document` prints.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._out = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._err = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks on."""
        return self._out.is_terminal

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line, or several."""
        if not self.as_json:
            self._out.print(Text(clean(text), style=style))

    def piece(self, text: str) -> None:
        """Write a piece of a line and leave the cursor behind it."""
        if not self.as_json:
            self._out.print(Text(clean(text)), end="")
            self._out.file.flush()

    def note(self, text: str, style: str = "") -> None:
        """Write a line to standard error: for a person, never part of the output."""
        self._err.print(Text(clean(text), style=style))

    def fields(self, rows: Sequence[tuple[str, str]], indent: str = "  ") -> None:
        """Write names and values, the values under each other; further lines of a value are indented like it."""
        width = max((len(name) for name, _ in rows), default=0)
        for name, value in rows:
            first, *rest = clean(value).split("\n") if value else [""]
            self.line(f"{indent}{name:<{width}}{_GAP}{first}".rstrip())
            for more in rest:
                self.line(f"{indent}{'':<{width}}{_GAP}{more}")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write rows in columns; where the terminal is too narrow for that, as a block for each row. Nothing is cut."""
        cells = [[clean(cell).replace("\n", " ").rstrip() for cell in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(head, *cells, strict=True)]
        total = sum(widths) + len(_GAP) * (len(widths) - 1)
        if self.is_terminal and total > self._out.width:
            for row in cells:
                self.line(row[0].strip(), "bold")
                self.fields([(name.lower(), cell) for name, cell in zip(head[1:], row[1:], strict=True) if cell])
            return
        self.line(_columns(head, widths), "bold")
        for row in cells:
            self.line(_columns(row, widths))

    def document(self, value: Any) -> None:
        """Write one JSON document, if JSON was asked for."""
        if self.as_json:
            sys.stdout.write(hide(json.dumps(value, ensure_ascii=False, indent=2, default=_plain)) + "\n")


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip()


def _plain(value: object) -> str:
    return str(value)
