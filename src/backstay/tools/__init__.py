"""Tools: what an agent can do, how it is described to a model, and the one pipeline every call goes through."""

from typing import TYPE_CHECKING, Any

from backstay.tools import cache
from backstay.tools.cache import Cache, MemoryCache
from backstay.tools.credentials import Credential
from backstay.tools.deferred import Deferred
from backstay.tools.function import FunctionTool, tool
from backstay.tools.processes import ProcessResult, run_process
from backstay.tools.tool import Tool
from backstay.tools.toolset import PROPOSE, Toolset

if TYPE_CHECKING:
    from backstay.tools.cache import DiskCache

__all__ = [
    "PROPOSE",
    "Cache",
    "Credential",
    "Deferred",
    "DiskCache",
    "FunctionTool",
    "MemoryCache",
    "ProcessResult",
    "Tool",
    "Toolset",
    "run_process",
    "tool",
]


def __getattr__(name: str) -> Any:
    """`DiskCache` is loaded when it is first used."""
    if name != "DiskCache":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return cache.DiskCache
