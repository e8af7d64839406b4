"""How rules combine: a table over all combinations, and what `ConditionalRequirement` says of a view. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from backstay import AskPermissionRequirement, ConditionalRequirement, Tool, requirement, tool
from backstay.agents import Rule, StepView
from backstay.agents.requirements import Ruled, bind_all, combine, rules_of
from backstay.core.errors import RequirementError
from backstay.toolkit.think import ThinkTool

BOOLS = (False, True)


def rule(target: str, **flags: Any) -> Rule:
    return Rule(target=target, reason=flags.pop("reason", ""), **flags)


ONES = [
    Rule(target="a", allowed=allowed, hidden=hidden, forced=forced, prevent_stop=stop, ask=ask, reason=f"r{number}")
    for number, (allowed, hidden, forced, stop, ask) in enumerate(itertools.product(BOOLS, repeat=5))
]


@pytest.mark.parametrize("second", ONES, ids=lambda one: one.reason)
@pytest.mark.parametrize("first", ONES, ids=lambda one: one.reason)
def test_two_rules_on_one_tool_combine_as_they_should(first: Rule, second: Rule) -> None:
    """1,024 pairs: `first` has the higher priority; a second tool is always free, so that something is left."""
    said = combine([Ruled("one", 20, first), Ruled("two", 10, second)], ["a", "b"])
    allowed = first.allowed and second.allowed and not (first.hidden or second.hidden)
    forced = allowed and (first.forced or second.forced)
    assert said.forced == ("a" if forced else None)
    assert said.allowed == (("a",) if forced else ("a", "b") if allowed else ("b",))
    assert said.free == (frozenset("ab") if allowed else frozenset("b"))
    assert said.ask == (frozenset("a") if first.ask or second.ask else frozenset())
    assert bool(said.unmet) == (first.prevent_stop or second.prevent_stop or forced)
    refusing = [one for one in (first, second) if not one.allowed or one.hidden]
    assert said.refused.get("a") == (refusing[0].reason if refusing else None)
    assert said.told.get("a") == (refusing[0].reason if refusing and not (first.hidden or second.hidden) else None)
    assert ("b" in said.refused) == forced


def test_of_several_forced_tools_the_highest_priority_forcing_rule_wins_not_any_rule_on_it() -> None:
    ruled = [
        Ruled("x", 30, rule("a", ask=True)),
        Ruled("y", 20, rule("b", forced=True)),
        Ruled("z", 10, rule("a", forced=True)),
    ]
    assert combine(ruled, ["a", "b", "c"]).allowed == ("b",)


def test_requirements_are_asked_in_the_order_of_their_priority_and_then_as_they_were_given() -> None:
    made = [
        requirement("t", priority=priority, name=name)(lambda _view, name=name: [rule("t", allowed=False, reason=name)])
        for name, priority in (("low", 1), ("first", 9), ("second", 9))
    ]
    ruled = rules_of(bind_all(made, [named("t")]), StepView())
    assert [each.by for each in ruled] == ["first", "second", "low"]
    assert combine(ruled, ["t", "u"]).refused == {"t": "first"}


def test_nothing_left_is_an_error_that_lists_the_rules() -> None:
    ruled = [
        Ruled("one", 2, rule("a", allowed=False, reason="no")),
        Ruled("two", 1, rule("b", prevent_stop=True, allowed=False)),
    ]
    with pytest.raises(
        RequirementError, match=r"one refuses a \(no\); two refuses b .*two does not let the run end"
    ) as raised:
        combine(ruled, ["a", "b"])
    assert raised.value.code == "requirement.nothing_left"
    assert combine(ruled[:1], ["a"]).allowed == ()  # the run may end: something is left
    assert combine(ruled, ["a", "b"], may_be_empty=True).unmet == ""


def named(name: str, risk: Any = "read") -> Tool:
    @tool(name=name, risk=risk)
    async def body(x: int = 0) -> int:
        """Do it. Use it when asked."""
        return x

    return body


TOOLS: list[Tool] = [ThinkTool(), named("alpha"), named("beta"), named("gamma")]


def said(one: ConditionalRequirement, tools: Sequence[Tool] = TOOLS, **view: Any) -> Rule:
    (found,) = one.bind(tools).rules(StepView(**view))
    return found


OK = {"alpha": 1}


@pytest.mark.parametrize(
    ("options", "view", "allowed"),
    [
        ({"only_after": "beta"}, {}, False),
        ({"only_after": "beta"}, {"calls": {"beta": 1}}, False),
        ({"only_after": "beta"}, {"ok": {"beta": 1}}, True),
        ({"only_after": ["beta", "gamma"]}, {"ok": {"beta": 1}}, False),
        ({"only_after": "beta", "only_success_invocations": False}, {"calls": {"beta": 1}}, True),
        ({"only_before": "beta"}, {}, True),
        ({"only_before": "beta"}, {"ok": {"beta": 1}}, False),
        ({"only_before": ["gamma", "beta"]}, {"ok": {"beta": 1}}, False),
        ({"max_invocations": 2}, {"ok": {"alpha": 1}}, True),
        ({"max_invocations": 2}, {"ok": {"alpha": 2}}, False),
        ({"max_invocations": 0}, {}, False),
        ({"max_invocations": 1}, {"calls": {"alpha": 5}}, True),
        ({"max_invocations": 1, "only_success_invocations": False}, {"calls": {"alpha": 1}}, False),
        ({"consecutive_allowed": False}, {"last_ok": ("alpha",)}, False),
        ({"consecutive_allowed": False}, {"last_ok": ("beta",)}, True),
        ({"consecutive_allowed": False}, {"last": ("alpha",)}, True),
        ({"custom_checks": [lambda view: view.step > 1]}, {"step": 1}, False),
        ({"custom_checks": [lambda view: view.step > 1, lambda _: True]}, {"step": 2}, True),
    ],
)
def test_a_tool_may_be_called_when_its_conditions_say_so(options: Any, view: Any, allowed: bool) -> None:
    assert said(ConditionalRequirement("alpha", **options), **view).allowed is allowed


@pytest.mark.parametrize(
    ("options", "view", "forced"),
    [
        ({"force_at_step": 1}, {}, True),
        ({"force_at_step": 1}, {"step": 2}, True),  # what failed in step 1 stays forced
        ({"force_at_step": 1}, {"step": 2, "done": 1}, False),
        ({"force_at_step": 2}, {"step": 2, "done": 1}, True),
        ({"force_at_step": 2, "only_success_invocations": False}, {"step": 2}, True),
        ({"force_after": "beta"}, {"last_ok": ("beta",)}, True),
        ({"force_after": "beta"}, {"last": ("beta",)}, False),
        ({"force_after": ["gamma", "beta"]}, {"last_ok": ("beta",)}, True),
        ({"force_after": Tool}, {"last_ok": ("gamma",)}, True),
        ({"force_after": Tool}, {"last_ok": ("alpha",)}, False),
        ({"force_at_step": 1, "only_after": "beta"}, {}, False),
    ],
)
def test_a_tool_is_forced_when_its_conditions_say_so(options: Any, view: Any, forced: bool) -> None:
    assert said(ConditionalRequirement("alpha", **options), **view).forced is forced


def test_a_minimum_holds_up_the_end_until_it_is_reached() -> None:
    one = ConditionalRequirement("alpha", min_invocations=2)
    assert [said(one, ok={"alpha": count}).prevent_stop for count in range(3)] == [True, True, False]
    assert said(one, calls={"alpha": 9}).prevent_stop


def test_a_requirement_that_is_not_enabled_says_nothing() -> None:
    assert ConditionalRequirement("alpha", max_invocations=0, enabled=False).bind(TOOLS).rules(StepView()) == ()
    assert AskPermissionRequirement("alpha", enabled=False).bind(TOOLS).rules(StepView()) == ()


def test_targets_are_names_classes_or_tools() -> None:
    for target in ("think", ThinkTool, TOOLS[0]):
        assert said(ConditionalRequirement(target)).target == "think"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ConditionalRequirement("alhpa"), "no tool 'alhpa'; did you mean 'alpha'"),
        (lambda: ConditionalRequirement("alpha", only_after="typo"), "no tool 'typo'"),
        (lambda: ConditionalRequirement("alpha", only_before=["beta", "typo"]), "no tool 'typo'"),
        (lambda: ConditionalRequirement("alpha", force_after="typo"), "no tool 'typo'"),
        (lambda: ConditionalRequirement(Tool), "several tools are meant by Tool"),
        (lambda: ConditionalRequirement("propose_action"), "no tool 'propose_action'"),
        (lambda: ConditionalRequirement(7), "is no target"),
        (lambda: ConditionalRequirement("alpha", only_before="alpha"), "'alpha' stands beside itself"),
        (lambda: ConditionalRequirement("alpha", force_after=TOOLS[1]), "'alpha' stands beside itself"),
        (
            lambda: ConditionalRequirement("alpha", only_before="beta", only_after="beta"),
            "in only_after",
        ),
        (
            lambda: ConditionalRequirement("alpha", only_before="beta", force_after="beta"),
            "in force_after",
        ),
        (lambda: ConditionalRequirement("alpha", min_invocations=2, max_invocations=1), "below min_invocations"),
        (lambda: ConditionalRequirement("alpha", min_invocations=-1), "below 0"),
        (lambda: ConditionalRequirement("alpha", force_at_step=0), "counts from 1"),
        (lambda: AskPermissionRequirement("typo"), "no tool 'typo'"),
        (lambda: AskPermissionRequirement(exclude="typo"), "no tool 'typo'"),
        (lambda: requirement("typo")(lambda _: []), "no tool 'typo'"),
        (lambda: "alpha", "which is no requirement"),
    ],
)
def test_a_typo_or_a_contradiction_is_an_error_when_the_agent_is_made(make: Any, told: str) -> None:
    with pytest.raises(RequirementError, match=told):
        bind_all([make()], TOOLS)


def test_a_shared_requirement_stays_as_it_is_and_serves_agents_with_other_tools() -> None:
    one = ConditionalRequirement(ThinkTool, force_after=Tool)
    first, second = one.bind(TOOLS), one.bind([ThinkTool(), named("delta")])
    assert (one.target, one.force_after) == (ThinkTool, Tool)
    assert first.force_after == ("alpha", "beta", "gamma")
    assert second.force_after == ("delta",)


def test_an_unbound_requirement_says_so() -> None:
    with pytest.raises(RequirementError, match="not bound"):
        ConditionalRequirement(ThinkTool).rules(StepView())


def test_asking_leaves_out_what_is_excluded() -> None:
    bound = AskPermissionRequirement(exclude=["alpha", ThinkTool]).bind(TOOLS)
    assert [one.target for one in bound.rules(StepView()) if one.ask] == ["beta", "gamma"]


def test_a_function_may_speak_of_its_targets_only_and_its_errors_carry_its_name() -> None:
    @requirement("alpha")
    def strays(view: StepView) -> list[Rule]:
        return [Rule(target="beta")]

    @requirement("alpha", name="breaks")
    def broken(view: StepView) -> list[Rule]:
        raise KeyError("x")

    for one, told in ((strays, "strays: a rule about 'beta'"), (broken, "breaks raised KeyError")):
        with pytest.raises(RequirementError, match=told):
            rules_of(bind_all([one], TOOLS), StepView())
