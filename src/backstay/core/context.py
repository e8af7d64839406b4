"""What a call knows of its run: who it is for, when it must end, who judges it, who watches.

`RunContext` is the only way to clock, ids, guard and emitter; nothing below the doors reads them from anywhere else.
Source: SPEC T10, B22, G2.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from logging import Logger
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from backstay.core.canon import EMPTY
from backstay.core.files import File
from backstay.core.messages import PLAIN, Args, Artifact, Json, Label, Risk, ToolCall, ToolResult

D = TypeVar("D")
I = TypeVar("I", contravariant=True)  # noqa: E741  (input of a link in a middleware chain)
O = TypeVar("O", covariant=True)  # noqa: E741  (its output)

Effect: TypeAlias = Literal["none", "keyed", "once"]
PrincipalKind: TypeAlias = Literal["developer", "operator", "member", "customer", "anonymous"]
Head: TypeAlias = "tuple[str, str, str | None, str, str, int, int, float, int | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who a run is for. The key is (tenant, id)."""

    id: str
    tenant: str = ""
    kind: PrincipalKind = "anonymous"
    roles: frozenset[str] = frozenset()
    claims: Args = EMPTY
    locale: str = "en"
    """BCP 47 tag of texts for this person: `en`, `zh`."""
    zone: str = "UTC"
    """IANA time zone in which days begin and end for this person."""

    @property
    def key(self) -> str:
        """`tenant/id`, a slash in the tenant escaped: what is kept for a person is kept under it."""
        return f"{self.tenant.replace('%', '%25').replace('/', '%2F')}/{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """All that the boundary may know of a tool. `risk` is resolved for the arguments where they were given."""

    name: str
    digest: str
    """SHA-256 over name, risk, effect, sinks and required schema: what a decision binds to."""
    risk: Risk
    effect: Effect
    egress: bool = False
    """A read that carries data out."""
    sinks: frozenset[str] = frozenset()
    """Arguments that name a destination: an address, an id, an amount, a path."""
    texts: frozenset[str] = frozenset()
    """Arguments that are free text."""
    meanings: Mapping[str, str] = EMPTY
    """Argument → meaning, such as `money:EUR`, `quantity:days`, `id:order`, `date_range:start`."""
    label: Label = PLAIN
    field_labels: Mapping[str, Label] = EMPTY
    constants: Mapping[str, frozenset[str]] = EMPTY
    """Argument → the texts that its schema itself names: enum values, constants, defaults. They are the developer's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a destination in the arguments came from."""

    path: str
    """The argument, dotted: `order_id`, `lines.0.sku`."""
    value: str
    message_id: str | None
    """The message the value stands in; None if it was found nowhere."""
    span: tuple[int, int] | None
    """Characters of that message's text, end excluded."""
    trusted: bool
    source: str = ""
    """Whose word it is: `user`, `developer`, `rule`, `schema`, `person`, or `tool:NAME` for a field of a result."""


class Reserve(NamedTuple):
    """An amount to hold in the ledger before a call runs."""

    key: str
    """`session:RULE`, or `day:…` for what all sessions of a store share."""
    amount: Decimal
    cap: Decimal | None = None
    """What the key may hold with it; None: it is only counted."""


