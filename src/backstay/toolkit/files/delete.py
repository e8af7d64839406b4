"""`DeleteFileTool`: files gone for good, once a person has decided. Source: SPEC K5, T13."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from backstay.core.context import RunContext
from backstay.core.errors import ToolError, ToolInputError
from backstay.core.messages import ToolResult
from backstay.toolkit.files.look import size_of, when
from backstay.toolkit.files.tool import FileInput, FileTool, OneFile
from backstay.tools.paths import Entry, PathError, Root, shown
from backstay.tools.threads import run_in_thread


class DeleteFileInput(FileInput):
    """What to delete."""

    paths: list[OneFile] = Field(
        min_length=1,
        max_length=100,
        description="The files, relative to the root folder: every one by its own path, no patterns and no folders.",
    )


class DeleteFileTool(FileTool):
    """Deletes files for good. High: a model only proposes it, a person sees each file and decides.

    All files are looked at before the first is deleted; if one cannot be deleted, none is. Its data is
    `{deleted, kept: [{path, reason}]}`; `kept` is empty unless files changed while it was at work.

    Args:
        root: the folder that holds the files; nothing outside can be deleted.
    """

    name = "delete_file"
    description = (
        "Delete files of the working folder for good; it cannot be undone. Use it when the user asks to delete or "
        "remove files and you know the exact path of each. All of them are deleted or, if one cannot be, none."
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
        super().__init__(root, untrusted=False)

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
        return f"- {shown(entry.path)}: {size_of(entry.size)}, changed {when(entry.modified)}"

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


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"
