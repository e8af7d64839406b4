"""The pipeline: the one way a tool runs.

start → validate → judge → middleware → cache → retry( circuit → begin effect → `_run` → end attempt ) → cache store →
success | error → finish. `start` and `finish` are raised exactly once per call, refusals included. No subclass can
change the order, and nothing else calls `._run(`. Source: SPEC T2, T3, T5, B1.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

from pydantic import BaseModel

from backstay.core.canon import canonical
from backstay.core.context import RunContext, ToolFacts, Verdict
from backstay.core.errors import StoreError, ToolError, ToolInputError
from backstay.core.events import BoundaryVerdict, ToolFailed, ToolFinish, ToolRetry, ToolStart, ToolSuccess
from backstay.core.messages import Args, ToolCall, ToolResult
from backstay.core.retry import TOOL_RETRY
from backstay.core.schema import canonical_args, validate
from backstay.tools.cache import Cache
from backstay.tools.circuit import Circuit, circuits


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
    """Take one call through the pipeline. Never raises but for a cancellation from outside.

    Args:
        tool: the tool named by the call.
        call: as the model, a program or a pending action gave it; its arguments may be anything.
        ctx: the context of this one call.
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
        result = failure(ToolError(f"{tool.name} was cancelled from within."))
    except StoreError:  # the journal's, not the tool's: the run cannot go on without its books
        _finish(call, failure(ToolError("The run's journal could not be written.", code="store.failed")), ctx, began)
        raise
    except ToolError as error:
        result = failure(error)
    except Exception as error:  # the one broad catch: whatever a tool, a cache or a middleware raises stays in its call
        result = failure(_foreign(error))
    _finish(call, result, ctx, began)
    return result


def failure(error: ToolError) -> ToolResult:
    """The result that an error leads to: type and message, never a traceback."""
    refused = isinstance(error, ToolInputError)
    return ToolResult(
        ok=False,
        summary=error.message,
        error=error.message,
        code=error.code,
        retryable=error.retryable,
        fatal=error.fatal,
        via="refused" if refused else "ran",
    )


def _foreign(error: Exception) -> ToolError:
    return ToolError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def _is_ours() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _finish(call: ToolCall, result: ToolResult, ctx: RunContext[Any], began: float) -> None:
    emit, seconds = ctx.emit, perf_counter() - began
    kind = ToolSuccess if result.ok else ToolFailed
    if emit.wants(kind):
        emit(kind(*ctx.head(), call=call, result=result, seconds=seconds))
    if emit.wants(ToolFinish):
        emit(ToolFinish(*ctx.head(), call=call, result=result, seconds=seconds))


@dataclass(slots=True)
class _Cleared:
    """A call that was validated and allowed: the only thing that may execute."""

    tool: Runnable
    input: BaseModel
    verdict: Verdict
    facts: ToolFacts
    ctx: RunContext[Any]


async def _judged(tool: Runnable, call: ToolCall, ctx: RunContext[Any]) -> ToolResult:
    cleared = await _clear(tool, call, ctx)
    if isinstance(cleared, ToolResult):
        return cleared
    if ctx.around is None:
        return await _cached(cleared)
    reached = False

    async def rest(again: ToolCall, _ctx: RunContext[Any]) -> ToolResult:
        nonlocal reached
        reached = True
        if again.args == cleared.verdict.call.args:
            return await _cached(cleared)
        anew = await _clear(tool, replace(cleared.verdict.call, args=again.args), ctx)
        return anew if isinstance(anew, ToolResult) else await _cached(anew)

    result: ToolResult = await ctx.around(cleared.verdict.call, ctx, rest)
    return result if reached else replace(result, via="short_circuited")


async def _clear(tool: Runnable, call: ToolCall, ctx: RunContext[Any]) -> _Cleared | ToolResult:
    if call.raw is not None:
        raise ToolInputError(f"The arguments of {tool.name} are not a JSON object: {call.raw[:80]!r}.")
    input = validate(tool.input_schema, call.args)
    args = canonical_args(input)
    facts = tool.facts(args)
    verdict = ctx.guard.judge(
        ToolCall(id=call.id, name=call.name, args=args, slot=call.slot, proposed=call.proposed), facts
    )
    if ctx.emit.wants(BoundaryVerdict):
        ctx.emit(BoundaryVerdict(*ctx.head(), verdict=verdict))
    if verdict.outcome == "allow":
        return _Cleared(tool, input, verdict, facts, ctx)
    if verdict.outcome == "ask":
        return await ctx.guard.hold(verdict, facts, await _preview(tool, input, ctx), tool.is_reversible)
    return ToolResult(ok=False, summary=verdict.message, error=verdict.message, code=verdict.code, via="refused")


async def _preview(tool: Runnable, input: BaseModel, ctx: RunContext[Any]) -> str:
    try:
        async with asyncio.timeout(min(tool.timeout, 10.0)):
            return await tool.preview(input, ctx)
    except asyncio.CancelledError:
        raise
    except Exception as error:  # a preview is a courtesy: the person is told that there is none
        return f"(no preview: {type(error).__name__}: {error})"


