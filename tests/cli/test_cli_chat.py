"""`backstay chat` in a real terminal, and fed from a pipe."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESK = str(ROOT / "examples/order_desk/app.py")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """A program at a pseudo-terminal: what it has written since, and keys for it."""

    def __init__(self, folder: Path, *args: str) -> None:
        self._end, other = pty.openpty()
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "ORDER_DESK_DB": str(folder / "desk.db")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "backstay", *args], stdin=other, stdout=other, stderr=other, cwd=folder, env=env,
            start_new_session=True, preexec_fn=lambda: _own_terminal(other),
        )  # fmt: skip
        os.close(other)
        self.seen = ""

    def expect(self, text: str, seconds: float = 30.0) -> str:
        """Wait until the text is on the screen; returns what came up to and with it."""
        until = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self._end], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{text!r} did not come; the screen says {self.seen[-2000:]!r}"
            try:
                self.seen += _ESCAPES.sub("", os.read(self._end, 65_536).decode("utf-8", "replace"))
            except OSError:
                assert text in self.seen, f"the program ended; the screen says {self.seen[-2000:]!r}"
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def say(self, line: str) -> None:
        """Type a line."""
        os.write(self._end, f"{line}\n".encode())

    def press_ctrl_c(self) -> None:
        """Interrupt, as the terminal does."""
        os.write(self._end, b"\x03")

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        code = self.process.wait(timeout=90)
        os.close(self._end)
        return code

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.end()


def _own_terminal(descriptor: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    started = Terminal(tmp_path, "chat", DESK, "--session", "talk")
    yield started
    started.close()


def _refunds(folder: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(folder / "desk.db")) as db:
        return db.execute("SELECT amount FROM refunds WHERE order_id = '1001'").fetchall()


def test_a_decision_is_asked_for_inline_with_its_targets_and_carried_out_at_once(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.expect("> ")
    terminal.say("Where is the parcel of order 1001?")
    terminal.expect("> track_parcel(order_id=1001)")
    terminal.expect("Order 1001 is shipped.")
    terminal.say("/constraint only the last 10 days")
    terminal.expect("goes with your next message")
    terminal.say("Refund order 1001, it never came")
    screen = terminal.expect("approve? [y]es / [n]o / [l]ater: ")
    assert "targets     120.00, 1001" in screen
    assert "came from   order_id = 1001: the user's words" in screen
    assert "preview     Order 1001 of Ann Berg" in screen
    assert _refunds(tmp_path) == []
    terminal.say("y")
    terminal.expect("is done")
    terminal.say("/constraint")
    terminal.expect("(user, confirmed): only the last 10 days")
    terminal.say("/cost")
    terminal.expect("tokens (")
    terminal.say("/quit")
    terminal.expect("--session talk")
    assert terminal.end() == 0
    assert _refunds(tmp_path) == [("120.00",)]


def test_a_refusal_with_its_reason_reaches_the_model(terminal: Terminal) -> None:
    terminal.expect("> ")
    terminal.say("Refund order 1001, it never came")
    terminal.expect("approve? ")
    terminal.say("n")
    terminal.expect("why (may be empty): ")
    terminal.say("it did come")
    terminal.expect("is refused")
    terminal.say("/quit")
    assert terminal.end() == 0


def test_later_leaves_it_in_the_inbox_and_the_chat_hears_of_a_decision_made_elsewhere(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.expect("> ")
    terminal.say("Refund order 1001, it never came")
    terminal.expect("approve? ")
    terminal.say("l")
    screen = terminal.expect("decide with: backstay decide ")
    assert "left in the inbox" in screen
    action = terminal.expect(" --approve").split()[0]
    decided = subprocess.run(
        [sys.executable, "-m", "backstay", "decide", action, "--approve"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert decided.returncode == 0, decided.stderr
    terminal.expect("is done")
    terminal.say("/quit")
    assert terminal.end() == 0


def test_ctrl_c_at_the_prompt_ends_the_chat(terminal: Terminal) -> None:
    terminal.expect("leave")
    terminal.expect("> ")
    terminal.press_ctrl_c()
    assert terminal.end() == 130


def test_ctrl_c_during_a_run_leaves_it_resumable(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import asyncio\n"
        "from backstay import Agent, tool\n"
        "from backstay.models import ScriptedModel, call\n"
        "@tool(risk='read')\n"
        "async def wait() -> str:\n"
        "    'Wait. Use it when asked.'\n"
        "    import pathlib\n"
        "    if not pathlib.Path('go').exists():\n"
        "        await asyncio.sleep(60)\n"
        "    return 'waited'\n"
        "agent = Agent(ScriptedModel(call('wait'), 'It is over.'), tools=[wait], name='slow')\n"
    )
    terminal = Terminal(tmp_path, "chat", "slow.py", "--session", "talk")
    try:
        terminal.expect("> ")
        terminal.say("go")
        terminal.expect("> wait()")
        terminal.press_ctrl_c()
        terminal.expect("go on with: backstay resume ")
        run_id = terminal.expect(" --app").split()[0]
        assert terminal.end() == 130
    finally:
        terminal.close()
    (tmp_path / "go").touch()
    resumed = subprocess.run(
        [sys.executable, "-m", "backstay", "resume", run_id, "--app", "slow.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    assert "It is over." in resumed.stdout


def test_a_chat_may_be_fed_from_a_pipe(tmp_path: Path) -> None:
    fed = subprocess.run(
        [sys.executable, "-m", "backstay", "chat", DESK],
        input="Where is the parcel of order 1001?\nDo something else entirely\n\n/help\n/memory\n/nope\n",
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "ORDER_DESK_DB": str(tmp_path / "desk.db")},
    )  # fmt: skip
    assert fed.returncode == 0, fed.stderr
    assert "Order 1001 is shipped." in fed.stdout
    assert "6 messages: 2 user, 3 assistant, 1 tool" in fed.stdout
    answer = fed.stdout.partition("- 2026-11-20 09:00")[2].partition("> ")[2].strip().splitlines()[0]
    assert fed.stdout.count(answer) == 1, "an answer that was streamed is not printed again"
    assert "there is no command /nope" in fed.stdout
