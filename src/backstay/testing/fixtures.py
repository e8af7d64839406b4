"""Fixtures for pytest: `pytest_plugins = ["backstay.testing.fixtures"]` in the conftest of a project.

No entry point loads them unasked: a project that only uses an app built with Backstay pays nothing in its own tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backstay.core.events import Event, events
from backstay.testing.clock import FakeClock


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock that only sleeping moves."""
    return FakeClock()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model on another machine is asked in this test; one that would be raises `model.no_network`."""
    monkeypatch.setenv("BACKSTAY_NO_NETWORK", "1")


@pytest.fixture
def run_events() -> Iterator[list[Event]]:
    """Every event of every run of this test, oldest first, for `assert_called` and `picture`."""
    heard: list[Event] = []
    off = events.on("**", heard.append)
    yield heard
    off()
