"""Targets of a requirement: a tool's name, its class, or the tool itself. A typo is an error when the agent is made."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TypeAlias

from backstay.core.errors import RequirementError
from backstay.tools.tool import Tool
from backstay.tools.toolset import PROPOSE

Target: TypeAlias = "str | type[Tool] | Tool"
Targets: TypeAlias = "Target | Sequence[Target]"


def known_targets(tools: Sequence[Tool]) -> tuple[str, ...]:
    """Names that can be targets, in order; `propose_action` where one of the tools can only be proposed."""
    names = tuple(tool.name for tool in tools)
    return (*names, PROPOSE) if any(tool.is_hidden for tool in tools) else names


def find_one(target: Target, tools: Sequence[Tool], said: str) -> str:
    """The name of the one tool that is meant.

    Raises:
        RequirementError: when there is none, or several of the class.
    """
    names = find(target, tools, said)
    if len(names) > 1:
        raise RequirementError(f"{said}: several tools are meant by {_shown(target)}: {', '.join(names)}; name one")
    return names[0]


def find(targets: Targets, tools: Sequence[Tool], said: str) -> tuple[str, ...]:
    """The names of all tools that are meant, each once.

    Raises:
        RequirementError: for a target that no tool answers to.
    """
    several = targets if isinstance(targets, Sequence) and not isinstance(targets, str) else (targets,)
    return tuple(dict.fromkeys(name for one in several for name in _find(one, tools, said)))


def _find(target: Target, tools: Sequence[Tool], said: str) -> Sequence[str]:
    known = known_targets(tools)
    if isinstance(target, Tool):
        target = target.name
    if isinstance(target, str):
        if target in known:
            return (target,)
        near = get_close_matches(target, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; the tools are: {', '.join(known) or 'none'}"
        raise RequirementError(f"{said}: there is no tool {target!r}{hint}")
    if not (isinstance(target, type) and issubclass(target, Tool)):
        raise RequirementError(f"{said}: {target!r} is no target; give a tool's name, its class, or the tool")
    found = known if target is Tool else [tool.name for tool in tools if isinstance(tool, target)]
    if not found:
        raise RequirementError(f"{said}: no tool of the agent is a {target.__name__}")
    return found


def _shown(target: object) -> str:
    return target.__name__ if isinstance(target, type) else repr(target)
