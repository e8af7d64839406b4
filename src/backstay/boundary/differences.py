"""What is different about a call that is asked again in the place of one that was approved. Source: SPEC B4."""

from __future__ import annotations

from backstay.boundary.actions import PendingAction
from backstay.core.canon import canonical
from backstay.core.messages import Json

_MOST = 200
"""Characters of a value that are shown."""


def difference(before: PendingAction, now: PendingAction) -> str:
    """Old → new for every argument, and what asks now that did not before; in one line."""
    old = dict(before.call.args) if before.call else {}
    new = dict(now.call.args) if now.call else {}
    told = [
        f"{name} {_shown(old, name)} → {_shown(new, name)}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
    if before.tool_digest != now.tool_digest:
        told.append("the tool has changed")
    if before.needs != now.needs:
        told.append("others have to decide")
    more = [rule for rule in now.rules if rule not in before.rules]
    if more:
        told.append(f"asked by {', '.join(more)} as well")
    return f"Instead of {before.id}: {'; '.join(told) or 'the policy has changed'}."


def _shown(args: dict[str, Json], name: str) -> str:
    if name not in args:
        return "(nothing)"
    value = args[name]
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
