"""`backstay grants`: an action that runs without a question, what is used up of its caps, and its end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from backstay.store.sqlite import SQLiteStore
from cli.command import Command, Said

APP = """
from decimal import Decimal
from typing import Annotated
from backstay import Agent, Boundary, Deciders, Id, Money, tool
from backstay.models.scripted import FunctionModel, call

@tool(risk="high")
def refund(order_id: Annotated[str, Id("order")], amount: Annotated[Decimal, Money("EUR")]) -> str:
    "Pay an order back. Use it when the user wants money back."
    return "paid"

def brain(request, ctx):
    if ctx.step > 1:
        return "said"
    _, amount, *_, order = request.messages[-1].text.split()
    action = {"name": "refund", "arguments": {"order_id": order, "amount": amount}}
    return call("propose_action", action=action, reason="so")

def desk(name, **more):
    return Agent(FunctionModel(brain), name=name, tools=[refund], boundary=Boundary(**more))

agent = desk("desk")
strict = desk("strict", deciders=[Deciders(roles=["manager"])])
"""
RULES = ("at most 50 EUR a refund", "at most 100 EUR of refunds a day")
MAKE = ("grants", "make", "refund", *RULES, "--app", "desk.py", "--until", "7d")


@pytest.fixture
def desk(tmp_path: Path) -> Command:
    (tmp_path / "desk.py").write_text(APP, "utf-8")
    return Command(tmp_path)


@pytest.fixture(scope="module")
def used_desk(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """One with a store, in which nothing is granted."""
    folder = tmp_path_factory.mktemp("used")
    (folder / "desk.py").write_text(APP, "utf-8")
    found = Command(folder)
    assert found("run", "desk.py", "Refund 10 EUR of 1001").code == 3
    return found


def refund(desk: Command, amount: int, who: str, *more: str) -> int:
    return desk("run", "desk.py", f"Refund {amount} EUR of 1001", "--as", who, *more).code


def made(desk: Command, *words: str) -> dict[str, Any]:
    said = desk(*MAKE, *words, "--json")
    assert said.code == 0, said.err
    found: dict[str, Any] = said.json
    return found


def used(listed: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(one["who"], one["used"], one["most"], one["unit"]) for one in listed["used"]]


def error(said: Said, exit_code: int, code: str) -> None:
    assert (said.code, f"code: {code}; backstay explain {code}" in said.err) == (exit_code, True), (said.out, said.err)


def test_what_was_granted_runs_within_its_rules_until_it_is_revoked(desk: Command) -> None:
    grant = made(desk, "--everybody", "--by", "bo")
    assert [one["render"] for one in grant["rules"]] == [
        "refund: at most 50 EUR",
        "refund: at most 100 EUR in all a day",
    ]
    assert [refund(desk, amount, "ann:member") for amount in (40, 60, 50, 20)] == [0, 3, 0, 3]
    (listed,) = desk("grants", "ls", "--json").json["grants"]
    assert (listed["id"], listed["tool"], listed["agent"], listed["by"]) == (grant["id"], "refund", "desk", "bo")
    assert used(listed) == [("ann", "90", "100", "EUR")]
    said = desk("grants", "revoke", grant["id"], "--by", "eve")
    assert (said.code, said.out) == (0, f"{grant['id']} is revoked; what it let run is asked about again\n")
    assert refund(desk, 10, "ben:member") == 3
    assert desk("grants", "ls").out == "nothing is granted\n"


def test_making_and_revoking_are_rows_of_the_audit_chain(desk: Command) -> None:
    grant = made(desk, "--everybody")
    desk("grants", "revoke", grant["id"])
    lines = [json.loads(line) for line in desk("audit", "export", "--session", "(standing)").out.splitlines()]
    rows = [(one["kind"], one["result_digest"], one["tool"], one["rules"]) for one in lines if "head" not in one]
    assert rows == [("grant", what, "refund", [grant["id"]]) for what in ("granted", "revoked")]
    assert desk("audit", "verify").code == 0


def test_what_is_used_up_is_told_for_each_person_the_most_first(desk: Command) -> None:
    grant = made(desk, "--everybody")
    for amount, who in ((10, "ann:member"), (40, "ben:member"), (30, "ben:member")):
        assert refund(desk, amount, who) == 0
    shown = desk("grants", "show", grant["id"])
    assert "70 of 100 EUR today, ben\n" in shown.out
    assert "10 of 100 EUR today, ann\n" in shown.out
    assert shown.out.index("ben") < shown.out.index("ann")
    assert "70 of 100 EUR today, ben and 1 more" in desk("grants", "ls").out


def test_a_member_is_told_of_their_own_use_alone_and_of_no_other_tenants_grants(desk: Command) -> None:
    grant = made(desk, "--everybody")
    made(desk, "--everybody", "--tenant", "shop")
    made(desk, "--for", "ben")
    assert [refund(desk, 10, who) for who in ("ann:member", "ben:member")] == [0, 0]
    (listed,) = desk("grants", "ls", "--as", "ann:member", "--json").json["grants"]
    assert (listed["id"], used(listed)) == (grant["id"], [("ann", "10", "100", "EUR")])
    assert len(desk("grants", "ls", "--as", "cleo:operator", "--json").json["grants"]) == 2
    assert len(desk("grants", "ls", "--json").json["grants"]) == 3
    error(desk("grants", "show", grant["id"], "--as", "shop/eve:customer"), 2, "store.not_found")


def test_a_grant_for_one_person_shows_what_is_left_before_anything_was_used(desk: Command) -> None:
    grant = made(desk, "--for", "shop/ann")
    assert (grant["tenant"], grant["person"], used(grant)) == ("shop", "ann", [("ann", "0", "100", "EUR")])
    assert [refund(desk, 40, who) for who in ("shop/ann:member", "shop/ben:member")] == [0, 3]
    (listed,) = desk("grants", "ls", "--json").json["grants"]
    assert used(listed) == [("ann", "40", "100", "EUR")]


def test_a_cap_of_a_session_is_told_for_the_session_that_is_named(desk: Command) -> None:
    said = desk(
        "grants", "make", "refund", "at most 2 refunds", "--everybody", "--until", "2100-01-31", "--app", "desk.py",
        "--json",
    )  # fmt: skip
    assert said.json["until"] == 4_105_123_200.0  # the end of the day
    assert [refund(desk, 10, "ann:member", "--session", "s") for _ in range(3)] == [0, 0, 3]
    assert refund(desk, 10, "ann:member", "--session", "t") == 0
    assert "by session" in desk("grants", "ls").out
    grant = said.json["id"]
    assert "counted in each session; see --session ID" in desk("grants", "show", grant).out
    for session, count in (("s", 2), ("t", 1)):
        shown = desk("grants", "show", grant, "--session", session)
        assert f"{count} of 2 calls in this session, {session}\n" in shown.out
    error(desk("grants", "show", grant, "--session", "nope"), 2, "store.not_found")


def test_a_grant_that_has_ended_says_so(desk: Command) -> None:
    grant = made(desk, "--everybody")

    async def end() -> None:
        store = SQLiteStore(desk.folder / ".backstay/store.db")
        (one,) = await store.standing.grants()
        await store.standing.grant(
            type(one)(**{name: getattr(one, name) for name in one.__slots__} | {"until": one.at})
        )
        await store.close()

    asyncio.run(end())
    (listed,) = desk("grants", "ls", "--json").json["grants"]
    assert (listed["id"], listed["is_over"]) == (grant["id"], True)
    assert "ended" in desk("grants", "ls").out
    assert refund(desk, 10, "ann:member") == 3


def test_who_could_not_decide_cannot_grant(desk: Command) -> None:
    strict = [word if word != "desk.py" else "desk.py:strict" for word in MAKE]
    error(desk(*strict, "--everybody"), 4, "decider.role")
    assert desk(*strict, "--everybody", "--role", "manager").code == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("make", "refund", *RULES, "--until", "7d", "--app", "desk.py"), "cli.usage"),
        (("make", "refund", *RULES, "--until", "7d", "--for", "a", "--everybody", "--app", "desk.py"), "cli.usage"),
        (("make", "refund", *RULES, "--until", "7d", "--for", "a", "--tenant", "t", "--app", "desk.py"), "cli.usage"),
        (("make", "refund", *RULES, "--until", "soon", "--for", "a", "--app", "desk.py"), "cli.usage"),
        (("make", "refund", *RULES, "--for", "a", "--app", "desk.py"), "cli.usage"),
        (("make", "refund", "--until", "7d", "--for", "a", "--app", "desk.py"), "cli.usage"),
        (("make", "refund", *RULES, "--until", "7d", "--for", "a"), "app.missing"),
        (("make", "refund", *RULES, "--until", "7d", "--for", "a:wizard", "--app", "desk.py"), "principal.kind"),
        (("make", "refund", *RULES, "--until", "2001-01-01", "--for", "a", "--app", "desk.py"), "grant.unbound"),
        (("make", "refund", RULES[0], "--until", "7d", "--for", "a", "--app", "desk.py"), "grant.unbound"),
        (("make", "refund", "be nice", "--until", "7d", "--for", "a", "--app", "desk.py"), "grant.unbound"),
        (("make", "nothing", *RULES, "--until", "7d", "--for", "a", "--app", "desk.py"), "grant.unbound"),
        (("ls", "--store", "nowhere.db"), "store.missing"),
        (("show", "g-1"), "store.not_found"),
        (("revoke", "g-1"), "store.not_found"),
    ],
)
async def test_a_mistake_is_told_with_its_code_and_grants_nothing(
    used_desk: Command, words: tuple[str, ...], code: str
) -> None:
    error(used_desk("grants", *words), 2, code)
    store = SQLiteStore(used_desk.folder / ".backstay/store.db")
    assert await store.standing.changes() == 0
    await store.close()
