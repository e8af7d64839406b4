"""Identifiers. Those of runs, sessions, messages and actions sort by the time they were made; trace ids are W3C's.

Source: SPEC O1 (W3C trace context: 16 and 8 bytes in hexadecimal).
"""

from __future__ import annotations

import os
import random
import time

_BLOCK = 4_096
_bits = bytearray()


def new_id(prefix: str) -> str:
    """Return `prefix-` and 21 hexadecimal characters: milliseconds since 1970, then 40 bits nobody can guess."""
    if len(_bits) < 5:
        _bits.extend(os.urandom(_BLOCK))
    guess = _bits[-5:].hex()
    del _bits[-5:]
    return f"{prefix}-{int(time.time() * 1000):011x}{guess}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_bits.clear)  # a child must not use up the same bits as its parent


def new_trace_id() -> str:
    """Return 32 hexadecimal characters."""
    return f"{random.getrandbits(128):032x}"


def new_span_id() -> str:
    """Return 16 hexadecimal characters."""
    return f"{random.getrandbits(64):016x}"
