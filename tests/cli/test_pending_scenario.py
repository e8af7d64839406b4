"""The benchmark of an inbox, with a smaller one."""

from __future__ import annotations

import pytest
from bench.scenarios import parts


def test_it_measures_a_page_the_memory_and_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_ASKED_BEFORE", 50)
    monkeypatch.setattr(parts, "_ASKED", 150)
    rows = parts.pending()
    assert [(row.scenario, row.unit, row.budget) for row in rows] == [
        ("pending", "ms", 20),
        ("pending", "MiB", 20),
        ("pending", "s", 2),
    ]
    page, memory, restart = [-1 if row.measured is None else row.measured for row in rows]
    assert page > 0
    assert memory >= 0
    assert restart > 0.01  # a process has begun
