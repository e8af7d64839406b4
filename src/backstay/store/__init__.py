"""The store: runs, their journals, effects, pending actions, audit and traces, behind one protocol.

The stores are loaded when they are first used: a process has one of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backstay.store.memory import MemoryStore
    from backstay.store.open import open_store
    from backstay.store.sqlite import SQLiteStore

_MODULE_OF = {
    "MemoryStore": "backstay.store.memory",
    "SQLiteStore": "backstay.store.sqlite",
    "open_store": "backstay.store.open",
}

__all__ = ["MemoryStore", "SQLiteStore", "open_store"]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'backstay.store' has no attribute {name!r}")
    return getattr(import_module(module), name)
