"""The calls of one step: beside each other up to a limit, those that must not after them, in the order of the model.

Source: SPEC T14; DESIGN 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from backstay.agents.work import Work
from backstay.core.ids import new_span_id
from backstay.core.messages import ToolCall
from backstay.tools.toolset import proposal_reason


async def run_calls(work: Work, calls: Sequence[ToolCall], refused: Mapping[int, tuple[str, str]]) -> None:
    """Run the calls of one step; their results stand in `work.results` by slot.

    Args:
        work: of the run.
        calls: in the model's order.
        refused: slot → code and words, for calls that the step does not allow.
    """
    for call in calls:
        if call.slot in refused and call.slot not in work.results:
            code, told = refused[call.slot]
            child = work.ctx.child(call=call, span_id=new_span_id(), key=None)
            work.results[call.slot] = work.definition.toolset.refuse(call, code, told, child)
    sequential = [call for call in calls if _is_sequential(work, call)]
    beside = [call for call in calls if call not in sequential]
    work.guard.siblings = len(calls)
    if len(beside) == 1:
        await _run_call(work, beside[0])
    elif beside:
        await _run_beside(work, beside)
    for call in sequential:
        await _run_call(work, call)


async def _run_beside(work: Work, calls: Sequence[ToolCall]) -> None:
    seats = asyncio.Semaphore(work.definition.concurrency)

    async def seated(call: ToolCall) -> None:
        async with seats:
            await _run_call(work, call)

    try:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(seated(call))
    except BaseExceptionGroup as several:  # only the store's errors come through the pipeline; the first says it
        raise several.exceptions[0] from None


def _is_sequential(work: Work, call: ToolCall) -> bool:
    tool = work.definition.toolset.get(call.name)
    return tool is not None and tool.sequential


async def _run_call(work: Work, call: ToolCall) -> None:
    if call.slot in work.results:
        return
    ctx, guard = work.ctx, work.guard
    reason = proposal_reason(call)
    if reason:
        guard.reasons[call.slot] = reason
    child = ctx.child(call=call, span_id=new_span_id(), key=f"{ctx.run_id}:{call.slot}")
    result = work.results[call.slot] = await work.definition.toolset.run(call, child)
    work.results[call.slot] = await guard.labelled(child.call, result)
    guard.ledger.give_back(guard.key(call), result)
    guard.watch.ended(call, result)
