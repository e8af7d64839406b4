"""Backstay: agents that survive production. The framework gives ability, the boundary gives safety.

Names are loaded when they are first used, so that `import backstay` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backstay.agents import (
        Agent,
        AskPermissionRequirement,
        ConditionalRequirement,
        Middleware,
        RunResult,
        requirement,
    )
    from backstay.boundary import Boundary, Constraint, Deciders, Decision, Limits, PendingAction
    from backstay.core.context import Principal, RunContext, Verdict
    from backstay.core.errors import BackstayError, ToolError, ToolInputError
    from backstay.core.events import Emitter, Event, events
    from backstay.core.files import File
    from backstay.core.meanings import DateRange, FilePath, FreeText, Id, Money, Quantity, Recipient, Url
    from backstay.core.messages import Risk, ToolResult
    from backstay.core.templates import PromptTemplate
    from backstay.memory import ReadOnlyMemory, SlidingMemory, SummarizeMemory, TokenMemory, UnconstrainedMemory
    from backstay.tools import Credential, Deferred, Tool, Toolset, tool

_WHERE = {
    "backstay.agents": (
        "Agent", "AskPermissionRequirement", "ConditionalRequirement", "Middleware", "RunResult", "requirement",
    ),
    "backstay.boundary": ("Boundary", "Constraint", "Deciders", "Decision", "Limits", "PendingAction"),
    "backstay.core.context": ("Principal", "RunContext", "Verdict"),
    "backstay.core.errors": ("BackstayError", "ToolError", "ToolInputError"),
    "backstay.core.events": ("Emitter", "Event", "events"),
    "backstay.core.files": ("File",),
    "backstay.core.meanings": (
        "DateRange", "FilePath", "FreeText", "Id", "Money", "Quantity", "Recipient", "Url",
    ),
    "backstay.core.messages": ("Risk", "ToolResult"),
    "backstay.core.templates": ("PromptTemplate",),
    "backstay.memory": (
        "ReadOnlyMemory", "SlidingMemory", "SummarizeMemory", "TokenMemory", "UnconstrainedMemory",
    ),
    "backstay.tools": ("Credential", "Deferred", "Tool", "Toolset", "tool"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}

__version__ = "0.1.0.dev0"
__all__ = [
    "Agent",
    "AskPermissionRequirement",
    "BackstayError",
    "Boundary",
    "ConditionalRequirement",
    "Constraint",
    "Credential",
    "DateRange",
    "Deciders",
    "Decision",
    "Deferred",
    "Emitter",
    "Event",
    "File",
    "FilePath",
    "FreeText",
    "Id",
    "Limits",
    "Middleware",
    "Money",
    "PendingAction",
    "Principal",
    "PromptTemplate",
    "Quantity",
    "ReadOnlyMemory",
    "Recipient",
    "Risk",
    "RunContext",
    "RunResult",
    "SlidingMemory",
    "SummarizeMemory",
    "TokenMemory",
    "Tool",
    "ToolError",
    "ToolInputError",
    "ToolResult",
    "Toolset",
    "UnconstrainedMemory",
    "Url",
    "Verdict",
    "events",
    "requirement",
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
