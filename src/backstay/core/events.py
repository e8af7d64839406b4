"""What happens, as typed events, and the emitter that hands them to listeners.

| event | when | fields beside the head |
|---|---|---|
| `run.start` | a drive of a run begins | `session_id`, `input`, `resumed` |
| `run.answer` | the answer is there | `text` |
| `run.finish` | the run ended or waits | `status`, `code`, `reason`, `usage`, `cost_usd` |
| `model.start` | a request goes out | `request` |
| `model.delta` | a piece of a reply (provisional: a new attempt discards it) | `delta` |
| `output.partial` | more of an answer of a type is written (provisional) | `value` |
| `model.retry` | a further attempt follows | `error`, `code` |
| `model.fallback` | a model could not answer and another is asked | `model`, `next`, `error`, `code` |
| `model.reply` | the whole reply is journalled | `reply`, `seconds`, `cost_usd`, `model` |
| `model.error` | no attempt succeeded | `error`, `code` |
| `tool.start` | a call enters the pipeline, once | `call` |
| `tool.retry` | a further attempt follows | `call`, `error` |
| `tool.success` / `tool.error` | the result is there | `call`, `result`, `seconds` |
| `tool.finish` | the call left the pipeline, once, refusals included | `call`, `result` |
| `boundary.verdict` | the boundary has spoken | `verdict` |
| `constraint.proposed` | a rule was read out of the user's words | `constraint` |
| `memory.trim` | results of old units are shown cut from now on | `first`, `end`, `before`, `after` |
| `memory.fold` | old units stand in the summary from now on | the same, `by`, `notes`, `usage` |
| `memory.written` | the working memory was rewritten at the end of a run | `memory` |
| `action.asked` / `action.decided` / `action.done` | the life of a pending action | `action` |

Source: SPEC G7.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

from backstay.core.logs import logger
from backstay.core.messages import Delta, Json, ModelReply, ModelRequest, ToolCall, ToolResult, Usage

_log = logger("backstay.events")


@dataclass(slots=True)
class Event:
    """One thing that happened. Not frozen, because events are hot; listeners change nothing all the same."""

    name: ClassVar[str] = "*"
    is_piece: ClassVar[bool] = False
    """A provisional piece of something: `*` does not hear it, so that a log makes no model stream."""
    trace_id: str
    span_id: str
    parent_id: str | None
    run_id: str
    agent: str
    step: int
    attempt: int
    at: float
    """Seconds since 1970."""
    seq: int | None
    """Place in the session's journal; None while provisional."""


@dataclass(slots=True, kw_only=True)
class RunStart(Event):
    """A drive of a run begins; after a resume it is raised again."""

    name: ClassVar[str] = "run.start"
    session_id: str
    input: str
    resumed: bool = False


@dataclass(slots=True, kw_only=True)
class RunAnswer(Event):
    """The answer is there; memory may still be rewritten."""

    name: ClassVar[str] = "run.answer"
    text: str


@dataclass(slots=True, kw_only=True)
class RunFinish(Event):
    """The run ended, or waits for somebody."""

    name: ClassVar[str] = "run.finish"
    status: str
    code: str
    reason: str
    usage: Usage
    cost_usd: Decimal | None


@dataclass(slots=True, kw_only=True)
class ModelStart(Event):
    """A request goes out."""

    name: ClassVar[str] = "model.start"
    request: ModelRequest
    model: str
    rules_digest: str = ""
    """SHA-256 of the constraint block that stands in the request."""


@dataclass(slots=True, kw_only=True)
class ModelDelta(Event):
    """A piece of a reply. A later attempt of the same step discards what earlier ones sent."""

    name: ClassVar[str] = "model.delta"
    is_piece: ClassVar[bool] = True
    delta: Delta


