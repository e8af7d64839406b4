"""On a terminal, a narrow one: nothing that has to be copied is broken or cut."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from cli.command import Command

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(backstay: Command, *words: str, columns: int) -> str:
    """What a terminal of that width is sent, without colours."""
    ours, theirs = pty.openpty()
    env = backstay.env | {"COLUMNS": str(columns), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "backstay", *words],
        cwd=backstay.folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # the other end has closed
                break
            if not piece:
                break
            said += piece
        process.wait(timeout=30)
    os.close(ours)
    return _COLOURS.sub("", said.decode("utf-8")).replace("\r\n", "\n")


def test_a_narrow_terminal_breaks_no_id_and_no_command(backstay: Command) -> None:
    said = on_terminal(backstay, "run", "app.py:agent", "pay bo 5", columns=40)
    (action,) = backstay.pending()
    store = backstay.folder / ".backstay/store.db"
    command = f"backstay decide {action['id']} --approve --execute --app {backstay.folder}/app.py:agent --store {store}"
    assert command in said
    assert not re.search(r"\x1b", said)


@pytest.mark.parametrize("columns", [40, 200])
def test_the_inbox_is_a_table_where_it_fits_and_a_list_where_not(backstay: Command, columns: int) -> None:
    backstay("run", "app.py:agent", "pay bo 5")
    (action,) = backstay.pending()
    said = on_terminal(backstay, "pending", columns=columns)
    assert action["id"] in said
    assert "pay(account=bo, euros=5)" in said
    assert ("ID  " in said.split("\n", 1)[0]) is (columns == 200)


def test_the_answer_streams_on_a_terminal_and_is_printed_once(backstay: Command) -> None:
    said = on_terminal(backstay, "run", "app.py:agent", "hello there", columns=80)
    assert said.count("you said: hello there") == 1
