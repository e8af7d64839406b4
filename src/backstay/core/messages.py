"""What travels between a model, the loop and the tools: parts, messages, calls, results, requests, replies, deltas.

Plain frozen data without behaviour, so that events, contexts, records and wires can all name the same things.
Source: SPEC T4, L3; the shapes are pinned by the project's type page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A value as JSON has it. Inside it is frozen (see `canon.freeze`): tuples for arrays, `FrozenDict` for objects."""
Args: TypeAlias = Mapping[str, Json]
"""A JSON object: the arguments of a call, a schema, settings."""
Risk: TypeAlias = Literal["read", "write", "high"]
Secrecy: TypeAlias = Literal["public", "internal", "secret"]
Finish: TypeAlias = Literal["stop", "tool_calls", "length", "refusal"]
Role: TypeAlias = Literal["system", "user", "assistant", "tool", "notice"]
Via: TypeAlias = Literal["ran", "cached", "short_circuited", "refused", "held", "in_doubt"]

_SECRECY: tuple[Secrecy, ...] = ("public", "internal", "secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """How far a text may be believed and where it may flow."""

    trusted: bool = True
    """False once any of it was written by somebody who may not give orders."""
    secrecy: Secrecy = "public"

    def join(self, other: Label) -> Label:
        """The label of both together: trust only if both are trusted, the higher secrecy."""
        if other is self or other == self:
            return self
        return Label(
            trusted=self.trusted and other.trusted,
            secrecy=max(self.secrecy, other.secrecy, key=_SECRECY.index),
        )


PLAIN = Label()
"""Trusted and public: the label of what nobody said anything about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """A model's thinking. Never crosses to another agent and never stands in an answer."""

    text: str
    signature: str | None = None
    """The provider's opaque token, sent back unchanged to the same provider only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image, a file: its bytes, a URL the provider fetches itself, or the reference of an artifact."""

    mime: str
    data: bytes | None = None
    url: str | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The intent of a model to have one tool run."""

    id: str
    name: str
    args: Args
    slot: int = 0
    """Place of the call in its run, counted from 1 in model order. With the run's id it names the effect."""
    raw: str | None = None
    """The arguments as the model wrote them, where they were not a JSON object. Such a call never runs."""
    mended: str | None = None
    """The same where they were broken and could be read in one way only: `args` is that reading, and the call runs."""
    proposed: bool = False
    """True for the real call behind a `propose_action`: the only way to reach a high tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file, chart or image a tool made. The bytes lie in the store under `ref`; the model sees name, type, size."""

    ref: str
    name: str
    mime: str
    size: int
    """Bytes."""
    label: Label = PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What became of one call. `data` is for programs, `summary` for the model."""

    ok: bool
    summary: str
    data: Json = None
    """Dumped once by the declared return type, so that a live run equals a resumed one."""
    error: str | None = None
    code: str | None = None
    """Stable code of a failure or a refusal; `backstay explain CODE` says more."""
    retryable: bool = False
    fatal: bool = False
    keep: tuple[str, ...] = ()
    """Names of fields of `data` that stay verbatim when the result shrinks."""
    ref: str | None = None
    """`run:slot`, present when `summary` was cut: `recall(ref)` reads the rest."""
    artifacts: tuple[Artifact, ...] = ()
    label: Label = PLAIN
    """Of the message: the join over all that is in it."""
    labels: tuple[tuple[str, Label], ...] = ()
    """Labels of single fields of `data` by path, dotted, list items without number; the rest of `data` is plain. Empty:
    `label` is every field's."""
    via: Via = "ran"
    applied: bool | None = None
    """Of a failed call: False where it is sure that nothing has happened outside."""

    @property
    def is_void(self) -> bool:
        """Whether it is sure that the call has done nothing: it was refused or held, or failed before its effect."""
        return self.via in ("refused", "held") or (not self.ok and self.applied is False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturn:
    """The result of a call as a part of a message."""

    call_id: str
    name: str
    result: ToolResult


Part: TypeAlias = Text | Reasoning | Media | ToolCall | ToolReturn


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation. Notices are the framework's word about later outcomes, never the user's."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    label: Label = PLAIN

    @property
    def text(self) -> str:
        """All words of the message, without reasoning, calls and results."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of an assistant message, in the model's order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def returns(self) -> tuple[ToolReturn, ...]:
        """The tool returns of a tool message."""
        return tuple([part for part in self.parts if isinstance(part, ToolReturn)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is shown it. `schema` is the JSON Schema of its arguments (an object)."""

    name: str
    description: str
    schema: Args
    examples: tuple[tuple[str, Args], ...] = ()
    """Pairs of a user's text and the arguments it should lead to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or several requests. `cached_tokens` are part of the input, `reasoning_tokens` of the output."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What a run has used of one model."""

    model: str
    """`provider:model` as the replies name it."""
    requests: int
    usage: Usage
    cost_usd: Decimal | None
    """None where a price or a usage is unknown."""

    def more(self, usage: Usage | None, cost_usd: Decimal | None) -> ModelUse:
        """The same with one more request."""
        known = self.cost_usd is not None and cost_usd is not None
        return ModelUse(
            model=self.model,
            requests=self.requests + 1,
            usage=self.usage if usage is None else self.usage + usage,
            cost_usd=self.cost_usd + cost_usd if known else None,  # type: ignore[operator]  # known says both are there
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """All that a model is given for one reply."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `required`, `none` or `tool:NAME`."""
    output_schema: Args | None = None
    settings: Args | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A whole reply of a model, streamed or not."""

    parts: tuple[Text | Reasoning | ToolCall, ...]
    finish: Finish
    usage: Usage | None
    """None where the provider said nothing: unknown is unknown, never 0."""
    model: str

    @property
    def text(self) -> str:
        """The words of the reply."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the reply, in the model's order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])


class Delta(NamedTuple):
    """A piece of a reply while it streams. `part` numbers the part of the reply it belongs to, from 0."""

    kind: Literal["text", "reasoning", "args"]
    part: int
    text: str
    call_id: str = ""
    name: str = ""
