"""`ReadFileTool`: lines of a text file. Source: SPEC K5."""

from __future__ import annotations

import codecs
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

from pydantic import Field

from backstay.core.context import RunContext
from backstay.core.errors import ToolInputError
from backstay.core.meanings import Quantity
from backstay.core.messages import Json, ToolResult
from backstay.toolkit.files.tool import FileInput, FileTool, OneFile
from backstay.tools.paths import PathError, Root, shown
from backstay.tools.summary import weigh
from backstay.tools.threads import run_in_thread

_MIB = 1_048_576
_BLOCK = 262_144
_SCAN = 256 * _MIB
"""Through how much of a file lines are counted, in bytes: a thread that counts cannot be stopped."""
_FOREIGN_BOMS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


class ReadFileInput(FileInput):
    """Which lines of which file."""

    path: OneFile = Field(description="The file, relative to the root folder, such as docs/plan.md.")
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


class ReadFileTool(FileTool):
    """Reads text files, some lines at a time.

    Its data is `{path, text, first_line, last_line, has_more, size}`; `text` is exactly what the file holds. The model
    is shown numbered lines, as many as fit into a result, and the line to read on from.

    Args:
        root: the folder that holds the files; nothing outside can be read.
        max_bytes: how much of a file one call reads at most, in bytes.
        untrusted: whether the files may hold other people's text. False only where nobody else can write to them.
    """

    name = "read_file"
    description = (
        "Read a text file (UTF-8) of the working folder. Use it when the user names a file, or you need what stands in "
        "one. Each line comes after its number and a tab, which are not part of the file; read on with offset."
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
        super().__init__(root, untrusted=untrusted)
        self.max_bytes = max_bytes

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
    passed = read = 0
    block = b""
    while passed < lines:
        is_open = bool(block) and not block.endswith(b"\n")
        block = file.read(_BLOCK)
        if not block:
            return passed + is_open
        if read >= _SCAN:
            reach = f"lines are counted through {_SCAN // _MIB} MiB of a file"
            raise ToolInputError(f"offset: expected at most {passed:,}, got {lines + 1}; {reach}")
        read += len(block)
        found = block.count(b"\n")
        if passed + found >= lines:
            rest = block.split(b"\n", lines - passed)[-1]
            file.seek(-len(rest), io.SEEK_CUR)
        passed = min(passed + found, lines)
    return passed


def _lines(chunk: bytes, path: str, *, is_whole: bool) -> list[str]:
    """Lines with their ends. What breaks off at the end of the chunk is left out, unless it is all there is."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(chunk, is_whole)
    except UnicodeDecodeError:
        raise _not_text(path) from None
    if "\0" in text:
        raise _not_text(path)
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
