"""Tools: what an agent can do, how it is described to a model, and the one pipeline every call goes through."""

from backstay.tools.cache import Cache, MemoryCache
from backstay.tools.function import FunctionTool, tool
from backstay.tools.tool import Tool
from backstay.tools.toolset import PROPOSE, Toolset

__all__ = ["PROPOSE", "Cache", "FunctionTool", "MemoryCache", "Tool", "Toolset", "tool"]