async def _cached(cleared: _Cleared) -> ToolResult:
    tool, ctx = cleared.tool, cleared.ctx
    if tool.cache is None or cleared.facts.risk != "read" or cleared.facts.effect != "none":
        return await _attempts(cleared)
    cache, key = tool.cache, _cache_key(cleared)
    hit = cache.get(key, ctx.clock())
    if hit is not None:
        return replace(hit, via="cached")
    ran = False

    async def make() -> ToolResult:
        nonlocal ran
        ran = True
        result = await _attempts(cleared)
        if result.ok:
            cache.put(key, result, ctx.clock())
        return result

    result = await cache.once(key, make)
    return result if ran else replace(result, via="cached")


def _cache_key(cleared: _Cleared) -> str:
    tool, who = cleared.tool, cleared.ctx.principal
    principal = [who.tenant, who.id] if tool.takes_context else None
    return canonical([tool.name, tool.version, principal, cleared.ctx.result_tokens, cleared.verdict.call.args])


async def _attempts(cleared: _Cleared) -> ToolResult:
    tool, ctx, facts = cleared.tool, cleared.ctx, cleared.facts
    circuit = circuits.of(tool.downstream or tool.name)
    has_effect = facts.effect != "none" or facts.risk != "read"
    while True:
        result, error = await _attempt(cleared, circuit, has_effect)
        again = error is not None and _may_retry(cleared, error, circuit)
        if has_effect and result.via == "ran":
            await ctx.guard.finish(cleared.verdict, facts, result, ctx.attempt, not again)
        elif has_effect and result.via == "in_doubt" and error is not None:
            await ctx.guard.finish(cleared.verdict, facts, result, ctx.attempt, True)
        if not again or error is None:
            return result
        if ctx.emit.wants(ToolRetry):
            ctx.emit(ToolRetry(*ctx.head(), call=cleared.verdict.call, error=error.message))
        await ctx.sleep(TOOL_RETRY.wait(ctx.attempt, error.retry_after))
        ctx.attempt += 1
        cleared.input = validate(tool.input_schema, cleared.verdict.call.args)  # the body may have changed the first ones


def _may_retry(cleared: _Cleared, error: ToolError, circuit: Circuit) -> bool:
    tool, ctx = cleared.tool, cleared.ctx
    if not error.retryable or cleared.facts.effect == "once" or ctx.attempt >= tool.max_attempts:
        return False
    return ctx.clock() < ctx.deadline and circuit.may_retry(ctx.clock())


async def _attempt(
    cleared: _Cleared, circuit: Circuit, has_effect: bool
) -> tuple[ToolResult, ToolError | None]:
    tool, ctx = cleared.tool, cleared.ctx
    try:
        circuit.enter(ctx.clock())
    except ToolError as shut:
        return replace(failure(shut), via="refused"), shut
    if has_effect and (known := await ctx.guard.begin(cleared.verdict, cleared.facts, ctx.attempt)) is not None:
        circuit.abandon()
        return known, None
    fault: ToolError
    try:
        result = tool.result(await _bounded(cleared), ctx)
    except asyncio.CancelledError:
        if _is_ours():
            circuit.abandon()
            raise
        fault = ToolError(f"{tool.name} was cancelled from within.")
    except ToolError as raised:
        fault = raised
    except Exception as raised:  # what the body raises is this call's failure and nobody else's
        fault = _foreign(raised)
    else:
        circuit.leave(ctx.clock(), ok=True)
        return result, None
    circuit.leave(ctx.clock(), ok=isinstance(fault, ToolInputError))
    return _failed(cleared, fault), fault


async def _bounded(cleared: _Cleared) -> object:
    """Run the body under its timeout; the run's own deadline is kept by whoever drives it."""
    tool, ctx = cleared.tool, cleared.ctx
    seconds = min(tool.timeout, max(0.0, ctx.deadline - ctx.clock())) if ctx.deadline < math.inf else tool.timeout
    try:
        async with asyncio.timeout(seconds) as scope:
            return await tool._run(cleared.input, ctx)
    except TimeoutError:
        if not scope.expired():
            raise
        raise ToolError(
            f"{tool.name} did not answer within {seconds:g} seconds.", retryable=True, code="tool.timeout"
        ) from None


def _failed(cleared: _Cleared, error: ToolError) -> ToolResult:
    result = failure(error)
    if cleared.facts.effect == "none" or error.applied is False:
        return result
    if cleared.facts.effect == "once":
        told = f"{error.message} It is not known whether it took effect; a person will look. Do not repeat it."
        return replace(result, summary=told, code="effect.in_doubt", retryable=False, via="in_doubt")
    return replace(result, summary=f"{error.message} It is not known whether it took effect.")


def arguments_of(input: BaseModel | Mapping[str, Any]) -> Args:
    """The arguments of a call that a program makes, as a mapping."""
    return canonical_args(input) if isinstance(input, BaseModel) else input
