"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from backstay.core import redaction
from backstay.core.events import events
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
