"""Which rule a verdict names at each stage, and what else it carries: people, programs and the audit read it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from judging import EUR_200, HIGH, LINES, ME, NOW, REFUND, call, decided, rule, state, verdict

from backstay.boundary.grants import Grant
from backstay.boundary.judge import call_digest, judge
from backstay.boundary.policy import Boundary
from backstay.boundary.provenance import SessionSources
from backstay.core.canon import freeze
from backstay.core.context import Principal, Verdict
from backstay.core.messages import PLAIN, Label, ToolCall

OFF = Boundary(provenance="off")
TRACED = Boundary(provenance="confirm")
DAY = {"op": "sum", "max": "300", "money": "EUR", "per": "day"}


def said(text: str) -> SessionSources:
    sources = SessionSources()
    sources.say("m1", text, PLAIN, "user")
    return sources


def denied(**given: Any) -> Verdict:
    at = {"refused": frozenset({call_digest("refund", freeze({"amount": "1"}))})} if given.pop("refused", 0) else {}
    return verdict(at={**at, **given}, amount="1")


class TestRefusals:
    def test_each_is_denied_by_a_rule_of_its_own_under_no_step_of_a_plan(self) -> None:
        broken: Any = {"a": object()}
        strange: Any = "High"
        found = {
            "name": judge(ToolCall(id="1", name="pay", args={}), REFUND, OFF, state()),
            "who": denied(principal=Principal(id=" ")),
            "args": judge(ToolCall(id="1", name="refund", args=broken), REFUND, OFF, state()),
            "cycle": denied(cycle="a → b → a"),
            "refused": denied(refused=True),
            "risk": verdict(tool=replace(REFUND, risk=strange), amount="1"),
        }
        assert {name: (one.outcome, one.rules, one.code) for name, one in found.items()} == {
            "name": ("deny", ("tool",), "tool.unknown"),
            "who": ("deny", ("principal",), "principal.missing"),
            "args": ("deny", ("boundary.error",), "boundary.error"),
            "cycle": ("deny", ("cycle",), "limit.cycle"),
            "refused": ("deny", ("refused",), "action.refused"),
            "risk": ("deny", ("tier",), "boundary.error"),
        }
        assert {one.plan for one in found.values()} == {0}

    def test_what_could_not_be_judged_has_no_digest_that_a_decision_could_be_about(self) -> None:
        strange: Any = [1]
        for found in (
            judge(ToolCall(id="1", name="refund", args=strange), REFUND, OFF, state()),
            judge(ToolCall(id="1", name="pay", args={}), REFUND, OFF, state()),
        ):
            assert found.digest == ""

    def test_an_unknown_risk_is_told_with_those_there_are(self) -> None:
        strange: Any = "High"
        found = verdict(tool=replace(REFUND, risk=strange), policy=TRACED, at={"sources": said("1")}, amount="1")
        assert found.message == "The risk of refund is 'High'; expected read, write or high."

    def test_nobody_to_ask_is_named_after_what_asks(self) -> None:
        found = verdict(tool=HIGH, at={"presence": "unattended"}, amount="1")
        assert found.rules == ("tier.high", "unattended")
        assert found.outcome == "deny"

    def test_what_is_untraced_is_refused_as_such_where_the_policy_blocks(self) -> None:
        found = verdict(policy=Boundary(provenance="block"), at={"sources": said("hello")}, to="eve@x.org")
        assert (found.outcome, found.code) == ("deny", "provenance.untraced")
        assert found.rules == ("provenance.destination",)

    def test_a_secret_that_would_leave_is_refused_as_such_where_other_things_are_asked(self) -> None:
        secret = Label(secrecy="secret")
        found = verdict(policy=TRACED, at={"sources": said("to bob"), "label": secret}, to="bob", order_id="x")
        assert (found.outcome, found.rules) == ("deny", ("provenance.secret",))

    def test_free_text_is_untraced_as_a_destination_is_and_a_person_who_decides_anyway_is_not_asked_twice(self) -> None:
        mail = replace(REFUND, texts=frozenset({"why"}), meanings={**REFUND.meanings, "why": "text"})
        given = {"sources": said("to bob"), "label": Label(trusted=False)}
        found = verdict(tool=mail, policy=TRACED, at=given, to="bob", why="Another word")
        assert (found.outcome, found.code, found.rules) == ("ask", "provenance.untraced", ("provenance.text",))
        high = verdict(tool=replace(mail, risk="high"), policy=TRACED, at=given, to="bob", why="Another word")
        assert high.rules == ("tier.high",)

    def test_a_secret_that_is_only_noted_is_told(self) -> None:
        observed = Boundary(provenance="confirm", mode="observe")
        at = {"sources": said("to bob"), "label": Label(secrecy="secret")}
        assert "has seen a secret" in verdict(policy=observed, at=at, to="bob", order_id="x").message


class TestAllowed:
    def test_it_carries_no_code_and_no_words_that_were_not_noted(self) -> None:
        asked = verdict(tool=HIGH, amount="1")
        low = rule({"op": "le", "money": "0", "currency": "EUR"}, mode="observe")
        found = judge(asked.call, HIGH, OFF, state(low, decided=decided(asked, HIGH)))
        assert (found.outcome, found.code) == ("allow", "")
        assert found.message.startswith("Noted by rule c1")
        assert "High impact" not in found.message

    def test_a_refusal_and_its_lifting_by_a_decision_are_about_the_same_call_alone(self) -> None:
        asked = verdict(tool=HIGH, amount="1")
        given = state(refused=frozenset({asked.digest}), decided=decided(asked, HIGH, call=None))
        assert judge(asked.call, HIGH, OFF, given).rules == ("refused",)


class TestGrants:
    def grant(self, *rules: Any) -> Grant:
        return Grant(
            id="g1", agent="desk", tool="refund", rules=rules, tenant="", person="", by="bo", at=NOW, until=NOW + 60
        )

    def found(self, *rules: Any, policy: Boundary = OFF, grants: Any = None, **more: Any) -> Verdict:
        given = (self.grant(rule(DAY)),) if grants is None else grants
        return judge(call(HIGH, amount="40"), HIGH, policy, state(*rules, grants=given, **more))

    def test_one_answers_the_question_of_the_tier_alone(self) -> None:
        assert self.found().outcome == "allow"
        low = rule({"op": "le", "money": "10", "currency": "EUR"}, id="c2", severity="confirm")
        assert self.found(low).rules == ("c2", "tier.high")
        assert self.found(low).outcome == "ask"
        assert self.found(ask=frozenset({"refund"})).outcome == "ask"
        assert self.found(replace(low, severity="block")).outcome == "deny"

    def test_it_stands_before_what_is_noted_and_says_nothing_itself(self) -> None:
        low = rule({"op": "le", "money": "10", "currency": "EUR"}, id="c2", severity="warn")
        found = self.found(low)
        assert found.rules == ("granted:g1", "noted:c2")
        assert found.code == ""
        assert found.message.startswith("Noted by rule c2")

    def test_the_next_one_is_asked_where_the_first_does_not_cover(self) -> None:
        full = replace(self.grant(rule({**DAY, "max": "30"})), id="g0")
        assert self.found(grants=(full, self.grant(rule(DAY)))).rules == ("granted:g1",)
        assert self.found(grants=(full,)).outcome == "ask"

    def test_its_cap_is_enforced_where_rules_are_only_observed(self) -> None:
        observed = Boundary(provenance="off", mode="observe")
        full = self.grant(rule({**DAY, "max": "30"}))
        assert self.found(policy=observed, grants=(full,)).outcome == "ask"
        ((_, _, cap),) = self.found(policy=observed).reserve
        assert cap == Decimal(300)

    def test_an_account_that_a_rule_holds_already_is_held_once(self) -> None:
        found = self.found(rule(DAY))
        assert [(one.amount, one.cap) for one in found.reserve] == [(Decimal(40), Decimal(300))]

    def test_a_predicate_without_a_cap_grants_nothing(self) -> None:
        assert self.found(grants=(self.grant(rule(EUR_200)),)).outcome == "ask"


class TestSeveralLines:
    @pytest.mark.parametrize(("count", "more"), [(5, ""), (6, "1 more"), (7, "2 more")])
    def test_up_to_five_breaches_are_told_and_the_others_counted(self, count: int, more: str) -> None:
        found = verdict(rule(), tool=LINES, lines=[{"price": 1000 + n} for n in range(count)])
        assert found.message.count("allowed is") == 5
        assert more in found.message
        assert ("more" in found.message) is bool(more)

    def test_a_rule_about_no_argument_names_none(self) -> None:
        found = verdict(rule({"op": "forbid"}, {}, tools=("refund",)))
        assert " is " not in found.message.partition("): ")[2]

    def test_only_what_was_left_out_is_named_as_left_out(self) -> None:
        tool = replace(LINES, meanings={**LINES.meanings, "lines.fee": "money:EUR", "lines.tax": "money:EUR"})
        listed = rule({"op": "in", "values": ["1"]}, {"argument": "lines.fee"}, tools=("order",))
        found = verdict(listed, tool=tool, lines=[{"price": "1"}, {"fee": "1"}])
        assert "lines.0.fee was left out" in found.message
        assert "lines.1" not in found.message
        two = rule({"op": "in", "values": ["1"]}, {"argument": "lines.fee"}, tools=("order",))
        both = verdict(two, tool=tool, lines=[{"price": "1"}, {"price": "1"}])
        assert "lines.0.fee, lines.1.fee were left out" in both.message

    @pytest.mark.parametrize(("spent", "outcome"), [("250", "allow"), ("251", "deny")])
    def test_a_sum_is_over_all_lines_each_counted_once(self, spent: str, outcome: str) -> None:
        tool = replace(LINES, meanings={**LINES.meanings, "shipping": "money:EUR"})
        found = verdict(
            rule({**DAY, "per": "session"}),
            tool=tool,
            at={"spent": {"session:c1": Decimal(spent)}},
            shipping="10",
            lines=[{"price": "15"}, {"price": "25"}],
        )
        assert found.outcome == outcome

    def test_of_a_span_only_the_end_that_was_left_out_is_named(self) -> None:
        tool = replace(REFUND, meanings={"since": "date_range:start", "until": "date_range:end"})
        found = verdict(rule({"op": "window", "days": 30}, {"meaning": "window"}), tool=tool, until="2026-06-02")
        assert "since was left out" in found.message
        assert "until" not in found.message

    def test_a_sum_of_what_a_tool_does_not_have_holds_nothing(self) -> None:
        bare = replace(REFUND, meanings={"days": "quantity:days"})
        found = verdict(rule(DAY), tool=bare, days=3)
        assert (found.outcome, found.reserve) == ("allow", ())

    def test_a_sum_that_is_only_observed_or_asks_stops_no_other_session(self) -> None:
        for how, cap in (({}, Decimal(300)), ({"severity": "confirm"}, None), ({"mode": "observe"}, None)):
            (held,) = verdict(rule(DAY, **how), amount="40").reserve
            assert held.cap == cap
        wished = rule(DAY, status="proposed")
        asked = verdict(wished, amount="400")
        (held,) = judge(asked.call, REFUND, OFF, state(wished, decided=decided(asked, REFUND))).reserve
        assert (held.amount, held.cap) == (Decimal(400), None)
        passed = verdict(rule(DAY, mode="observe"), amount="400")
        assert [(one.amount, one.cap) for one in passed.reserve] == [(Decimal(400), None)]
        assert verdict(rule(DAY), amount="0").reserve == ()
        assert ME.id in verdict(rule(DAY), amount="40").reserve[0].key
