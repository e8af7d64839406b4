"""A proposal that lacks a number: look it up first, then propose. "Refund order 1001" → the order → its amount.

Only for actions that a person decides, only with tools whose name says that they look something up, and only for a
field of the same name. A text is never taken from a result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from backstay.core.messages import Args, Json
from backstay.models.embedded.proposals import Menu
from backstay.models.embedded.slots import Slot, slots_of
from backstay.models.embedded.turn import Turn

_LOOKS = re.compile(r"^(?:get|find|show|read|look|lookup|fetch|view|check|describe)(?:_|$)")


def look_up_for(missing: Sequence[Slot], args: Args, menu: Menu, turn: Turn) -> tuple[str, Args] | None:
    """The first tool that looks something up with what is known, unless one was tried; None if a text is missing."""
    if turn.returns or any(slot.kind not in ("number", "integer") for slot in missing):
        return None
    for spec in menu.options:
        needed = [slot.name for slot in slots_of(spec) if slot.is_required]
        if spec.name not in menu.proposed and _LOOKS.match(spec.name) and needed and set(needed) <= set(args):
            return spec.name, {name: args[name] for name in needed}
    return None


def looked_up(missing: Sequence[Slot], turn: Turn) -> dict[str, Json]:
    """Numbers of this turn's results under the names of missing slots, newest result first."""
    found: dict[str, Json] = {}
    for part in reversed(turn.returns):
        data = part.result.data if part.result.ok else None
        for slot in missing:
            value = data.get(slot.name) if isinstance(data, Mapping) else None
            if slot.kind in ("number", "integer") and slot.name not in found and _is_number(value):
                found[slot.name] = value
    return found


def _is_number(value: Json) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"\d+(?:\.\d+)?", value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)
