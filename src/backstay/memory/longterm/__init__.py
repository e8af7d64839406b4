"""Long-term memory: what outlives a session, for each principal, with its label and where it is from."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backstay.memory.longterm.entry import Author, Entry, Found, LongTermMemory
    from backstay.memory.longterm.in_memory import InMemoryLongTerm
    from backstay.memory.longterm.place import beside, open_long_term
    from backstay.memory.longterm.remembering import Remembering
    from backstay.memory.longterm.sqlite import SQLiteLongTerm

_MODULE_OF = {
    "Author": "entry",
    "Entry": "entry",
    "Found": "entry",
    "InMemoryLongTerm": "in_memory",
    "LongTermMemory": "entry",
    "Remembering": "remembering",
    "SQLiteLongTerm": "sqlite",
    "beside": "place",
    "open_long_term": "place",
}

__all__ = [
    "Author",
    "Entry",
    "Found",
    "InMemoryLongTerm",
    "LongTermMemory",
    "Remembering",
    "SQLiteLongTerm",
    "beside",
    "open_long_term",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'backstay.memory.longterm' has no attribute {name!r}")
    return getattr(import_module(f"backstay.memory.longterm.{module}"), name)