@dataclass(slots=True, kw_only=True)
class OutputPartial(Event):
    """More of an answer of a type is written. A later attempt, and a later step, discard what was sent before."""

    name: ClassVar[str] = "output.partial"
    is_piece: ClassVar[bool] = True
    value: Json
    """The answer as the model has written it so far, not validated: open texts, lists and objects are closed."""


@dataclass(slots=True, kw_only=True)
class ModelRetry(Event):
    """The attempt failed and another follows."""

    name: ClassVar[str] = "model.retry"
    error: str
    code: str


@dataclass(slots=True, kw_only=True)
class ModelFallback(Event):
    """A model could not answer, after all its attempts, and another is asked."""

    name: ClassVar[str] = "model.fallback"
    model: str
    next: str
    error: str
    code: str


@dataclass(slots=True, kw_only=True)
class ModelAnswered(Event):
    """The whole reply is journalled."""

    name: ClassVar[str] = "model.reply"
    reply: ModelReply
    seconds: float
    cost_usd: Decimal | None
    model: str = ""
    """The model that was asked and has answered, one of a fallback's; empty where a middleware answered instead."""


@dataclass(slots=True, kw_only=True)
class ModelFailed(Event):
    """No attempt succeeded."""

    name: ClassVar[str] = "model.error"
    error: str
    code: str


@dataclass(slots=True, kw_only=True)
class ToolStart(Event):
    """A call enters the pipeline. Exactly one per call."""

    name: ClassVar[str] = "tool.start"
    call: ToolCall


@dataclass(slots=True, kw_only=True)
class ToolRetry(Event):
    """An attempt failed and another follows."""

    name: ClassVar[str] = "tool.retry"
    call: ToolCall
    error: str


@dataclass(slots=True, kw_only=True)
class ToolSuccess(Event):
    """The tool, a cache or a middleware answered."""

    name: ClassVar[str] = "tool.success"
    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(slots=True, kw_only=True)
class ToolFailed(Event):
    """The call was refused, or the tool failed."""

    name: ClassVar[str] = "tool.error"
    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(slots=True, kw_only=True)
class ToolFinish(Event):
    """The call left the pipeline. Exactly one per call, refusals included."""

    name: ClassVar[str] = "tool.finish"
    call: ToolCall
    result: ToolResult
    seconds: float


@dataclass(slots=True, kw_only=True)
class BoundaryVerdict(Event):
    """The boundary has spoken about a call."""

    name: ClassVar[str] = "boundary.verdict"
    verdict: Any


@dataclass(slots=True, kw_only=True)
class ConstraintProposed(Event):
    """A rule was read out of the user's own words; it is in force where it is stricter."""

    name: ClassVar[str] = "constraint.proposed"
    constraint: Any


@dataclass(slots=True, kw_only=True)
class MemoryTrim(Event):
    """Results of old units are shown cut from now on; `recall` reads them."""

    name: ClassVar[str] = "memory.trim"
    first: int
    """Number of the first unit, counted over the whole session."""
    end: int
    """Number of the first unit after them."""
    before: int
    """Estimated tokens of history and results as they were shown, and as they are shown now."""
    after: int


@dataclass(slots=True, kw_only=True)
class MemoryFold(Event):
    """Old units stand in the summary from now on. Fields as for `memory.trim`."""

    name: ClassVar[str] = "memory.fold"
    first: int
    end: int
    before: int
    after: int
    by: str
    """`model`, `rules` where there was none or it failed, `memory` where the agent's memory shows fewer turns."""
    notes: str
    """The whole summary now."""
    usage: Usage
    """Of the hidden requests; part of the run's usage."""


@dataclass(slots=True, kw_only=True)
class MemoryWritten(Event):
    """The working memory was rewritten at the end of a run."""

    name: ClassVar[str] = "memory.written"
    memory: Any
    """A `Memory` record, whole; `by` says who proposed it."""


@dataclass(slots=True, kw_only=True)
class ActionAsked(Event):
    """A pending action waits for a person."""

    name: ClassVar[str] = "action.asked"
    action: Any


