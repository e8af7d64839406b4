"""Identifiers. Those of runs, sessions, messages and actions sort by the time they were made; trace ids are W3C's.

Source: SPEC O1 (W3C trace context: 16 and 8 bytes in hexadecimal).
"""

from __future__ import annotations

import random
import secrets
import time


def new_id(prefix: str) -> str:
    """Return `prefix-` and 20 hexadecimal characters: milliseconds since 1970, then 36 bits nobody can guess."""
    return f"{prefix}-{int(time.time() * 1000):011x}{secrets.randbits(36):09x}"


def new_trace_id() -> str:
    """Return 32 hexadecimal characters."""
    return f"{random.getrandbits(128):032x}"


def new_span_id() -> str:
    """Return 16 hexadecimal characters."""
    return f"{random.getrandbits(64):016x}"
