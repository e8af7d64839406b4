"""Rules as records: how a program writes them, how they read, who may loosen whose, and how long they last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judging import rule, verdict

from backstay import Agent, Boundary, tool
from backstay.agents.state import SessionState
from backstay.boundary import checks
from backstay.boundary.constraints import Constraint, amended, may_loosen, revoked
from backstay.boundary.predicates import check_problems
from backstay.core.errors import ConstraintError
from backstay.core.messages import ToolResult
from backstay.models import ScriptedModel
from backstay.store.records import Record, Status

CAP = Constraint.of("at most 200 EUR a refund", checks.at_most(200, "EUR"), meaning="money", tools=["refund"])


def test_a_rule_is_written_in_one_line() -> None:
    assert (CAP.text, CAP.render) == ("at most 200 EUR a refund", "refund: at most 200 EUR")
    assert (CAP.author, CAP.tools, CAP.bind) == ("developer", ("refund",), {"meaning": "money"})
    assert CAP.id == Constraint.of(CAP.text, CAP.check or {}, meaning="money", tools=["refund"]).id
    assert CAP.id != Constraint.of(CAP.text, checks.at_most(300, "EUR"), meaning="money", tools=["refund"]).id
    assert verdict(CAP, amount="201").outcome == "deny"
    assert verdict(CAP, amount="200").outcome == "allow"


@pytest.mark.parametrize(
    "make",
    [
        lambda: checks.at_most("many", "EUR"), lambda: checks.under("~"), lambda: checks.at_host("https://a.com"),
        lambda: checks.last(), lambda: checks.calls(3, per="week"),  # type: ignore[arg-type]
        lambda: checks.all_of(), lambda: checks.negated(checks.calls(1, per="day")),
        lambda: Constraint.of("x", {"op": "nope"}), lambda: Constraint.of("x", checks.at_most(3)),
        lambda: Constraint.of("x", checks.at_most(3), meaning="money", argument="n"),
        lambda: Constraint.of("x", checks.never(), tools="refund"),
    ],
)  # fmt: skip
def test_a_rule_that_could_never_be_checked_is_refused_where_it_is_written(make: Any) -> None:
    with pytest.raises(ConstraintError) as error:
        make()
    assert error.value.code == "constraint.invalid"


@pytest.mark.parametrize(
    "check",
    [
        checks.at_least(1), checks.less_than("2.5", "kg"), checks.more_than(0, "EUR"), checks.one_of("a", 2),
        checks.none_of("b"), checks.last(days=30), checks.last(months=1), checks.within("2026-01-01", "2026-02-01"),
        checks.within(until="2026-02-01"), checks.under("/srv", base="/srv"), checks.at_host("a.com"),
        checks.like("*.tmp"), checks.calls(3, per="day"), checks.total("3", "items", per="session"),
        checks.total(3, per="day"), checks.same_as("x"), checks.among("xs"), checks.own_words(), checks.claim("region"),
        checks.owned(), checks.owned("order"), checks.after("look"), checks.function("f"), checks.never(),
        checks.all_of(checks.never(), checks.never()), checks.any_of(checks.never()),
        checks.negated(checks.under("/etc")),
    ],
)  # fmt: skip
def test_every_check_that_can_be_written_is_one_of_the_language(check: Any) -> None:
    assert check_problems(check) == []
    with pytest.raises(TypeError):
        check["op"] = "forbid"


def test_a_rule_explains_itself() -> None:
    assert replace(CAP, id="c1").explain() == (
        "c1 is a rule of the developer: 'at most 200 EUR a refund'. Before every call of refund, every amount of money"
        " must be: at most 200 EUR. Left out, it is refused. What breaks it is refused. It holds for as long as the"
        " session lasts."
    )
    advisory = rule(None, text="be polite")
    assert "checked by nobody" in advisory.explain()
    proposed = replace(CAP, status="proposed", agents=("desk",), until="run", on_missing="ask")
    for part in ("waits for a person", "binds desk alone", "until the run ends", "it asks a person"):
        assert part in proposed.explain()
    assert "noted and runs" in replace(CAP, mode="observe").explain()
    assert "revoked and binds nothing" in replace(CAP, status="revoked").explain()


RANKS: Any = ["user", "operator", "developer"]


@pytest.mark.parametrize("author", RANKS)
@pytest.mark.parametrize("other", RANKS)
def test_only_the_same_class_or_a_higher_one_may_loosen(author: Any, other: Any) -> None:
    may = RANKS.index(author) >= RANKS.index(other)
    assert may_loosen(author, other) is may
    old = rule(id="old", author=other)
    looser = rule({"op": "le", "money": "999", "currency": "EUR"}, id="new", author=author, supersedes="old")
    assert ("old" in amended({"old": old}, looser)) is not may
    assert "new" in amended({"old": old}, looser)
    if may:
        gone = amended({"old": old}, revoked(old, by=author))
        assert not gone["old"].is_active
    else:
        with pytest.raises(ConstraintError) as error:
            revoked(old, by=author)
        assert error.value.code == "constraint.author"
        forged = amended({"old": old}, replace(old, author=author, status="revoked"))
        assert forged == {"old": old}


def test_a_lower_rule_of_the_same_name_holds_beside_the_higher_one() -> None:
    old = rule(id="c1", author="developer")
    loose = rule({"op": "le", "money": "999", "currency": "EUR"}, id="c1", author="user")
    both = amended({"c1": old}, loose)
    assert both["c1"] == old
    assert both["c1@user"].check == loose.check
    strict = rule({"op": "le", "money": "10", "currency": "EUR"}, id="c1", author="user")
    assert verdict(*amended({"c1": old}, strict).values(), amount="50").outcome == "deny"


def _fold(state: SessionState, *bodies: Any) -> None:
    for body in bodies:
        kind: Any = "status" if isinstance(body, Status) else "constraint"
        state.fold(Record(session_id="s", seq=state.seq + 1, run_id="r", kind=kind, at=0.0, body=body))


def test_records_of_a_session_amend_each_other() -> None:
    state = SessionState("s")
    cap = rule(id="u1", author="user")
    _fold(state, cap, rule(id="o1", author="operator"))
    _fold(state, rule(id="u2", author="user", supersedes="u1"), rule(id="u3", author="user", supersedes="o1"))
    assert list(state.constraints) == ["o1", "u2", "u3"]
    _fold(state, revoked(state.constraints["u2"], by="operator"))
    assert [one.id for one in state.constraints.values() if one.is_active] == ["o1", "u3"]


def test_a_rule_of_a_run_ends_with_it() -> None:
    state = SessionState("s")
    _fold(state, rule(id="u1", author="user", until="run"), rule(id="u2", author="user"))
    _fold(state, Status(status="waiting"))
    assert list(state.constraints) == ["u1", "u2"]
    version = state.rules_version
    _fold(state, Status(status="done"))
    assert list(state.constraints) == ["u2"]
    assert state.rules_version > version


async def test_a_developer_takes_back_an_own_rule_for_a_session_and_a_user_cannot() -> None:
    @tool(risk="read")
    async def look(word: str) -> str:
        """Look something up. Use it when the user asks."""
        return word

    never = Constraint.of("never look", checks.never(), tools=["look"], id="c1")
    agent = Agent(ScriptedModel("x"), tools=[look], boundary=Boundary(constraints=[never]))
    for by, held in (("user", True), ("developer", False)):
        rules = amended(
            {one.id: one for one in agent.definition.constraints}, replace(never, author=by, status="revoked")
        )  # type: ignore[arg-type]
        assert any(one.is_active for one in rules.values()) is held
    assert ToolResult(ok=True, summary="", via="held").is_void
