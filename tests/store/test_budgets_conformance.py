"""Every store charges keys that all sessions share, all of them or none."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from backstay.core.context import Reserve
from backstay.core.errors import FencedError
from backstay.store.protocol import RunStore

A, B = "day:2026-06-15:budget:agent:a:tokens", "day:2026-06-15:budget:agent:a:usd"


def amount(key: str, value: str, cap: str | None = None) -> Reserve:
    return Reserve(key, Decimal(value), None if cap is None else Decimal(cap))


async def test_all_or_none_of_the_amounts_are_charged(store: RunStore, started: Any) -> None:
    _, fence = await started(store)
    assert await store.charge(fence, [amount(A, "5", "10"), amount(B, "0.5", "1")]) is None
    assert await store.charge(fence, [amount(A, "5", "10"), amount(B, "0.6", "1")]) == B
    assert await store.spent([A, B]) == {A: Decimal(5), B: Decimal("0.5")}
    assert await store.charge(fence, [amount(A, "-2"), amount(A, "100")]) is None
    assert (await store.spent([A]))[A] == 103


async def test_charges_at_once_never_pass_the_cap(store: RunStore, started: Any) -> None:
    fences = [(await started(store, f"r-{n}", f"s-{n}"))[1] for n in range(20)]
    done = await asyncio.gather(*(store.charge(fence, [amount(A, "3", "10")]) for fence in fences))
    assert sorted(done, key=str).count(None) == 3
    assert (await store.spent([A]))[A] == 9


async def test_a_fenced_out_owner_charges_nothing(store: RunStore, clock: Any, started: Any) -> None:
    _, fence = await started(store)
    clock.now += 60
    await store.claim("r-1", owner="w2", ttl=30.0)
    with pytest.raises(FencedError):
        await store.charge(fence, [amount(A, "1")])
    assert (await store.spent([A]))[A] == 0
