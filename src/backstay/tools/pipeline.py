"""The pipeline: the one way a tool runs.

start → validate → judge → middleware → cache → retry( circuit → begin effect → `_run` → end attempt ) → cache store →
success | error → finish. `start` and `finish` are raised exactly once per call, refusals included. No subclass can
change the order, and nothing else calls `._run(`. Source: SPEC T2, T3, T5, B1; cases C57, C61, C63.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

from pydantic import BaseModel

from backstay.core.canon import FrozenDict, canonical
from backstay.core.context import RunContext, ToolFacts, Verdict, is_shared
from backstay.core.errors import StoreError, ToolError, ToolInputError
from backstay.core.events import BoundaryVerdict, ToolFailed, ToolFinish, ToolRetry, ToolStart, ToolSuccess
from backstay.core.hiding import hide_json, hide_result
from backstay.core.messages import Args, Json, Label, ToolCall, ToolResult
from backstay.core.redaction import hide, redact
from backstay.core.retry import TOOL_RETRY
from backstay.core.schema import canonical_args, validate
from backstay.tools.cache import Cache
from backstay.tools.circuit import Circuit, circuits
from backstay.tools.deferred import Deferred, deferred_id
from backstay.tools.failures import after_effect, as_tool_error, cut, failed, failure, refused, took_effect
from backstay.tools.timeouts import within

PREVIEW_SECONDS = 10.0


class Runnable(Protocol):
    """What the pipeline needs of a tool; `tool.Tool` is the one class that is it."""

    name: str
    version: str
    input_schema: type[BaseModel]
    timeout: float
    max_attempts: int
    downstream: str | None
    cache: Cache | None

    @property
    def takes_context(self) -> bool:
        """Whether its result may depend on who asks."""
        ...

    @property
    def is_reversible(self) -> bool:
        """Whether what it does can be undone."""
        ...

    def facts(self, args: Args | None) -> ToolFacts:
        """What the boundary may know of it, for these arguments."""
        ...

    def result(self, value: object, ctx: RunContext[Any]) -> ToolResult:
        """Wrap what `_run` returned."""
        ...

    async def preview(self, input: Any, context: RunContext[Any]) -> str:
        """Say what the call would do."""
        ...

    async def _run(self, input: Any, context: RunContext[Any]) -> object: ...


async def run(tool: Runnable, call: ToolCall, ctx: RunContext[Any]) -> ToolResult:
    """Take one call through the pipeline.

    Args:
        tool: the tool named by the call.
        call: as the model, a program or a pending action gave it; its arguments may be anything.
        ctx: the context of this one call; its `call` becomes the canonical one.

    Returns:
        What became of it; a failure is a result too.

    Raises:
        CancelledError: when it is stopped from outside.
        StoreError: when the run's books cannot be written; the run cannot go on without them.
    """
    began = perf_counter()
    emit = ctx.emit
    if emit.wants(ToolStart):
        emit(ToolStart(*ctx.head(), call=call))
    try:
        result = await _judged(tool, call, ctx)
    except asyncio.CancelledError:
        if _is_ours():
            _finish(call, failure(ToolError("The run was cancelled.", code="run.cancelled")), ctx, began)
            raise
        result = refused(ToolError(f"{tool.name} was cancelled from within."))
    except StoreError:
        _finish(call, failure(ToolError("The run's journal could not be written.", code="store.failed")), ctx, began)
        raise
    except Exception as error:  # the one broad catch: whatever a cache, a middleware or a rule raises stays in its call
        result = refused(error)
    _finish(call, result, ctx, began)
    return result


def _is_ours() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _finish(call: ToolCall, result: ToolResult, ctx: RunContext[Any], began: float) -> None:
    emit, seconds = ctx.emit, perf_counter() - began
    kind = ToolSuccess if result.ok else ToolFailed
    if emit.wants(kind):
        emit(kind(*ctx.head(), call=ctx.call or call, result=result, seconds=seconds))
    if emit.wants(ToolFinish):
        emit(ToolFinish(*ctx.head(), call=ctx.call or call, result=result, seconds=seconds))


@dataclass(slots=True)
class _Cleared:
    """A call that was validated and allowed: the only thing that may execute."""

    tool: Runnable
    input: BaseModel
    verdict: Verdict
    facts: ToolFacts
    ctx: RunContext[Any]
    has_effect: bool


async def _judged(tool: Runnable, call: ToolCall, ctx: RunContext[Any]) -> ToolResult:
    cleared = await _clear(tool, call, ctx)
    if isinstance(cleared, ToolResult):
        return cleared
    return await (_cached(cleared) if ctx.around is None else _around(cleared))


async def _clear(tool: Runnable, call: ToolCall, ctx: RunContext[Any]) -> _Cleared | ToolResult:
    if call.raw is not None:
        raise ToolInputError(f"The arguments of {tool.name} are not a JSON object: {call.raw[:80]!r}.")
    input = validate(tool.input_schema, call.args)
    args = canonical_args(input)
    facts = tool.facts(args)
    ctx.call = ToolCall(id=call.id, name=call.name, args=args, slot=call.slot, proposed=call.proposed)
    verdict = ctx.guard.judge(ctx.call, facts)
    if ctx.emit.wants(BoundaryVerdict):
        ctx.emit(BoundaryVerdict(*ctx.head(), verdict=verdict))
    if verdict.outcome == "allow":
        # A read that all sessions count is booked like an effect, so that they can see it.
        is_booked = any(is_shared(one.key) for one in verdict.reserve)
        has_effect = facts.effect != "none" or facts.risk != "read" or is_booked
        return _Cleared(tool, input, verdict, facts, ctx, has_effect)
    if verdict.outcome == "ask":
        if hide_json(args) is not args:  # a row that waits is stored and shown, and is executed as it is stored
            told = f"The arguments of {tool.name} hold a credential, so nobody can be asked. Tools get it by handle."
            raise ToolInputError(told, code="credential.argument")
        return await ctx.guard.hold(verdict, facts, await _preview(tool, input, ctx), tool.is_reversible)
    return hide_result(_denied(verdict))


def _denied(verdict: Verdict) -> ToolResult:
    """The refusal of a call: words for the model, and for programs which rules and which destinations."""
    data: Json = None
    if verdict.rules:
        targets = tuple(dict.fromkeys(one.value for one in verdict.origins))
        data = FrozenDict(tool=verdict.call.name, rules=verdict.rules, targets=targets)
    return ToolResult(
        ok=False, summary=verdict.message, data=data, error=verdict.message, code=verdict.code, via="refused"
    )


async def _preview(tool: Runnable, input: BaseModel, ctx: RunContext[Any]) -> str:
    try:
        said = await within(min(tool.timeout, PREVIEW_SECONDS), lambda: tool.preview(input, ctx), tool.name)
        return cut(hide(str(said)))
    except (Exception, asyncio.CancelledError) as error:  # a courtesy: the person is told that there is none
        if isinstance(error, asyncio.CancelledError) and _is_ours():
            raise
        return f"(no preview: {cut(redact(as_tool_error(error).message))})"


async def _around(cleared: _Cleared) -> ToolResult:
    """Let the middleware do the call: an answer of its own is marked, and what the tool's label says stays said."""
    rest = _Rest(cleared)
    try:
        result = await cleared.ctx.around(cleared.verdict.call, cleared.ctx, rest)
        if not isinstance(result, ToolResult):
            raise ToolError(f"A middleware answered with {type(result).__name__}, not with a ToolResult.")
    except StoreError:
        raise
    except (Exception, asyncio.CancelledError) as error:
        if rest.done is None or (isinstance(error, asyncio.CancelledError) and _is_ours()):
            raise
        result = after_effect(rest.done, as_tool_error(error))
    result = replace(result, label=result.label.join(rest.label), labels=rest.labels_of(result))
    return hide_result(result if rest.is_reached else replace(result, via="short_circuited"))


