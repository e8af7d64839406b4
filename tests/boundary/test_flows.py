"""What `trace` looks at in a call: which values are destinations, which are words, and what a secret would reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backstay.boundary.provenance import Flow, SessionSources, origins, sink_values, trace
from backstay.core.canon import freeze
from backstay.core.context import ToolFacts
from backstay.core.messages import PLAIN, Label

MAIL = ToolFacts(
    name="mail",
    digest="d",
    risk="write",
    effect="once",
    sinks=frozenset({"to", "cc"}),
    meanings={"to": "recipient", "text": "text"},
)
FOREIGN = Label(trusted=False)
SECRET = Label(secrecy="secret")


def said(text: str, label: Label = PLAIN) -> SessionSources:
    sources = SessionSources()
    sources.say("m1", text, label, "user")
    return sources


def flow(
    given: str | SessionSources,
    /,
    tool: ToolFacts = MAIL,
    label: Label = FOREIGN,
    cleared: frozenset[str] = frozenset(),
    **args: Any,
) -> Flow:
    sources = said(given) if isinstance(given, str) else given
    return trace(freeze(args), tool, label, sources, cleared)  # type: ignore[arg-type]  # they are an object


def paths(found: Flow) -> list[tuple[str, str]]:
    return [(one.path, one.value) for one in found.destinations]


class TestDestinations:
    def test_each_value_of_a_list_and_each_number_is_one_and_nothing_is_none(self) -> None:
        found = flow("mail bob or 1001", to=["bob", "", None, True, False, "eve", 1001, 1002], cc="")
        assert paths(found) == [("to.5", "eve"), ("to.7", "1002")]
        assert paths(flow("mail bob", to=None, cc=True)) == []
        assert paths(flow("mail bob", to=1002)) == [("to", "1002")]

    def test_of_an_object_its_keys_are_destinations_as_its_values_are(self) -> None:
        found = flow("mail bob the news", to={"eve": "bob", "bob": {"mallory": "news"}})
        assert paths(found) == [("to.bob.mallory", "mallory"), ("to.eve", "eve")]
        assert paths(flow("mail bob", tool=replace(MAIL, sinks=frozenset({"to.name"})), to={"name": "eve"})) == [
            ("to.name", "eve")
        ]
        assert paths(flow("mail bob", tool=replace(MAIL, sinks=frozenset({"t"})), to="eve")) == []

    def test_what_the_schema_offers_has_the_schema_as_its_source(self) -> None:
        tool = replace(MAIL, constants={"to": frozenset({"inbox"})})
        (found,) = origins({"to": "inbox"}, tool, said("hello"))
        assert (found.trusted, found.source, found.message_id) == (True, "schema", None)
        assert paths(flow("hello", tool=tool, to="outbox")) == [("to", "outbox")]

    def test_only_an_identifier_is_compared_as_it_is_written(self) -> None:
        for mark, trusted in (("recipient", True), ("", True), ("money:EUR", True), ("id:order", False)):
            tool = replace(MAIL, meanings={"to": mark})
            assert (flow("write to BOB", tool=tool, to="bob").destinations == ()) is trusted
            assert (flow("pay 13 today", tool=tool, to="13").destinations == ()) is trusted

    @pytest.mark.parametrize(
        ("name", "args", "is_exact"),
        [
            ("to.*", {"to": {"a": "bob"}}, True),
            ("to.*.sku", {"to": {"a": {"sku": "bob"}}}, True),
            ("to.*.sku", {"to": {"a": {"name": "bob"}}}, False),
            ("to.*.sku", {"to": {"a": {"sku": {"sku": "bob"}}}}, False),
            ("to.*", {"to": {"a": {"b": "bob"}}}, False),
            ("cc.*", {"to": {"a": "bob"}}, False),
            ("to.a", {"to": {"a": "bob"}}, True),
            ("to.b", {"to": {"a": "bob"}}, False),
        ],
    )
    def test_a_meaning_with_a_star_is_of_every_key_at_its_place(self, name: str, args: Any, is_exact: bool) -> None:
        tool = replace(MAIL, meanings={name: "id:person"})
        found = [one for one in origins(args, tool, said("write to BOB")) if one.value == "bob"]
        assert [one.trusted for one in found] == [not is_exact]

    def test_an_address_in_a_text_is_one_unless_it_was_said_in_any_letter_case(self) -> None:
        assert flow("mail bob@x.org", to="bob@x.org", text="or BOB@X.org").destinations == ()
        assert paths(flow("mail bob@x.org", to="bob@x.org", text="or eve@x.org")) == [("text", "eve@x.org")]


class TestWords:
    def test_texts_count_wherever_they_stand_and_numbers_do_not(self) -> None:
        found = flow("mail bob", to="bob", tags=["Another word", 7], meta={"A key": 8, "n": {"x": "More"}}, n=9)
        assert found.texts == ("tags.0", "meta.A key", "meta.n", "meta.n.x")

    @pytest.mark.parametrize(
        ("meaning", "value"), [("money:EUR", "120.00"), ("quantity:days", "30"), ("date_range:start", "2026-06-01")]
    )
    def test_a_number_or_a_day_says_nothing_to_a_reader(self, meaning: str, value: str) -> None:
        tool = replace(MAIL, meanings={"x": meaning})
        assert flow("mail bob", tool=tool, to="bob", x=value).texts == ()
        assert flow("mail bob", to="bob", x=value).texts == ("x",)

    def test_the_words_of_the_schema_and_of_the_user_in_any_letter_case_are_nobody_elses(self) -> None:
        tool = replace(MAIL, constants={"how": frozenset({"express"})})
        assert flow("mail bob I am late", tool=tool, to="bob", how="express", text="i AM late").texts == ()
        assert flow("mail bob", tool=tool, to="bob", how="slow").texts == ("how",)

    def test_a_call_that_names_no_destination_is_traced_by_its_words_from_the_first(self) -> None:
        assert flow("hello", label=PLAIN, text="Another word").texts == ("text",)
        assert flow("hello bob", label=PLAIN, to="bob", text="Another word").texts == ()
        assert flow("hello", label=PLAIN, cleared=frozenset({"tool:mail"}), text="Another word").texts == ()


class TestLeaks:
    def test_the_destinations_that_are_not_cleared_are_named(self) -> None:
        sources = said("mail bob and ann")
        found = flow(sources, label=SECRET, to=["bob", "ann"], text="4111")
        assert found.leaks == ("bob", "ann")
        cleared = frozenset({"ann"})
        assert flow(sources, label=SECRET, cleared=cleared, to=["bob", "ann"], text="4111").leaks == ("bob",)
        assert flow(sources, label=SECRET, text="4111").leaks == ("tool:mail",)
        assert flow(sources, label=PLAIN, to="bob", text="4111").leaks == ()
        assert flow(sources, label=SECRET, cleared=frozenset({"tool:mail"}), to="bob", text="4111").leaks == ()

    def test_what_is_no_secret_may_be_said_whoever_has_said_it(self) -> None:
        sources = said("mail bob")
        sources.say("m2", "The shop opens at nine", FOREIGN, "user")
        assert flow(sources, label=SECRET, to="bob", text="The shop opens at nine").leaks == ()
        assert flow(sources, label=SECRET, to="bob", text="The shop opens at nine", more="4111 1111").leaks == ("bob",)

    def test_a_destination_that_was_named_beside_a_secret_carries_nothing(self) -> None:
        sources = said("my pin is 4711, mail bob", SECRET)
        assert flow(sources, label=SECRET, to="bob").leaks == ()
        assert flow(sources, label=SECRET, to="eve").leaks == ("eve",)
        sources.say("m2", "The shop opens at nine", FOREIGN, "user")
        assert flow(sources, label=SECRET, to="bob", text="The shop opens at nine").leaks == ()


def test_sink_values_are_told_in_the_order_of_their_paths() -> None:
    args: Any = freeze({"to": ["b", 7, {"k": "v"}], "cc": "a", "text": "t"})
    found = list(sink_values(args, MAIL))
    assert found == [("cc", "a"), ("to.0", "b"), ("to.1", "7"), ("to.2.k", "k"), ("to.2.k", "v")]
