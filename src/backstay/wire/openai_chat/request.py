"""Our request → the JSON of a chat completion. Source: SPEC L1, L8; notes embedded-model 7."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from backstay.core.canon import canonical, thaw
from backstay.core.messages import (
    Args,
    Json,
    Media,
    Message,
    ModelRequest,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolReturn,
    ToolSpec,
)
from backstay.wire.openai_chat.dialect import Dialect

_OPENAI = Dialect()
_LONG_ID = re.compile(r"[A-Za-z0-9_.\-]{1,40}")
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
_RENAMED = {"effort": "reasoning_effort", "parallel": "parallel_tool_calls"}
_CAPS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
_OURS_ALONE = frozenset({"model", "messages", "tools", "tool_choice", "stream", "stream_options", "n"})
"""What no setting may change: they are the request itself, and what the boundary has looked at."""


def encode(
    request: ModelRequest, *, model: str, stream: bool, dialect: Dialect = _OPENAI, extra: Args | None = None
) -> dict[str, Any]:
    """Return the body of `POST /chat/completions`.

    Args:
        request: what to ask. Of its settings `effort`, `parallel`, `max_output_tokens` and `extra_body` get the names
            that the server knows; all others (`temperature`, `seed`, `top_p`, `stop`…) go as they are.
        model: the name by which the server knows the model.
        stream: whether the reply shall come in pieces, with its usage at the end.
        dialect: the quirks of the server.
        extra: more fields; the request's own settings win over them, the request itself over both.
    """
    tools, choice = _offer(request, dialect)
    body: dict[str, Any] = _fields(extra, dialect) | _settings(request.settings, dialect)
    body |= {"model": model, "messages": encode_messages(request.messages, dialect)}
    if tools:
        body["tools"] = [_tool(one) for one in tools]
        if choice is not None:
            body["tool_choice"] = choice
    else:
        body.pop("parallel_tool_calls", None)
    if request.output_schema is not None:
        _hold_to_schema(body, request.output_schema, dialect)
    if stream:
        body["stream"] = True
        if dialect.has_stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _settings(settings: Args | None, dialect: Dialect) -> dict[str, Any]:
    given = dict(settings or {})
    extra = given.pop("extra_body", None)
    return _fields(extra if isinstance(extra, Mapping) else None, dialect) | _fields(given, dialect)


def _fields(given: Args | None, dialect: Dialect) -> dict[str, Any]:
    body: dict[str, Any] = {}
    names = {**_RENAMED, **dict.fromkeys(_CAPS, dialect.max_tokens), "seed": dialect.seed}
    for name, value in (given or {}).items():
        name = names.get(name, name)
        if value is not None and name not in _OURS_ALONE:
            body[name] = thaw(value)
    return body


def _offer(request: ModelRequest, dialect: Dialect) -> tuple[tuple[ToolSpec, ...], Json]:
    """The tools and the `tool_choice` that come nearest to what is asked and that the server honours."""
    kind, _, name = request.tool_choice.partition(":")
    tools = request.tools
    if kind == "none":
        return (tools, "none") if "none" in dialect.choices else ((), None)
    if kind == "tool" and "tool" in dialect.choices:
        return tools, {"type": "function", "function": {"name": name}}
    if kind == "tool":
        kind, tools = "required", tuple(one for one in tools if one.name == name)
    return tools, kind if kind == "required" and kind in dialect.choices else None


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": thaw(spec.schema)}
    return {"type": "function", "function": function}


def _hold_to_schema(body: dict[str, Any], schema: Args, dialect: Dialect) -> None:
    if dialect.output == "json_schema":
        named = {"name": "answer", "schema": thaw(schema), "strict": _is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
        return
    body["response_format"] = {"type": "json_object"}
    told = f"Answer with one JSON object that fits this JSON Schema, and nothing else: {canonical(schema)}"
    body["messages"].append({"role": "system", "content": told})


def _is_strict(schema: Json) -> bool:
    """Whether the strict mode takes the schema: every object closed, and everything in it required."""
    if isinstance(schema, Mapping):
        fields = schema.get("properties")
        if schema.get("type") == "object" or isinstance(fields, Mapping):
            names = set(fields) if isinstance(fields, Mapping) else set()
            required = schema.get("required") or ()
            is_whole = isinstance(required, list | tuple) and set(map(str, required)) == names
            if schema.get("additionalProperties") is not False or not is_whole:
                return False
        return all(map(_is_strict, schema.values()))
    return all(map(_is_strict, schema)) if isinstance(schema, list | tuple) else True


def encode_messages(messages: tuple[Message, ...], dialect: Dialect = _OPENAI) -> list[dict[str, Any]]:
    """Return the messages as the server reads them, oldest first; one of ours may become several or none."""
    return [one for message in messages for one in _message(message, dialect)]


def _message(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    match message.role:
        case "system":
            yield {"role": "system", "content": message.text}
        case "user" | "notice":
            yield {"role": "user", "content": _content(message)}
        case "assistant":
            yield from _assistant(message, dialect)
        case "tool":
            for part in message.returns:
                yield _return(part, dialect)
        case _:
            assert_never(message.role)


def _content(message: Message) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in message.parts):
        return message.text
    return [shown for part in message.parts if (shown := _shown(part)) is not None]


def _shown(part: Part) -> dict[str, Any] | None:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return _media(part) if isinstance(part, Media) else None


def _media(part: Media) -> dict[str, Any]:
    """An image by its address or as a data URL, sound and files by their bytes; of anything else its name alone."""
    kind, _, subtype = part.mime.partition("/")
    encoded = base64.b64encode(part.data).decode() if part.data is not None else None
    url = part.url or (f"data:{part.mime};base64,{encoded}" if encoded is not None else None)
    if kind == "audio" and encoded is not None:
        sound = {"data": encoded, "format": {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}.get(subtype, subtype)}
        return {"type": "input_audio", "input_audio": sound}
    if kind == "image" and url is not None:
        return {"type": "image_url", "image_url": {"url": url}}
    if encoded is not None:
        return {"type": "file", "file": {"filename": f"file.{subtype}", "file_data": url}}
    return {"type": "text", "text": f"[{part.mime}: {part.url or part.ref or 'empty'}]"}


def _assistant(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    calls = [_call(one, dialect) for one in message.calls]
    if not calls and not message.text:
        return
    body: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls:
        body["tool_calls"] = calls
        if dialect.returns_reasoning:
            body["reasoning_content"] = "".join(
                part.text
                for part in message.parts
                if isinstance(part, Reasoning) and part.signature == dialect.reasoning_mark
            )
    yield body


def _call(call: ToolCall, dialect: Dialect) -> dict[str, Any]:
    """A call with canonical arguments. What was no JSON goes back as `{}`: many servers parse and refuse it."""
    function = {"name": call.name, "arguments": canonical(call.args)}
    return {"id": _id(call.id, dialect), "type": "function", "function": function}


def _return(part: ToolReturn, dialect: Dialect) -> dict[str, Any]:
    content = part.result.summary
    if part.result.ref is not None:
        content = f"{content}\n[more: recall ref {part.result.ref}]"
    return {"role": "tool", "tool_call_id": _id(part.call_id, dialect), "content": content}


def _id(id_: str, dialect: Dialect) -> str:
    """The id as it is where the server takes it, else one made from it: the same for a call and its result."""
    if (_SHORT_ID if dialect.is_short_id else _LONG_ID).fullmatch(id_):
        return id_
    made = hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()
    return made[:9] if dialect.is_short_id else f"call_{made[:24]}"
