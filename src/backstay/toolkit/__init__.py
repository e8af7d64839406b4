"""The built-in tools, one shelf a file; shelves do not know each other. Source: SPEC section 2."""

from backstay.toolkit.files import DeleteFileTool, GlobTool, ReadFileTool
from backstay.toolkit.think import ThinkSchema, ThinkTool

__all__ = ["DeleteFileTool", "GlobTool", "ReadFileTool", "ThinkSchema", "ThinkTool"]
