"""Memory: what of a session a model is shown, how it stays valid and small, and what outlives the session.

Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backstay.memory.bpe import Encoding
    from backstay.memory.buffers import BaseMemory, ReadOnlyMemory, SlidingMemory, UnconstrainedMemory
    from backstay.memory.longterm import (
        Entry,
        InMemoryLongTerm,
        LongTermMemory,
        Remembering,
        SQLiteLongTerm,
        open_long_term,
    )
    from backstay.memory.policies import WindowPolicy
    from backstay.memory.summarizing import SummarizeMemory
    from backstay.memory.token_memory import TokenHandlers, TokenMemory

_WHERE = {
    "bpe": ("Encoding",),
    "buffers": ("BaseMemory", "ReadOnlyMemory", "SlidingMemory", "UnconstrainedMemory"),
    "longterm": ("Entry", "InMemoryLongTerm", "LongTermMemory", "Remembering", "SQLiteLongTerm", "open_long_term"),
    "policies": ("WindowPolicy",),
    "summarizing": ("SummarizeMemory",),
    "token_memory": ("TokenHandlers", "TokenMemory"),
}
_MODULE_OF = {name: f"backstay.memory.{module}" for module, names in _WHERE.items() for name in names}

__all__ = [
    "BaseMemory",
    "Encoding",
    "Entry",
    "InMemoryLongTerm",
    "LongTermMemory",
    "ReadOnlyMemory",
    "Remembering",
    "SQLiteLongTerm",
    "SlidingMemory",
    "SummarizeMemory",
    "TokenHandlers",
    "TokenMemory",
    "UnconstrainedMemory",
    "WindowPolicy",
    "open_long_term",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'backstay.memory' has no attribute {name!r}")
    return getattr(import_module(module), name)
