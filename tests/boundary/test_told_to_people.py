"""What people are told: what differs from what they approved, what is halted, what a session could do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judging import HIGH, decided, verdict

from backstay.boundary.deciding import Needs
from backstay.boundary.differences import difference
from backstay.boundary.halts import Halt, halting
from backstay.boundary.session_check import reach, refusal
from backstay.core.context import ToolFacts
from backstay.core.messages import PLAIN, Label

FOREIGN, SECRET = Label(trusted=False), Label(secrecy="secret")


def action(**args: Any) -> Any:
    return decided(verdict(tool=HIGH, **args), HIGH)


class TestDifferences:
    def test_every_argument_that_changed_is_told_old_and_new(self) -> None:
        before, now = action(amount="10", to="bob", why="x"), action(amount="20", to="bob", order_id=7)
        told = "amount 10 → 20; why x → (nothing); order_id (nothing) → 7"
        assert difference(before, now) == f"Instead of a1: {told}."

    def test_what_asks_now_and_did_not_before_is_told(self) -> None:
        before = action(amount="10")
        for changed, told in (
            ({"tool_digest": "0" * 64}, "the tool has changed"),
            ({"needs": Needs(quorum=2)}, "others have to decide"),
            ({"rules": (*before.rules, "c1", "c2")}, "asked by c1, c2 as well"),
            ({"rules": ()}, "the policy has changed"),
            ({}, "the policy has changed"),
        ):
            assert difference(before, replace(before, **changed)) == f"Instead of a1: {told}."
        both = replace(before, tool_digest="0", rules=("c1",))
        assert difference(before, both) == "Instead of a1: the tool has changed; asked by c1 as well."

    def test_an_action_without_a_call_has_no_arguments(self) -> None:
        before = action(amount="10")
        assert difference(replace(before, call=None), before) == "Instead of a1: amount (nothing) → 10."
        assert difference(before, replace(before, call=None)) == "Instead of a1: amount 10 → (nothing)."

    @pytest.mark.parametrize(("size", "shown"), [(200, "x" * 200), (201, "x" * 199 + "…")])
    def test_a_long_value_is_shortened(self, size: int, shown: str) -> None:
        found = difference(action(why="a"), action(why="x" * size))
        assert found == f"Instead of a1: why a → {shown}."

    def test_what_is_no_text_is_shown_as_json(self) -> None:
        found = difference(action(lines=[1, {"b": None}]), action(lines="[1]"))
        assert found == 'Instead of a1: lines [1,{"b":null}] → [1].'


class TestHalts:
    @pytest.mark.parametrize(
        ("scope", "name", "reason", "told"),
        [
            ("all", "", "", "everything was halted by bo"),
            ("all", "", "a fire", "everything was halted by bo: a fire"),
            ("agent", "desk", "", "the agent 'desk' was halted by bo"),
            ("tool", "pay", "odd", "the tool 'pay' was halted by bo: odd"),
        ],
    )
    def test_it_says_what_was_halted_by_whom_and_why(self, scope: Any, name: str, reason: str, told: str) -> None:
        halt = Halt(scope=scope, name=name, by="bo", at=0.0, reason=reason)
        assert halt.told == told
        assert told.startswith(halt.what)
        assert Halt(scope=scope, by="bo", at=0.0) == Halt(scope=scope, name="", by="bo", at=0.0, reason="")

    def test_the_first_that_hits_stops(self) -> None:
        other, own = (Halt(scope="agent", name=name, by="bo", at=0.0) for name in ("other", "desk"))
        every = Halt(scope="all", by="bo", at=0.0)
        assert halting([other, own, every], ["boss", "desk"], "acme") is own
        assert halting([other, every], ["desk"], "acme") is every
        assert halting([other], ["desk"], "acme") is None
        tenant, tool = Halt(scope="tenant", name="acme", by="b", at=0.0), Halt(scope="tool", name="pay", by="b", at=0.0)
        assert halting([tenant], [], "acme") is tenant
        assert halting([tenant], [], "") is None
        assert halting([tool], [], "", ["pay"]) is tool
        assert halting([tool], [], "") is None


class TestSessionCheck:
    @staticmethod
    def tool(name: str, **more: Any) -> ToolFacts:
        return ToolFacts(**{"name": name, "digest": "", "risk": "read", "effect": "none", **more})

    def test_what_a_tool_may_bring_is_the_join_over_it_and_its_fields(self) -> None:
        whole = self.tool("a", label=Label(trusted=False, secrecy="secret"))
        field = self.tool("b", field_labels={"x": FOREIGN, "y": SECRET, "z": PLAIN})
        plain = self.tool("c", field_labels={"z": PLAIN})
        found = reach([whole, field, plain])
        assert (found.untrusted, found.secret, found.change) == (("a", "b"), ("a", "b"), ())

    def test_what_was_heard_counts_like_a_tool(self) -> None:
        assert (len(reach([], FOREIGN).untrusted), len(reach([], FOREIGN).secret)) == (1, 0)
        assert (len(reach([], SECRET).untrusted), len(reach([], SECRET).secret)) == (0, 1)
        internal = reach([self.tool("a", label=Label(secrecy="internal"))], Label(secrecy="internal"))
        assert internal.secret == ()

    def test_a_write_and_a_read_that_carries_data_out_change_something(self) -> None:
        tools = [self.tool("r"), self.tool("e", egress=True), self.tool("w", risk="write"), self.tool("h", risk="high")]
        assert reach(tools).change == ("e", "w", "h")

    @pytest.mark.parametrize(
        ("untrusted", "secret", "change", "presence", "refused"),
        [
            (True, True, True, "unattended", True),
            (True, True, True, "inbox", False),
            (True, True, True, "attended", False),
            (False, True, True, "unattended", False),
            (True, False, True, "unattended", False),
            (True, True, False, "unattended", False),
        ],
    )
    def test_all_three_and_nobody_there_is_refused(
        self, untrusted: bool, secret: bool, change: bool, presence: str, refused: bool
    ) -> None:
        tools = [
            self.tool("web", label=Label(trusted=not untrusted)),
            self.tool("vault", label=Label(secrecy="secret" if secret else "public")),
            self.tool("mail", egress=change),
        ]
        told = refusal(reach(tools), presence)
        assert (told is not None) is refused
        if told is not None:
            assert all(f"({name})" in told for name in ("web", "vault", "mail"))
