"""Models without a model: replies from a script or from a function, for tests, examples and docs.

Both are stateless: the reply depends on the step and the request alone, so that a resumed run in a fresh process gets
the reply that the first one would have got. Source: SPEC L6.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from inspect import isawaitable
from typing import Any, TypeAlias

from backstay.core.canon import freeze
from backstay.core.context import RunContext
from backstay.core.errors import ModelError
from backstay.core.messages import (
    Args,
    Delta,
    ModelReply,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    Usage,
)
from backstay.models.assembler import Assembler, parse_call, pieces_of, says_something
from backstay.models.model import ModelProfile

Line: TypeAlias = "str | ToolCall | ModelReply | BaseException | list[str | ToolCall]"
"""What a script says at one step: words, a call, several parts, a whole reply, or an error to raise."""

PROFILE = ModelProfile(family="scripted", window=128_000, keeps_notes=False, price={"input": "0", "output": "0"})
"""Free of charge, with the window of a common large model; a script is not asked for summaries."""


def call(name: str, args: Args | None = None, /, **more: Any) -> ToolCall:
    """A tool call for a script: `call("find_order", order_id="1001")`."""
    frozen = freeze({**(args or {}), **more})
    assert isinstance(frozen, dict)
    return ToolCall(id="", name=name, args=frozen)


class FunctionModel:
    """A model whose reply is computed by a function of the request and the context.

    Args:
        function: returns what a script's line may be; may be async.
        profile: what it pretends to be.
        name: as traces show it.
    """

    def __init__(
        self,
        function: Callable[[ModelRequest, RunContext[Any]], Line | Awaitable[Line]],
        *,
        profile: ModelProfile = PROFILE,
        name: str = "scripted:function",
    ) -> None:
        self._function = function
        self._profile = profile
        self._name = name

    @property
    def profile(self) -> ModelProfile:
        """What it pretends to be."""
        return self._profile

    @property
    def name(self) -> str:
        """As traces show it."""
        return self._name

    async def request(
        self,
        request: ModelRequest,
        ctx: RunContext[Any],
        on_delta: Callable[[Delta], None] | None = None,
    ) -> ModelReply:
        """Compute the line, and stream it in small pieces if somebody listens."""
        said = self._function(request, ctx)
        line: Line = await said if isawaitable(said) else said
        if isinstance(line, BaseException):
            raise line
        reply = _as_received(line) if isinstance(line, ModelReply) else _reply(line, request, ctx, self._name)
        return reply if on_delta is None else _streamed(reply, on_delta)


class ScriptedModel(FunctionModel):
    """A model that says its lines in order, one a step of the run.

    Args:
        *lines: see `Line`. A step beyond the last line is an error that names the step.
        profile: what it pretends to be.
    """

    def __init__(self, *lines: Line, profile: ModelProfile = PROFILE) -> None:
        self._lines = lines
        super().__init__(self._line, profile=profile, name="scripted:lines")

    def _line(self, _request: ModelRequest, ctx: RunContext[Any]) -> Line:
        if ctx.step > len(self._lines):
            return ModelError(
                f"the script has {len(self._lines)} lines and step {ctx.step} wants another",
                retryable=False,
                code="model.script",
            )
        return self._lines[ctx.step - 1]


def _reply(
    line: str | ToolCall | list[str | ToolCall], request: ModelRequest, ctx: RunContext[Any], name: str
) -> ModelReply:
    said = line if isinstance(line, list) else [line]
    parts = [
        Text(text=part) if isinstance(part, str) else _numbered(part, ctx.step, index)
        for index, part in enumerate(said)
    ]
    has_calls = ToolCall in map(type, parts)
    return ModelReply(
        parts=tuple(filter(says_something, parts)),
        finish="tool_calls" if has_calls else "stop",
        usage=Usage(input_tokens=_count(request), output_tokens=sum(map(_size, parts)) // 4 + 1),
        model=name,
    )


def _as_received(reply: ModelReply) -> ModelReply:
    """A reply written by hand, as a client would have put it together from the wire, streamed or not."""
    parts = (_received(part, part.id) if isinstance(part, ToolCall) else part for part in reply.parts)
    return replace(reply, parts=tuple(filter(says_something, parts)))


def _received(part: ToolCall, id: str) -> ToolCall:
    text = part.raw if part.raw is not None else part.mended
    if text is not None:
        return parse_call(id, part.name, text)
    try:
        args = freeze(part.args)
    except TypeError:
        args = None
    if not isinstance(args, Mapping):
        return parse_call(id, part.name, repr(part.args))
    return ToolCall(id=id, name=part.name, args=args)


def _numbered(part: ToolCall, step: int, index: int) -> ToolCall:
    if not isinstance(part, ToolCall):
        raise TypeError(f"a line is text, a call, a list of both, a ModelReply or an exception, got {part!r}")
    return _received(part, part.id or f"call-{step}-{index}")


def _count(request: ModelRequest) -> int:
    """Tokens of a request, by the rule of thumb of 32 a message: a script is no tokenizer."""
    return 32 * len(request.messages)


def _size(part: object) -> int:
    match part:
        case Text(text=text) | Reasoning(text=text):
            return len(text)
        case ToolCall(args=args):
            return 16 * (len(args) + 1)
    return 64


def _streamed(reply: ModelReply, on_delta: Callable[[Delta], None]) -> ModelReply:
    assembler = Assembler()
    for delta in pieces_of(reply):
        assembler.add(delta)
        on_delta(delta)
    for number, part in enumerate(reply.parts):
        if isinstance(part, Reasoning) and part.signature is not None:
            assembler.sign(number, part.signature)
    return assembler.reply(finish=reply.finish, usage=reply.usage, model=reply.model)
