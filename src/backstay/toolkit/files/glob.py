"""`GlobTool`: files and folders by name. Source: SPEC K5."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from backstay.core.context import RunContext
from backstay.core.errors import ToolInputError
from backstay.core.messages import Json, ToolResult
from backstay.toolkit.files.look import size_of, when
from backstay.toolkit.files.tool import FileInput, FileTool
from backstay.tools.paths import Entry, Parts, Root, Walk, shown
from backstay.tools.threads import run_in_thread


class GlobInput(FileInput):
    """Which names to look for."""

    pattern: str = Field(
        min_length=1,
        max_length=512,
        description="* any characters of a name, ? one, [abc] one of these, ** any folders; such as src/**/*.py.",
    )


class GlobTool(FileTool):
    """Finds files and folders by name, without following links.

    Its data is `{pattern, files: [{path, size, modified}], total, more, is_whole}`, sorted by path. A folder's path
    ends in `/` and has no size. As in a shell, `*` and `**` leave out names that begin with a dot; write the dot to see
    them.

    Args:
        root: the folder that is searched.
        max_results: how many are listed at most; the rest is counted.
        max_entries: how many names are looked at in total before the search ends and says so.
        untrusted: whether other people may have named the files.
    """

    name = "find_files"
    description = (
        "Find files and folders of the working folder by name, with size and time of change. Use it when you do not "
        "know a file's exact path, or the user asks which files there are. It does not look inside files."
    )
    input_schema = GlobInput
    risk = "read"
    timeout = 30.0
    examples = (
        ("Which Python files are there?", {"pattern": "**/*.py"}),
        ("What is in the reports folder?", {"pattern": "reports/*"}),
        ("找一下二月的发票", {"pattern": "**/*发票*2月*"}),
    )

    def __init__(
        self,
        root: Root | str | Path,
        *,
        max_results: int = 1_000,
        max_entries: int = 100_000,
        untrusted: bool = True,
    ) -> None:
        super().__init__(root, untrusted=untrusted)
        self.max_results = max_results
        self.max_entries = max_entries

    async def _run(self, input: GlobInput, context: RunContext[Any]) -> ToolResult:
        pattern = _Pattern(input.pattern)
        search = partial(self.root.walk, wants=pattern.matches, enters=pattern.leads, max_entries=self.max_entries)
        walk: Walk = await run_in_thread(search, self.name)
        listed = walk.entries[: self.max_results]
        more = len(walk.entries) - len(listed)
        data: Json = {
            "pattern": input.pattern,
            "files": [_file_data(entry) for entry in listed],
            "total": len(walk.entries),
            "more": more,
            "is_whole": walk.is_whole and not walk.unread,
        }
        head = _found_line(input.pattern, walk, more, self.max_entries)
        return ToolResult(ok=True, summary="\n".join([head, *map(_file_line, listed)]), data=data)


class _Pattern:
    """A glob pattern, matched name by name by keeping every place reached in it: no pattern can make it explode."""

    def __init__(self, pattern: str) -> None:
        self._segments = _segments(pattern)
        self._end = len(self._segments)
        self._start = self._open({0})
        self._folder: tuple[Parts, frozenset[int]] = ((), self._start)
        """The folder asked about last and the places reached after it: its files are asked about one after another."""

    def matches(self, parts: Parts) -> bool:
        """Whether the whole pattern fits the path."""
        return self._end in self._after(parts)

    def leads(self, parts: Parts) -> bool:
        """Whether something below that folder may fit."""
        return any(place < self._end for place in self._after(parts))

    def _after(self, parts: Parts) -> frozenset[int]:
        if not parts:
            return self._start
        if parts[:-1] != self._folder[0]:
            self._folder = (parts[:-1], self._after(parts[:-1]))
        return self._open(set(self._step(self._folder[1], unicodedata.normalize("NFC", parts[-1]))))

    def _step(self, places: frozenset[int], name: str) -> Iterator[int]:
        for place in places:
            if place == self._end:
                continue
            segment = self._segments[place]
            if name.startswith(".") and not segment.startswith("."):
                continue
            if segment == "**":
                yield place
            elif fnmatchcase(name, segment):
                yield place + 1

    def _open(self, reached: set[int]) -> frozenset[int]:
        """With the places after a `**`, which may also stand for no folder at all."""
        for place, segment in enumerate(self._segments):
            if place in reached and segment == "**":
                reached.add(place + 1)
        return frozenset(reached)


def _segments(pattern: str) -> tuple[str, ...]:
    segments = tuple(unicodedata.normalize("NFC", one) for one in pattern.split("/") if one not in ("", "."))
    if pattern.startswith("/") or ".." in segments or not segments or "\0" in pattern:
        expected = "names below the root folder such as src/**/*.py, without .. or a leading /"
        raise ToolInputError(f"pattern: expected {expected}, got {pattern!r}")
    if len(segments) > 32:
        raise ToolInputError(f"pattern: expected at most 32 names between slashes, got {len(segments)}")
    if re.search(r"\{[^{}]*,[^{}]*\}", pattern):
        raise ToolInputError(f"pattern: {{a,b}} is not known here, got {pattern!r}; look once for each of them")
    return segments


def _file_data(entry: Entry) -> Json:
    is_folder = entry.kind == "folder"
    path = f"{entry.path}/" if is_folder else entry.path
    return {"path": path, "size": None if is_folder else entry.size, "modified": when(entry.modified)}


def _file_line(entry: Entry) -> str:
    size = "folder" if entry.kind == "folder" else size_of(entry.size)
    return f"{shown(entry.path)}{'/' if entry.kind == 'folder' else ''}\t{size}\t{when(entry.modified)}"


def _found_line(pattern: str, walk: Walk, more: int, max_entries: int) -> str:
    total = len(walk.entries)
    told = [
        f"{total:,} path{'' if total == 1 else 's'} for {shown(pattern)}" if total else f"Nothing fits {shown(pattern)}"
    ]
    if more:
        told.append(f"the first {total - more:,} by path are listed, {more:,} more; narrow the pattern")
    if not walk.is_whole:
        told.append(f"the search ended after {max_entries:,} names, there may be others")
    if walk.unread:
        told.append(f"{walk.unread:,} folders or names could not be read")
    return "; ".join(told)
