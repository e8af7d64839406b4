"""Worker threads: control comes back in time, late results are discarded, nobody starves."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import sys
import threading
import time

import pytest

from backstay.tools import threads, tool
from backstay.tools.threads import run_in_thread
from workbench import Bench

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


async def test_a_synchronous_tool_leaves_the_loop_free() -> None:
    seen: list[int] = []

    @tool(risk="read")
    def slow() -> int:
        """Slow."""
        seen.append(threading.get_ident())
        return 1

    assert (await Bench().run(slow)).data == 1
    assert seen[0] != threading.get_ident()


async def test_control_is_back_in_time_and_the_late_result_is_discarded(caplog: pytest.LogCaptureFixture) -> None:
    """C63."""
    release, done = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(risk="read", timeout=0.05, max_attempts=1)
    def stuck() -> str:
        """Stuck."""
        release.wait(10)
        loop.call_soon_threadsafe(loop.call_later, 0, done.set)
        return "late"

    began = time.monotonic()
    result = await Bench().run(stuck)
    assert time.monotonic() - began < 1
    assert (result.code, result.retryable) == ("tool.timeout", True)
    with caplog.at_level(logging.WARNING, "backstay.tools"):
        release.set()
        await done.wait()
        await asyncio.sleep(0.05)
    assert any("discarded" in record.message for record in caplog.records)


async def test_twelve_abandoned_threads_do_not_delay_a_fresh_call() -> None:
    release = threading.Event()
    tasks = [asyncio.ensure_future(run_in_thread(lambda: release.wait(10), "stuck")) for _ in range(12)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    began = time.monotonic()
    assert await run_in_thread(lambda: "fresh", "fresh") == "fresh"
    assert time.monotonic() - began < 1
    release.set()


async def test_threads_are_used_again() -> None:
    names = {await run_in_thread(threading.get_ident, "one") for _ in range(20)}
    assert len(names) <= 2


async def test_context_variables_come_along() -> None:
    VARIABLE.set("here")
    assert await run_in_thread(VARIABLE.get, "v") == "here"


@pytest.mark.parametrize("raised", [SystemExit(1), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()])
async def test_what_would_end_a_loop_ends_only_the_call(raised: BaseException) -> None:
    @tool(risk="read")
    def bad() -> None:
        """Bad."""
        raise raised

    result = await Bench().run(bad)
    assert not result.ok
    assert type(raised).__name__ in result.summary


async def test_a_synchronous_function_may_return_an_awaitable() -> None:
    async def later() -> int:
        return 5

    @tool(risk="read")
    def early() -> object:
        """Early."""
        return later()

    assert (await Bench().run(early)).data == 5


def test_a_result_after_the_end_of_its_loop_is_told(caplog: pytest.LogCaptureFixture) -> None:
    release, ended = threading.Event(), threading.Event()

    def stuck() -> None:
        release.wait(10)
        ended.set()

    async def abandon() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_in_thread(stuck, "stuck"), 0.01)

    asyncio.run(abandon())
    with caplog.at_level(logging.WARNING, "backstay.tools"):
        release.set()
        assert ended.wait(5)
        deadline = time.monotonic() + 5
        while not caplog.records and time.monotonic() < deadline:
            ended.wait(0.001)
    assert "event loop was closed" in caplog.text


def test_an_idle_thread_ends_and_a_new_one_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_idle", [])
    monkeypatch.setattr(threads, "_IDLE_SECONDS", 0.01)
    assert asyncio.run(run_in_thread(lambda: 1, "one")) == 1
    deadline = time.monotonic() + 5
    while threads._idle and time.monotonic() < deadline:
        threading.Event().wait(0.005)
    assert not threads._idle
    assert asyncio.run(run_in_thread(lambda: 2, "two")) == 2


@pytest.mark.skipif(
    not hasattr(os, "fork") or sys.version_info >= (3, 12), reason="fork with threads warns from 3.12 on"
)
def test_a_forked_child_does_not_wait_for_its_parents_threads() -> None:
    assert asyncio.run(run_in_thread(lambda: 1, "parent")) == 1
    child = os.fork()
    if child == 0:
        good = False
        try:
            good = asyncio.run(asyncio.wait_for(run_in_thread(lambda: 2, "child"), 5)) == 2
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
