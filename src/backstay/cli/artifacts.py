"""Writing the files of a run into a folder: never outside it, never over anything that is there.

A file's name is a tool's word, so it is a name and no path, and a link that stands in its place is not followed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from backstay.agents import RunResult
from backstay.core.errors import SetupError
from backstay.core.files import file_name
from backstay.store.protocol import RunStore

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_MOST = 1_000
"""Names tried for one file before giving up."""


def check_folder(folder: Path) -> None:
    """Make the folder if it is not there, for its owner alone.

    Raises:
        SetupError: code `cli.folder`, before anything has run.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"{folder} cannot be used for files ({error.strerror})", code="cli.folder") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SetupError(f"{folder} cannot be written to; name another folder", code="cli.folder")


async def save_files(store: RunStore, result: RunResult[Any], folder: Path) -> dict[str, str]:
    """Write every file of a run and return handle → path.

    Raises:
        SetupError: code `cli.folder`, when one cannot be written; those before it are.
    """
    saved: dict[str, str] = {}
    try:
        for one in result.artifacts:
            artifact, data = await store.artifact(result.session_id, one.ref)
            saved[one.ref] = str(_write(folder, file_name(artifact.name), data))
    except OSError as error:
        raise SetupError(f"a file cannot be written to {folder} ({error.strerror})", code="cli.folder") from error
    return saved


def _write(folder: Path, name: str, data: bytes) -> Path:
    """Write a new file; a name that is taken gets a number."""
    folder = folder.absolute()
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, f".{ending}") if dot and stem else (name, "")
    for number in range(1, _MOST):
        path = folder / (name if number == 1 else f"{stem}-{number}{ending}")
        try:
            fd = os.open(path, _NEW, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        return path
    raise FileExistsError(17, f"{name} is there {_MOST} times already")
