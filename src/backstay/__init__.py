"""Backstay: agents that survive production. The framework gives ability, the boundary gives safety.

Names are loaded when they are first used, so that `import backstay` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backstay.agents import Agent, Middleware, RunResult
    from backstay.boundary import Boundary, Constraint, Decision, Limits, PendingAction
    from backstay.core.context import Principal, RunContext, Verdict
    from backstay.core.errors import BackstayError, ToolError, ToolInputError
    from backstay.core.events import Emitter, Event, events
    from backstay.core.meanings import DateRange, FilePath, FreeText, Id, Money, Quantity, Recipient, Url
    from backstay.core.messages import Risk, ToolResult
    from backstay.tools import Tool, Toolset, tool

_WHERE = {
    "backstay.agents": ("Agent", "Middleware", "RunResult"),
    "backstay.boundary": ("Boundary", "Constraint", "Decision", "Limits", "PendingAction"),
    "backstay.core.context": ("Principal", "RunContext", "Verdict"),
    "backstay.core.errors": ("BackstayError", "ToolError", "ToolInputError"),
    "backstay.core.events": ("Emitter", "Event", "events"),
    "backstay.core.meanings": (
        "DateRange", "FilePath", "FreeText", "Id", "Money", "Quantity", "Recipient", "Url",
    ),
    "backstay.core.messages": ("Risk", "ToolResult"),
    "backstay.tools": ("Tool", "Toolset", "tool"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}

__version__ = "0.1.0.dev0"
__all__ = [
    "Agent",
    "BackstayError",
    "Boundary",
    "Constraint",
    "DateRange",
    "Decision",
    "Emitter",
    "Event",
    "FilePath",
    "FreeText",
    "Id",
    "Limits",
    "Middleware",
    "Money",
    "PendingAction",
    "Principal",
    "Quantity",
    "Recipient",
    "Risk",
    "RunContext",
    "RunResult",
    "Tool",
    "ToolError",
    "ToolInputError",
    "ToolResult",
    "Toolset",
    "Url",
    "Verdict",
    "events",
    "tool",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'backstay' has no attribute {name!r}")
    found = getattr(import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