class _Rest:
    """The end of the middleware chain: the call itself. A read may be repeated; an effect happens once per call."""

    def __init__(self, cleared: _Cleared) -> None:
        self._cleared = cleared
        self._effect: _Cleared | None = None
        self.is_reached = False
        self.done: ToolResult | None = None
        """What became of the effect."""
        self.label: Label = cleared.facts.label
        self._last: ToolResult | None = None

    def labels_of(self, result: ToolResult) -> tuple[tuple[str, Label], ...]:
        """The labels of the fields, if the data is still the tool's own and nobody has said more of it."""
        last = self._last
        is_own = last is not None and result.data is last.data and result.label == last.label
        return result.labels if is_own else ()

    async def __call__(self, call: ToolCall, _ctx: RunContext[Any], /) -> ToolResult:
        self.is_reached = True
        try:
            result = await self._do(call)
        except StoreError:
            raise
        except Exception as error:  # a middleware gets a result in every case, like everybody
            result = refused(error)
        self.label = self.label.join(result.label)
        self._last = result
        return result

    async def _do(self, call: ToolCall) -> ToolResult:
        cleared: _Cleared | ToolResult = self._cleared
        first = self._cleared.verdict.call
        if call.name != first.name:
            raise ToolError(f"A middleware cannot make a call of {call.name} out of one of {first.name}.")
        if call.args is not first.args:
            cleared = await _clear(self._cleared.tool, replace(first, args=call.args, raw=call.raw), self._cleared.ctx)
        if isinstance(cleared, ToolResult):
            return cleared
        if not cleared.has_effect:
            return await _cached(cleared)
        if self._effect is not None:
            return self._same(cleared)
        self._effect = cleared
        self.done = await _cached(cleared)
        return self.done

    def _same(self, cleared: _Cleared) -> ToolResult:
        assert self._effect is not None
        if self.done is None:
            raise ToolError(f"{cleared.tool.name} is under way already; a middleware cannot start it twice.")
        if cleared.verdict.digest != self._effect.verdict.digest:
            raise ToolError("The effect was begun with other arguments already.", code="effect.changed", applied=False)
        return self.done


