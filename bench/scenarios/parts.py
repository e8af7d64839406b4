"""Parts by themselves: one judgement, one record kept, an inbox of ten thousand."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from backstay import Agent, Boundary, Constraint, Principal, RunContext
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.provenance import TrustedText
from backstay.core.canon import freeze
from backstay.core.context import ToolFacts
from backstay.core.messages import Message, Text, ToolCall, ToolResult, ToolReturn
from backstay.models.scripted import FunctionModel, Line, call
from backstay.store.memory import MemoryStore
from backstay.store.records import Fence, Input, Record, Results, RunRow
from backstay.store.sqlite import SQLiteStore
from bench.measure import ROOT, Spread, cpu_each, cpu_each_call, rss_mib, spread
from bench.scenarios.work import add_tool
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
_ASKED_BEFORE = 500
"""Waiting runs before memory is looked at, so that imports and caches are there."""
_ASKED = 10_000
_ABREAST = 50
_PAGE = 50


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
    """Ten thousand runs that wait for a person, in a SQLite file: what they cost the process, a page and a restart."""
    with tempfile.TemporaryDirectory(prefix="backstay-bench-") as folder:
        path = Path(folder) / "bench.db"
        return [*asyncio.run(_pending(path)), _restart(path)]


async def _pending(path: Path) -> list[Row]:
    store = SQLiteStore(path)
    agent = Agent(FunctionModel(_proposing), tools=[add_tool("high")])
    await _ask(agent, store, _ASKED_BEFORE)
    before = rss_mib()
    await _ask(agent, store, _ASKED)
    pages = await _pages(store)
    grown = rss_mib() - before
    await store.close()
    return [
        Row(
            scenario="pending",
            what=f"a page of {_PAGE} of {_ASKED:,} pending actions, wall",
            unit="ms",
            budget=20,
            note="every page from the first to the last",
            **pages.times(1e3).as_dict(),
        ),
        Row(
            scenario="pending",
            what=f"resident memory gained by {_ASKED:,} waiting runs and by reading all their pages",
            measured=max(0.0, round(grown, 2)),
            unit="MiB",
            budget=20,
            note=f"{before:.0f} MiB before; {_ABREAST} runs at a time, so that their commits are grouped",
        ),
    ]


def _proposing(_request: object, ctx: RunContext[None]) -> Line:
    args = {"name": "add", "arguments": {"a": 1, "b": 2}}
    return call("propose_action", action=args, reason="asked for") if ctx.step == 1 else "It waits."


async def _ask(agent: Agent, store: SQLiteStore, runs: int) -> None:
    for _ in range(runs // _ABREAST):
        results = await asyncio.gather(*(agent.run("add 1 and 2", store=store) for _ in range(_ABREAST)))
        assert all(one.status == "waiting" for one in results)


async def _pages(store: SQLiteStore) -> Spread:
    """Seconds of each page, in order."""
    after, costs, seen = "", [], 0
    while True:
        began = time.perf_counter()
        page = await store.pending(after=after, limit=_PAGE)
        costs.append(time.perf_counter() - began)
        seen += len(page)
        if len(page) < _PAGE:
            break
        after = page[-1].id
    assert seen == _ASKED_BEFORE + _ASKED, seen
    return spread(costs[:-1])  # the last one is empty


_FIRST_PAGE = """
import asyncio, sys
from backstay.store.open import open_store
async def first_page():
    store = open_store(sys.argv[1])
    assert len(await store.pending(limit=int(sys.argv[2]))) == int(sys.argv[2])
    await store.close()
asyncio.run(first_page())
"""


def _restart(path: Path) -> Row:
    """A process that has just begun opens the store and reads what waits."""
    costs = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", _FIRST_PAGE, str(path), str(_PAGE)], check=True, cwd=ROOT)
        costs.append(time.perf_counter() - began)
    return Row(
        scenario="pending",
        what=f"restart: a new process opens the store of {_ASKED:,} and reads the first page, wall",
        unit="s",
        budget=2,
        note="start of the interpreter and imports included",
        **spread(costs).as_dict(),
    )
