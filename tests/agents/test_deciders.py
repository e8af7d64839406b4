"""Who may decide: roles, amount bands, quorum, nobody their own wish."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from backstay import Agent, Boundary, Deciders, PendingAction, Principal
from backstay.core.errors import DecisionError, SetupError
from backstay.models import ScriptedModel
from backstay.store.protocol import RunStore
from desk import Desk, propose

ANN = Principal(id="ann", tenant="shop", kind="member")


def staff(name: str, *roles: str, tenant: str = "shop", kind: Any = "operator") -> Principal:
    return Principal(id=name, tenant=tenant, kind=kind, roles=frozenset(roles))


def agent_of(desk: Desk, *deciders: Deciders, lines: tuple[Any, ...] = (propose(), "wait", "paid")) -> Agent[Any]:
    return Agent(ScriptedModel(*lines), name="desk", tools=desk.tools(), boundary=Boundary(deciders=deciders))


async def asked(agent: Agent[Any], store: RunStore, who: Principal = ANN) -> PendingAction:
    return (await agent.run("Refund 120 EUR for order 1001", session="s", store=store, principal=who)).pending[0]


async def refused(agent: Agent[Any], store: RunStore, action: PendingAction, by: Principal | str, **more: Any) -> str:
    with pytest.raises(DecisionError) as error:
        await agent.decide(action, approve=True, by=by, store=store, **more)
    assert (await store.action(action.id)).state == "open"
    return error.value.code


async def test_only_somebody_of_the_role_decides_and_the_row_says_who(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, Deciders(roles=["manager"]))
    action = await asked(agent, store)
    assert await refused(agent, store, action, staff("bo")) == "decider.role"
    assert await refused(agent, store, action, staff("cy", "clerk")) == "decider.role"
    assert await refused(agent, store, action, "bo") == "decider.role"
    await agent.decide(action, approve=True, by=staff("di", "manager"), store=store)
    assert len(desk.refunds) == 1
    decision = (await store.action(action.id)).decision
    assert decision is not None
    assert (decision.by, decision.decider) == ("di", staff("di", "manager"))


async def test_nobody_approves_their_own_wish_unless_it_is_set_and_anybody_may_withdraw_it(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk)
    action = await asked(agent, store)
    assert await refused(agent, store, action, ANN) == "decider.self"
    assert await refused(agent, store, action, "ann") == "decider.self"
    withdrawn = await agent.decide(action, approve=False, by=ANN, store=store)
    assert withdrawn is not None
    assert desk.refunds == []
    own = agent_of(desk, Deciders(own=True))
    await own.decide(
        (await own.run("refund", store=store, principal=ANN)).pending[0], approve=True, by=ANN, store=store
    )
    assert len(desk.refunds) == 1


async def test_a_developer_on_their_own_machine_may_decide_their_own(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk)
    action = (await agent.run("refund", store=store)).pending[0]
    await agent.decide(action, approve=True, by=action.principal.id, store=store)
    assert len(desk.refunds) == 1


async def test_a_customer_decides_nothing_and_another_tenant_neither(store: RunStore) -> None:
    agent = agent_of(Desk())
    action = await asked(agent, store)
    assert await refused(agent, store, action, staff("cu", kind="customer")) == "decider.kind"
    assert await refused(agent, store, action, staff("bo", tenant="other")) == "decider.tenant"


@pytest.mark.parametrize(("amount", "role"), [("80", "clerk"), ("120.00", "manager"), ("5000", "director")])
async def test_the_amount_says_whose_decision_it_is(store: RunStore, amount: str, role: str) -> None:
    bands = [
        Deciders(roles=["clerk"]),
        Deciders(roles=["manager"], above=100, currency="EUR"),
        Deciders(roles=["director"], above=1_000, currency="EUR"),
    ]
    desk = Desk()
    agent = agent_of(desk, *bands, lines=(propose(amount=amount), "wait", "paid"))
    action = await asked(agent, store)
    assert action.needs.roles == {role}
    await agent.decide(action, approve=True, by=staff("x", role), store=store)
    assert desk.refunds == [("1001", Decimal(amount))]


async def test_an_edited_amount_of_a_higher_band_is_asked_anew(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(
        desk, Deciders(roles=["clerk"]), Deciders(roles=["manager"], above=200, currency="EUR"),
        lines=(propose(), "wait", "still waiting", "paid"),
    )  # fmt: skip
    action = await asked(agent, store)
    higher = {"order_id": "1001", "amount": "500"}
    again = await agent.decide(action, approve=True, by=staff("cy", "clerk"), args=higher, store=store)
    assert again is not None
    assert (desk.refunds, again.status) == ([], "waiting")
    (new,) = again.pending
    assert new.needs.roles == {"manager"}
    await agent.decide(new, approve=True, by=staff("di", "manager"), store=store)
    assert desk.refunds == [("1001", Decimal(500))]


async def test_two_different_people_have_to_approve(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, Deciders(quorum=2))
    action = await asked(agent, store)
    first = await agent.decide(action, approve=True, by=staff("bo"), store=store)
    assert first is not None
    assert (first.status, desk.refunds) == ("waiting", [])
    kept = await store.action(action.id)
    assert (kept.state, [vote.by for vote in kept.votes]) == ("open", ["bo"])
    assert await refused(agent, store, action, staff("bo")) == "decider.voted"
    assert await refused(agent, store, action, staff("cy"), args={"order_id": "1", "amount": "1"}) == "decider.edit"
    done = await agent.decide(action, approve=True, by=staff("cy"), store=store)
    assert done is not None
    assert (done.status, len(desk.refunds)) == ("done", 1)
    row = await store.action(action.id)
    assert ([vote.by for vote in row.votes], row.decision and row.decision.by) == (["bo"], "cy")
    assert [one.kind for one, _ in await store.audit("s")] == ["decision", "decision", "begin", "end"]


async def test_one_refusal_is_enough_whoever_has_approved(store: RunStore) -> None:
    desk = Desk()
    agent = agent_of(desk, Deciders(quorum=3))
    action = await asked(agent, store)
    await agent.decide(action, approve=True, by=staff("bo"), store=store)
    done = await agent.decide(action, approve=False, by=staff("cy"), store=store)
    assert done is not None
    assert (done.status, desk.refunds) == ("done", [])


async def test_deciders_that_became_stricter_are_asked_anew_at_execution(store: RunStore) -> None:
    desk = Desk()
    loose, strict = agent_of(desk), agent_of(desk, Deciders(roles=["manager"]), lines=("-", "-", "asked anew"))
    action = await asked(loose, store)
    again = await strict.decide(action, approve=True, by=staff("bo"), store=store)
    assert again is not None
    assert (desk.refunds, again.pending[0].needs.roles) == ([], {"manager"})


def test_deciders_that_cannot_be_kept_are_a_set_up_error() -> None:
    for wrong in ({"quorum": 0}, {"roles": "manager"}, {"above": 5}, {"quorum": True}):
        with pytest.raises(SetupError) as error:
            Deciders(**wrong)  # type: ignore[arg-type]
        assert error.value.code == "deciders.invalid"
    with pytest.raises(SetupError):
        Boundary(deciders=Deciders())  # type: ignore[arg-type]
