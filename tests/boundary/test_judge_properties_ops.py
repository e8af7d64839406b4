"""`judge` over generated calls and rules of every op, against an oracle made of tables and plain arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from judging import NOW, call, rule, state

from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.policy import Boundary
from backstay.boundary.provenance import SessionSources
from backstay.core.canon import FrozenDict, freeze
from backstay.core.context import Principal, ToolFacts, Verdict
from backstay.core.messages import PLAIN

TOOL = ToolFacts(
    name="act",
    digest="a" * 64,
    risk="write",
    effect="once",
    meanings={"amount": "money:EUR", "order": "id:order", "hours": "quantity:hours"},
)
ANN = Principal(id="ann", claims=FrozenDict({"region": ("EU", "UK")}))

HOLDS, BREAKS, DOUBT = "holds", "breaks", "doubt"
PLACES: Mapping[str, tuple[Any, Mapping[Any, str]]] = {
    "path": (
        {"op": "path", "under": ["/srv/a"]},
        {
            "/srv/a/x": HOLDS,
            "/srv/a/../a": HOLDS,
            "/etc/p": BREAKS,
            "/srv/ab": BREAKS,
            "../x": DOUBT,
            "/srv/a/~": DOUBT,
        },
    ),
    "host": (
        {"op": "host", "in": ["shop.com"]},
        {
            "a@shop.com": HOLDS,
            "https://www.shop.com/x": HOLDS,
            "shop.com.evil.com": BREAKS,
            "x@shop.com@evil.com": DOUBT,
        },
    ),
    "glob": ({"op": "glob", "like": ["*.tmp"]}, {"a.tmp": HOLDS, "A.TMP": HOLDS, "a.txt": BREAKS, "x/a.tmp": DOUBT}),
    "word": ({"op": "own_words"}, {"bob@x.com": HOLDS, "eve@x.com": BREAKS, "ob@x.com": BREAKS, "": DOUBT}),
    "region": ({"op": "claim", "name": "region"}, {"eu": HOLDS, "UK": HOLDS, "US": BREAKS}),
    "missing_claim": ({"op": "claim", "name": "team"}, {"a": DOUBT, "b": DOUBT}),
    "order": ({"op": "owned_by"}, {"1001": HOLDS, "1002": BREAKS, "x": BREAKS, True: DOUBT}),
    "same": ({"op": "same_as", "argument": "other"}, {"o": HOLDS, "O": HOLDS, "p": BREAKS}),
    "sub": ({"op": "subset_of", "of": ["a", 2]}, {"A": HOLDS, 2: HOLDS, "c": BREAKS}),
    "set": ({"op": "not_in", "values": ["eve"]}, {"bob": HOLDS, "EVE": BREAKS, "ｅve": BREAKS}),
    "n": ({"op": "le", "number": "10"}, {3: HOLDS, "10": HOLDS, 11: BREAKS, "many": DOUBT, "NaN": DOUBT}),
}
"""Argument → a check on it, and what its values come to."""


def fair(args: Mapping[str, Any], who: Principal) -> object:
    answers: Mapping[Any, Callable[[], object]] = {
        1: lambda: True, 2: lambda: False, 3: lambda: f"not for {who.id}", 4: lambda: None, 5: lambda: 1 / 0,
    }  # fmt: skip
    return answers[args.get("fair", 1)]()


POLICY = Boundary(provenance="off", functions={"fair": fair}, owners={"order": {"1001": "ann", "1002": "bob"}.get})


class World:
    """One generated call, its session and its rules; `wanted` is what the oracle says of each rule."""

    def __init__(self, seed: random.Random) -> None:
        self.random = seed
        self.args: dict[str, Any] = {"other": "o"}
        for name, (_, table) in PLACES.items():
            if seed.random() < 0.7:
                self.args[name] = seed.choice([*table, None])
        for name, values in {
            "amount": [0, 40, "99.5", "-1", "x", None],
            "hours": [1, 24, None],
            "fair": range(1, 6),
        }.items():
            if seed.random() < 0.7:
                self.args[name] = seed.choice(list(values))
        self.done = {name: seed.randint(0, 1) for name in ("look", "ask")}
        self.spent = {f"session:r{n}": Decimal(seed.choice([0, 1, 50, 100])) for n in range(6)}
        self.reserve: dict[str, Decimal] = {}
        self.rules = [self.rule(f"r{n}") for n in range(seed.randint(0, 5))]

    def rule(self, id: str) -> Constraint:
        seed = self.random
        kind = seed.choice(["place", "place", "place", "sum", "hours", "count", "before", "function", "forbid"])
        check, bind = {
            "sum": ({"op": "sum", "max": "100", "money": "EUR", "per": "session"}, {"meaning": "money"}),
            "hours": ({"op": "sum", "max": "1", "unit": "days", "per": "session"}, {"argument": "hours"}),
            "count": ({"op": "count", "max": seed.choice([0, 1, 2, 60]), "per": "session"}, {}),
            "before": ({"op": "before", "tools": seed.sample(["look", "ask", "never"], 2)}, {}),
            "function": ({"op": "function", "name": "fair"}, {}),
            "forbid": ({"op": "forbid"}, {}),
            "place": self.place(),
        }[kind]
        return rule(
            check,
            bind,
            id=id,
            tools=seed.choice([("other",), ("other", "x")]) if kind == "forbid" and seed.random() < 0.8 else ("act",),
            status=seed.choice(["confirmed", "confirmed", "confirmed", "proposed", "revoked", "expired"]),
            severity=seed.choice(["block", "block", "block", "confirm", "warn"]),
            mode=seed.choice(["enforce", "enforce", "enforce", "observe"]),
            on_missing=seed.choice(["deny", "deny", "ask", "allow"]),
            until=seed.choice([None, None, "run", "2020-01-01", "2030-01-01"]),
            agents=seed.choice([(), (), ("desk",), ("somebody",)]),
        )

    def place(self) -> tuple[Any, Any]:
        seed = self.random
        name = seed.choice(list(PLACES))
        check: Any = PLACES[name][0]
        for _ in range(seed.randint(0, 2)):
            check = seed.choice(
                [
                    {"op": "not", "of": check},
                    {"op": "all", "of": [check, check]},
                    {"op": "any", "of": [check, {"op": "not", "of": check}]},
                ]
            )
        return check, {"argument": name}

    def state(self, *rules: Constraint, **more: Any) -> JudgeState:
        sources = SessionSources()
        sources.say("m1", "write to bob@x.com", PLAIN, "user")
        sources.say("m2", "write to eve@x.com", PLAIN, "developer")
        given = {"principal": ANN, "sources": sources, "done": self.done, "spent": self.spent, **more}
        return state(*rules, **given)

    def judge(self, *rules: Constraint, **more: Any) -> Verdict:
        return judge(call(TOOL, **self.args), TOOL, POLICY, self.state(*rules, **more))


def truth(check: Any, value: Any) -> str:
    """What a check on one given value comes to, by three-valued logic."""
    op, inside = check["op"], check.get("of")
    if op == "not":
        return {HOLDS: BREAKS, BREAKS: HOLDS, DOUBT: DOUBT}[truth(inside, value)]
    if op in ("all", "any"):
        found = [truth(one, value) for one in inside]
        if op == "any" and HOLDS in found:
            return HOLDS
        return DOUBT if DOUBT in found else BREAKS if BREAKS in found else HOLDS
    return next(table for one, table in PLACES.values() if freeze(one) == check)[value]


def number(value: Any) -> Decimal | None:
    return None if value in (None, "x") else Decimal(str(value))


def says(one: Constraint, world: World) -> str:
    """`holds`, `breaks`, `missing` or `error`, read off the arguments."""
    check: Any = one.check
    op, args = check["op"], world.args
    if op == "forbid":
        return BREAKS
    if op == "before":
        return HOLDS if any(world.done.get(name) for name in check["tools"]) else BREAKS
    if op == "function":
        return {1: HOLDS, 2: BREAKS, 3: BREAKS}.get(args.get("fair", 1) or 0, "error")
    used = world.spent[f"session:{one.id}"]
    if op == "count":
        return HOLDS if used + 1 <= check["max"] else BREAKS
    value = args.get(one.bind.get("argument", "amount"))
    if value is None:
        return "missing"
    if op == "sum":
        amount = number(value)
        if amount is None or amount < 0:
            return BREAKS
        scale, limit = (3600, 86_400) if check.get("unit") else (1, 100)
        return HOLDS if used + amount * scale <= limit else BREAKS
    return HOLDS if truth(check, value) == HOLDS else BREAKS


def wanted(one: Constraint, world: World) -> str:
    if (
        "act" not in one.tools
        or one.status in ("revoked", "expired")
        or one.severity == "warn"
        or one.mode == "observe"
    ):
        return "allow"
    if one.until == "2020-01-01" or one.agents == ("somebody",):
        return "allow"
    found = says(one, world)
    if found == HOLDS or (found == "missing" and one.on_missing == "allow"):
        return "allow"
    if found == "error":
        return "deny"
    softly = one.status == "proposed" or one.severity == "confirm"
    return "ask" if softly or (found == "missing" and one.on_missing == "ask") else "deny"


STRICT = {"allow": 0, "ask": 1, "deny": 2}


@pytest.mark.parametrize("seed", range(5))
def test_ten_thousand_calls_agree_with_the_oracle(seed: int) -> None:
    chance = random.Random(seed)
    outcomes = {"allow": 0, "ask": 0, "deny": 0}
    for _ in range(2_000):
        world = World(chance)
        found = world.judge(*world.rules)
        expected = max([wanted(one, world) for one in world.rules] + ["allow"], key=STRICT.__getitem__)
        assert found.outcome == expected, (world.args, world.rules, found)
        assert (found.outcome == "allow") or (found.rules and found.code and found.message and not found.reserve)
        outcomes[found.outcome] += 1
    assert min(outcomes.values()) > 150


@pytest.mark.parametrize("seed", range(2))
def test_a_further_rule_of_any_op_never_makes_a_verdict_looser(seed: int) -> None:
    chance = random.Random(100 + seed)
    for _ in range(700):
        world = World(chance)
        before = world.judge(*world.rules)
        more = replace(world.rule("r5"), id="r5")
        for rules in ([*world.rules, more], [more, *world.rules]):
            assert STRICT[world.judge(*rules).outcome] >= STRICT[before.outcome]


def test_what_is_allowed_reserves_what_it_adds_and_the_limit_unless_it_is_only_watched() -> None:
    chance = random.Random(7)
    seen = 0
    for _ in range(1_500):
        world = World(chance)
        found = world.judge(*world.rules)
        if found.outcome != "allow":
            continue
        kept = {one.key: one for one in found.reserve}
        for one in world.rules:
            check: Any = one.check
            in_force = one.is_active and one.until != "2020-01-01" and one.agents != ("somebody",)
            if check["op"] not in ("sum", "count") or not in_force:
                continue
            value = number(world.args.get(one.bind.get("argument", "amount")))
            amount = Decimal(1) if check["op"] == "count" else max(value or Decimal(0), Decimal(0))
            amount *= 3600 if check.get("unit") else 1
            reserved = kept.pop(f"session:{one.id}", None)
            assert (reserved.amount if reserved else 0) == amount
            is_bound = one.mode == "enforce" and one.severity == "block" and says(one, world) == HOLDS
            assert reserved is None or (reserved.cap is not None) == is_bound
            seen += 1
        assert not kept
    assert seen > 100


def test_whatever_a_rule_raises_is_a_denial_or_a_note() -> None:
    class Broken(SessionSources):
        def is_said(self, value: str, *, exact: bool, kind: str = "") -> bool:
            raise RuntimeError("no index")

    own = rule({"op": "own_words"}, {"argument": "word"}, tools=("act",))
    world = World(random.Random(1))
    world.args = {"word": "bob@x.com"}
    for one, outcome in ((own, "deny"), (replace(own, mode="observe"), "deny")):
        found = world.judge(one, sources=Broken())
        assert (found.outcome, found.code) == (outcome, "boundary.error")
    bad = rule({"op": "function", "name": "nobody"}, {}, tools=("act",))
    assert world.judge(bad).code == "boundary.error"
    assert world.judge(replace(bad, mode="observe")).outcome == "allow"


def test_a_day_is_one_of_the_person_and_of_what_the_rule_says() -> None:
    check = {"op": "count", "max": 1, "per": "day"}
    first, twin = rule(check, {}, id="a"), rule(check, {}, id="b")
    world = World(random.Random(1))
    keys = {one.key for rules in ((first,), (twin,)) for one in world.judge(*rules).reserve}
    assert len(keys) == 1
    (key,) = keys
    assert key.startswith("day:2026-06-15:/ann:")
    shanghai = replace(ANN, zone="Asia/Shanghai")
    late = world.judge(first, principal=shanghai, now=NOW + 4 * 3600)
    assert late.reserve[0].key.startswith("day:2026-06-16:/ann:")
    assert world.judge(first, spent={key: Decimal(1)}).outcome == "deny"
    other = rule({**check, "max": 2}, {}, id="c")
    assert world.judge(other).reserve[0].key != key
