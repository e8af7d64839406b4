"""The constraint block: the rules of a session as every request shows them, never shortened, never folded.

Byte-identical as long as the rules are. Source: SPEC M6, B8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from backstay.boundary.constraints import Constraint

_HEAD = "Rules in force. The framework checks them before every call and refuses what breaks them:"
_ADVISORY = "keep to it; it cannot be checked by the framework"


def constraint_block(constraints: Iterable[Constraint]) -> str:
    """Write the active rules, one a line in the order they came, or an empty text if there are none."""
    lines = [_line(constraint) for constraint in constraints if constraint.is_active]
    return "\n".join(["<rules>", _HEAD, *lines, "</rules>"]) if lines else ""


def _line(constraint: Constraint) -> str:
    how = _ADVISORY if constraint.check is None else constraint.render
    if constraint.status == "proposed":
        how += "; to be confirmed by the user"
    line = " ".join(f"- {constraint.id}: {constraint.text} ({how})".split())
    return re.sub(r"<(?=\s*/?\s*rules)", "&lt;", line, flags=re.IGNORECASE)  # nobody's words end the block
