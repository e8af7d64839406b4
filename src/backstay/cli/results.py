"""How a run stands, on the screen and as JSON: the answer, what it cost, what waits for a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from backstay.agents import RunResult
from backstay.agents.deciding.watcher import HALTED
from backstay.cli.actions import Where, action_document, show_actions
from backstay.cli.exits import is_interrupted, of_result
from backstay.cli.printing import Printer, money, tokens
from backstay.cli.progress import Progress
from backstay.core.canon import EMPTY
from backstay.core.messages import Artifact
from backstay.store.protocol import RunStore

_NOTICE = re.compile(r'<notice id="[^"]*" state="(\w+)">(.*)</notice>', re.DOTALL)


async def show_result(
    out: Printer,
    store: RunStore,
    result: RunResult[Any],
    where: Where,
    progress: Progress,
    saved: Mapping[str, str] = EMPTY,
) -> int:
    """Print how a run stands and return the exit code that says the same."""
    progress.end_line()
    for notice in notices(result):
        if notice["state"] != "done":  # what was done has been shown as a call
            out.line(f"  {notice['text']}")
    output = result.output_text
    if output and progress.streamed != output:
        out.line()
        out.line(output)
    out.line()
    out.line(_tally(result), "dim")
    if (result.status not in ("done", "waiting") or result.code == HALTED) and result.reason:
        out.line(f"{result.status} [{result.code}]: {result.reason}", "red")
    for one in result.artifacts:
        out.line(f"file {one.name} · {one.mime} · {one.size:,} bytes · {saved.get(one.ref, one.ref)}")
    if is_interrupted(result):
        out.line(f"go on with: {where.resume(result.run_id)}")
    await show_actions(out, store, result.pending, where)
    return of_result(result)


def _tally(result: RunResult[Any]) -> str:
    steps = f"{result.steps} step{'' if result.steps == 1 else 's'}"
    session = "" if result.session_id == result.run_id else f" · session {result.session_id}"
    return (
        f"{result.status} · {steps} · {tokens(result.usage)} · {money(result.cost_usd)} · run {result.run_id}{session}"
    )


def notices(result: RunResult[Any]) -> list[dict[str, str]]:
    """What the framework said of actions that were decided: state and words of each notice, oldest first."""
    said = [message.text for message in result.new_messages if message.role == "notice"]
    found = [_NOTICE.search(text) for text in said]
    return [{"state": one.group(1), "text": one.group(2)} for one in found if one]


def artifact_document(artifact: Artifact, path: str | None) -> dict[str, Any]:
    """A file that a tool has made, as JSON; its bytes are in the store."""
    return {
        "ref": artifact.ref,
        "name": artifact.name,
        "mime": artifact.mime,
        "size": artifact.size,
        "trusted": artifact.label.trusted,
        "secrecy": artifact.label.secrecy,
        "path": path,
    }


def result_document(
    result: RunResult[Any], where: Where, progress: Progress, saved: Mapping[str, str] = EMPTY
) -> dict[str, Any]:
    """A result as JSON. `saved`: handle of a file → where it was written."""
    usage = result.usage
    return {
        "status": result.status,
        "code": result.code,
        "reason": result.reason,
        "output": result.output_json,
        "run_id": result.run_id,
        "session_id": result.session_id,
        "trace_id": result.trace_id,
        "steps": result.steps,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        },
        "cost_usd": None if result.cost_usd is None else str(result.cost_usd),
        "calls": progress.calls,
        "notices": notices(result),
        "artifacts": [artifact_document(one, saved.get(one.ref)) for one in result.artifacts],
        "pending": [action_document(one, where) for one in result.pending],
    }
