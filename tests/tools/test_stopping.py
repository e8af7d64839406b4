"""Stopping: a tool asleep for a minute under a short timeout gives control back, and nothing of it survives unsaid."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backstay import Agent, Boundary, Limits, RunContext, tool
from backstay.core.errors import ToolDefinitionError, ToolError
from backstay.core.messages import ToolResult
from backstay.models import ScriptedModel, call
from backstay.tools import processes, run_process, timeouts
from backstay.tools.threads import Job
from workbench import Bench

TIMEOUT, BACK = 0.2, 0.4
"""Seconds: the tool's timeout, and when control has to be back."""


async def _timed(tool: Any, args: Any = None) -> tuple[ToolResult, float]:
    began = time.monotonic()
    result = await Bench().run(tool, args, deadline=0.0)  # the deadline forbids a second attempt
    return result, time.monotonic() - began


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_so():  # noqa: ASYNC110  (the kernel and threads set no event)
            await asyncio.sleep(0.005)


# async bodies


async def test_an_async_body_is_stopped_and_does_nothing_later() -> None:
    done: list[str] = []

    @tool(risk="read", timeout=TIMEOUT)
    async def sleepy() -> None:
        """Sleep."""
        await asyncio.sleep(60)
        done.append("late")

    result, seconds = await _timed(sleepy)
    assert (result.code, result.retryable) == ("tool.timeout", True)
    assert result.summary == "sleepy did not answer within 0.2 seconds."
    assert seconds < BACK
    assert not [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
    assert done == []


async def test_a_body_that_closes_what_it_has_open_is_waited_for() -> None:
    closed: list[str] = []

    @tool(risk="read", timeout=TIMEOUT)
    async def tidy() -> None:
        """Tidy."""
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            closed.append("closed")

    result, seconds = await _timed(tidy)
    assert closed == ["closed"]
    assert seconds < BACK
    assert "could not be stopped" not in result.summary


async def _stubborn(release: asyncio.Event, done: list[str]) -> str:
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue
    done.append("side effect")
    return "late"


async def test_a_body_that_swallows_the_cancellation_is_left_behind_and_said_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release, done = asyncio.Event(), list[str]()

    @tool(risk="read", timeout=TIMEOUT)
    async def deaf() -> str:
        """Deaf."""
        return await _stubborn(release, done)

    with caplog.at_level(logging.WARNING, "backstay.tools"):
        result, seconds = await _timed(deaf)
        assert seconds < BACK
        assert result.code == "tool.timeout"
        assert "could not be stopped" in result.summary
        assert "discarded" in result.summary
        assert "left behind" in caplog.text
        release.set()
        await _until(lambda: not timeouts._left)
    assert done == ["side effect"], "as the result has said, it may still take effect"
    assert "its result is discarded" in caplog.text


async def test_a_body_that_answers_its_cancellation_with_a_value_has_timed_out() -> None:
    @tool(risk="read", timeout=TIMEOUT)
    async def rude() -> str:
        """Rude."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "half an answer"
        return "whole"

    result, seconds = await _timed(rude)
    assert (result.ok, result.code) == (False, "tool.timeout")
    assert seconds < BACK


@pytest.mark.parametrize("how", ["cancel", "deadline", "task"])
async def test_a_body_that_swallows_the_cancellation_does_not_hold_the_run(how: str) -> None:
    began, release, done = asyncio.Event(), asyncio.Event(), list[str]()

    @tool(risk="read")
    async def deaf() -> str:
        """Deaf. Use it when asked."""
        began.set()
        return await _stubborn(release, done)

    limits = Limits(seconds=TIMEOUT) if how == "deadline" else Limits()
    agent: Agent[Any] = Agent(ScriptedModel(call("deaf"), "never"), tools=[deaf], boundary=Boundary(limits=limits))
    task = asyncio.ensure_future(agent.run("go", session="s"))
    await began.wait()
    at = time.monotonic()
    if how == "cancel":
        (run,) = await agent.store.runs()
        await agent.cancel(run.run_id, "enough")
    elif how == "task":
        task.cancel()
    outcome = (await asyncio.gather(task, return_exceptions=True))[0]
    assert time.monotonic() - at < TIMEOUT + BACK
    if how == "task":
        assert isinstance(outcome, asyncio.CancelledError)
    else:
        assert not isinstance(outcome, BaseException)
        assert outcome.status == {"cancel": "cancelled", "deadline": "stopped"}[how]
        assert outcome.new_messages[-1].role == "tool", "the history is valid"
    release.set()
    await _until(lambda: not timeouts._left)


async def test_what_is_stopped_in_an_effect_that_happens_once_is_in_doubt() -> None:
    @tool(risk="write", effect="once", timeout=TIMEOUT)
    async def pay() -> None:
        """Write."""
        await asyncio.sleep(60)

    result, _ = await _timed(pay)
    assert (result.code, result.via, result.retryable) == ("effect.in_doubt", "in_doubt", False)


# threads


async def test_a_thread_that_cannot_be_stopped_is_said(caplog: pytest.LogCaptureFixture) -> None:
    release, done = threading.Event(), list[str]()

    @tool(risk="read", timeout=TIMEOUT)
    def stuck() -> str:
        """Stuck."""
        release.wait(60)
        done.append("side effect")
        return "late"

    with caplog.at_level(logging.WARNING, "backstay.tools"):
        result, seconds = await _timed(stuck)
        assert seconds < BACK
        assert (result.code, result.retryable) == ("tool.timeout", True)
        assert "could not be stopped" in result.summary
        release.set()
        await _until(lambda: "its result is discarded" in caplog.text)
    assert done == ["side effect"]


async def test_a_function_is_either_begun_or_given_up() -> None:
    loop = asyncio.get_running_loop()
    given_up, begun, ended = (Job(loop, loop.create_future(), lambda: None, "t") for _ in range(3))
    assert not given_up.give_up(), "it was not at work"
    assert not given_up.begin(), "and never will be"
    assert begun.begin()
    assert begun.give_up(), "it goes on, which has to be said"
    assert ended.begin()
    ended.end()
    assert not ended.give_up()


async def test_twelve_abandoned_threads_do_not_delay_a_fresh_tool() -> None:
    release = threading.Event()

    @tool(risk="read", timeout=0.05)
    def stuck(number: int) -> None:
        """Stuck."""
        release.wait(60)

    @tool(risk="read", timeout=TIMEOUT)
    def fresh() -> str:
        """Fresh."""
        return "fresh"

    bench = Bench()
    stuck_ones = await asyncio.gather(*(bench.run(stuck, {"number": n}, deadline=0.0) for n in range(12)))
    assert {one.code for one in stuck_ones} == {"tool.timeout"}
    began = time.monotonic()
    result = await bench.run(fresh)
    assert (result.ok, result.data) == (True, "fresh")
    assert time.monotonic() - began < BACK
    release.set()


# child processes

_TREE = """
import os, subprocess, sys, time
here = sys.argv[1]
if len(sys.argv) == 2:
    for kind in ("child", "stranger"):
        subprocess.Popen([sys.executable, "-c", open(f"{here}/tree.py").read(), here, kind],
                         start_new_session=kind == "stranger")
open(f"{here}/{os.getpid()}.pid", "w").close()
print("begun", flush=True)
time.sleep(60)
open(f"{here}/late", "w").close()
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a program that starts a child, and a grandchild in a session of its own, and sleeps a minute."""
    (tmp_path / "tree.py").write_text(_TREE)
    return tmp_path


def _pids(folder: Path) -> list[int]:
    return [int(one.stem) for one in folder.glob("*.pid")]


async def _begun(folder: Path) -> None:
    await _until(lambda: len(_pids(folder)) == 3)


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-c", _TREE, str(folder)]


async def test_a_timeout_ends_a_process_and_everything_it_has_started(tree: Path) -> None:
    @tool(risk="read", timeout=TIMEOUT)
    async def shell(script: str) -> str:
        """Run."""
        return (await run_process(["sh", "-c", script])).stdout

    here = tree / "pids"
    here.mkdir()
    script = f"sleep 60 & echo $! > {here}/a; setsid sleep 61 & echo $! > {here}/b; sleep 62; touch {tree}/late"
    result, seconds = await _timed(shell, {"script": script})
    assert result.code == "tool.timeout"
    assert seconds < BACK
    assert "could not be stopped" not in result.summary
    pids = [int(text) for one in here.iterdir() if (text := one.read_text())]  # on a slow machine not all had begun
    await _until(lambda: not any(map(_alive, pids)))
    assert not (tree / "late").exists()


@pytest.mark.parametrize("how", ["cancel", "seconds", "error"])
async def test_whatever_ends_the_call_ends_the_whole_tree(tree: Path, how: str) -> None:
    async def work() -> object:
        if how == "seconds":
            return await run_process(_command(tree), seconds=1.5)
        async with asyncio.TaskGroup() as group:
            group.create_task(run_process(_command(tree)))
            await _begun(tree)
            if how == "error":
                raise ValueError("something else went wrong")
        return None

    task = asyncio.ensure_future(work())
    await _begun(tree)
    if how == "cancel":
        task.cancel()
    outcome: Any = (await asyncio.gather(task, return_exceptions=True))[0]
    if how == "seconds":
        assert (outcome.exit_code, outcome.timed_out) == (None, True)
        assert "begun" in outcome.stdout, "what was written before is kept"
    assert len(_pids(tree)) == 3
    await _until(lambda: not any(map(_alive, _pids(tree))))


async def test_a_process_that_ends_takes_with_it_what_it_left_running(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/a; setsid sleep 61 & echo $! > {tmp_path}/b; echo done"
    began = time.monotonic()
    result = await run_process(["sh", "-c", script])
    assert (result.exit_code, result.stdout) == (0, "done\n")
    assert time.monotonic() - began < 2, "a grandchild that holds the pipe open is not waited for"
    pids = [int((tmp_path / name).read_text()) for name in "ab"]
    await _until(lambda: not any(map(_alive, pids)))


async def test_where_nothing_can_be_looked_up_the_group_still_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_PROC", tmp_path / "no-proc")
    await run_process(["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/a; echo done"])
    await _until(lambda: not _alive(int((tmp_path / "a").read_text())))


async def test_output_is_bounded_and_the_rest_is_dropped() -> None:
    result = await run_process(["sh", "-c", "head -c 20000000 /dev/zero; echo no >&2; exit 3"], max_bytes=1_000)
    assert (result.exit_code, len(result.stdout), result.is_cut, result.stderr) == (3, 1_000, True, "no\n")


async def test_a_process_has_no_input_and_a_small_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    assert (await run_process(["cat"])).stdout == ""
    inherited = (await run_process(["env"])).stdout
    assert "PATH=" in inherited
    assert "secret" not in inherited
    given = (await run_process(["/usr/bin/env"], env={"WHERE": "here"})).stdout
    assert [line.partition("=")[0] for line in given.split()] == ["WHERE", "BACKSTAY_PROCESS"]


@pytest.mark.parametrize("command", [["no-such-program"], ["/etc/passwd"]])
async def test_a_program_that_is_not_there_has_a_code_and_has_done_nothing(command: list[str]) -> None:
    with pytest.raises(ToolError) as refused:
        await run_process(command)
    assert (refused.value.code, refused.value.applied) == ("process.start", False)
    assert command[0] in refused.value.message


@pytest.mark.parametrize("command", ["ls -l", b"ls", []])
async def test_a_command_line_is_no_command(command: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="list"):
        await run_process(command)


async def test_processes_leave_no_open_files() -> None:
    await run_process(["true"])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await run_process(["true"])
    assert len(os.listdir("/proc/self/fd")) <= before + 1


# what it is built on


async def test_a_body_that_raises_what_would_end_a_loop_ends_only_its_call() -> None:
    @tool(risk="read")
    async def leaves() -> None:
        """Leave."""
        raise SystemExit(3)

    result = await Bench().run(leaves)
    assert not result.ok
    assert "SystemExit" in result.summary


async def test_context_variables_and_the_context_reach_the_body() -> None:
    @tool(risk="read")
    async def who(ctx: RunContext[Any]) -> str:
        """Who."""
        return ctx.principal.id

    assert (await Bench().run(who)).data == "ann"
