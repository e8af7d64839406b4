"""Deferred calls: the result comes later, signed, once. Late and repeated callbacks are recorded, not applied."""

from __future__ import annotations

from typing import Any

import pytest

from backstay import Agent, Deferred, RunContext, ToolResult, tool
from backstay.core.errors import DecisionError, NotFoundError, StoreError
from backstay.core.messages import Label
from backstay.models import ScriptedModel, call
from backstay.store.memory import MemoryStore
from backstay.store.protocol import RunStore


class Lab:
    """The other side: it is told a token and a signature, and brings both back."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, str]] = []

    def agent(self, *lines: Any, risk: Any = "write", token: str = "job-1") -> Agent[Any]:
        jobs = self.jobs

        @tool(risk=risk, untrusted=True)
        async def analyse(sample: str, ctx: RunContext[Any]) -> Deferred:
            """Have a sample analysed. Use it when asked."""
            jobs.append((token, ctx.host.sign(token)))
            return Deferred(token, expires=ctx.clock() + 3_600)

        return Agent(ScriptedModel(*lines), tools=[analyse])


@pytest.mark.parametrize("risk", ["read", "write"])
async def test_a_deferred_call_parks_the_run_until_its_result_is_delivered(store: RunStore, risk: Any) -> None:
    lab = Lab()
    agent = lab.agent(call("analyse", sample="x"), "wait", "it is gold", risk=risk)
    waiting = await agent.run("analyse x", session="s", store=store)
    (row,) = waiting.pending
    assert (waiting.status, row.kind, len(lab.jobs)) == ("waiting", "deferred", 1)
    told = waiting.new_messages[2].returns[0].result
    assert (told.via, told.code) == ("held", "action.deferred")
    token, signature = lab.jobs[0]
    done = await agent.deliver(token, {"metal": "gold"}, signature, store=store)
    assert done is not None
    assert (done.status, done.output, len(lab.jobs)) == ("done", "it is gold", 1)
    assert "gold" in done.new_messages[0].text
    assert done.new_messages[0].label == Label(trusted=False)
    assert (await store.action(row.id)).state == "done"


async def test_a_second_delivery_is_recorded_and_changes_nothing(store: RunStore) -> None:
    lab = Lab()
    agent = lab.agent(call("analyse", sample="x"), "wait", "gold")
    await agent.run("analyse x and y", session="s", store=store)
    token, signature = lab.jobs[0]
    await agent.deliver(token, "gold", signature, store=store)
    with pytest.raises(DecisionError) as again:
        await agent.deliver(token, "lead", signature, store=store)
    assert again.value.code == "deferred.duplicate"
    refusals = [row.rules for row, _ in await store.audit("s") if row.kind == "refusal"]
    assert refusals == [("deferred.duplicate",)]
    assert await store.verify_audit("s") == []
    assert not any("lead" in str(record.body) for record in await store.read("s"))


async def test_a_late_delivery_is_recorded_and_the_run_is_told_that_none_came(store: RunStore) -> None:
    lab, now = Lab(), [1_800_000_000.0]
    agent = lab.agent(call("analyse", sample="x"), "wait", "no result")
    with agent.override(clock=lambda: now[0]):
        waiting = await agent.run("analyse x and y", session="s", store=store)
        now[0] += 3_601
        with pytest.raises(DecisionError) as late:
            await agent.deliver(*lab.jobs[0][:1], "gold", lab.jobs[0][1], store=store)
        assert late.value.code == "deferred.late"
        done = await agent.resume(waiting.run_id, store=store)
    assert done is not None
    assert (done.output, "No result" in done.new_messages[0].text) == ("no result", True)
    assert ("deferred.late",) in [row.rules for row, _ in await store.audit("s")]


async def test_a_callback_without_the_right_signature_is_recorded_and_changes_nothing(store: RunStore) -> None:
    lab = Lab()
    agent = lab.agent(call("analyse", sample="x"), "wait", "gold")
    waiting = await agent.run("analyse x and y", session="s", store=store)
    token, signature = lab.jobs[0]
    for wrong in ("", signature[:-1] + ("0" if signature[-1] != "0" else "1"), "é"):
        with pytest.raises(DecisionError) as error:
            await agent.deliver(token, "lead", wrong, store=store)
        assert error.value.code == "deferred.signature"
    assert (await store.action(waiting.pending[0].id)).state == "open"
    with pytest.raises(NotFoundError):
        await agent.deliver("another", "lead", signature, store=store)
    with pytest.raises(DecisionError) as person:
        await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert person.value.code == "deferred.person"


async def test_a_failure_is_delivered_as_one_and_a_person_may_give_up_waiting(store: RunStore) -> None:
    lab = Lab()
    agent = lab.agent(call("analyse", sample="x"), "wait", "broken")
    await agent.run("analyse x and y", session="s", store=store)
    done = await agent.deliver(
        lab.jobs[0][0], ToolResult(ok=False, summary="the sample broke"), lab.jobs[0][1], store=store
    )
    assert done is not None
    assert "it failed: the sample broke" in done.new_messages[0].text
    other = Lab()
    agent = other.agent(call("analyse", sample="y"), "wait", "given up", token="job-2")
    waiting = await agent.run("analyse x and y", session="t", store=store)
    over = await agent.decide(waiting.pending[0], approve=False, by="bo", store=store)
    assert over is not None
    assert over.output == "given up"


async def test_a_token_is_good_for_one_call(store: RunStore) -> None:
    agent = Lab().agent([call("analyse", sample="x"), call("analyse", sample="y")], "wait")
    result = await agent.run("analyse x and y", session="s", store=store)
    codes = [one.result.code for one in result.new_messages[2].returns]
    assert codes == ["action.deferred", "deferred.token"]
    assert [one.kind for one in result.pending if one.kind == "deferred"] == ["deferred"]


async def test_an_approved_action_may_be_deferred_too(store: RunStore) -> None:
    lab = Lab()
    action = {"name": "analyse", "arguments": {"sample": "x"}}
    agent = lab.agent(call("propose_action", action=action, reason="r"), "wait", "begun", "gold", risk="high")
    waiting = await agent.run("analyse x", session="s", store=store)
    begun = await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert begun is not None
    assert ("approved and begun" in begun.new_messages[0].text, begun.status) == (True, "waiting")
    done = await agent.deliver(*lab.jobs[0][:1], "gold", lab.jobs[0][1], store=store)
    assert done is not None
    assert (done.status, len(lab.jobs)) == ("done", 1)


class Failing(MemoryStore):
    """Refuses the first results of a step, as a full disk would."""

    has_failed = False

    async def append(self, fence: Any, records: Any, **more: Any) -> int:
        if not self.has_failed and any(one.kind == "results" for one in records):
            self.has_failed = True
            raise StoreError("no room")
        return await super().append(fence, records, **more)


async def test_a_call_that_was_handed_on_before_a_crash_is_waited_for_and_not_handed_on_again() -> None:
    now = [1_800_000_000.0]
    store, jobs = Failing(clock=lambda: now[0]), list[str]()

    @tool(risk="write", effect="once")
    async def analyse(sample: str, ctx: RunContext[Any]) -> Deferred:
        """Have a sample analysed. Use it when asked."""
        jobs.append(sample)
        return Deferred(sample, expires=ctx.clock() + 3_600)

    agent = Agent(ScriptedModel([call("analyse", sample="x1"), call("analyse", sample="y1")], "wait"), tools=[analyse])
    with agent.override(clock=lambda: now[0]):
        with pytest.raises(StoreError):
            await agent.run("analyse x1 and y1", session="s", store=store)
        now[0] += 60
        (run_id,) = await store.due(now[0], 10)
        waiting = await agent.resume(run_id, store=store)
    assert waiting is not None
    assert (sorted(jobs), [one.kind for one in waiting.pending]) == (["x1", "y1"], ["deferred", "deferred"])
