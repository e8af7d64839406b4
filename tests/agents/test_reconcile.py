"""A tool that can find out after a crash whether its effect has happened settles the doubt by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backstay import Agent, RunContext, ToolError, tool
from backstay.agents.drive import live
from backstay.agents.judging import reconcile as reconciling
from backstay.agents.result import RunResult
from backstay.core.messages import ToolResult
from backstay.models import ScriptedModel, call
from backstay.store.protocol import RunStore


class Bank:
    """Pays, and knows its payments by the idempotency key. The process ends before the first one is told."""

    def __init__(self, answer: str = "", *, is_paid: bool = True) -> None:
        self.payments: list[str | None] = []
        self.answer = answer
        self.is_paid = is_paid
        self.reached = asyncio.Event()

    def agent(self) -> Agent[None]:
        @tool(risk="write", effect="once", reconcile=self._reconcile)
        async def pay(amount: int, ctx: RunContext[None]) -> str:
            """Pay an amount. Use it when asked."""
            is_first = not self.reached.is_set()
            if self.is_paid or not is_first:
                self.payments.append(ctx.idempotency_key)
            self.reached.set()
            if is_first:
                await asyncio.Event().wait()
            return "paid now"

        return Agent(ScriptedModel(call("pay", amount=5), "done"), tools=[pay], name="bank")

    async def _reconcile(self, key: str) -> ToolResult | None:
        if self.answer == "raises":
            raise ToolError("the bank is down")
        if self.answer == "hangs":
            await asyncio.Event().wait()
        if self.answer == "wrong":
            return "paid"  # type: ignore[return-value]  # what a user may get wrong
        if self.answer == "unknown":
            return None
        if key in self.payments:
            return ToolResult(ok=True, summary="paid before the crash", data="paid before the crash")
        return ToolResult(ok=False, summary="nothing was paid", code="bank.unpaid", applied=False)

    async def crashed_and_resumed(self, store: RunStore) -> RunResult[Any]:
        agent = self.agent()
        first = asyncio.ensure_future(agent.run("pay", session="s", store=store))
        await self.reached.wait()
        live.leave("the process ends")
        left = await first
        result = await agent.resume(left.run_id, store=store)
        assert result is not None
        return result


async def test_what_has_happened_is_told_and_not_done_again(store: RunStore) -> None:
    bank = Bank()
    result = await bank.crashed_and_resumed(store)
    assert (result.status, result.output, len(bank.payments)) == ("done", "done", 1)
    assert result.pending == ()
    records = await store.read("s")
    told = next(one.body.returns[0].result for one in records if one.kind == "results")  # type: ignore[union-attr]
    assert (told.ok, told.summary) == (True, "paid before the crash")


async def test_what_has_not_happened_is_done_now_under_the_same_key(store: RunStore) -> None:
    bank = Bank(is_paid=False)
    result = await bank.crashed_and_resumed(store)
    assert (result.status, result.pending) == ("done", ())
    assert bank.payments == [f"{result.run_id}:1"]


@pytest.mark.parametrize("answer", ["unknown", "raises", "wrong", "hangs"])
async def test_where_it_cannot_tell_a_person_is_asked(
    store: RunStore, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciling, "RECONCILE_SECONDS", 0.1)
    bank = Bank(answer)
    result = await bank.crashed_and_resumed(store)
    assert (result.status, len(bank.payments)) == ("waiting", 1)
    assert [one.kind for one in result.pending] == ["in_doubt"]
