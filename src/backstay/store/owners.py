"""Owners of sessions: names that tell whether their process still lives, so that a crash need not wait for its lease.

Only a process of the same boot and the same PID namespace can be looked at; of any other nothing is known, and its
lease has to run out. Source: SPEC D1.
"""

from __future__ import annotations

import os
import secrets
from functools import cache
from pathlib import Path


@cache
def _place() -> str:
    """What tells apart machines, boots and containers; empty where nothing does."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}+{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """When a process started, in ticks since the boot; None if none of that number lives."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return None


def new_owner() -> str:
    """A name for a driver in this process."""
    pid = os.getpid()
    return f"{_place()}/{pid}/{_started(pid) or ''}/{secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether the process that made this name is known to have ended."""
    place, _, rest = owner.partition("/")
    pid, _, rest = rest.partition("/")
    started = rest.partition("/")[0]
    if not place or place != _place() or not pid.isdecimal() or not started:
        return False
    return _started(int(pid)) != started