def is_shared(key: str) -> bool:
    """Whether all sessions of a store spend from the same key of the ledger."""
    return key.startswith("day:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the boundary says of a call. `call` holds the frozen canonical arguments: all that may execute."""

    outcome: Literal["allow", "ask", "deny"]
    call: ToolCall
    digest: str
    """SHA-256 over tool name and canonical arguments."""
    risk: Risk
    rules: tuple[str, ...] = ()
    """Which rules asked or refused: constraint ids, `tier`, `limit.calls`…"""
    code: str = ""
    message: str = ""
    origins: tuple[Origin, ...] = ()
    reserve: tuple[Reserve, ...] = ()
    """Amounts to hold in the ledger before the call runs."""
    plan: int = 0
    """Number of the step of the plan that the call is; 0 for none."""


class Guard(Protocol):
    """The power to execute, as the pipeline sees it: agents/guard.py in a run, tools/outside.py outside one."""

    def judge(self, call: ToolCall, tool: ToolFacts) -> Verdict:
        """Judge the call and reserve what it may spend, with nothing awaited between."""
        ...

    async def begin(self, verdict: Verdict, tool: ToolFacts, attempt: int) -> ToolResult | None:
        """Make the effect and its audit row durable before the effect; a result means it is done or in doubt."""
        ...

    async def finish(self, verdict: Verdict, tool: ToolFacts, result: ToolResult, attempt: int, last: bool) -> None:
        """Record the outcome of an attempt; the last one commits or releases what was reserved."""
        ...

    async def halted(self, tool: str = "") -> ToolResult | None:
        """What becomes of a call, or of a request to the model, that somebody has halted; None if it may begin."""
        ...

    async def defer(self, verdict: Verdict, tool: ToolFacts, action_id: str, expires_at: float) -> ToolResult:
        """Queue the row that waits for what comes of a call that was handed on, and return the result that says so."""
        ...

    async def hold(self, verdict: Verdict, tool: ToolFacts, preview: str, reversible: bool) -> ToolResult:
        """Queue a pending action for the step's one append and return the result that says so."""
        ...


class Host(Protocol):
    """What the framework's own tools and handoffs may ask of the run."""

    async def recall(self, ref: str, **how: Json) -> Json:
        """Read a cut result again, in pages."""
        ...

    async def remember(self, text: str, source: str) -> None:
        """Keep a text in long-term memory."""
        ...

    async def ask(self, question: str, choices: Json) -> ToolResult:
        """Put a question to the person and park."""
        ...

    async def spawn(self, task: object) -> ToolResult:
        """Run a sub-agent's task."""
        ...

    def sign(self, token: str) -> str:
        """What the other side has to bring back with a deferred call's result."""
        ...

    def attach(self, file: File, label: Label) -> Artifact:
        """Keep a file that a tool has made; it is durable with the call's result."""
        ...

    async def artifact(self, ref: str) -> tuple[Artifact, bytes]:
        """A file of this session by its handle. Raises `ToolInputError` for any other."""
        ...


class Emit(Protocol):
    """Where events go. Synchronous, never awaited, never fatal."""

    def wants(self, kind: type[Any]) -> bool:
        """Whether anybody listens to this kind; if not, the event need not be built."""
        ...

    def __call__(self, event: Any) -> None:
        """Hand the event to its listeners."""
        ...


class _Silence:
    def wants(self, kind: type[Any]) -> bool:
        return False

    def __call__(self, event: Any) -> None:
        return None


SILENCE: Emit = _Silence()
"""An emitter nobody listens to."""


@dataclass(slots=True, kw_only=True)
class RunContext(Generic[D]):
    """What a tool, a middleware or a model client gets of the run it works in. One per run, one child per call."""

    run_id: str
    session_id: str
    trace_id: str
    span_id: str
    parent_id: str | None
    step: int
    attempt: int
    agents: tuple[str, ...]
    """Chain of delegation, the agent at work last."""
    principal: Principal
    deps: D
    """What the program gave for this run; never stored, never shown to the model."""
    clock: Callable[[], float]
    """Seconds since 1970."""
    new_id: Callable[[str], str]
    logger: Logger
    emit: Emit
    guard: Guard
    host: Host
    deadline: float = math.inf
    """Time by `clock` at which the work must have ended."""
    around: Any = None
    """The compiled chain of tool middleware."""
    call: ToolCall | None = None
    idempotency_key: str | None = None
    """The same for every attempt at one effect: run id and call slot, never the arguments."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits so many seconds; cancellable."""
    result_tokens: int = 4_000
    """How much of a result a model is shown at once, in tokens."""
    model: str = ""
    """Name of the model that the run asks; empty outside one and in the context of a tool's call."""
    nested: int = 0
    """Calls that this call's body has made itself, counted to tell their effects apart."""
    label: Label = PLAIN
    """Of the files that this call has opened and the calls that its body has made; its result carries it."""
    attached: tuple[File, ...] = ()
    """Files that this call has attached to its result."""

    @property
    def agent(self) -> str:
        """Name of the agent at work."""
        return self.agents[-1] if self.agents else ""

    def head(self, seq: int | None = None) -> Head:
        """The leading fields of an event raised here; `seq` only for what is journalled."""
        return (
            self.trace_id,
            self.span_id,
            self.parent_id,
            self.run_id,
            self.agents[-1] if self.agents else "",
            self.step,
            self.attempt,
            self.clock(),
            seq,
        )

    def attach(self, file: File) -> str:
        """Attach a file to this call's result and return its handle."""
        self.attached += (file,)
        return file.ref

    async def open(self, file: File) -> bytes:
        """Read the bytes that a handle in a tool's arguments stands for; files among the arguments are opened already.

        Raises:
            ToolInputError: when this conversation has no such file.
        """
        if not file.is_open:
            file.fill(*await self.host.artifact(file.ref))
        self.label = self.label.join(file.label)
        return file.data

    def child(self, *, call: ToolCall, span_id: str, key: str | None) -> RunContext[D]:
        """The context of one call in this run."""
        return RunContext(
            run_id=self.run_id,
            session_id=self.session_id,
            trace_id=self.trace_id,
            span_id=span_id,
            parent_id=self.span_id,
            step=self.step,
            attempt=1,
            agents=self.agents,
            principal=self.principal,
            deps=self.deps,
            clock=self.clock,
            new_id=self.new_id,
            logger=self.logger,
            emit=self.emit,
            guard=self.guard,
            host=self.host,
            deadline=self.deadline,
            around=self.around,
            call=call,
            idempotency_key=key,
            sleep=self.sleep,
            result_tokens=self.result_tokens,
        )


class Next(Protocol[I, O]):
    """The rest of a middleware chain."""

    def __call__(self, value: I, ctx: RunContext[Any], /) -> Awaitable[O]:
        """Pass the value on."""
        ...
