"""Patterns that are compiled when they are first used: a program pays only for those it needs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator


class Pattern:
    """A regular expression, compiled at its first use; the methods are those of `re.Pattern`."""

    __slots__ = ("_compiled", "_flags", "pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self._flags)
        return self._compiled

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """See `re.Pattern.search`."""
        return self.compiled.search(text, start, end)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """See `re.Pattern.match`."""
        return self.compiled.match(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """See `re.Pattern.fullmatch`."""
        return self.compiled.fullmatch(text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """See `re.Pattern.finditer`."""
        return self.compiled.finditer(text, start, end)

    def findall(self, text: str) -> list[str]:
        """See `re.Pattern.findall`."""
        return self.compiled.findall(text)

    def split(self, text: str) -> list[str]:
        """See `re.Pattern.split`."""
        return self.compiled.split(text)

    def sub(self, put: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """See `re.Pattern.sub`."""
        return self.compiled.sub(put, text, count)
