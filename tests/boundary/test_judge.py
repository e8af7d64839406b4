"""`judge` by tables: what it allows, asks and denies, and why."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from judging import ENFORCE, HIGH, LINES, ME, NOW, REFUND, call, decided, rule, state, verdict

from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import call_digest, judge
from backstay.boundary.provenance import SessionSources, sink_values, texts_in
from backstay.core.canon import digest, freeze
from backstay.core.context import Principal, ToolFacts, Verdict
from backstay.core.messages import PLAIN, ToolCall


class TestIdentity:
    def test_a_call_by_another_name_is_unknown(self) -> None:
        found = judge(ToolCall(id="1", name="pay", args={}), REFUND, ENFORCE, state())
        assert (found.outcome, found.code) == ("deny", "tool.unknown")

    @pytest.mark.parametrize("name", ["", "  "])
    def test_nobody_is_refused(self, name: str) -> None:
        found = verdict(at={"principal": Principal(id=name)}, amount=1)
        assert (found.outcome, found.code) == ("deny", "principal.missing")

    def test_identity_comes_before_arguments(self) -> None:
        strange: Any = {"a": object()}
        found = judge(ToolCall(id="1", name="pay", args=strange), REFUND, ENFORCE, state())
        assert found.code == "tool.unknown"
        assert judge(ToolCall(id="1", name="refund", args=strange), REFUND, ENFORCE, state()).code == "boundary.error"

    @pytest.mark.parametrize("args", [{"a": float("nan")}, {1: 2}, [1], "x", None, {"a": {2}}])
    def test_arguments_that_are_no_json_object_are_denied(self, args: Any) -> None:
        found = judge(ToolCall(id="1", name="refund", args=args), REFUND, ENFORCE, state())
        assert (found.outcome, found.code) == ("deny", "boundary.error")


class TestCanonicalArguments:
    def test_the_verdict_holds_frozen_arguments_and_their_digest(self) -> None:
        args = {"amount": 10, "lines": [{"sku": "A"}]}
        found = judge(replace(call(), args=args), REFUND, ENFORCE, state())
        args["lines"][0]["sku"] = "B"  # type: ignore[index]
        assert found.outcome == "allow"
        assert found.call.args == {"amount": 10, "lines": ({"sku": "A"},)}
        assert found.digest == call_digest("refund", found.call.args)
        with pytest.raises(TypeError):
            found.call.args["amount"] = 20  # type: ignore[index]

    def test_the_digest_is_over_name_and_arguments(self) -> None:
        assert call_digest("refund", {"b": 1, "a": 2}) == digest({"tool": "refund", "args": {"a": 2, "b": 1}})
        assert call_digest("refund", {}) != call_digest("order", {})

    def test_everything_else_of_the_call_stays(self) -> None:
        given = ToolCall(id="x", name="refund", args={"amount": 1}, slot=7, proposed=True)
        found = judge(given, REFUND, ENFORCE, state()).call
        assert (found.id, found.slot, found.proposed) == ("x", 7, True)


class TestConstraints:
    def test_a_broken_rule_is_refused_with_id_text_path_value_and_limit(self) -> None:
        found = verdict(rule(), amount="250")
        assert (found.outcome, found.code, found.rules) == ("deny", "constraint.broken", ("c1",))
        for part in ("c1", "'at most 200 EUR'", "amount is 250", "at most 200 EUR"):
            assert part in found.message
        assert verdict(rule(), amount="200").outcome == "allow"

    def test_an_advisory_rule_binds_nothing(self) -> None:
        assert verdict(rule(None), amount="250").outcome == "allow"

    @pytest.mark.parametrize(
        ("status", "severity", "mode", "policy", "outcome"),
        [
            ("confirmed", "block", "enforce", "enforce", "deny"),
            ("proposed", "block", "enforce", "enforce", "ask"),
            ("confirmed", "confirm", "enforce", "enforce", "ask"),
            ("confirmed", "warn", "enforce", "enforce", "allow"),
            ("confirmed", "block", "observe", "enforce", "allow"),
            ("confirmed", "block", "enforce", "observe", "allow"),
            ("superseded", "block", "enforce", "enforce", "allow"),
            ("revoked", "block", "enforce", "enforce", "allow"),
            ("expired", "block", "enforce", "enforce", "allow"),
            ("no such status", "no such severity", "no such mode", "enforce", "deny"),
        ],
    )
    def test_what_a_break_leads_to(self, status: str, severity: str, mode: str, policy: Any, outcome: str) -> None:
        broken = rule(status=status, severity=severity, mode=mode)
        assert verdict(broken, policy=replace(ENFORCE, mode=policy), amount="250").outcome == outcome

    @pytest.mark.parametrize("how", [{"severity": "warn"}, {"mode": "observe"}])
    def test_what_is_only_observed_is_noted(self, how: dict[str, Any]) -> None:
        found = verdict(rule(**how), amount="250")
        assert (found.outcome, found.rules, found.code) == ("allow", ("noted:c1",), "")
        assert "amount is 250" in found.message
        assert verdict(rule(**how), amount="20").rules == ()
        for rules in ((rule(**how),), (rule(id="c2", severity="confirm"), rule(**how))):
            asked = verdict(*rules, tool=HIGH if len(rules) == 1 else REFUND, amount="250")
            assert (asked.outcome, asked.rules[0]) == ("ask", "noted:c1")
            assert asked.rules[-1] in ("tier.high", "c2")
            assert asked.code in ("action.waiting", "constraint.asks")

    def test_what_is_only_observed_and_cannot_be_judged_is_noted_too(self) -> None:
        broken = rule({"op": "no such op"}, mode="observe")
        assert verdict(broken, amount="250").outcome == "allow"
        assert "cannot be checked" in verdict(broken, amount="250").message

    def test_tiers_are_enforced_where_rules_are_observed(self) -> None:
        assert verdict(policy=replace(ENFORCE, mode="observe"), tool=HIGH, amount="1").outcome == "ask"

    @pytest.mark.parametrize(
        ("scope", "reached"),
        [
            ({"tools": ("refund",)}, True),
            ({"tools": ("order",)}, False),
            ({"agents": ("desk",)}, True),
            ({"agents": ("boss", "other")}, True),
            ({"agents": ("other",)}, False),
            ({"until": "run"}, True),
            ({"until": "2026-06-15"}, True),
            ({"until": "2026-06-14"}, False),
            ({"until": "2026-06-15T11:59:59Z"}, False),
            ({"until": "2026-06-15T12:00:01Z"}, True),
            ({"until": "2026-06-15T20:00:00"}, True),
            ({"until": "2026-06-15T19:59:59+08:00"}, False),
            ({"until": "whenever"}, True),
            ({"until": ""}, True),
        ],
    )
    def test_a_rule_reaches_as_far_as_its_scope(self, scope: dict[str, Any], reached: bool) -> None:
        found = verdict(rule(**scope), at={"agents": ("boss", "desk")}, amount="250")
        assert (found.outcome == "deny") is reached

    def test_a_day_ends_in_the_zone_of_the_principal(self) -> None:
        shanghai = {"principal": replace(ME, zone="Asia/Shanghai"), "now": 1_781_539_200.0}  # 16 June there
        assert verdict(rule(until="2026-06-15"), at=shanghai, amount="250").outcome == "allow"
        assert verdict(rule(until="2026-06-15"), at={"now": 1_781_539_200.0}, amount="250").outcome == "deny"
        mars = {"principal": replace(ME, zone="Mars/Olympus"), "now": 1_781_539_200.0}
        assert verdict(rule(until="2020-01-01"), at=mars, amount="250").outcome == "deny"

    def test_a_window_moves_with_the_clock(self) -> None:
        month = rule({"op": "window", "days": 30}, {"meaning": "window"})
        assert verdict(month, since="2026-05-16").outcome == "allow"
        assert verdict(month, at={"now": NOW + 86_400}, since="2026-05-16").outcome == "deny"

    @pytest.mark.parametrize(
        "check", [{"op": "no such op"}, {}, {"op": "le"}, {"op": "le", "number": "3", "unit": "items"}]
    )
    def test_a_rule_that_cannot_be_judged_denies_and_is_named(self, check: dict[str, Any]) -> None:
        for how in ({}, {"status": "proposed"}, {"severity": "confirm"}):
            found = verdict(rule(check, **how), amount="1")
            assert (found.outcome, found.code, found.rules) == ("deny", "boundary.error", ("c1",))

    def test_an_unknown_zone_denies(self) -> None:
        month = rule({"op": "window", "days": 30}, {"meaning": "window"})
        assert verdict(month, at={"principal": replace(ME, zone="Mars/Olympus")}, since="2026-06-01").outcome == "deny"

    def test_what_raises_anything_at_all_denies(self) -> None:
        class Broken:
            def origin(self, path: str, value: str, *, exact: bool) -> Any:
                raise RuntimeError("no index")

        found = verdict(tool=HIGH, at={"sources": Broken()}, to="bob", amount="1")
        assert (found.outcome, found.code) == ("deny", "boundary.error")
        nonsense: Any = {"amount": None}
        assert verdict(rule(), tool=replace(REFUND, meanings=nonsense), amount="1").outcome == "deny"
        endless: Any = {}
        endless["a"] = endless
        assert judge(replace(call(), args=endless), REFUND, ENFORCE, state()).outcome == "deny"

    def test_a_rule_about_the_call_as_a_whole(self) -> None:
        never = rule({"op": "forbid"}, {}, tools=("refund",))
        assert verdict(never).outcome == "deny"
        assert verdict(never, tool=LINES).outcome == "allow"

    def test_one_long_list_does_not_make_a_long_message(self) -> None:
        found = verdict(rule(), tool=LINES, lines=[{"price": 1000 + n} for n in range(1000)])
        assert found.outcome == "deny"
        assert len(found.message) < 600
        assert "995 more" in found.message
        missing = verdict(rule(), tool=LINES, lines=[{"sku": "a"}] * 1000)
        assert len(missing.message) < 300


class TestBinding:
    @pytest.mark.parametrize(
        ("on_missing", "outcome"), [("deny", "deny"), ("ask", "ask"), ("allow", "allow"), ("?", "deny")]
    )
    def test_what_was_left_out_is_as_the_rule_says(self, on_missing: str, outcome: str) -> None:
        for bind in ({"meaning": "money"}, {"argument": "amount"}):
            for args in ({}, {"amount": None}):
                found = verdict(rule(bind=bind, on_missing=on_missing), **args)
                assert found.outcome == outcome
        assert "amount was left out" in verdict(rule(), to="bob").message

    def test_an_unscoped_rule_leaves_tools_without_the_argument_alone(self) -> None:
        bare = ToolFacts(name="look", digest="", risk="read", effect="none")
        for bind in ({"meaning": "money"}, {"argument": "amount"}):
            assert verdict(rule(bind=bind), tool=bare, days=3).outcome == "allow"

    def test_a_rule_that_names_the_tool_is_not_lost_when_it_has_nothing_to_bind_to(self) -> None:
        bare = ToolFacts(name="look", digest="", risk="read", effect="none")
        for bind in ({"meaning": "money"}, {"argument": "amount"}):
            assert verdict(rule(bind=bind, tools=("look",)), tool=bare, days=3).outcome == "deny"

    def test_an_argument_left_out_is_missing_on_a_tool_that_has_it(self) -> None:
        marked = ToolFacts(name="look", digest="", risk="read", effect="none", sinks=frozenset({"to"}))
        listed = rule({"op": "in", "values": ["bob"]}, {"argument": "to"})
        assert verdict(listed, tool=marked).outcome == "deny"
        assert verdict(listed, tool=replace(marked, sinks=frozenset(), texts=frozenset({"to"}))).outcome == "deny"
        assert verdict(listed, tool=replace(marked, sinks=frozenset(), meanings={"to": "recipient"})).outcome == "deny"
        assert verdict(listed, tool=replace(marked, sinks=frozenset())).outcome == "allow"

    def test_an_argument_is_bound_by_its_name_without_any_mark(self) -> None:
        bare = ToolFacts(name="look", digest="", risk="read", effect="none")
        few = rule({"op": "le", "number": "3"}, {"argument": "rows"})
        assert verdict(few, tool=bare, rows=3).outcome == "allow"
        assert verdict(few, tool=bare, rows=4).outcome == "deny"
        assert verdict(few, tool=bare, rows=None).outcome == "deny"

    def test_what_stands_around_many_items_is_told_once(self) -> None:
        tool = replace(LINES, meanings={**LINES.meanings, "amount": "money:EUR"})
        found = verdict(rule(), tool=tool, amount="300", lines=[{"price": "1"}] * 3)
        assert found.message.count("amount is 300") == 1

    def test_no_other_argument_is_bound(self) -> None:
        tool = replace(REFUND, meanings={**REFUND.meanings, "fee": "money:EUR"})
        assert verdict(rule(), tool=tool, amount="1", fee="300").outcome == "deny"
        assert (
            verdict(
                rule(bind={"argument": "amount"}),
                tool=replace(tool, meanings={"amount": "money:EUR"}),
                amount="1",
                fee="300",
            ).outcome
            == "allow"
        )

    @pytest.mark.parametrize(
        ("args", "outcome", "path"),
        [
            ({"lines": [{"price": "10"}, {"price": "200"}]}, "allow", ""),
            ({"lines": [{"price": "10"}, {"price": "201"}]}, "deny", "lines.1.price is 201"),
            ({"lines": [{"price": "10"}, {"price": None}]}, "deny", "lines.1.price was left out"),
            ({"lines": [{"price": "10"}, {}]}, "deny", "lines.1.price was left out"),
            ({"lines": [{"price": "10"}, None]}, "deny", "lines.1.price was left out"),
            ({"lines": [{"price": "10"}, "x"]}, "deny", "lines.1.price was left out"),
            ({"lines": [[{"price": "10"}], [{"price": "300"}]]}, "deny", "lines.1.0.price is 300"),
            ({"lines": []}, "allow", ""),
            ({"lines": None}, "deny", "lines.price was left out"),
            ({}, "deny", "lines.price was left out"),
            ({"lines": {"price": "300"}}, "deny", "lines.price is 300"),
            ({"lines": {"a": {"price": "10"}}}, "deny", "cannot be told"),
            ({"lines": [{"price": ["10", "300"]}]}, "deny", "lines.0.price.1 is 300"),
            ({"lines.price": "10", "lines": [{"price": "300"}]}, "deny", "lines.0.price is 300"),
        ],
    )
    def test_a_dotted_binding_reaches_every_item(self, args: dict[str, Any], outcome: str, path: str) -> None:
        for bind in ({"meaning": "money"}, {"argument": "lines.price"}):
            found = verdict(rule(bind=bind, tools=("order",)), tool=LINES, **args)
            assert found.outcome == outcome
            assert path in found.message

    def test_each_item_is_a_span_of_its_own(self) -> None:
        tool = replace(LINES, meanings={"parts.since": "date_range:start", "parts.until": "date_range:end"})
        month = rule({"op": "window", "days": 30}, {"meaning": "window"})
        good = {"since": "2026-06-01", "until": "2026-06-02"}
        assert verdict(month, tool=tool, parts=[good, good]).outcome == "allow"
        assert verdict(month, tool=tool, parts=[good, {"until": "2026-06-02"}]).outcome == "deny"
        assert verdict(month, tool=tool, parts=[good, {"since": "2020-01-01"}]).outcome == "deny"

    def test_no_filter_at_all_is_no_window(self) -> None:
        tool = replace(LINES, meanings={"filters.since": "date_range:start"})
        month = rule({"op": "window", "days": 30}, {"meaning": "window"})
        for filters in ([], None, [{}], [{"since": None}]):
            assert verdict(month, tool=tool, filters=filters).outcome == "deny"

    def test_what_stands_around_an_item_counts_for_it_and_is_judged(self) -> None:
        tool = replace(LINES, meanings={"since": "date_range:start", "parts.until": "date_range:end"})
        month = rule({"op": "window", "days": 30}, {"meaning": "window"})
        assert verdict(month, tool=tool, since="2026-06-01", parts=[{"until": "2026-06-02"}]).outcome == "allow"
        assert verdict(month, tool=tool, since="2020-06-01", parts=[{"until": "2026-06-02"}]).outcome == "deny"
        for on_missing in ("allow", "deny"):
            loose = replace(month, on_missing=on_missing)
            assert verdict(loose, tool=tool, since="2020-06-01", parts=[{"until": None}]).outcome == "deny"

    def test_an_unknown_meaning_is_of_no_rule_but_its_own(self) -> None:
        tool = replace(REFUND, meanings={"amount": "no such meaning"})
        assert verdict(rule(), tool=tool, amount="250").outcome == "allow"
        assert verdict(rule(bind={"argument": "amount"}), tool=tool, amount="250").outcome == "deny"
        own = rule({"op": "in", "values": ["a"]}, {"meaning": "no such meaning"})
        assert verdict(own, tool=tool, amount="b").outcome == "deny"


class TestTiersAndQuestions:
    @pytest.mark.parametrize(
        ("risk", "outcome"), [("read", "allow"), ("write", "allow"), ("high", "ask"), ("High", "deny"), (None, "deny")]
    )
    def test_tiers(self, risk: Any, outcome: str) -> None:
        assert verdict(tool=replace(REFUND, risk=risk), amount="1").outcome == outcome

    def test_a_requirement_asks(self) -> None:
        found = verdict(at={"ask": frozenset({"refund"})}, amount="1")
        assert (found.outcome, found.rules, found.code) == ("ask", ("requirement",), "action.waiting")
        assert verdict(at={"ask": frozenset({"order"})}, amount="1").outcome == "allow"

    def test_a_cycle_is_refused_by_name(self) -> None:
        found = verdict(at={"cycle": "a → b → a"}, amount="1")
        assert (found.outcome, found.code) == ("deny", "limit.cycle")
        assert "a → b → a" in found.message

    def test_deny_beats_ask(self) -> None:
        confirm = rule(severity="confirm")
        block = rule(id="c2", check={"op": "le", "money": "100", "currency": "EUR"})
        for rules in ((confirm, block), (block, confirm)):
            found = verdict(*rules, tool=HIGH, at={"ask": frozenset({"refund"})}, amount="250")
            assert (found.outcome, found.rules) == ("deny", ("c2",))
        assert verdict(confirm, tool=HIGH, at={"cycle": "x"}, amount="250").code == "limit.cycle"

    def test_whoever_decides_is_told_every_rule_that_asks(self) -> None:
        found = verdict(rule(severity="confirm"), tool=HIGH, at={"ask": frozenset({"refund"})}, amount="250")
        assert found.rules == ("c1", "requirement", "tier.high")
        assert "amount is 250" in found.message
        assert "High impact" in found.message

    def test_unattended_nobody_is_asked(self) -> None:
        found = verdict(rule(status="proposed"), at={"presence": "unattended"}, amount="250")
        assert (found.outcome, found.code) == ("deny", "action.unattended")
        assert "Nobody is there" in found.message
        assert "c1" in found.rules
        for presence in ("attended", "inbox"):
            assert verdict(rule(status="proposed"), at={"presence": presence}, amount="250").outcome == "ask"
        assert verdict(at={"presence": "unattended"}, amount="1").outcome == "allow"

    def test_the_order_is_fixed(self) -> None:
        bad = call(amount="250", to="bob")
        digest_ = call_digest("refund", freeze(bad.args))
        everything: dict[str, Any] = {"cycle": "x", "refused": frozenset({digest_}), "ask": frozenset({"refund"})}
        codes = []
        for drop in (
            (),
            ("rule",),
            ("rule", "cycle"),
            ("rule", "cycle", "refused"),
            ("rule", "cycle", "refused", "ask"),
        ):
            kept = {key: value for key, value in everything.items() if key not in drop}
            rules = () if "rule" in drop else (rule(),)
            codes.append(judge(bad, HIGH, ENFORCE, state(*rules, **kept)))
        assert [one.code for one in codes[:3]] == ["constraint.broken", "limit.cycle", "action.refused"]
        assert [one.rules for one in codes[3:]] == [("requirement", "tier.high"), ("tier.high",)]


class TestDecided:
    def asked(self, *rules: Constraint, tool: ToolFacts = HIGH, **args: Any) -> Verdict:
        found = verdict(*rules, tool=tool, **(args or {"amount": "120.00", "to": "bob"}))
        assert found.outcome == "ask"
        return found

    def again(self, action: PendingAction, *rules: Constraint, tool: ToolFacts = HIGH, **more: Any) -> Verdict:
        again = more.pop("call", action.call)
        return judge(again, tool, ENFORCE, state(*rules, decided=action, **more))

    @pytest.mark.parametrize("presence", ["attended", "inbox", "unattended"])
    def test_an_approved_call_is_allowed(self, presence: str) -> None:
        asked = self.asked()
        found = self.again(decided(asked, HIGH), presence=presence)
        assert (found.outcome, found.digest, found.rules) == ("allow", asked.digest, ("tier.high",))

    @pytest.mark.parametrize(
        "changed",
        [
            {"args_digest": "0" * 64},
            {"tool_digest": "0" * 64},
            {"rules": ()},
            {"rules": ("c1",)},
            {"call": None},
        ],
    )
    def test_another_digest_tool_or_rule_asks_again(self, changed: dict[str, Any]) -> None:
        asked = self.asked()
        action = decided(asked, HIGH, **changed)
        assert judge(asked.call, HIGH, ENFORCE, state(decided=action)).outcome == "ask"

    def test_other_arguments_ask_again(self) -> None:
        action = decided(self.asked(), HIGH)
        other = replace(call(HIGH, amount="120.01", to="bob"))
        assert self.again(action, call=other).outcome == "ask"

    def test_a_changed_tool_asks_again(self) -> None:
        action = decided(self.asked(), HIGH)
        assert self.again(action, tool=replace(HIGH, digest="f" * 64)).outcome == "ask"

    def test_a_call_made_inside_the_approved_one_is_another(self) -> None:
        asked = self.asked()
        inner = replace(asked.call, id="call-1/1")
        assert self.again(decided(asked, HIGH), call=inner).outcome == "ask"
        assert self.again(decided(asked, HIGH), call=inner, presence="unattended").outcome == "deny"

    def test_a_rule_that_asks_only_now_asks_again(self) -> None:
        asked = self.asked()
        new = rule({"op": "le", "money": "100", "currency": "EUR"}, severity="confirm")
        assert self.again(decided(asked, HIGH), new).outcome == "ask"
        assert self.again(decided(asked, HIGH), new, presence="unattended").outcome == "deny"

    def test_fewer_rules_than_decided_are_allowed(self) -> None:
        lower = rule({"op": "le", "money": "100", "currency": "EUR"}, severity="confirm")
        asked = self.asked(lower)
        assert asked.rules == ("c1", "tier.high")
        assert self.again(decided(asked, HIGH)).outcome == "allow"

    def test_approval_never_beats_a_denial(self) -> None:
        asked = self.asked()
        block = rule({"op": "le", "money": "100", "currency": "EUR"})
        assert self.again(decided(asked, HIGH, rules=("c1", "tier.high")), block).outcome == "deny"
        assert self.again(decided(asked, HIGH), cycle="x").outcome == "deny"
        assert self.again(decided(asked, HIGH), principal=Principal(id="")).outcome == "deny"

    def test_a_noted_rule_does_not_make_an_approval_stale(self) -> None:
        asked = self.asked()
        low = rule({"op": "le", "money": "100", "currency": "EUR"}, mode="observe")
        found = self.again(decided(asked, HIGH), low)
        assert (found.outcome, found.rules) == ("allow", ("noted:c1", "tier.high"))

    def test_a_refused_call_is_not_asked_again(self) -> None:
        asked = self.asked()
        refused = frozenset({asked.digest})
        found = judge(asked.call, HIGH, ENFORCE, state(refused=refused))
        assert (found.outcome, found.code) == ("deny", "action.refused")
        low = judge(call(amount="120.00", to="bob"), REFUND, ENFORCE, state(refused=refused))
        assert low.outcome == "deny"
        assert judge(call(HIGH, amount="1"), HIGH, ENFORCE, state(refused=refused)).outcome == "ask"
        assert self.again(decided(asked, HIGH), refused=refused).outcome == "allow"

    def test_approving_one_call_does_not_lift_the_refusal_of_another(self) -> None:
        inner = verdict(tool=LINES, lines=[])
        assert inner.outcome == "allow"
        action = decided(self.asked(), HIGH)
        found = judge(inner.call, LINES, ENFORCE, state(decided=action, refused=frozenset({inner.digest})))
        assert (found.outcome, found.code) == ("deny", "action.refused")


class TestOrigins:
    def test_destinations_say_where_they_came_from(self) -> None:
        sources = SessionSources()
        sources.say("m1", "refund order ab-7 to bob@example.com", PLAIN, "user")
        found = verdict(tool=HIGH, at={"sources": sources}, to="BOB@example.com", order_id="AB-7", amount="1")
        assert [(one.path, one.trusted) for one in found.origins] == [("order_id", False), ("to", True)]
        assert found.origins[1].message_id == "m1"

    def test_identifiers_inside_a_list_are_compared_exactly(self) -> None:
        sources = SessionSources()
        sources.say("m1", "order ab-7", PLAIN, "user")
        tool = replace(LINES, risk="high")
        found = verdict(tool=tool, at={"sources": sources}, lines=[{"sku": "AB-7", "price": 1}, {"sku": "ab-7"}])
        assert [(one.path, one.trusted) for one in found.origins] == [("lines.0.sku", False), ("lines.1.sku", True)]

    def test_an_allowed_call_needs_no_origins(self) -> None:
        assert verdict(to="bob", amount="1").origins == ()

    def test_texts_are_found_with_their_paths(self) -> None:
        assert list(texts_in({"b": [1, None, "x"], "c": {}}, "a")) == [("a.b.0", "1"), ("a.b.2", "x")]

    def test_sink_values_follow_dots(self) -> None:
        args = freeze({"lines": [{"sku": "A", "skull": "no", "price": 1}], "to": ["b", "c"]})
        tool = replace(LINES, sinks=frozenset({"lines.sku", "to"}))
        assert isinstance(args, Mapping)
        assert list(sink_values(args, tool)) == [("lines.0.sku", "A"), ("to.0", "b"), ("to.1", "c")]


def test_every_outcome_can_be_reached_from_every_stage() -> None:
    seen = set()
    for risk, status, presence in itertools.product(
        ("read", "high"), ("confirmed", "proposed"), ("inbox", "unattended")
    ):
        found = verdict(rule(status=status), tool=replace(REFUND, risk=risk), at={"presence": presence}, amount="250")
        seen.add((found.outcome, found.code))
    assert seen == {
        ("deny", "constraint.broken"),
        ("ask", "constraint.asks"),
        ("ask", "action.waiting"),
        ("deny", "action.unattended"),
    }
