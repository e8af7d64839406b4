"""Files inside one root folder: read, find, delete. Every path goes through `tools.paths.Root`. Source: SPEC K5."""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from backstay.core.context import RunContext
from backstay.core.errors import ToolError, ToolInputError
from backstay.core.meanings import FilePath, Quantity
from backstay.core.messages import Json, ToolResult
from backstay.tools.paths import Entry, Parts, PathError, Root, Walk, shown
from backstay.tools.summary import weigh
from backstay.tools.threads import run_in_thread
from backstay.tools.tool import Tool

_MIB = 1_048_576
_SCAN = 64 * _MIB
"""How far into a file lines are counted, in bytes: a thread that counts cannot be stopped."""
_FOREIGN_BOMS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}

_OneFile = Annotated[str, FilePath(), Field(min_length=1, max_length=1024)]
"""Short enough that the person who decides about it sees all of it."""


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReadFileInput(_Input):
    """Which lines of which file."""

    path: _OneFile = Field(description="The file, relative to the root folder, such as docs/plan.md.")
    offset: int = Field(default=1, ge=1, description="The first line to read, counted from 1.")
    limit: Annotated[int, Quantity("lines")] = Field(
        default=2_000, ge=1, le=10_000, description="How many lines to read at most."
    )


class _Slice(NamedTuple):
    """Lines of a file, with their line ends."""

    lines: list[str]
    first: int
    has_more: bool
    size: int
    """Bytes of the whole file."""

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


class ReadFileTool(Tool):
    """Reads text files, some lines at a time.

    Its data is `{path, text, first_line, last_line, has_more, size}`; `text` is exactly what the file holds. The model is
    shown numbered lines, as many as fit into a result, and the line to read on from.

    Args:
        root: the folder that holds the files; nothing outside can be read.
        max_bytes: how much of a file one call reads at most, in bytes.
        untrusted: whether the files may hold other people's text. False only where nobody else can write to them.
    """

    name = "read_file"
    description = (
        "Read a text file (UTF-8) of the working folder. Use it when the user names a file, or you need what stands in "
        "one. Lines come with their numbers and a tab, which are not part of the file; read on in a long file with offset."
    )
    input_schema = ReadFileInput
    risk = "read"
    keep = ("path",)
    timeout = 20.0
    examples = (
        ("What does the README say?", {"path": "README.md"}),
        ("Show me lines 200 to 250 of server/app.py", {"path": "server/app.py", "offset": 200, "limit": 51}),
        ("看一下会议记录", {"path": "会议/记录.txt"}),
    )

    def __init__(self, root: Root | str | Path, *, max_bytes: int = _MIB, untrusted: bool = True) -> None:
        self.root = _root(root)
        self.max_bytes = max_bytes
        self.untrusted = untrusted
        self.downstream = _downstream(self.root)

    async def _run(self, input: ReadFileInput, context: RunContext[Any]) -> ToolResult:
        found: _Slice = await run_in_thread(partial(self._read, input), self.name)
        return ToolResult(
            ok=True, summary=_numbered(input.path, found, context.result_tokens), data=_read_data(input, found)
        )

    def _read(self, input: ReadFileInput) -> _Slice:
        with self.root.open_read(input.path) as file:
            _require_text(file, input.path)
            passed = _skip(file, input.offset - 1)
            chunk = file.read(self.max_bytes + 1)
            size = file.seek(0, io.SEEK_END)
        if not chunk and input.offset > 1:
            raise ToolInputError(f"offset: expected at most {passed:,}, got {input.offset}; the file has no more lines")
        is_over = len(chunk) > self.max_bytes
        lines = _lines(chunk[: self.max_bytes], input.path, is_whole=not is_over)
        has_more = is_over or len(lines) > input.limit
        return _Slice(lines[: input.limit], input.offset, has_more, size)


def _read_data(input: ReadFileInput, found: _Slice) -> Json:
    return {
        "path": input.path,
        "text": "".join(found.lines),
        "first_line": found.first,
        "last_line": found.last,
        "has_more": found.has_more,
        "size": found.size,
    }


def _require_text(file: BinaryIO, path: str) -> None:
    """Refuse what is no UTF-8 text, and stand after its byte order mark if it has one."""
    head = file.read(8192)
    for bom, encoding in _FOREIGN_BOMS.items():
        if head.startswith(bom):
            raise _not_text(path, f"is {encoding}")
    if b"\0" in head:
        raise _not_text(path)
    file.seek(len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0)


def _not_text(path: str, reason: str = "is binary or in another encoding") -> PathError:
    return PathError(path, reason, expected="a text file in UTF-8")


