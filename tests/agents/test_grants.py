"""Standing grants: within rules and caps an action runs without a question; everything else is judged as ever."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backstay import Agent, Boundary, Deciders, Principal
from backstay.core.errors import DecisionError, SetupError
from backstay.models import ScriptedModel
from backstay.store.protocol import RunStore
from backstay.store.standing import CHAIN
from desk import Desk, propose

FOREVER = 9_000_000_000.0
ANN = Principal(id="ann", tenant="shop", kind="member")
BEA = Principal(id="bea", tenant="shop", kind="member")
CAP = ["at most 50 EUR a refund", "at most 100 EUR of refunds a day"]


def agent_of(desk: Desk, *lines: Any, **boundary: Any) -> Agent[Any]:
    return Agent(ScriptedModel(*lines), name="desk", tools=desk.tools(), boundary=Boundary(**boundary))


async def run(agent: Agent[Any], store: RunStore, words: str, who: Principal = ANN) -> Any:
    return await agent.run(words, store=store, principal=who)


async def test_within_its_rules_an_action_runs_without_a_question(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, propose(amount="40"), "paid")
    grant = await agent.grant("refund", CAP, by="bo", until=FOREVER, tenant="shop", store=store)
    done = await agent.run("Refund 40 EUR for order 1001", session="s", store=store, principal=ANN)
    assert (done.status, desk.refunds) == ("done", [("1001", Decimal(40))])
    rules = {row.kind: row.rules for row, _ in await store.audit("s")}
    assert rules["begin"] == (f"granted:{grant.id}",)
    assert [(row.kind, row.result_digest) for row, _ in await store.audit(CHAIN)] == [("grant", "granted")]


async def test_above_its_rules_a_person_is_asked(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, propose(amount="60"), "wait")
    await agent.grant("refund", CAP, by="bo", until=FOREVER, tenant="shop", store=store)
    waiting = await run(agent, store, "Refund 60 EUR for order 1001")
    assert (waiting.status, waiting.pending[0].rules, desk.refunds) == ("waiting", ("tier.high",), [])


async def test_the_cap_of_a_day_holds_over_sessions_and_for_each_principal_alone(store: RunStore) -> None:
    desk = Desk()
    lines = [line for _ in range(4) for line in (propose(amount="40"), "ok")]
    agent = agent_of(desk, *lines)
    await agent.grant("refund", CAP, by="bo", until=FOREVER, tenant="shop", store=store)
    words = "Refund 40 EUR for order 1001"
    assert [(await run(agent, store, words)).status for _ in range(3)] == ["done", "done", "waiting"]
    assert len(desk.refunds) == 2
    assert (await run(agent_of(desk, propose(amount="40"), "ok"), store, words, BEA)).status == "done"


async def test_two_calls_of_one_step_cannot_both_spend_the_last_of_a_cap(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, [propose("1001", "40"), propose("1002", "40"), propose("1003", "40")], "ok")
    await agent.grant("refund", CAP, by="bo", until=FOREVER, tenant="shop", store=store)
    result = await run(agent, store, "Refund 40 EUR each for orders 1001, 1002 and 1003")
    assert (len(desk.refunds), len(result.pending)) == (2, 1)


async def test_a_block_constraint_still_wins(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, propose(amount="40"), "no", constraints=["at most 30 EUR a refund"])
    await agent.grant("refund", CAP, by="bo", until=FOREVER, tenant="shop", store=store)
    result = await run(agent, store, "Refund 40 EUR for order 1001")
    assert (result.new_messages[2].returns[0].result.code, desk.refunds) == ("constraint.broken", [])


async def test_a_destination_that_nobody_has_named_is_asked_about(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, propose("6666", "40"), "wait")
    await agent.grant("refund", CAP, by="bo", until=FOREVER, tenant="shop", store=store)
    waiting = await run(agent, store, "Refund 40 EUR for order 1001")
    assert (waiting.status, desk.refunds) == ("waiting", [])
    assert set(waiting.pending[0].rules) == {"provenance.destination", "tier.high"}


async def test_it_ends_with_its_day_and_when_it_is_revoked_and_is_for_whom_it_names(store: RunStore) -> None:
    desk = Desk()
    words = "Refund 40 EUR for order 1001"
    now = [1_800_000_000.0]
    agent = agent_of(desk, *[line for _ in range(6) for line in (propose(amount="40"), "ok")])
    with agent.override(clock=lambda: now[0]):
        grant = await agent.grant("refund", CAP, by="bo", until=now[0] + 60, principal=ANN, store=store)
        assert (await run(agent, store, words, BEA)).status == "waiting"
        assert (await run(agent, store, words)).status == "done"
        now[0] += 60
        assert (await run(agent, store, words)).status == "waiting"
        now[0] -= 30
        assert await agent.revoke(grant, by="bo", store=store)
        assert not await agent.revoke(grant, by="bo", store=store)
        assert (await run(agent, store, words)).status == "waiting"
    assert len(desk.refunds) == 1


async def test_observing_boundaries_still_keep_a_grant_inside_its_rules(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, propose(amount="60"), "wait", mode="observe")
    await agent.grant("refund", CAP, by="bo", until=FOREVER, tenant="shop", store=store)
    assert (await run(agent, store, "Refund 60 EUR for order 1001")).status == "waiting"


@pytest.mark.parametrize(
    ("tool", "rules", "until"),
    [
        ("nothing", CAP, FOREVER),
        ("refund", [], FOREVER),
        ("refund", ["at most 50 EUR a refund"], FOREVER),
        ("refund", ["be careful", *CAP], FOREVER),
        ("refund", ["only the last 30 days", *CAP], FOREVER),
        ("refund", CAP, 5.0),
        ("refund", CAP[1], FOREVER),
    ],
)
async def test_a_grant_that_could_never_hold_is_refused(tool: str, rules: Any, until: float) -> None:
    with pytest.raises(SetupError) as error:
        await agent_of(Desk()).grant(tool, rules, by="bo", until=until)
    assert error.value.code == "grant.unbound"


async def test_who_could_not_decide_cannot_grant() -> None:
    agent = agent_of(Desk(), deciders=[Deciders(roles=["manager"], above=10, currency="EUR")])
    for who, code in (
        (Principal(id="bo", tenant="shop", kind="operator"), "decider.role"),
        (Principal(id="bo", tenant="other", kind="operator", roles=frozenset({"manager"})), "decider.tenant"),
        (Principal(id="bo", tenant="shop", kind="customer", roles=frozenset({"manager"})), "decider.kind"),
        (Principal(id="ann", tenant="shop", kind="operator", roles=frozenset({"manager"})), "decider.self"),
    ):
        with pytest.raises(DecisionError) as error:
            await agent.grant("refund", CAP, by=who, until=FOREVER, principal=ANN)
        assert error.value.code == code
