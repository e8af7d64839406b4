"""Get rid of the temporary files: the agent looks, proposes exactly what it found, and a person decides.

    TIDY_FOLDER=~/Downloads backstay run examples/tidy_folder/app.py "get rid of the temporary files"

Deleting is high: no model can call it. What it proposes is a list of files; the person sees every path with size and
time of change, and only those go. Without TIDY_FOLDER a small folder is made to play with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from backstay import Agent, RunContext, ToolResult
from backstay.core.messages import ModelRequest
from backstay.models import FunctionModel, Line, call
from backstay.toolkit import DeleteFileTool, GlobTool

DEMO = Path(".backstay/tidy_demo")
DEMO_FILES = (
    "notes.md", "report.tmp", "drafts/offer.md", "drafts/offer.tmp", "drafts/old/cache.temp", "photos/beach.jpg",
)  # fmt: skip
PATTERNS = ("**/*.tmp", "**/*.temp", "**/*~")
MOST = 100
"""Files in one proposal: as many as a person can be asked to read."""

_WANTED = re.compile(r"temp|tmp|clean|tidy|临时|清理|整理", re.IGNORECASE)
_CHINESE = re.compile("[\u4e00-\u9fff]")
_NOTICE = re.compile(r'<notice[^>]*state="(\w+)"[^>]*>(.*)</notice>', re.DOTALL)


def folder() -> Path:
    """The folder to tidy; the one to play with is made if it is not there."""
    if named := os.environ.get("TIDY_FOLDER"):
        return Path(named).expanduser().absolute()
    if not DEMO.exists():
        for name in DEMO_FILES:
            (DEMO / name).parent.mkdir(parents=True, exist_ok=True)
            (DEMO / name).write_text(f"{name}\n", "utf-8")
    return DEMO.absolute()


find = GlobTool(folder())
delete = DeleteFileTool(folder())


def tidy_script(request: ModelRequest, _ctx: RunContext[None]) -> Line:
    """Look for temporary files, propose what was found, say what became of it."""
    last = max((n for n, one in enumerate(request.messages) if one.role == "user"), default=0)
    wish, since = request.messages[last].text, request.messages[last + 1 :]
    is_chinese = _CHINESE.search(wish) is not None
    if since and since[-1].role == "notice" and (told := _NOTICE.search(since[-1].text)):
        return told.group(2)
    results = [part for message in since for part in message.returns]
    proposed = [one.result for one in results if one.name == "propose_action"]
    if proposed:
        return _proposed(proposed[-1], is_chinese)
    if not _WANTED.search(wish):
        return (
            "我会找出临时文件并提交删除申请。" if is_chinese else "I find temporary files and propose to delete them."
        )
    if not results:
        return [call(find.name, pattern=pattern) for pattern in PATTERNS]
    return _propose([one.result for one in results if one.name == find.name], wish, is_chinese)


def _propose(found: list[ToolResult], wish: str, is_chinese: bool) -> Line:
    failed = next((one for one in found if not one.ok), None)
    if failed is not None:
        return failed.summary
    paths = sorted({path for one in found for path in _files(one)})
    if not paths:
        return "没有找到临时文件。" if is_chinese else "There are no temporary files."
    action = {"name": delete.name, "arguments": {"paths": paths[:MOST]}}
    is_part = len(paths) > MOST or not all(_is_whole(one) for one in found)
    count = f"{min(len(paths), MOST)} files, and there are more" if is_part else f"all {len(paths)} that were found"
    return call("propose_action", action=action, reason=f"{wish} ({count})")


def _is_whole(result: ToolResult) -> bool:
    return isinstance(result.data, Mapping) and result.data.get("is_whole") is True and not result.data.get("more")


def _files(result: ToolResult) -> list[str]:
    listed = result.data.get("files") if isinstance(result.data, Mapping) else None
    rows = listed if isinstance(listed, tuple | list) else ()
    paths = [str(one["path"]) for one in rows if isinstance(one, Mapping)]
    return [path for path in paths if not path.endswith("/")]


def _proposed(result: ToolResult, is_chinese: bool) -> str:
    if result.code != "action.waiting" or not isinstance(result.data, Mapping):
        return result.summary
    action = result.data["action"]
    if is_chinese:
        return f"已提交删除申请 {action}，需要人工确认；还没有删除任何文件。"
    return f"I have proposed to delete them as {action}. A person has to decide; nothing has been deleted yet."


agent: Agent[None] = Agent(
    FunctionModel(tidy_script, name="scripted:tidy"),
    name="tidy_folder",
    description="Finds temporary files and proposes to delete them.",
    instructions="You tidy one folder. You only propose deletions; a person decides.",
    tools=[find, delete],
)
