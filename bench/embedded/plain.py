"""The same language model without our pipeline: all tools in one prompt, the reply constrained to one call or none."""

from __future__ import annotations

import json
from typing import Any

from backstay.core.canon import freeze, thaw
from backstay.core.errors import ModelError
from backstay.core.messages import ModelReply, Text, ToolCall, ToolSpec
from backstay.models.embedded.generator import chat
from backstay.models.embedded.runtime import Runtime
from bench.embedded.cases import Case


def ask_plainly(runtime: Runtime, tools: tuple[ToolSpec, ...], case: Case) -> ModelReply:
    """One constrained call: `{"tool": name, "arguments": {...}}` or `{"tool": "none"}`."""
    listed = "\n".join(f"- {spec.name}: {spec.description.splitlines()[0]}" for spec in tools)
    system = f"Call one tool as JSON, or none if no tool fits. Today is 2026-11-30, Monday.\n{listed}"
    turns = [
        (t["text"], json.dumps({"tool": t["tool"], "arguments": t["args"]})) for t in case.history if t.get("tool")
    ]
    try:
        done = runtime.complete(chat(system, turns, case.text), schema=_schema(tools), max_tokens=120)
        said: dict[str, Any] = json.loads(done.text)
    except (ModelError, ValueError):
        said = {"tool": "none"}
    name = said.get("tool")
    if name == "none":
        return ModelReply(parts=(Text(text="none"),), finish="stop", usage=None, model="plain")
    call = ToolCall(id="c", name=str(name), args=freeze(said.get("arguments", {})))  # type: ignore[arg-type]  # an object
    return ModelReply(parts=(call,), finish="tool_calls", usage=None, model="plain")


def _schema(tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
    branches: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {"tool": {"const": spec.name}, "arguments": thaw(spec.schema)},
            "required": ["tool", "arguments"],
        }
        for spec in tools
    ]
    none = {"type": "object", "properties": {"tool": {"const": "none"}}, "required": ["tool"]}
    return {"anyOf": [*branches, none]}
