"""How long to wait."""

from __future__ import annotations

import pytest

from backstay.core.retry import MODEL_RETRY, TOOL_RETRY, RetryPolicy


def test_tools_wait_one_second_then_three() -> None:
    assert [TOOL_RETRY.wait(attempt) for attempt in (1, 2, 3, 9)] == [1.0, 3.0, 3.0, 3.0]
    assert TOOL_RETRY.max_attempts == 2


@pytest.mark.parametrize(
    ("asked", "waited"), [(None, 1.0), (0.0, 1.0), (0.5, 1.0), (7.5, 7.5), (-3.0, 1.0), (float("nan"), 1.0)]
)
def test_the_longer_of_the_two_wins(asked: float | None, waited: float) -> None:
    assert TOOL_RETRY.wait(1, asked) == waited


def test_jitter_only_adds_and_only_so_much() -> None:
    waits = [MODEL_RETRY.wait(1) for _ in range(200)]
    assert all(0.5 <= wait <= 0.625 for wait in waits)
    assert len(set(waits)) > 1
    assert all(MODEL_RETRY.wait(1, 10) >= 10 for _ in range(50))


def test_without_waits_there_is_none() -> None:
    assert RetryPolicy(waits=()).wait(1) == 0
    assert RetryPolicy(waits=()).wait(1, 2) == 2
