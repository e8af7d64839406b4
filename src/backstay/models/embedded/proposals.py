"""`propose_action` seen from inside: its branches are chosen and filled like tools, and wrapped again when called.

Source: SPEC B3, G6; tools/toolset.py writes the schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backstay.core.messages import Args, Json, ToolSpec

PROPOSE = "propose_action"
_LINE = re.compile(r"^- ([A-Za-z0-9_-]+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """What can be chosen: ordinary tools, and actions that are only proposed."""

    options: tuple[ToolSpec, ...]
    proposed: frozenset[str]
    """Names of the actions among them."""

    @classmethod
    def of(cls, tools: Iterable[ToolSpec]) -> Menu:
        """Spread `propose_action` into its branches, in the place where it stands."""
        options: list[ToolSpec] = []
        actions: list[str] = []
        for spec in tools:
            branches = _branches(spec) if spec.name == PROPOSE else []
            options += branches or [spec]
            actions += [one.name for one in branches]
        return cls(options=tuple(options), proposed=frozenset(actions))

    def find(self, name: str) -> ToolSpec | None:
        """The option of that name."""
        return next((one for one in self.options if one.name == name), None)

    def under(self, name: str) -> tuple[ToolSpec, ...]:
        """What a forced `tool:NAME` leaves: that tool, or for `propose_action` every action."""
        if name == PROPOSE:
            return tuple(one for one in self.options if one.name in self.proposed)
        return tuple(one for one in self.options if one.name == name)


def wrap(name: str, args: Args, reason: str) -> Args:
    """The arguments of `propose_action` for an action."""
    return {"action": {"name": name, "arguments": args}, "reason": reason}


def unwrap(args: Args) -> tuple[str, Args] | None:
    """Action and arguments of a proposal; None if it has not that shape."""
    action = args.get("action")
    if not isinstance(action, Mapping):
        return None
    name, inner = action.get("name"), action.get("arguments", {})
    return (name, inner) if isinstance(name, str) and isinstance(inner, Mapping) else None


def _branches(spec: ToolSpec) -> list[ToolSpec]:
    described = dict(_LINE.findall(spec.description))
    definitions = spec.schema.get("$defs")
    found: list[ToolSpec] = []
    for branch in _list(_at(spec.schema, "properties", "action", "anyOf")):
        name, schema = _at(branch, "properties", "name", "const"), _at(branch, "properties", "arguments")
        if isinstance(name, str) and isinstance(schema, Mapping):
            whole = {**schema, "$defs": definitions} if definitions else schema
            found.append(ToolSpec(name=name, description=described.get(name, ""), schema=whole))
    return found


def _at(value: Json, *keys: str) -> Json:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _list(value: Json) -> tuple[Json, ...]:
    return tuple(value) if isinstance(value, tuple | list) else ()