async def _cached(cleared: _Cleared) -> ToolResult:
    tool, ctx = cleared.tool, cleared.ctx
    if tool.cache is None or cleared.has_effect:
        return await _attempts(cleared)
    cache, key = tool.cache, _cache_key(cleared)
    hit = cache.get(key, ctx.clock())
    if hit is not None:
        return _shared(hit, ctx)
    ran = False

    async def make() -> ToolResult:
        nonlocal ran
        late = cache.get(key, ctx.clock())  # made while this call waited for one that was cancelled
        if late is not None:
            return late
        ran = True
        result = await _attempts(cleared)
        if result.ok and result.via == "ran":
            cache.put(key, result, ctx.clock())
        return result

    result = await cache.once(key, make)
    if result.artifacts and not ran:  # files belong to the conversation of the call that made them
        return await _attempts(cleared)
    return result if ran else _shared(result, ctx)


def _shared(result: ToolResult, ctx: RunContext[Any]) -> ToolResult:
    """Another call's result as this one's; what was cut of it is recalled by this call's own name."""
    ref = f"{ctx.run_id}:{ctx.call.slot}" if result.ref and ctx.call and ctx.run_id else None
    return replace(result, via="cached", ref=ref)


def _cache_key(cleared: _Cleared) -> str:
    tool, who = cleared.tool, cleared.ctx.principal
    whose = [who.tenant, who.id if tool.takes_context else None]
    return canonical([tool.name, tool.version, whose, cleared.ctx.result_tokens, cleared.verdict.call.args])


async def _attempts(cleared: _Cleared) -> ToolResult:
    """Try, and where it may help try again. An effect that was begun is finished on every path but a cancellation."""
    tool, ctx = cleared.tool, cleared.ctx
    circuit = circuits.of(tool.downstream or tool.name)
    stopped = await ctx.guard.halted(tool.name)
    if stopped is not None:
        return stopped
    is_probe = await _admitted(cleared, circuit)
    while True:
        known = await _begin(cleared, circuit, is_probe) if cleared.has_effect else None
        if known is not None:
            return known
        result, error = await _attempt(cleared, circuit, is_probe)
        wait = None if error is None else _wait(cleared, error, circuit)
        await _end(cleared, result, last=wait is None)
        if wait is None or error is None:
            return result
        if ctx.emit.wants(ToolRetry):
            ctx.emit(ToolRetry(*ctx.head(), call=cleared.verdict.call, error=result.error or ""))
        await ctx.sleep(wait)
        if await ctx.guard.halted(tool.name) is not None:
            await _end(cleared, result, last=True)
            return result
        try:
            is_probe = await _admitted(cleared, circuit)
        except ToolError:  # others have opened it meanwhile
            await _end(cleared, result, last=True)
            return result
        ctx.attempt += 1
        ctx.attached = ()
        ctx.nested = 0  # the calls that the body makes are the same ones again, and their effects have the same keys
        cleared.input = validate(
            tool.input_schema, cleared.verdict.call.args
        )  # the body may have changed the first ones


