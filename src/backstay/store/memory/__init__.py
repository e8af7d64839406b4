"""The store of a process: keeps the objects, forgets finished runs that had no session."""

from backstay.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
