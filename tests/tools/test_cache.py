"""The memory cache by itself; what the pipeline makes of it is in test_pipeline."""

from __future__ import annotations

import asyncio
import threading

import pytest

from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import ToolResult
from backstay.tools import MemoryCache


def result(data: object = None) -> ToolResult:
    return ToolResult(ok=True, summary="s", data=data)  # type: ignore[arg-type]  # JSON in every test


@pytest.mark.parametrize("data", [None, 0, False, "", (), {}])
def test_a_falsy_hit_is_a_hit(data: object) -> None:
    cache = MemoryCache()
    cache.put("k", result(data), 0)
    assert cache.get("k", 1) == result(data)


def test_results_end_with_their_time_and_the_oldest_used_goes_first() -> None:
    cache = MemoryCache(size=2, ttl=10)
    cache.put("a", result(1), 0)
    cache.put("b", result(2), 5)
    assert cache.get("a", 9) is not None
    cache.put("c", result(3), 9)
    assert cache.get("b", 9) is None
    assert cache.get("a", 10) is None
    assert cache.get("c", 10) is not None


@pytest.mark.parametrize(("size", "ttl"), [(0, 1), (1, 0), (1, float("nan"))])
def test_a_cache_that_could_hold_nothing_is_refused(size: int, ttl: float) -> None:
    with pytest.raises(ToolDefinitionError):
        MemoryCache(size, ttl)


async def test_a_failure_of_the_first_is_not_the_failure_of_the_others() -> None:
    cache, made, gate = MemoryCache(), [], asyncio.Event()

    async def make() -> ToolResult:
        made.append(1)
        if len(made) == 1:
            await gate.wait()
            raise RuntimeError("first")
        return result(len(made))

    tasks = [asyncio.ensure_future(cache.once("k", make)) for _ in range(3)]
    await asyncio.sleep(0)
    gate.set()
    first, *others = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(first, RuntimeError)
    assert all(isinstance(other, ToolResult) for other in others)


def test_several_event_loops_share_a_cache() -> None:
    cache, barrier, got = MemoryCache(), threading.Barrier(4), []

    async def make() -> ToolResult:
        await asyncio.sleep(0)
        return result(1)

    async def many() -> None:
        for number in range(200):
            cache.put(str(number % 300), result(number), number)
            cache.get(str(number % 7), number)
            got.append(await cache.once(str(number % 3), make))

    def work() -> None:
        barrier.wait()
        asyncio.run(many())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 800