async def _admitted(cleared: _Cleared, circuit: Circuit) -> bool:
    """Wait for room at the downstream; a call that another call's body makes does not, since that one holds room."""
    clock = cleared.ctx.clock
    return circuit.enter(clock()) if "/" in cleared.verdict.call.id else await circuit.admit(clock)


async def _begin(cleared: _Cleared, circuit: Circuit, is_probe: bool) -> ToolResult | None:
    known: ToolResult | None = None
    is_new = False
    try:
        known = await cleared.ctx.guard.begin(cleared.verdict, cleared.facts, cleared.ctx.attempt)
        is_new = known is None
    finally:
        if not is_new:
            circuit.abandon(is_probe=is_probe)
    return known


async def _end(cleared: _Cleared, result: ToolResult, *, last: bool) -> None:
    if cleared.has_effect:
        await cleared.ctx.guard.finish(cleared.verdict, cleared.facts, result, cleared.ctx.attempt, last)


def _wait(cleared: _Cleared, error: ToolError, circuit: Circuit) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    tool, ctx = cleared.tool, cleared.ctx
    if not error.retryable or cleared.facts.effect == "once" or ctx.attempt >= tool.max_attempts:
        return None
    wait, now = TOOL_RETRY.wait(ctx.attempt, error.retry_after), ctx.clock()
    return wait if now + wait < ctx.deadline and circuit.may_retry(now) else None


async def _attempt(cleared: _Cleared, circuit: Circuit, is_probe: bool) -> tuple[ToolResult, ToolError | None]:
    tool, ctx = cleared.tool, cleared.ctx
    try:
        value = await within(tool.timeout, lambda: tool._run(cleared.input, ctx), tool.name)
    except (KeyboardInterrupt, GeneratorExit):
        circuit.abandon(is_probe=is_probe)
        raise
    except asyncio.CancelledError:
        if _is_ours():
            circuit.abandon(is_probe=is_probe)
            raise
        fault = ToolError(f"{tool.name} was cancelled from within.")
    except BaseException as raised:  # SystemExit and a panic of native code too: this call's failure, nobody else's
        fault = as_tool_error(raised)
    else:
        circuit.leave(ctx.clock(), ok=True, is_probe=is_probe)
        if isinstance(value, Deferred):
            return await _deferred(cleared, value), None
        return _result(cleared, value), None
    if isinstance(fault, ToolInputError):  # says nothing about the downstream
        circuit.abandon(is_probe=is_probe)
    else:
        circuit.leave(ctx.clock(), ok=False, is_probe=is_probe)
    return failed(fault, cleared.facts.effect), fault


async def _deferred(cleared: _Cleared, value: Deferred) -> ToolResult:
    try:
        return await cleared.ctx.guard.defer(
            cleared.verdict, cleared.facts, deferred_id(value.token), float(value.expires)
        )
    except ToolError as error:
        result = failure(error)
        return took_effect(result) if cleared.has_effect else result


def _result(cleared: _Cleared, value: object) -> ToolResult:
    try:
        return cleared.tool.result(value, cleared.ctx)
    except Exception as error:  # the body has done its work; only its answer cannot be told
        result = failure(as_tool_error(error))
        return took_effect(result) if cleared.has_effect else result


def arguments_of(input: BaseModel | Mapping[str, Any]) -> Args:
    """The arguments of a call that a program makes, as a mapping."""
    if not isinstance(input, BaseModel):
        return input
    try:
        return canonical_args(input)
    except ToolError:  # what JSON cannot hold is refused in the pipeline, as a result
        return dict(input)
