"""Whether a reply is what a case expects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backstay.core.messages import ModelReply, ToolSpec
from backstay.models.embedded.proposals import PROPOSE, unwrap
from bench.embedded.cases import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One case, judged."""

    case: Case
    tool: str | None
    args: Mapping[str, Any]
    is_right: bool
    """The expected tool, or none where none was expected."""
    is_exact: bool
    """Every argument equal too: letter case and blanks aside, numbers by value, a default equal to nothing."""
    seconds: float


def judge(case: Case, reply: ModelReply, specs: Mapping[str, ToolSpec], seconds: float) -> Score:
    """Compare a reply with what its case expects."""
    tool, args = called(reply)
    is_right = tool == case.tool
    is_exact = is_right and (tool is None or equal_args(specs[tool], case.args, args))
    return Score(case=case, tool=tool, args=args, is_right=is_right, is_exact=is_exact, seconds=seconds)


def called(reply: ModelReply) -> tuple[str | None, Mapping[str, Any]]:
    """The tool of a reply and its arguments, a proposal unwrapped."""
    if not reply.calls:
        return None, {}
    call = reply.calls[0]
    return (unwrap(call.args) or (call.name, call.args)) if call.name == PROPOSE else (call.name, call.args)


def equal_args(spec: ToolSpec, want: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    """Whether the arguments are the expected ones."""
    properties: Any = spec.schema["properties"]
    defaults = {name: schema.get("default") for name, schema in properties.items()}
    return all(_same(want.get(n, defaults.get(n)), got.get(n, defaults.get(n))) for n in {*want, *got})


def _same(want: Any, got: Any) -> bool:
    if isinstance(want, dict) and "any" in want:
        return any(_same(one, got) for one in want["any"])
    return bool(_plain(want) == _plain(got))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"\s+", "", value.casefold())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
