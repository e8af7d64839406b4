"""Files inside one root folder. Every path goes through `tools.paths.Root`. Source: SPEC K5."""

from backstay.toolkit.files.delete import DeleteFileTool
from backstay.toolkit.files.glob import GlobTool
from backstay.toolkit.files.read import ReadFileTool

__all__ = ["DeleteFileTool", "GlobTool", "ReadFileTool"]