def _skip(file: BinaryIO, lines: int) -> int:
    """Pass so many lines, or all there are, and return how many that was."""
    passed, is_open = 0, False
    while passed < lines:
        piece = file.readline(65_536)
        if not piece:
            return passed + is_open
        if file.tell() > _SCAN:
            raise ToolInputError(
                f"offset: expected at most {passed:,}, got {lines + 1}; a file is read no further than {_SCAN // _MIB} MiB"
            )
        is_open = not piece.endswith(b"\n")
        passed += not is_open
    return passed


def _lines(chunk: bytes, path: str, *, is_whole: bool) -> list[str]:
    """Lines with their ends. What breaks off at the end of the chunk is left out, unless it is all there is."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(chunk, is_whole)
    except UnicodeDecodeError:
        raise _not_text(path) from None
    lines = list(io.StringIO(text, newline="\n"))
    if not is_whole and len(lines) > 1 and not lines[-1].endswith("\n"):
        del lines[-1]
    return lines


def _numbered(path: str, found: _Slice, max_tokens: int) -> str:
    """Numbered lines, as many as fit, under a line that says which they are and where to read on."""
    if not found.lines:
        return f"{shown(path)} is empty."
    rows = [f"{number:>6}\t{_bare(line)}" for number, line in enumerate(found.lines, found.first)]
    kept = _fitting(rows, max_tokens - 64)
    last = found.first + max(kept, 1) - 1
    more = found.has_more or last < found.last
    told = f"the file goes on, read on with offset={last + 1}" if more else "the end of the file"
    if kept == 0:  # one line alone is too long: the pipeline cuts it, and recall has all of it
        return f"{shown(path)}, line {last} alone is too long to show whole; {told}: {rows[0]}"
    return "\n".join([f"{shown(path)}, lines {found.first} to {last}; {told}", *rows[:kept]])


def _bare(line: str) -> str:
    return line.rstrip("\n").removesuffix("\r")


def _fitting(rows: Sequence[str], max_tokens: int) -> int:
    """How many of the first rows fit into so many tokens."""
    spent = 0
    for count, row in enumerate(rows):
        spent += weigh(row) + 1
        if spent > max_tokens:
            return count
    return len(rows)


class GlobInput(_Input):
    """Which names to look for."""

    pattern: str = Field(
        min_length=1,
        max_length=512,
        description="* any characters of a name, ? one, [abc] one of these, ** any folders; such as src/**/*.py.",
    )


class GlobTool(Tool):
    """Finds files and folders by name, without following links.

    Its data is `{pattern, files: [{path, size, modified}], total, more, is_whole}`, sorted by path. A folder's path ends
    in `/` and has no size. As in a shell, `*` and `**` leave out names that begin with a dot; write the dot to see them.

    Args:
        root: the folder that is searched.
        max_results: how many are listed at most; the rest is counted.
        max_entries: how many names are looked at in total before the search ends and says so.
        untrusted: whether other people may have named the files.
    """

    name = "find_files"
    description = (
        "Find files and folders of the working folder by name, with size and time of change. Use it when you do not know "
        "a file's exact path, or the user asks which files there are. It does not look inside files."
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
        self.root = _root(root)
        self.max_results = max_results
        self.max_entries = max_entries
        self.untrusted = untrusted
        self.downstream = _downstream(self.root)

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
        raise ToolInputError(
            f"pattern: expected names below the root folder such as src/**/*.py, without leading / and .., got {pattern!r}"
        )
    if len(segments) > 32:
        raise ToolInputError(f"pattern: expected at most 32 names between slashes, got {len(segments)}")
    if re.search(r"\{[^{}]*,[^{}]*\}", pattern):
        raise ToolInputError(f"pattern: {{a,b}} is not known here, got {pattern!r}; look once for each of them")
    return segments


def _file_data(entry: Entry) -> Json:
    is_folder = entry.kind == "folder"
    path = f"{entry.path}/" if is_folder else entry.path
    return {"path": path, "size": None if is_folder else entry.size, "modified": _when(entry.modified)}


def _file_line(entry: Entry) -> str:
    size = "folder" if entry.kind == "folder" else _bytes(entry.size)
    return f"{shown(entry.path)}{'/' if entry.kind == 'folder' else ''}\t{size}\t{_when(entry.modified)}"


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


class DeleteFileInput(_Input):
    """What to delete."""

    paths: list[_OneFile] = Field(
        min_length=1,
        max_length=100,
        description="The files, relative to the root folder: every one by its own path, no patterns and no folders.",
    )


class DeleteFileTool(Tool):
    """Deletes files for good. High: a model only proposes it, a person sees each file and decides.

    All files are looked at before the first is deleted; if one cannot be deleted, none is. Its data is
    `{deleted, kept: [{path, reason}]}`; `kept` is empty unless files changed while it was at work.

    Args:
        root: the folder that holds the files; nothing outside can be deleted.
    """

    name = "delete_file"
    description = (
        "Delete files of the working folder for good; it cannot be undone. Use it when the user asks to delete or remove "
        "files and you know the exact path of each. All of them are deleted or, if one cannot be, none."
    )
    input_schema = DeleteFileInput
    risk = "high"
    effect = "once"
    sinks = frozenset({"paths"})
    keep = ("deleted", "kept")
    timeout = 30.0
    max_attempts = 1
    sequential = True
    examples = (
        ("Delete the old draft", {"paths": ["drafts/offer-old.md"]}),
        ("Remove both exports from January", {"paths": ["exports/2026-01-05.csv", "exports/2026-01-19.csv"]}),
        ("把临时文件删掉", {"paths": ["临时/缓存.txt"]}),
    )

    def __init__(self, root: Root | str | Path) -> None:
        self.root = _root(root)
        self.downstream = _downstream(self.root)

    async def preview(self, input: DeleteFileInput, context: RunContext[Any]) -> str:
        """Every file with its size and time of change as they are now, and which could not be deleted."""
        return str(await run_in_thread(partial(self._preview, input.paths), self.name))

    def _preview(self, paths: list[str]) -> str:
        lines = [self._preview_line(path) for path in paths]
        return "\n".join([f"Delete {_files(len(paths))} in {shown(str(self.root.folder))} for good:", *lines])

    def _preview_line(self, path: str) -> str:
        try:
            entry = self.root.removable(path)
        except PathError as error:
            return f"- {shown(path)}: CANNOT be deleted, it {error.reason}"
        return f"- {shown(entry.path)}: {_bytes(entry.size)}, changed {_when(entry.modified)}"

    async def _run(self, input: DeleteFileInput, context: RunContext[Any]) -> object:
        return await run_in_thread(partial(self._delete, input.paths), self.name)

    def _delete(self, paths: list[str]) -> object:
        deleted: list[str] = []
        kept: dict[str, str] = {}
        for entry in self._all_removable(paths):
            try:
                self.root.unlink(entry.path, expect=entry.identity)
                deleted.append(entry.path)
            except ToolError as error:  # it changed since it was looked at a moment ago
                kept[entry.path] = error.reason if isinstance(error, PathError) else error.message
        if not kept:
            return {"deleted": deleted, "kept": []}
        told = "; ".join(f"{path!r} {reason}" for path, reason in kept.items())
        if not deleted:
            raise ToolInputError(f"Nothing was deleted. paths: {told}")
        told = f"Deleted {', '.join(map(repr, deleted))}. Not deleted: {told}"
        rows = [{"path": path, "reason": reason} for path, reason in kept.items()]
        return ToolResult(
            ok=False, summary=told, error=told, code="tool.failed", data={"deleted": deleted, "kept": rows}
        )

    def _all_removable(self, paths: list[str]) -> list[Entry]:
        """Every file once, however often it is named.

        Raises:
            ToolInputError: naming each path that cannot be deleted.
        """
        entries: dict[tuple[int, int], Entry] = {}
        problems: list[str] = []
        for number, path in enumerate(paths):
            try:
                entry = self.root.removable(path)
                entries.setdefault(entry.identity, entry)
            except PathError as error:
                problems.append(f"paths.{number}: {path[:200]!r} {error.reason}")
        if problems:
            raise ToolInputError("Nothing was deleted. " + "; ".join(problems))
        return list(entries.values())


def _root(root: Root | str | Path) -> Root:
    return root if isinstance(root, Root) else Root(root)


def _downstream(root: Root) -> str:
    """A circuit of its own for each folder: one broken disk does not close the others."""
    return f"files:{root.folder}"


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _bytes(size: int) -> str:
    return f"{size:,} byte{'' if size == 1 else 's'}"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OLDEST, _NEWEST = -62_135_596_800, 253_402_300_799
"""The years 1 and 9999; a file's time can be set beyond them, which no calendar here can write."""


def _when(seconds: float) -> str:
    moment = _EPOCH + timedelta(seconds=int(min(max(seconds, _OLDEST), _NEWEST)))
    return moment.isoformat().replace("+00:00", "Z")
