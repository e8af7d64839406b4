"""A child process that ends with its call: its group, its grandchildren and its output are bounded.

For tools that users write. The child has no standard input, a session of its own and a small environment. When it ends,
when its time is up, or when the call is cancelled, everything it has started is killed. A grandchild that left the
group is found by a mark in its environment (Linux); one that also wiped its environment is not, that takes a sandbox.
Source: SPEC T12, B20; BeeAI's shell tool, which killed only the direct child and kept 20 MB of output.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from backstay.core.errors import ToolDefinitionError, ToolError
from backstay.tools.threads import run_in_thread

MAX_BYTES = 100_000
"""How much of each output stream is kept."""
CLOSE_SECONDS = 1.0
"""How long to wait for what was killed to be gone and its last output to be read."""

_INHERITED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT")
_MARK = "BACKSTAY_PROCESS"
_SWEEPS = 5
"""A process that forks while it is looked for is found in the next round."""
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """How a child process ended and what it wrote."""

    exit_code: int | None
    """As the child gave it, negative for a signal; None if its time was up."""
    stdout: str
    stderr: str
    timed_out: bool = False
    is_cut: bool = False
    """Whether it wrote more than was kept."""


async def run_process(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> ProcessResult:
    """Run a program and return what it wrote. Nothing that it started is left when this returns or is cancelled.

    Args:
        command: the program and its arguments; there is no shell between.
        cwd: the folder it starts in.
        env: its environment. None: only PATH, HOME, language, time zone and the like; the secrets of this process
            are not handed down.
        seconds: how long it may take; None leaves that to the tool's own timeout.
        max_bytes: how much of each stream is kept, from its beginning; the rest is read and dropped.

    Raises:
        ToolError: code `process.start`, if the program cannot be started; nothing has happened then.
        ToolDefinitionError: for a command line in place of a list.
    """
    if isinstance(command, str | bytes) or not command:
        raise ToolDefinitionError(f"run_process takes a list of program and arguments, got {command!r}")
    mark, output, timed_out = token_hex(16), _Output(max_bytes), False
    given = dict(env) if env is not None else {key: os.environ[key] for key in _INHERITED if key in os.environ}
    loop = asyncio.get_running_loop()
    transport: asyncio.SubprocessTransport | None = None
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            transport, _ = await loop.subprocess_exec(
                lambda: output,
                *command,
                stdin=subprocess.DEVNULL,
                cwd=cwd,
                env={**given, _MARK: mark},
                start_new_session=True,
            )
            await output.exited
    except OSError as error:
        timed_out = scope.expired()
        if not timed_out:
            told = f"{command[0]} cannot be started: {error.strerror or type(error).__name__}."
            raise ToolError(told, code="process.start", applied=False) from error
    finally:
        await _end(transport, output, mark)
    return ProcessResult(
        exit_code=None if timed_out or transport is None else transport.get_returncode(),
        stdout=output.text(1),
        stderr=output.text(2),
        timed_out=timed_out,
        is_cut=output.is_cut,
    )


class _Output(asyncio.SubprocessProtocol):
    """Keeps the beginning of what a child writes. Its exit and the end of its pipes are two things."""

    def __init__(self, max_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.is_cut = False
        self._max_bytes = max_bytes
        self._kept = {1: bytearray(), 2: bytearray()}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        room = max(self._max_bytes - len(self._kept[fd]), 0)
        self._kept[fd] += data[:room]
        self.is_cut = self.is_cut or len(data) > room

    def process_exited(self) -> None:
        """The child has ended; what it started may still write."""
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody writes any more."""
        if not self.closed.done():
            self.closed.set_result(None)

    def text(self, fd: int) -> str:
        """What was kept of a stream."""
        return self._kept[fd].decode("utf-8", "replace")


async def _end(transport: asyncio.SubprocessTransport | None, output: _Output, mark: str) -> None:
    """Kill whatever is left and wait a moment until it is gone."""
    if transport is not None:
        _kill_group(transport)
    try:
        await asyncio.shield(run_in_thread(partial(_sweep, mark), "the end of a process"))
        if transport is not None:
            await asyncio.wait((output.closed,), timeout=CLOSE_SECONDS)
    finally:
        if transport is not None:
            transport.close()


def _kill_group(transport: asyncio.SubprocessTransport) -> None:
    pid: Any = transport.get_pid()
    try:
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            transport.kill()
    except (ProcessLookupError, PermissionError):  # all of it has ended already
        return


def _sweep(mark: str) -> None:
    """Kill what carries the mark, wherever it has gone."""
    for _ in range(_SWEEPS):
        found = list(_marked(mark))
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        if not found:
            return


def _marked(mark: str) -> Iterator[int]:
    wanted = f"{_MARK}={mark}".encode()
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if not entry.name.isdecimal():
            continue
        try:
            environ = (entry / "environ").read_bytes()
        except OSError:  # it has ended, or is somebody else's
            continue
        if wanted in environ.split(b"\0"):
            yield int(entry.name)
