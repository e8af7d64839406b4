"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from backstay.core import redaction
from backstay.core.events import events
from backstay.store import MemoryStore, SQLiteStore
from backstay.store.protocol import RunStore
from backstay.testing.fixtures import fake_clock, no_network, run_events
from backstay.tools.circuit import circuits

__all__ = ["fake_clock", "no_network", "run_events"]

os.environ.setdefault("ORDER_DESK_MODEL", "scripted")  # the examples' own brain has tests of its own


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts with closed circuits and forgets the credentials it registers; no listener stays behind."""
    circuits.reset()
    monkeypatch.setattr(redaction, "_registered", redaction._registered)
    monkeypatch.setattr(redaction, "_heads", redaction._heads)
    yield
    assert not events._subscriptions, "a test left a listener on the process"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RunStore]:
    """Every kind of store that a run may be journalled in."""
    made: RunStore = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.db")
    yield made
    await made.close()
