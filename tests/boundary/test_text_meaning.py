"""Two ways to write one rule are one rule to `bench.rules`, and what is stricter is told from what is looser."""

from __future__ import annotations

from typing import Any

import pytest
from bench.rules.cases import NOW
from bench.rules.meaning import difference

from backstay.boundary.constraints import Constraint
from backstay.boundary.text import ToolWords

TOOLS = (
    ToolWords(name="mail", meanings={"to": "recipient"}),
    ToolWords(name="save", meanings={"path": "path"}),
    ToolWords(name="pay", meanings={"amount": "money:EUR"}),
    ToolWords(name="orders", meanings={"since": "date_range:start"}),
    ToolWords(name="look", meanings={"url": "url"}),
)
EUR = {"currency": "EUR"}


def rule(check: dict[str, Any], *tools: str, on: str = "", **more: Any) -> Constraint:
    return Constraint.of("as said", check, meaning=on, tools=tools, **more)


FORBID = {"op": "forbid"}
SAME = {
    "one_rule_or_two": ([rule(FORBID, "mail", "save")], [rule(FORBID, "mail"), rule(FORBID, "save")]),
    "a_pattern_in_two_spellings": (
        [rule({"op": "not", "of": {"op": "glob", "like": ["**/*.pdf"]}}, on="path")],
        [rule({"op": "not", "of": {"op": "glob", "like": ["**.pdf"]}}, on="path")],
    ),
    "a_host_of_recipients": (
        [rule({"op": "host", "in": ["acme.io"]}, "mail", on="host")],
        [rule({"op": "host", "in": ["acme.io"]}, on="recipient")],
    ),
    "money_in_two_spellings": (
        [rule({"op": "le", "money": "50", **EUR}, on="money")],
        [rule({"op": "le", "money": "50.00", **EUR}, "pay", on="money")],
    ),
    "a_list_and_its_parts": (
        [rule({"op": "not_in", "values": ["a@acme.io", "b@acme.io"]}, on="recipient")],
        [rule({"op": "not_in", "values": [one]}, on="recipient") for one in ("a@acme.io", "b@acme.io")],
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_one_rule_in_two_forms_is_one_rule(name: str) -> None:
    one, other = SAME[name]
    assert difference(one, other, TOOLS, NOW) == (False, False)


STRICTER = {
    "a_lower_limit": (
        [rule({"op": "le", "money": "50", **EUR}, on="money")],
        [rule({"op": "le", "money": "60", **EUR}, on="money")],
    ),
    "below_and_not_at": (
        [rule({"op": "lt", "money": "50", **EUR}, on="money")],
        [rule({"op": "le", "money": "50", **EUR}, on="money")],
    ),
    "a_total_and_each": (
        [rule({"op": "sum", "max": "50", "money": "EUR", "per": "session"}, on="money")],
        [rule({"op": "le", "money": "50", **EUR}, on="money")],
    ),
    "a_session_and_a_day": (
        [rule({"op": "count", "max": 3, "per": "session"}, "mail")],
        [rule({"op": "count", "max": 3, "per": "day"}, "mail")],
    ),
    "together_and_each": (
        [rule({"op": "count", "max": 3, "per": "session"}, "mail", "save")],
        [rule({"op": "count", "max": 3, "per": "session"}, name, id=name) for name in ("mail", "save")],
    ),
    "refused_and_asked_about": ([rule(FORBID, "mail")], [rule(FORBID, "mail", severity="confirm")]),
    "another_tool_too": ([rule(FORBID, "mail", "save")], [rule(FORBID, "mail")]),
    "longer": ([rule(FORBID, "mail", until="2026-06-20")], [rule(FORBID, "mail", until="2026-06-19")]),
    "a_shorter_window": (
        [rule({"op": "window", "days": 29}, on="window")],
        [rule({"op": "window", "days": 30}, on="window")],
    ),
    "never_and_later": ([rule(FORBID, "mail")], [rule({"op": "before", "tools": ["look"]}, "mail")]),
    "nobody_and_whom_i_named": (
        [rule(FORBID, "mail")],
        [rule({"op": "own_words"}, on="recipient")],
    ),
    "something_and_nothing": ([rule({"op": "before", "tools": ["look"]}, "mail")], []),
}


@pytest.mark.parametrize("name", STRICTER)
def test_what_is_stricter_is_told_from_what_is_looser(name: str) -> None:
    one, other = STRICTER[name]
    assert difference(one, other, TOOLS, NOW) == (True, False)
    assert difference(other, one, TOOLS, NOW) == (False, True)
