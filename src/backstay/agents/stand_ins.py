"""Stand-ins: an agent's definition with other tools under the same names, for tests. Source: SPEC G12."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from backstay.agents.definition import Definition, compile_rules
from backstay.core.errors import SetupError
from backstay.tools.tool import Tool
from backstay.tools.toolset import Toolset


def with_stand_ins(definition: Definition, tools: Iterable[Tool]) -> Definition:
    """The definition with these tools in the places of those of the same names; rules are bound to them anew.

    Raises:
        SetupError: code `tool.stand_in`, for a name that the agent does not have.
    """
    given = {tool.name: tool for tool in tools}
    alien = sorted(name for name in given if definition.toolset.get(name) is None)
    if alien:
        known = ", ".join(sorted(tool.name for tool in definition.toolset))
        told = f"{definition.name} has no tool {', '.join(alien)} to stand in for. It has: {known}"
        raise SetupError(told, code="tool.stand_in")
    toolset = Toolset([given.get(tool.name, tool) for tool in definition.toolset])
    rules, reports = compile_rules(definition.boundary, toolset)
    return replace(definition, toolset=toolset, constraints=rules, reports=reports)
