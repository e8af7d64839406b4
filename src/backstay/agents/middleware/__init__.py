"""Middleware: the signature, and what is shipped. Each wraps a model request, a tool call or a run.

What is shipped is loaded when it is first used: most agents have none of it. Source: SPEC G8.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from backstay.agents.middleware.chain import Chains, Middleware, ModelNext, RunNext, ToolNext

if TYPE_CHECKING:
    from backstay.agents.middleware.cache import ResponseCache
    from backstay.agents.middleware.filters import ContentFilter, SecretFilter
    from backstay.agents.middleware.printer import TrajectoryPrinter
    from backstay.agents.middleware.rates import RateLimiter

_MODULE_OF = {
    "ContentFilter": "backstay.agents.middleware.filters",
    "RateLimiter": "backstay.agents.middleware.rates",
    "ResponseCache": "backstay.agents.middleware.cache",
    "SecretFilter": "backstay.agents.middleware.filters",
    "TrajectoryPrinter": "backstay.agents.middleware.printer",
}

__all__ = [
    "Chains",
    "ContentFilter",
    "Middleware",
    "ModelNext",
    "RateLimiter",
    "ResponseCache",
    "RunNext",
    "SecretFilter",
    "ToolNext",
    "TrajectoryPrinter",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'backstay.agents.middleware' has no attribute {name!r}")
    return getattr(import_module(module), name)
