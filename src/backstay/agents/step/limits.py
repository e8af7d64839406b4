"""Where a run ends because something is used up: its own limits, and the budgets of the day. Source: SPEC B14."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from backstay.agents.work import Ending, Spent, Work
from backstay.boundary.budgets import Line
from backstay.core.messages import ToolCall, Usage
from backstay.tools.summary import weigh

_BY_REPLIES = ("tokens", "usd")
"""What a reply uses up, so that calls it asks for come too late."""


def limit_reached(spent: Spent, names: Sequence[str] = ("steps", "tokens", "usd")) -> Ending | None:
    """How the run ends if one of its limits is reached before another request."""
    for name, used, allowed in spent:
        if name in names and used >= allowed and (name != "usd" or used > 0):
            return Ending(status="stopped", code=f"limit.{name}", reason=f"the limit of {allowed:g} {name} is reached")
    return None


async def calls_over(work: Work, calls: Sequence[ToolCall]) -> Ending | None:
    """How the run ends instead of running these calls; what a budget of calls has room for is charged."""
    spent, told = work.spent(), f"so none of these {len(calls)} calls ran"
    over = limit_reached(spent, _BY_REPLIES)
    if over is not None:
        return Ending(status=over.status, code=over.code, reason=f"{over.reason}, {told}")
    if work.run.calls - work.run.since_calls > work.limits.calls:
        told = f"the limit of {work.limits.calls} calls would be passed, so none of these {len(calls)} ran"
        return Ending(status="stopped", code="limit.calls", reason=told)
    if work.purse is None or work.run.is_cut_off or work.run.is_refused:
        return None
    full = await work.purse.calls(len(calls))
    return None if full is None else Ending(status="stopped", code="budget.calls", reason=f"{_used_up(full)}, {told}")


async def hold_budget(work: Work) -> Ending | None:
    """Hold what the next request uses at least; how the run ends if a budget has no room for it."""
    if work.purse is None:
        return None
    tokens = _least(work)
    full = await work.purse.hold(tokens, work.price.cost_usd(Usage(input_tokens=tokens)) or Decimal(0))
    return None if full is None else Ending(status="stopped", code=f"budget.{full.unit}", reason=_used_up(full))


def _used_up(line: Line) -> str:
    return f"the budget of {line.cap:f} {line.text} is used up"


def _least(work: Work) -> int:
    """Tokens that the next request has at least: what requests of this run had on the average, else its first words."""
    run = work.run
    if run.step:
        return max(run.usage.input_tokens // run.step, 1)
    said = run.input.message.text if run.input else ""
    return max(weigh(work.journal.state.instructions) + weigh(said), 1)


def warning(work: Work, spent: Spent) -> str:
    """What the model is told of limits and budgets of which 80 % are used up."""
    spent += work.purse.spent if work.purse else ()
    near = [f"{used:g} of {allowed:g} {name}" for name, used, allowed in spent if used >= 0.8 * allowed]
    return f"Nearly used up: {', '.join(near)}. Come to an end." if near else ""
