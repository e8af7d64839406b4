"""`judge` over generated calls, against an oracle that knows nothing of bindings, groups or predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judging import ENFORCE, EUR_200, ME, call, decided, rule, state

from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import call_digest, judge
from backstay.core.canon import FrozenDict, freeze
from backstay.core.context import ToolFacts
from backstay.core.messages import ToolCall

SHOP = ToolFacts(
    name="shop",
    digest="s" * 64,
    risk="write",
    effect="once",
    sinks=frozenset({"to", "lines"}),
    meanings={
        "amount": "money:EUR",
        "days": "quantity:days",
        "to": "recipient",
        "lines.price": "money:EUR",
        "lines.sku": "id:article",
    },
)
_amounts = (
    st.none() | st.integers(-5, 40) | st.decimals(0, 40, places=2).map(str) | st.sampled_from(["NaN", "x", True, 1e9])
)
_lines = st.fixed_dictionaries({}, optional={"price": _amounts, "sku": st.none() | st.sampled_from("abc")})
_args = st.fixed_dictionaries(
    {},
    optional={
        "amount": _amounts,
        "days": st.none() | st.integers(-2, 60) | st.sampled_from(["7", "soon", False]),
        "to": st.none() | st.sampled_from(["bob", "eve", "BOB", "ｅve"]),
        "lines": st.none() | st.lists(_lines, max_size=4),
    },
)
_limits = st.integers(0, 40)
_statuses = st.sampled_from(["confirmed", "confirmed", "confirmed", "proposed", "revoked"])
_severities = st.sampled_from(["block", "block", "block", "confirm", "warn"])


@st.composite
def _rules(draw: st.DrawFn) -> list[Constraint]:
    made = []
    for number in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["money", "days", "to", "sku", "never"]))
        limit = draw(_limits)
        check, bind = {
            "money": ({"op": "le", "money": str(limit), "currency": "EUR"}, {"meaning": "money"}),
            "days": ({"op": "window", "days": limit}, {"meaning": "window"}),
            "to": ({"op": "not_in", "values": ["eve"]}, {"argument": "to"}),
            "sku": ({"op": "in", "values": ["a", "b"]}, {"meaning": "id:article"}),
            "never": ({"op": "forbid"}, {}),
        }[kind]
        made.append(
            rule(
                check,
                bind,
                id=f"{kind}-{number}",
                tools=draw(st.sampled_from([(), ("shop",), ("other",)]))
                if kind != "never"
                else draw(st.sampled_from([("other",), ("other",), ("shop",)])),
                status=draw(_statuses),
                severity=draw(_severities),
                mode=draw(st.sampled_from(["enforce", "enforce", "enforce", "observe"])),
                on_missing=draw(st.sampled_from(["deny", "deny", "ask", "allow"])),
            )
        )
    return made


def _is_amount(value: Any) -> bool:
    return not isinstance(value, bool) and value not in ("NaN", "x")


def _breaks(one: Constraint, args: Mapping[str, Any]) -> bool:
    """Whether a value that was given breaks the rule, read off the arguments directly."""
    kind, check = one.id.partition("-")[0], one.check or {}
    lines: Sequence[Any] = args.get("lines") or ()
    if kind == "never":
        return True
    if kind == "money":
        given = [args.get("amount"), *(line.get("price") for line in lines)]
        limit = Decimal(str(check["money"]))
        return any(not _is_amount(value) or Decimal(str(value)) > limit for value in given if value is not None)
    if kind == "days":
        days = args.get("days")
        if days is None:
            return False
        return isinstance(days, bool) or not str(days).lstrip("-").isdigit() or not 0 <= int(days) <= check["days"]  # type: ignore[operator]
    if kind == "to":
        return args.get("to") in ("eve", "ｅve")
    return any(line.get("sku") == "c" for line in lines)


def _lacks(one: Constraint, args: Mapping[str, Any]) -> bool:
    """Whether what the rule is about was left out, in the call or in one of its lines."""
    kind, lines = one.id.partition("-")[0], args.get("lines")
    if kind == "money":
        if lines:
            return any(line.get("price") is None for line in lines)
        return args.get("amount") is None and lines is None
    if kind == "sku":
        return lines is None or any(line.get("sku") is None for line in lines)
    if kind == "to":
        return args.get("to") is None
    return kind == "days" and args.get("days") is None


def _may(one: Constraint, args: Mapping[str, Any]) -> str:
    if "other" in one.tools or one.status == "revoked" or one.severity == "warn" or one.mode == "observe":
        return "allow"
    broken, lacks = _breaks(one, args), _lacks(one, args) and one.on_missing != "allow"
    if not broken and not lacks:
        return "allow"
    softly = one.status == "proposed" or one.severity == "confirm"
    return "ask" if softly or (not broken and one.on_missing == "ask") else "deny"


_STRICT = {"allow": 0, "ask": 1, "deny": 2}
_generated = settings(max_examples=2500, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_generated
@given(_args, _rules(), st.sampled_from(["read", "write", "high"]), st.sampled_from(["inbox", "unattended"]))
def test_generated_calls_agree_with_an_independent_oracle(args: Any, rules: Any, risk: Any, presence: str) -> None:
    tool = replace(SHOP, risk=risk)
    found = judge(call(tool, **args), tool, ENFORCE, state(*rules, presence=presence))
    wanted = max([_may(one, args) for one in rules] + ["ask" if risk == "high" else "allow"], key=_STRICT.__getitem__)
    if presence == "unattended" and wanted == "ask":
        wanted = "deny"
    assert found.outcome == wanted
    assert isinstance(found.call.args, FrozenDict)
    assert found.digest == call_digest("shop", found.call.args)
    assert found.call.args == freeze(args)
    assert (found.outcome == "allow") or (found.rules and found.code and found.message)


@_generated
@given(_args, _rules(), _rules(), st.sampled_from(["read", "write", "high"]), st.booleans(), st.booleans())
def test_a_further_rule_never_makes_a_verdict_looser(
    args: Any, rules: Any, more: Any, risk: Any, is_decided: bool, is_refused: bool
) -> None:
    tool = replace(SHOP, risk=risk)
    first = judge(call(tool, **args), tool, ENFORCE, state(*rules))
    further = [replace(one, id=f"{one.id}-more") for one in more]
    refused = frozenset({first.digest} if is_refused else ())
    action = decided(first, tool) if is_decided else None
    before = judge(first.call, tool, ENFORCE, state(*rules, decided=action, refused=refused))
    for mixed in ([*rules, *further], [*further, *rules]):
        after = judge(first.call, tool, ENFORCE, state(*mixed, decided=action, refused=refused))
        assert _STRICT[after.outcome] >= _STRICT[before.outcome]


@_generated
@given(_args, _args, _rules(), st.data())
def test_a_high_call_is_allowed_only_by_a_decision_about_that_very_call(
    args: Any, other: Any, rules: Any, data: Any
) -> None:
    tool = replace(SHOP, risk="high")
    asked = judge(call(tool, **args), tool, ENFORCE, state(*rules))
    action = decided(
        asked,
        tool,
        args_digest=data.draw(st.sampled_from([asked.digest, call_digest("shop", freeze(other)), ""])),
        tool_digest=data.draw(st.sampled_from([tool.digest, tool.digest, "x"])),
        rules=data.draw(st.sampled_from([asked.rules, asked.rules, (), ("tier.high",)])),
    )
    again = replace(asked.call, id=data.draw(st.sampled_from(["call-1", "call-1", "call-1/1"])))
    found = judge(again, tool, ENFORCE, state(*rules, decided=action))
    matches = (
        action.args_digest == asked.digest
        and action.tool_digest == tool.digest
        and again.id == "call-1"
        and {one for one in asked.rules if not one.startswith("noted:")} <= set(action.rules)
    )
    assert found.outcome == ("allow" if matches and asked.outcome == "ask" else asked.outcome)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
    max_leaves=8,
)
_paths = st.sampled_from(["a", "a.b", "a.b.c", "", ".", "a.", "0", "x"])
_meanings = st.sampled_from(["money:EUR", "quantity:days", "date_range:start", "id:x", "", None, 3])
_checks = st.sampled_from(
    [
        EUR_200,
        {"op": "window", "days": 3},
        {"op": "in", "values": ["a"]},
        {"op": "not", "of": EUR_200},
        {"op": "forbid"},
    ]
) | st.dictionaries(st.sampled_from(["op", "of", "number", "money", "values"]), _json, max_size=3)


@_generated
@given(
    st.dictionaries(st.sampled_from(["a", "x", "a.b", ""]), _json, max_size=3),
    st.dictionaries(_paths, _meanings, max_size=3),
    st.lists(
        st.tuples(
            _checks, st.dictionaries(st.sampled_from(["argument", "meaning", "z"]), _paths | _meanings, max_size=2)
        ),
        max_size=3,
    ),
    st.sampled_from(["read", "high", "?", None]),
    st.sampled_from(["UTC", "nowhere"]),
)
def test_whatever_comes_in_a_verdict_comes_out(args: Any, meanings: Any, rules: Any, risk: Any, zone: str) -> None:
    tool = ToolFacts(name="t", digest="", risk=risk, effect="none", sinks=frozenset({"a", "a.b"}), meanings=meanings)
    made = []
    for number, (check, bind) in enumerate(rules):
        made.append(Constraint(id=str(number), text="", render="", bind=bind, check=check))
    found = judge(ToolCall(id="1", name="t", args=args), tool, ENFORCE, state(*made, principal=replace(ME, zone=zone)))
    assert found.outcome in _STRICT
    if risk != "read":
        assert found.outcome != "allow"
    if found.outcome == "allow":
        assert found.digest == call_digest("t", found.call.args)
