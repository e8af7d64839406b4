"""How a file's size and time are written, for a person and for a model alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OLDEST, _NEWEST = -62_135_596_800, 253_402_300_799
"""The years 1 and 9999; a file's time can be set beyond them, which no calendar here can write."""


def when(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, to the second."""
    moment = _EPOCH + timedelta(seconds=int(min(max(seconds, _OLDEST), _NEWEST)))
    return moment.isoformat().replace("+00:00", "Z")


def size_of(size: int) -> str:
    """`1,204 bytes`."""
    return f"{size:,} byte{'' if size == 1 else 's'}"
