"""What a message costs in a `TokenMemory`, with few and with many before it."""

from __future__ import annotations

import asyncio
import time

from backstay.core.messages import Message, Text
from backstay.memory import TokenMemory
from bench.table import Row

_SAID = Message(id="m", role="user", parts=(Text(text="Where is my order o-1001? It should be here since Monday."),))
_ROUNDS = 5


def token_memory() -> list[Row]:
    """Adding to a memory that slides: the ten thousandth message costs what the thousandth does."""
    few, many = _each(1_000), _each(10_000)
    return [
        Row(scenario="memory", what="a message into TokenMemory, of 10,000, CPU", unit="µs", measured=many * 1e6),
        Row(scenario="memory", what="the same of 10,000 ÷ of 1,000", unit="×", measured=many / few, budget=1.3),
    ]


def _each(messages: int) -> float:
    """CPU seconds for one message, the lowest of some rounds. 300 of these messages fit."""
    return min(asyncio.run(_filled(messages)) for _ in range(_ROUNDS)) / messages


async def _filled(messages: int) -> float:
    memory = TokenMemory(10_000)
    began = time.process_time()
    for _ in range(messages):
        await memory.add(_SAID)
    return time.process_time() - began