@dataclass(slots=True, kw_only=True)
class ActionDecided(Event):
    """Somebody decided a pending action."""

    name: ClassVar[str] = "action.decided"
    action: Any


@dataclass(slots=True, kw_only=True)
class ActionDone(Event):
    """A decided action was carried out, refused, or found stale or in doubt."""

    name: ClassVar[str] = "action.done"
    action: Any


Listener: TypeAlias = Callable[[Any], object]
Matcher: TypeAlias = "type[Event] | str | Callable[[Event], bool]"


@dataclass(slots=True, eq=False)
class _Subscription:
    matcher: Matcher
    listener: Listener
    once: bool
    spent: bool = field(default=False)
    failures: int = field(default=0)


class Emitter:
    """Hands events to listeners: at once, in the order they were added, swallowing what they raise.

    A listener that raises is logged and the run goes on. With no listener for a kind `wants` is False and nobody builds
    the event. Events raised in another thread are handed over to the loop that the emitter was made in.

    Args:
        *above: emitters whose listeners hear everything this one hears as well, before its own.
    """

    __slots__ = ("_above", "_by_kind", "_loop", "_nested", "_seen", "_subscriptions", "_thread")

    _changes: ClassVar[int] = 0
    """Changes of any emitter of the process: what was matched before the last one is matched again."""

    def __init__(self, *above: Emitter) -> None:
        self._above = above
        self._nested: list[Emitter] = []
        self._subscriptions: list[_Subscription] = []
        self._by_kind: dict[type[Event], tuple[tuple[_Subscription, Emitter], ...]] = {}
        self._seen = -1
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    def on(self, matcher: Matcher, listener: Listener | None = None, *, once: bool = False) -> Callable[[], None] | Any:
        """Add a listener; returns a function that removes it. Without a listener it is a decorator.

        Args:
            matcher: an event class, an event's name, `*` (all events of this emitter's own runs but the pieces of
                replies), `tool.*` (of these, one family), `**` (pieces and the runs inside them too), or a function of
                the event.
            listener: called with the event; it must return at once and changes nothing.
            once: removed after the first event it hears.

        Raises:
            TypeError: for an async function, which nobody would await.
            ValueError: for a matcher that no event fits. Event classes of your own count from their definition on.
        """
        _refuse_unknown(matcher)
        if listener is None:

            def decorate(function: Listener) -> Listener:
                self.on(matcher, function, once=once)
                return function

            return decorate
        if inspect.iscoroutinefunction(listener):
            raise TypeError(f"{listener!r} is async; a listener is an ordinary function that returns at once")
        subscription = _Subscription(matcher, listener, once)
        self._subscriptions.append(subscription)
        Emitter._changes += 1

        def off() -> None:
            subscription.spent = True  # not even the event that is being delivered now
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)
                Emitter._changes += 1

        return off

    def pipe(self, target: Emitter) -> Callable[[], None]:
        """Let `target` hear everything this emitter hears, as events of a run inside its own; the result ends it.

        Raises:
            ValueError: when this emitter would hear itself.
        """
        if target._reaches(self):
            raise ValueError("an emitter cannot hear itself: the target is piped to, or made above, this one already")
        self._nested.append(target)
        Emitter._changes += 1

        def off() -> None:
            if target in self._nested:
                self._nested.remove(target)
                Emitter._changes += 1

        return off

    def _reaches(self, other: Emitter) -> bool:
        return self is other or any(one._reaches(other) for one in (*self._above, *self._nested))

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Name the loop that events from other threads are handed to."""
        self._loop = loop
        self._thread = threading.get_ident()

    def wants(self, kind: type[Event]) -> bool:
        """Whether anybody listens to this kind of event."""
        if self._seen == Emitter._changes:
            found = self._by_kind.get(kind)
            if found is not None:
                return bool(found)
        return bool(self._listeners(kind))

    def __call__(self, event: Event) -> None:
        """Hand the event to its listeners."""
        if self._loop is not None and threading.get_ident() != self._thread:
            with suppress(RuntimeError):  # the loop has ended, and with it everybody who listened there
                self._loop.call_soon_threadsafe(self._deliver, event)
        else:
            self._deliver(event)

    def _deliver(self, event: Event) -> None:
        for subscription, owner in self._listeners(type(event)):
            if subscription.spent:
                continue
            matcher = subscription.matcher
            try:
                if not isinstance(matcher, str | type) and not matcher(event):
                    continue
                if subscription.once:
                    subscription.spent = True
                    if subscription in owner._subscriptions:
                        owner._subscriptions.remove(subscription)
                    Emitter._changes += 1
                subscription.listener(event)
            except Exception as error:  # a listener is never fatal; its first failure is told in full
                subscription.failures += 1
                _log.error(
                    "a listener of %s raised %r (failure %d of it); the run goes on",
                    event.name,
                    error,
                    subscription.failures,
                    exc_info=subscription.failures == 1,
                )

    def _listeners(self, kind: type[Event]) -> tuple[tuple[_Subscription, Emitter], ...]:
        if self._seen != Emitter._changes:
            self._by_kind = self._table()
            self._seen = Emitter._changes
        found = self._by_kind.get(kind)
        if found is None:
            found = self._by_kind[kind] = tuple(self._matching(kind, nested=False))
        return found

    def _table(self) -> dict[type[Event], tuple[tuple[_Subscription, Emitter], ...]]:
        """An emitter that only relays shares what the one above it has matched already."""
        if self._subscriptions or self._nested or len(self._above) != 1:
            return {}
        above = self._above[0]
        if above._seen != Emitter._changes:
            above._by_kind = above._table()
            above._seen = Emitter._changes
        return above._by_kind

    def _matching(self, kind: type[Event], *, nested: bool) -> list[tuple[_Subscription, Emitter]]:
        found = [pair for emitter in self._above for pair in emitter._matching(kind, nested=nested)]
        found += [(one, self) for one in self._subscriptions if _matches(one.matcher, kind, nested)]
        for emitter in self._nested:
            found += emitter._matching(kind, nested=True)
        return found


def _matches(matcher: Matcher, kind: type[Event], nested: bool) -> bool:
    if isinstance(matcher, str):
        if matcher == "*" or (matcher.endswith(".*") and kind.name.startswith(matcher[:-1])):
            return not nested and not kind.is_piece
        return matcher in ("**", kind.name)
    if isinstance(matcher, type):
        return issubclass(kind, matcher)
    return True


def _refuse_unknown(matcher: object) -> None:
    """Refuse what would listen to nothing for ever: a name that is misspelt, a class that is no event's."""
    if isinstance(matcher, str):
        _refuse_unknown_name(matcher)
    elif isinstance(matcher, type):
        if not any(issubclass(kind, matcher) for kind in _kinds(Event)):
            told = f"no event is a {matcher.__name__}"
            raise ValueError(f"{told}; expected a class of backstay.core.events, or one that inherits from it")
    elif not callable(matcher):
        raise ValueError(f"{matcher!r} matches no event; expected a class, a name, or a function of the event")


def _refuse_unknown_name(matcher: str) -> None:
    if matcher in ("*", "**"):
        return
    names = sorted({kind.name for kind in _kinds(Event) if kind is not Event})
    known = [*names, *sorted({f"{name.partition('.')[0]}.*" for name in names})]
    if matcher in known:
        return
    near = difflib.get_close_matches(matcher.lower(), known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    raise ValueError(f"no event is called {matcher!r}{meant} There are *, **, {', '.join(known)}")


def _kinds(kind: type[Event]) -> Iterator[type[Event]]:
    yield kind
    for further in kind.__subclasses__():
        yield from _kinds(further)


events = Emitter()
"""The process-wide emitter: what listens here hears every run of this process."""
