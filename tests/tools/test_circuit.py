"""The circuit: an outage sees a bounded number of requests, whatever the number of runs."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core.context import RunContext
from backstay.core.errors import ToolError, ToolInputError
from backstay.tools import slow_start, tool
from backstay.tools.circuit import FAULTS, MIN_RETRIES, OPEN_SECONDS, Circuit, circuits
from backstay.tools.slow_start import LEAST, START, SlowStart
from workbench import Bench


def opened(at: float = 0.0) -> Circuit:
    circuit = Circuit("db")
    for _ in range(FAULTS):
        circuit.leave(at, ok=False, is_probe=circuit.enter(at))
    return circuit


def test_five_faults_in_a_row_open_it_for_thirty_seconds() -> None:
    circuit = Circuit("db")
    for number in range(FAULTS):
        assert circuit.opened_at is None, number
        circuit.leave(0, ok=False, is_probe=circuit.enter(0))
    with pytest.raises(ToolError) as shut:
        circuit.enter(OPEN_SECONDS - 0.01)
    assert shut.value.code == "tool.circuit_open"
    assert shut.value.applied is False
    assert circuit.enter(OPEN_SECONDS)


def test_a_success_between_faults_keeps_it_closed() -> None:
    circuit = Circuit("db")
    for _ in range(20):
        for ok in (False, False, False, False, True):
            circuit.leave(0, ok=ok, is_probe=circuit.enter(0))
    assert circuit.opened_at is None


def test_one_probe_goes_through_and_decides() -> None:
    circuit = opened()
    probe = circuit.enter(31)
    assert probe
    with pytest.raises(ToolError):
        circuit.enter(31)
    circuit.leave(32, ok=False, is_probe=probe)
    with pytest.raises(ToolError):
        circuit.enter(32 + OPEN_SECONDS - 1)
    circuit.leave(63, ok=True, is_probe=circuit.enter(63))
    assert [circuit.enter(63) for _ in range(3)] == [False, False, False]


def test_an_abandoned_probe_lets_the_next_one_through() -> None:
    circuit = opened()
    circuit.abandon(is_probe=circuit.enter(31))
    assert circuit.enter(31)


@pytest.mark.parametrize("how", ["ok", "fault", "abandon"])
def test_a_straggler_says_nothing_while_it_is_open(how: str) -> None:
    circuit = opened()
    assert circuit.enter(31)
    if how == "abandon":
        circuit.abandon()
    else:
        circuit.leave(31, ok=how == "ok")
    with pytest.raises(ToolError):
        circuit.enter(31)


def test_a_clock_set_back_does_not_keep_it_open_for_longer() -> None:
    circuit = opened(at=10_000)
    with pytest.raises(ToolError):
        circuit.enter(100)
    assert circuit.enter(100 + OPEN_SECONDS)


def test_retries_are_a_tenth_of_the_calls_of_a_minute_and_three_always() -> None:
    circuit = Circuit("db")
    assert [circuit.may_retry(0) for _ in range(5)] == [True] * MIN_RETRIES + [False] * 2
    assert circuit.may_retry(60)
    for _ in range(100):
        circuit.enter(61)
    assert sum(circuit.may_retry(61) for _ in range(50)) == 10 - 1
    assert not opened().may_retry(100)


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=200))
def test_never_more_than_one_probe_in_thirty_seconds_of_outage(steps: list[tuple[int, bool]]) -> None:
    circuit, now, probes = opened(), 0, []
    for wait, probe_abandoned in steps:
        now += wait
        try:
            is_probe = circuit.enter(now)
        except ToolError:
            continue
        assert is_probe
        if probe_abandoned:
            circuit.abandon(is_probe=True)
        else:
            circuit.leave(now, ok=False, is_probe=True)
            probes.append(now)
    assert all(later - sooner >= OPEN_SECONDS for sooner, later in pairwise(probes))


async def test_an_outage_under_two_hundred_calls_at_once_is_bounded() -> None:
    requests: list[str] = []
    gate = asyncio.Event()

    async def request(name: str) -> None:
        requests.append(name)
        await gate.wait()
        raise ToolError("down", retryable=True)

    @tool(risk="read", downstream="db")
    async def find() -> None:
        """Find."""
        await request("find")

    @tool(risk="read", downstream="db")
    async def rows() -> None:
        """List."""
        await request("rows")

    bench = Bench()
    wave = [asyncio.ensure_future(bench.run(one)) for one in (find, rows) * 100]
    await asyncio.sleep(0)
    gate.set()
    results = await asyncio.gather(*wave)
    assert not any(result.ok for result in results)
    sent = len(requests)
    assert START <= sent <= START + 20, "what slow start lets through, and its retries, whatever the number of calls"
    results = await asyncio.gather(*(bench.run(one) for one in (find, rows) * 100))
    assert {result.code for result in results} == {"tool.circuit_open"}
    assert len(requests) == sent
    bench.now += OPEN_SECONDS
    await asyncio.gather(*(bench.run(find) for _ in range(200)))
    assert len(requests) == sent + 1


async def test_one_call_at_a_time_an_outage_sees_five_faults_and_three_retries_at_most() -> None:
    requests: list[int] = []

    @tool(risk="read")
    async def down() -> None:
        """Down."""
        requests.append(1)
        raise ToolError("down", retryable=True)

    bench = Bench()
    for _ in range(50):
        await bench.run(down)
    assert len(requests) == FAULTS


async def test_wrong_arguments_and_cancelled_attempts_are_no_faults() -> None:
    at_work: list[asyncio.Event] = []

    @tool(risk="read")
    async def picky(kind: str) -> None:
        """Picky."""
        if kind == "wait":
            at_work[-1].set()
            await asyncio.Event().wait()
        raise ToolInputError("no") if kind == "input" else RuntimeError("down")

    bench = Bench()
    for _ in range(4):
        await bench.run(picky, {"kind": "down"})
    for _ in range(5):
        await bench.run(picky, {"kind": "input"})
        at_work.append(asyncio.Event())
        task = asyncio.ensure_future(bench.run(picky, {"kind": "wait"}))
        await at_work[-1].wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert circuits.of("picky").faults == 4
    await bench.run(picky, {"kind": "down"})
    assert (await bench.run(picky, {"kind": "input"})).code == "tool.circuit_open"


async def test_each_answer_makes_room_for_one_more_and_those_who_came_first_get_it() -> None:
    starts = SlowStart()
    for _ in range(START):
        await starts.wait()
    later = [asyncio.ensure_future(starts.wait()) for _ in range(4)]
    await asyncio.sleep(0)
    starts.give_back(ok=True)  # frees its own place and makes another
    barging = asyncio.ensure_future(starts.wait())
    await asyncio.sleep(0.01)
    assert [one.done() for one in (*later, barging)] == [True, True, False, False, False]
    starts.give_back(ok=None)
    await asyncio.sleep(0.01)
    assert [one.done() for one in (*later, barging)] == [True, True, True, False, False]
    assert (starts.room, starts.under_way) == (START + 1, START + 1)
    for one in (*later, barging):
        one.cancel()


async def test_a_fault_halves_the_room_and_never_below_the_least() -> None:
    starts = SlowStart()
    for room in (32, 16, 8, LEAST, LEAST):
        starts.give_back(ok=False)
        assert starts.room == room


async def test_who_waits_is_let_through_in_the_end_where_nothing_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_start, "PATIENCE_SECONDS", 0.02)
    circuit = Circuit("slow")
    for _ in range(START):
        await circuit.admit(lambda: 0.0)
    assert await asyncio.wait_for(circuit.admit(lambda: 0.0), 2) is False
    assert circuit.starts.under_way == START + 1


async def test_a_cancelled_wait_gives_its_turn_to_the_next() -> None:
    circuit = Circuit("full")
    for _ in range(START):
        circuit.enter(0.0)
    first, second = (asyncio.ensure_future(circuit.admit(lambda: 0.0)) for _ in range(2))
    await asyncio.sleep(0)
    circuit.abandon()
    first.cancel()
    assert await asyncio.wait_for(second, 2) is False
    assert circuit.starts.under_way == START


async def test_those_who_wait_are_refused_when_it_opens() -> None:
    circuit = Circuit("down")
    for _ in range(START):
        circuit.enter(0.0)
    waiting = asyncio.ensure_future(circuit.admit(lambda: 0.0))
    await asyncio.sleep(0)
    for _ in range(FAULTS):
        circuit.leave(0.0, ok=False)
    with pytest.raises(ToolError, match="left alone"):
        await asyncio.wait_for(waiting, 2)
    assert circuit.starts.under_way == START - FAULTS


async def test_a_call_inside_a_call_of_the_same_downstream_does_not_wait_for_it() -> None:
    @tool(risk="read", downstream="tree")
    async def leaf() -> int:
        """A leaf."""
        return 1

    @tool(risk="read", downstream="tree")
    async def branch(ctx: RunContext[None]) -> int:
        """A branch."""
        await asyncio.sleep(0)
        return int(str((await leaf.run({}, ctx)).data))

    bench = Bench()
    results = await asyncio.wait_for(asyncio.gather(*(bench.run(branch) for _ in range(3 * START))), 20)
    assert {result.data for result in results} == {1}
