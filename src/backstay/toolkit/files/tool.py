"""What the file tools have in common: a root folder, and how a file is named to them. Source: SPEC K5."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from backstay.core.meanings import FilePath
from backstay.tools.paths import Root
from backstay.tools.tool import Tool

OneFile: TypeAlias = Annotated[str, FilePath(), Field(min_length=1, max_length=1024)]
"""Short enough that the person who decides about it sees all of it."""


class FileInput(BaseModel):
    """Arguments of a file tool; others than the named ones are refused."""

    model_config = ConfigDict(extra="forbid")


class FileTool(Tool):
    """A tool that works inside one root folder.

    Args:
        root: the folder, or a `Root` that several tools share.
        untrusted: whether other people may have written or named the files. False only where nobody else can.
    """

    def __init__(self, root: Root | str | Path, *, untrusted: bool = True) -> None:
        self.root = root if isinstance(root, Root) else Root(root)
        self.untrusted = untrusted
        self.downstream = f"files:{self.root.folder}"  # a broken disk does not close the circuit of other folders
