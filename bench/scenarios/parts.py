"""Two parts by themselves: one judgement, one record kept."""

from __future__ import annotations

import asyncio
from itertools import count

from backstay import Boundary, Constraint, Principal
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.provenance import TrustedText
from backstay.core.canon import freeze
from backstay.core.context import ToolFacts
from backstay.core.messages import Message, Text, ToolCall, ToolResult, ToolReturn
from backstay.store.memory import MemoryStore
from backstay.store.records import Fence, Input, Record, Results, RunRow
from bench.measure import Spread, cpu_each, cpu_each_call
from bench.table import Row

_ME = Principal(id="me", kind="developer")
_FACTS = ToolFacts(
    name="refund",
    digest="d" * 64,
    risk="write",
    effect="once",
    sinks=frozenset({"order_id", "amount"}),
    meanings={"order_id": "id:order", "amount": "money:EUR", "since": "date_range:start", "lines": "quantity:items"},
)
_ARGS = {"order_id": "1001", "amount": "120.00", "since": "2026-01-20", "lines": 3}
_NOW = 1_769_000_000.0
"""21 January 2026."""


def judge_call() -> list[Row]:
    """A call that twenty rules bind to and none breaks: nothing is cut short."""
    call = ToolCall(id="1", name="refund", args=freeze(_ARGS), slot=1)
    state, policy = _state(), Boundary()
    verdict = judge(call, _FACTS, policy, state)
    assert verdict.outcome == "allow", verdict.message
    cost = cpu_each_call(lambda: judge(call, _FACTS, policy, state), runs=20_000)
    return [
        Row(
            scenario="judge",
            what="one call against 20 rules, CPU",
            unit="µs",
            budget=50,
            **cost.times(1e6).as_dict(),
        )
    ]


def _state() -> JudgeState:
    sources = TrustedText()
    sources.add("m1", "refund 120.00 EUR on order 1001, placed on 2026-01-20")
    return JudgeState(now=_NOW, principal=_ME, agents=("agent",), constraints=tuple(_rules()), sources=sources)


def _rules() -> list[Constraint]:
    kinds = (
        ({"meaning": "money"}, {"op": "le", "money": "200", "currency": "EUR"}),
        ({"meaning": "window"}, {"op": "window", "days": 30}),
        ({"meaning": "quantity:items"}, {"op": "le", "number": "10", "unit": "items"}),
        ({"argument": "order_id"}, {"op": "in", "values": ("1001", "1002")}),
        ({"argument": "amount"}, {"op": "gt", "money": "0", "currency": "EUR"}),
    )
    return [
        Constraint(id=f"c{number}", text=f"rule {number}", render="", bind=bind, check=freeze(check))
        for number, (bind, check) in enumerate(kinds * 4)
    ]


def memory_record() -> list[Row]:
    """A record appended to a session in memory, one at a time, by its driver."""
    cost = asyncio.run(_memory_record())
    return [
        Row(
            scenario="memory_record",
            what="one record appended in memory, CPU",
            unit="µs",
            budget=5,
            **cost.times(1e6).as_dict(),
        )
    ]


async def _memory_record() -> Spread:
    store = MemoryStore()
    _, fence = await store.create(_run(), _record(0, _input()), claim=("me", 3_600.0))
    assert isinstance(fence, Fence)
    records = (_record(seq, _results()) for seq in count(2))
    ready = [next(records) for _ in range(20_200)]
    following = iter(ready)
    return await cpu_each(lambda: store.append(fence, (next(following),)), runs=20_000)


def _run() -> RunRow:
    return RunRow(
        run_id="r1",
        session_id="s1",
        root_id="s1",
        parent_id=None,
        agent="agent",
        agent_digest="d" * 64,
        principal=_ME,
        trace_id="t1",
        status="running",
        created_at=_NOW,
    )


def _record(seq: int, body: Input | Results) -> Record:
    kind = "input" if isinstance(body, Input) else "results"
    return Record(session_id="s1", seq=seq, run_id="r1", kind=kind, at=_NOW, body=body, trace_id="t1")


def _input() -> Input:
    return Input(message=Message(id="m1", role="user", parts=(Text(text="refund it"),)), instructions="")


def _results() -> Results:
    return Results(returns=(ToolReturn(call_id="1", name="refund", result=ToolResult(ok=True, summary="done")),))


def pending() -> list[Row]:
    """Ten thousand pending actions: not measured yet."""
    return [Row(scenario="pending", what="10,000 pending actions", note="not measured yet")]
