"""Caches of results of read-only tools. A falsy hit is a hit, failures are not stored, equal calls at once run once.

The key is the canonical JSON of the *validated* input with the tool's name and version, and the principal if the tool
takes a context. A result that came with files belongs to its conversation and is not kept. Source: SPEC T8.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from backstay.tools.cache.memory import MemoryCache
from backstay.tools.cache.protocol import Cache

if TYPE_CHECKING:
    from backstay.tools.cache.disk import DiskCache

__all__ = ["Cache", "DiskCache", "MemoryCache"]


def __getattr__(name: str) -> Any:
    """`DiskCache` brings a database with it, which a program that has none need not load."""
    if name != "DiskCache":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("backstay.tools.cache.disk").DiskCache
