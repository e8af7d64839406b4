"""Incident 1: a downstream hangs, and a stubborn model asks it again and again. Told from a chat sentence on.

The downstream is a real HTTP server on this machine that takes every request and answers none until it is mended.
Where many runs ask at once it hangs until all have asked, and then a gateway gives up, so that nothing depends on the
speed of a machine. Requests are counted at the server, not at the tool. Source: SPEC T5, T6, T7.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from backstay import Agent, tool
from backstay.agents.result import RunResult
from backstay.core.errors import ToolError
from backstay.core.messages import ModelRequest, ToolResult
from backstay.models import FunctionModel, call
from backstay.tools.circuit import FAULTS, MIN_RETRIES, OPEN_SECONDS, circuits
from backstay.tools.slow_start import START

SENTENCE = "Where is my parcel 4711? I want to know right now."
RUNS = 200


class Carrier:
    """A carrier's tracking service: counts what reaches it, and hangs until it is mended or the gateway gives up."""

    def __init__(self) -> None:
        self.requests = 0
        self.is_mended = False
        self.gives_up = asyncio.Event()
        self.port = 0
        self._arrived = asyncio.Condition()

    async def until(self, requests: int) -> None:
        """Wait until so many requests have come in all."""
        async with asyncio.timeout(60), self._arrived:
            await self._arrived.wait_for(lambda: self.requests >= requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            async with self._arrived:
                self.requests += 1
                self._arrived.notify_all()
            if not self.is_mended:
                await self.gives_up.wait()
                return
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nLyon")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def get(self, path: str) -> str:
        """Ask it, as an HTTP client does."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: carrier\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
        finally:
            writer.close()
        if not answer:
            raise ToolError("the carrier hung up", retryable=True)
        return answer.rpartition(b"\r\n\r\n")[2].decode()


@pytest.fixture
async def carrier() -> AsyncIterator[Carrier]:
    carrier = Carrier()
    server = await asyncio.start_server(carrier.serve, "127.0.0.1", 0, backlog=2 * RUNS)
    carrier.port = server.sockets[0].getsockname()[1]
    async with server:
        yield carrier
        carrier.gives_up.set()


class Clock:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def _agent(carrier: Carrier, timeout: float = 60.0, requests: list[ModelRequest] | None = None) -> Agent[Any]:
    """An agent whose model asks for the parcel at every step, until it is given an answer."""

    @tool(risk="read", downstream="carrier", timeout=timeout)
    async def track_parcel(number: str) -> str:
        """Where a parcel is. Use it when the user asks for a parcel."""
        return await carrier.get(f"/parcels/{number}")

    def stubborn(request: ModelRequest, _ctx: Any) -> Any:
        if requests is not None:
            requests.append(request)
        last = request.messages[-1]
        if last.role == "tool" and last.returns[0].result.ok:
            return f"It is in {last.returns[0].result.data}."
        return call("track_parcel", number="4711")

    return Agent(FunctionModel(stubborn), name="parcels", tools=[track_parcel])


def _results(result: RunResult[Any]) -> list[ToolResult]:
    return [one.result for message in result.new_messages for one in message.returns]


async def test_one_run_and_a_stubborn_model_make_two_requests(carrier: Carrier) -> None:
    requests: list[ModelRequest] = []
    clock, agent = Clock(), _agent(carrier, 0.5, requests)
    with agent.override(clock=clock, sleep=clock.sleep):
        result = await agent.run(SENTENCE, session="ann")
    assert carrier.requests == 2, "the call and its one retry; whatever the model asks after that is not run"
    assert (result.status, result.code) == ("stopped", "run.repeating")
    assert "track_parcel" in result.reason
    first, *others = _results(result)
    assert (first.code, first.via) == ("tool.timeout", "ran")
    assert {one.code for one in others} == {"tool.repeated", "tool.withheld"}
    assert {one.via for one in others} == {"refused"}
    told = others[0].summary
    assert told.count(".") == 1, "one clear sentence"
    assert "not run again" in told
    assert len(requests) == result.steps == 5
    assert [message.role for message in result.new_messages][-1] == "tool", "the history is valid"


async def test_two_hundred_runs_stay_within_the_budget_and_the_circuit_recovers_by_one_probe(carrier: Carrier) -> None:
    clock, circuit = Clock(), circuits.of("carrier")
    agent = _agent(carrier)

    async def wave(runs: int = RUNS) -> list[RunResult[Any]]:
        with agent.override(clock=clock, sleep=clock.sleep):
            return await asyncio.gather(*(agent.run(SENTENCE) for _ in range(runs)))

    first = asyncio.ensure_future(wave())
    await carrier.until(START)
    carrier.gives_up.set()
    ended = await first
    assert {one.status for one in ended} == {"stopped"}
    budget = START + max(MIN_RETRIES, START // 10)
    assert START <= carrier.requests <= budget, "what slow start lets through of 200 runs, and the retries of a minute"
    assert circuit.faults >= FAULTS

    sent = carrier.requests
    ended = await wave()
    assert carrier.requests == sent, "open: nothing more reaches it"
    assert {one.code for run in ended for one in _results(run)} <= {"tool.circuit_open", "tool.withheld"}
    assert all("left alone" in _results(run)[0].summary for run in ended)

    clock.now += OPEN_SECONDS
    carrier.gives_up.clear()
    half_open = asyncio.ensure_future(wave())
    await carrier.until(sent + 1)
    carrier.gives_up.set()
    await half_open
    assert carrier.requests == sent + 1, "half open: one probe, which fails and shuts it again"

    clock.now += OPEN_SECONDS
    carrier.is_mended = True
    (probe,) = await wave(1)
    assert (probe.status, probe.output) == ("done", "It is in Lyon.")
    assert carrier.requests == sent + 2
    ended = await wave()
    assert {one.output for one in ended} == {"It is in Lyon."}
    assert carrier.requests == sent + 2 + RUNS, "closed"


async def test_a_run_of_many_parcels_opens_the_circuit_by_itself(carrier: Carrier) -> None:
    """A model that changes the arguments each time is held by the circuit, not by the repetition."""
    carrier.gives_up.set()

    @tool(risk="read", downstream="carrier")
    async def track_parcel(number: int) -> str:
        """Where a parcel is. Use it when the user asks for a parcel."""
        return await carrier.get(f"/parcels/{number}")

    model = FunctionModel(lambda _request, ctx: call("track_parcel", number=ctx.step) if ctx.step < 20 else "No idea.")
    clock = Clock()
    agent: Agent[Any] = Agent(model, tools=[track_parcel])
    with agent.override(clock=clock, sleep=clock.sleep):
        result = await agent.run(SENTENCE)
    assert carrier.requests == FAULTS
    assert result.status == "done"
