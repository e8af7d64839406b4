"""Four requests to the order desk through the real command line, then the refund that waits and how to decide it.

    python -m examples.order_desk.demo

Runs in `.backstay/` of the working directory with a session of its own. The orders are made anew unless ORDER_DESK_DB
names a database. Nothing is asked; nothing is decided.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from backstay.core.ids import new_id
from examples.order_desk.data import build
from examples.order_desk.desk import DEFAULT

APP = Path(__file__).with_name("app.py")
REQUESTS = (
    "Where is the parcel of order 1001?",
    "What did Ann Berg order in the last two weeks?",
    "Show me all orders of Ann Berg from the last 90 days",
    "Refund order 1001, it never came",
)
WAITING = 3
EXPECTED = (0, WAITING)
"""Done, or waiting for a person."""


def main() -> int:
    """Ask everything, show what waits, and return the exit code: 0 unless a command went wrong."""
    if "ORDER_DESK_DB" not in os.environ:
        build(DEFAULT)
    session = new_id("demo")
    codes = [backstay("run", str(APP), request, "--session", session) for request in REQUESTS]
    codes.append(backstay("pending", "--app", str(APP)))
    if WAITING in codes:
        print("\nThe refund has not happened. The line `approve` above decides and executes it.")
    return next((code for code in codes if code not in EXPECTED), 0)


def backstay(*words: str) -> int:
    """Run one command and return its exit code."""
    print(f"\n$ backstay {shlex.join(words)}", flush=True)
    return subprocess.run([sys.executable, "-m", "backstay", *words], stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
