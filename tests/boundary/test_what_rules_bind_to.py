"""Which values of a call a rule is about, when several rules and several shapes of one tool meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judging import ENFORCE, LINES, REFUND, call, rule, state, verdict

from backstay.boundary.judge import judge
from backstay.core.canon import freeze
from backstay.core.context import ToolFacts

BARE = ToolFacts(name="look", digest="", risk="read", effect="none")


def few(argument: str, limit: int, **more: Any) -> Any:
    return rule({"op": "le", "number": str(limit)}, {"argument": argument}, id=f"c-{argument}", **more)


class TestSeveralRules:
    def test_each_rule_is_about_its_own_argument(self) -> None:
        rules = (few("rows", 10), few("pages", 2))
        assert verdict(*rules, tool=BARE, rows=10, pages=2).outcome == "allow"
        assert verdict(*rules, tool=BARE, rows=11, pages=2).rules == ("c-rows",)
        assert verdict(*rules, tool=BARE, rows=1, pages=3).rules == ("c-pages",)

    def test_each_rule_is_about_its_own_meaning(self) -> None:
        month = rule({"op": "window", "days": 30}, {"meaning": "window"}, id="c2")
        assert verdict(rule(), month, amount="200", since="2026-06-01").outcome == "allow"
        assert verdict(rule(), month, amount="201", since="2026-06-01").rules == ("c1",)
        assert verdict(rule(), month, amount="200", since="2020-06-01").rules == ("c2",)

    def test_the_same_argument_with_and_without_a_named_tool(self) -> None:
        rules = (few("rows", 10), replace(few("rows", 5, tools=("look",)), id="c2"))
        assert verdict(*rules, tool=BARE, rows=7).rules == ("c2",)
        assert verdict(*rules, tool=BARE).rules == ("c2",)
        assert verdict(rules[0], tool=BARE).outcome == "allow"


@pytest.mark.parametrize(
    "changed",
    [
        {"meanings": {}},
        {"meanings": {"amount": "money:USD"}},
        {"sinks": frozenset()},
        {"texts": frozenset({"amount"})},
    ],
)
def test_rules_follow_a_tool_whose_facts_have_changed(changed: Any) -> None:
    for bind in ({"meaning": "money"}, {"argument": "to"}, {"argument": "amount"}):
        rules = (rule({"op": "in", "values": ["200"]}, bind),)
        other = replace(REFUND, **changed)
        for args in ({"amount": "201"}, {}):
            alone = judge(call(other, **args), other, ENFORCE, state(*[replace(one) for one in rules]))
            given = state(*rules)
            judge(call(REFUND, **args), REFUND, ENFORCE, given)
            after = judge(call(other, **args), other, ENFORCE, given)
            assert (after.outcome, after.message) == (alone.outcome, alone.message)


@pytest.mark.parametrize("mark", [{"sinks": frozenset({"x"})}, {"texts": frozenset({"x"})}])
def test_an_argument_that_a_tool_has_no_more_is_no_longer_left_out(mark: Any) -> None:
    given = state(rule({"op": "in", "values": ["a"]}, {"argument": "x"}))
    before = replace(BARE, **mark)
    assert judge(call(before), before, ENFORCE, given).outcome == "deny"
    assert judge(call(BARE), BARE, ENFORCE, given).outcome == "allow"
    assert judge(call(before), before, ENFORCE, given).outcome == "deny"


def test_an_argument_without_a_meaning_is_told_as_such() -> None:
    found = verdict(rule(bind={"argument": "rows"}), tool=BARE, rows="3")
    assert found.code == "boundary.error"
    assert "an argument that means nothing" in found.message


@pytest.mark.parametrize(
    ("args", "outcome"),
    [
        ({"lines": [{"n": 1}, {"n": 3}]}, "allow"),
        ({"lines": [{"n": 1}, {"n": 4}]}, "deny"),
        ({"lines": {"n": 4}}, "deny"),
        ({"lines": []}, "allow"),
        ({"lines": [{}]}, "deny"),
        ({"other": [{"n": 4}]}, "allow"),
        ({}, "allow"),
    ],
)
def test_an_argument_inside_another_is_bound_by_its_path_without_any_mark(args: Any, outcome: str) -> None:
    assert verdict(few("lines.n", 3), tool=BARE, **args).outcome == outcome
    missing = "deny" if "lines" not in args else outcome
    assert verdict(few("lines.n", 3, tools=("look",)), tool=BARE, **args).outcome == missing


class TestAround:
    TOOL = replace(
        LINES,
        meanings={
            "limit": "money:EUR",
            "lines.price": "money:EUR",
            "lines.fee": "money:EUR",
            "lines.parts.price": "money:EUR",
        },
    )

    def found(self, **args: Any) -> Any:
        return verdict(rule(), tool=self.TOOL, **args)

    def test_what_stands_around_an_item_is_judged_with_it(self) -> None:
        fine = {"price": "1", "fee": "2", "parts": [{"price": "3"}]}
        assert self.found(limit="4", lines=[fine]).outcome == "allow"
        for args in (
            {"limit": "400", "lines": [fine]},
            {"limit": "4", "lines": [{**fine, "price": "400"}]},
            {"limit": "4", "lines": [fine, {**fine, "fee": "400"}]},
            {"limit": "4", "lines": [fine, {**fine, "parts": [{"price": "3"}, {"price": "400"}]}]},
        ):
            found = self.found(**args)
            assert (found.outcome, found.code) == ("deny", "constraint.broken")
            assert found.message.count("is 400") == 1
            assert "left out" not in found.message

    def test_an_item_with_one_of_several_is_not_missing(self) -> None:
        tool = replace(LINES, meanings={"lines.price": "money:EUR", "lines.fee": "money:EUR"})
        assert verdict(rule(), tool=tool, lines=[{"price": "1"}, {"fee": "1"}]).outcome == "allow"
        assert verdict(rule(), tool=tool, lines=[{"price": "1"}, {"fee": "201"}]).outcome == "deny"
        assert verdict(rule(), tool=tool, lines=[{"price": "1"}, {}]).outcome == "deny"

    def test_an_item_that_has_none_of_them_is_missing_and_what_stands_around_is_judged(self) -> None:
        empty = {"price": "1", "fee": "2", "parts": [{}]}
        assert "lines.0.parts.0.price was left out" in self.found(lines=[empty]).message
        found = self.found(limit="400", lines=[empty])
        assert "limit is 400" in found.message
        assert "lines.0.parts.0.price was left out" in found.message
        allowed = verdict(rule(on_missing="allow"), tool=self.TOOL, limit="400", lines=[empty])
        assert "limit is 400" in allowed.message
        assert verdict(rule(on_missing="allow"), tool=self.TOOL, limit="4", lines=[empty]).outcome == "allow"


class TestKeysOfTheirOwn:
    def test_extra_arguments_and_their_keys_are_bound_and_known_ones_are_not(self) -> None:
        tool = replace(BARE, meanings={"*": "money:EUR", "*key": "id:order", "n": "", "lines.x": ""})
        assert verdict(rule(), tool=tool, a="1", b="200", n="999", lines="999").outcome == "allow"
        assert "b is 201" in verdict(rule(), tool=tool, a="1", b="201").message
        keys = rule({"op": "in", "values": ["a"]}, {"meaning": "id:order"})
        assert verdict(keys, tool=tool, a="1", n=1).outcome == "allow"
        assert "b is b" in verdict(keys, tool=tool, a="1", b="1").message
        assert verdict(keys, tool=tool, n=1).outcome == "allow"

    def test_a_dot_in_a_key_is_a_part_of_the_key(self) -> None:
        tool = replace(BARE, meanings={"lines.*.price": "money:EUR", "lines.*key": "id:order"})
        found = verdict(rule(), tool=tool, lines={"a.b": {"price": "201"}})
        assert "lines.a%2Eb.price is 201" in found.message
        keys = rule({"op": "in", "values": ["a.b"]}, {"meaning": "id:order"})
        assert verdict(keys, tool=tool, lines={"a.b": {}}).outcome == "allow"
        assert verdict(keys, tool=tool, lines={"a%2Eb": {}}).outcome == "deny"

    @pytest.mark.parametrize(
        ("lines", "outcome"),
        [
            ({"a": {"price": "1"}}, "deny"),
            ({"a": [{"price": "1"}]}, "deny"),
            ({"a": [[{"price": "1"}]]}, "deny"),
            ({"a": ["1"], "price": "1"}, "allow"),
            ({"a": {"price": "1"}, "price": "1"}, "allow"),
            ({"a": "1"}, "deny"),
        ],
    )
    def test_an_object_in_the_place_of_a_list_must_not_hide_the_price(self, lines: Any, outcome: str) -> None:
        found = verdict(rule(), tool=LINES, lines=lines)
        assert found.outcome == outcome
        hidden = outcome == "deny" and not isinstance(next(iter(lines.values())), str)
        assert ("cannot be told" in found.message) is hidden

    def test_a_plain_object_of_no_entries_and_none_at_all(self) -> None:
        tool = replace(BARE, meanings={"lines.*.price": "money:EUR"})
        assert verdict(rule(), tool=tool, lines=freeze({})).outcome == "allow"
        assert verdict(rule(), tool=tool, lines=None).outcome == "deny"
        assert verdict(rule(), tool=tool, lines="x").outcome == "deny"
