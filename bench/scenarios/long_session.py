"""A session of ten thousand turns: what a turn costs then, and how often a provider's cache of the prompt holds."""

from __future__ import annotations

import asyncio
import time

from backstay import Agent, Boundary, tool
from backstay.core.messages import Message, ModelRequest
from backstay.models.model import ModelProfile
from backstay.models.scripted import FunctionModel, call
from backstay.store.memory import MemoryStore
from bench.measure import Spread, spread
from bench.scenarios.work import LONG
from bench.table import Row

_TURNS = 10_000
_BATCH, _BATCHES = 20, 10
_WINDOW = 8_000
_PROFILE = ModelProfile(family="scripted", window=_WINDOW, keeps_notes=False, price={"input": "0", "output": "0"})


def long_session() -> list[Row]:
    """Cost of a turn with one look-up, at 100 turns and at 10,000, in one session with a window of 8,000 tokens."""
    early, late, unchanged = asyncio.run(_session())
    return [
        Row(
            scenario="long_session",
            what="a turn after 100 turns, CPU",
            unit="ms",
            **early.times(1e3).as_dict(),
        ),
        Row(
            scenario="long_session",
            what="a turn after 10,000 ÷ after 100",
            measured=late.median / early.median,
            unit="×",
            budget=1.3,
        ),
        Row(
            scenario="long_session",
            what="requests whose prefix is changed",
            measured=100 * (1 - unchanged),
            unit="%",
            budget=10,
        ),
    ]


async def _session() -> tuple[Spread, Spread, float]:
    session = _Session()
    await session.turns(100)
    early = await session.cost()
    unchanged = await session.unchanged(1_000)
    await session.turns(_TURNS - session.done)
    return early, await session.cost(), unchanged


class _Session:
    """One conversation, turn after turn, each a run of its own."""

    def __init__(self) -> None:
        self.done = 0
        self._requests: list[ModelRequest] = []
        self._store = MemoryStore()

        @tool(risk="read")
        async def find_order(order_id: str) -> dict[str, str]:
            """Look up one order. Use it when the user names an order."""
            return {"order_id": order_id, "text": f"parcel of {order_id} " * 20}

        model = FunctionModel(self._reply, profile=_PROFILE)
        self._agent: Agent = Agent(model, tools=[find_order], boundary=Boundary(limits=LONG))

    def _reply(self, request: ModelRequest, ctx: object) -> object:
        self._requests.append(request)
        is_first = request.messages[-1].role == "user"
        return call("find_order", order_id=f"O-{self.done}") if is_first else "It is on its way to you. " * 3

    async def turns(self, count: int) -> None:
        for _ in range(count):
            self._requests.clear()
            result = await self._agent.run(f"turn {self.done}: where is this parcel?", session="s", store=self._store)
            if result.status != "done":
                raise AssertionError(f"turn {self.done} ended {result.status}: {result.reason}")
            self.done += 1

    async def cost(self) -> Spread:
        """CPU seconds of a turn."""
        found = []
        for _ in range(_BATCHES):
            before = time.process_time()
            await self.turns(_BATCH)
            found.append((time.process_time() - before) / _BATCH)
        return spread(found)

    async def unchanged(self, count: int) -> float:
        """Share of requests that begin with all of the one before, up to the working memory."""
        kept, seen = 0, 0
        before: tuple[Message, ...] = ()
        for _ in range(count):
            await self.turns(1)
            for request in self._requests:
                now = _stable(request.messages)
                kept += now[: len(before)] == before
                seen += 1
                before = now
        return kept / seen


def _stable(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """What comes before the working memory, which is written anew for every turn."""
    at = next((number for number, one in enumerate(messages) if one.id == "memory"), len(messages))
    return messages[:at]
