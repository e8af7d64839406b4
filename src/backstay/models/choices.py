"""A wish for a tool that a model has no word for, as what it does understand.

Where a model knows no `required` and no `tool:NAME`, it is asked for one JSON object that names one of the allowed
tools and holds its arguments; the object that comes back is the call. Source: SPEC L4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from backstay.core.canon import canonical, freeze
from backstay.core.messages import Args, Json, ModelReply, ModelRequest, Reasoning, ToolSpec
from backstay.models.assembler import parse_call
from backstay.models.mending import mend
from backstay.models.model import ModelProfile

_CALL = "call"


def understood(request: ModelRequest, profile: ModelProfile) -> tuple[ModelRequest, bool]:
    """The request as the model understands it, and whether its answer is a call written as an object (`as_calls`)."""
    kind, _, name = request.tool_choice.partition(":")
    if kind in profile.choices or kind == "auto" or (not request.tools and kind != "none"):
        return request, False
    if kind == "none":
        return replace(request, tools=(), tool_choice="auto"), False
    tools = tuple(one for one in request.tools if one.name == name) if kind == "tool" else request.tools
    if "required" in profile.choices:
        return replace(request, tools=tools, tool_choice="required"), False
    if request.output_schema is not None or not tools:
        return replace(request, tools=tools, tool_choice="auto"), False
    return replace(request, tools=(), tool_choice="auto", output_schema=call_schema(tools)), True


def call_schema(tools: tuple[ToolSpec, ...]) -> Args:
    """The JSON Schema of a call of one of these tools: `{"call": {"name": …, "arguments": {…}}}`."""
    definitions: dict[str, Json] = {}
    branches: list[Json] = []
    for tool in tools:
        found = tool.schema.get("$defs", {})
        names = found if isinstance(found, Mapping) else {}
        definitions |= {f"{tool.name}.{key}": _moved(names[key], tool.name) for key in names}
        arguments = _moved({key: value for key, value in tool.schema.items() if key != "$defs"}, tool.name)
        branches.append(
            {
                "type": "object",
                "description": tool.description,
                "properties": {"name": {"const": tool.name}, "arguments": arguments},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        )
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {_CALL: {"anyOf": branches}},
        "required": [_CALL],
        "additionalProperties": False,
    }
    frozen = freeze({**schema, "$defs": definitions} if definitions else schema)
    assert isinstance(frozen, Mapping)
    return frozen


def _moved(schema: Json, tool: str) -> Json:
    """A schema whose references lead to the definitions of its tool at the root: two tools may use one name."""
    if isinstance(schema, Mapping):
        return {key: _led(key, value, tool) for key, value in schema.items()}
    return [_moved(one, tool) for one in schema] if isinstance(schema, list | tuple) else schema


def _led(key: str, value: Json, tool: str) -> Json:
    if key == "$ref" and isinstance(value, str) and value.startswith("#/$defs/"):
        return f"#/$defs/{tool}.{value.removeprefix('#/$defs/')}"
    return _moved(value, tool)


def as_calls(reply: ModelReply) -> ModelReply:
    """A reply to `call_schema` as the call that it means; what is no such object, or broke off, stays what it is."""
    said = _object(reply.text) if reply.finish in ("stop", "tool_calls") and not reply.calls else None
    wanted = said.get(_CALL) if said is not None else None
    if not isinstance(wanted, dict) or not isinstance(wanted.get("name"), str):
        return reply
    call = parse_call("", wanted["name"], canonical(wanted.get("arguments")))
    thoughts = tuple(part for part in reply.parts if isinstance(part, Reasoning))
    return replace(reply, parts=(*thoughts, call), finish="tool_calls")


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return mend(text)
    return found if isinstance(found, dict) else None
