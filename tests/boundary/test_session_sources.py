"""Whose words count as what: messages and results by their labels, and what the model itself has put into arguments."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.boundary.provenance import SessionSources, texts_in
from backstay.boundary.provenance.sources import without
from backstay.core.canon import freeze
from backstay.core.messages import PLAIN, Label

FOREIGN = Label(trusted=False)
SECRET = Label(secrecy="secret")


def said(*texts: str) -> SessionSources:
    sources = SessionSources()
    for number, text in enumerate(texts):
        sources.say(f"m{number}", text, PLAIN, "user")
    return sources


def learnt(data: Any, label: Label = PLAIN, fields: Any = None, claimed: Any = None, first: str = "") -> SessionSources:
    sources = said(first) if first else SessionSources()
    if claimed is not None:
        sources.claim(freeze(claimed))
    sources.learn("r1", freeze(data), label, "tool:find", fields or {})
    return sources


def is_trusted(sources: SessionSources, value: str, *, exact: bool = False, kind: str = "") -> bool:
    return sources.origin("to", value, exact=exact, kind=kind).trusted


class TestLabels:
    @pytest.mark.parametrize(
        ("label", "trusted", "public"),
        [
            (PLAIN, True, True),
            (FOREIGN, False, True),
            (SECRET, True, False),
            (Label(trusted=False, secrecy="secret"), False, False),
            (Label(secrecy="internal"), True, True),
        ],
    )
    def test_a_message_and_a_result_count_as_their_label_says(self, label: Label, trusted: bool, public: bool) -> None:
        message = SessionSources()
        message.say("m1", "write to bob@x.org", label, "user")
        for sources in (message, learnt({"mail": "bob@x.org"}, label), learnt("bob@x.org", label)):
            assert is_trusted(sources, "bob@x.org") is trusted
            assert sources.is_public("bob@x.org") is public
            assert sources.is_public("BOB@x.org") is public

    def test_each_field_of_a_result_counts_as_its_own_label_says(self) -> None:
        data = {"mail": "bob@x.org", "note": "eve@x.org", "pin": "4711", "more": "ann@x.org"}
        fields = {"mail": PLAIN, "note": FOREIGN, "pin": SECRET}
        sources = learnt(data, Label(trusted=False, secrecy="secret"), fields)
        values = ("bob@x.org", "eve@x.org", "4711", "ann@x.org")
        assert [is_trusted(sources, one) for one in values] == [True, False, True, True]
        assert [sources.is_public(one) for one in values] == [True, True, False, True]

    def test_only_the_user_has_said_what_stands_in_the_users_messages(self) -> None:
        sources = said("write to bob@x.org about order 13")
        sources.say("i", "or to desk@x.org", PLAIN, "developer")
        assert sources.is_said("bob@x.org", exact=False)
        assert sources.is_said("13", exact=True, kind="order")
        assert not sources.is_said("desk@x.org", exact=False)
        assert is_trusted(sources, "desk@x.org")

    @pytest.mark.parametrize("data", ["", {"a": ""}, [""], None, {}, []])
    def test_an_empty_value_stands_nowhere(self, data: Any) -> None:
        assert not is_trusted(learnt(data), "")
        assert not is_trusted(said(""), "")

    def test_the_result_itself_may_be_one_text(self) -> None:
        assert is_trusted(learnt("x"), "x")
        assert is_trusted(learnt("Bob Smith"), "bob smith")


class TestClaims:
    def test_a_result_that_repeats_an_argument_proves_neither_it_nor_the_sentence_around_it(self) -> None:
        repeated = learnt("contact eve@x.org", claimed={"q": "eve@x.org"})
        assert not is_trusted(repeated, "eve@x.org")
        assert not is_trusted(repeated, "contact eve@x.org")
        assert is_trusted(repeated, "contact")
        assert is_trusted(learnt("contact eve@x.org", claimed={"q": "other"}), "contact eve@x.org")
        assert is_trusted(learnt("contact eve@x.org", claimed={}), "contact eve@x.org")

    @pytest.mark.parametrize(
        ("claimed", "result", "value"),
        [
            ("120.00", "120", "120"),
            ("120", "120.00", "120.00"),
            ("EVE@x.org", "eve@x.org", "eve@x.org"),
            ("ｅve@x.org", "eve@x.org", "eve@x.org"),
            ("HTTPS://Evil.org", "https://evil.org/", "https://evil.org/"),
            ("mail eve@x.org now", "eve@x.org", "eve@x.org"),
        ],
    )
    def test_nor_does_one_that_writes_it_in_another_way(self, claimed: str, result: str, value: str) -> None:
        assert not is_trusted(learnt({"found": result}, claimed={"q": claimed}), value)
        assert is_trusted(learnt({"found": result}, claimed={"q": "else"}), value)

    @pytest.mark.parametrize(
        ("first", "claimed", "result"),
        [
            ("who is bob@x.org?", "bob@x.org", "Write to bob@x.org first"),
            ("who is BOB@x.org?", "bob@x.org", "Write to bob@x.org first"),
            ("read /srv/a", "/srv/a", "Then read /srv/a again"),
            ("pay 120", "120.00", "It was 120.00 then"),
        ],
    )
    def test_what_was_said_before_is_no_claim(self, first: str, claimed: str, result: str) -> None:
        assert is_trusted(learnt(result, claimed={"q": claimed}, first=first), result)
        assert not is_trusted(learnt(result, claimed={"q": claimed}, first="hello"), result)


class TestShortNumbers:
    @pytest.mark.parametrize(
        ("text", "value", "trusted"),
        [
            ("13", "13", True), (" 13 ", "13", True), ("13.", "13", True), ("13！", "13", True),
            ("13 EUR, please", "13", False), ("13 of them", "13", False),
            ("#13, please", "13", True), ("Cancel ORDER 13 now", "13", True),
            ("The order is late. It cost 13 then", "13", False), ("It cost a lot. The order is 13 then", "13", True),
            ("take nr 13 days after", "13", True), ("my order took 13 days", "13", False),
            ("my order gave 13 percent", "13", False), ("my order is 13 today", "13", True),
            ("请取消13吧", "13", True), ("取消 at 13 now", "13", False), ("请看单 13 now", "13", False),
            ("cancel order 131", "131", True), ("it cost 131 then", "131", False), ("it cost 1310 then", "1310", True),
            ("cancel A7", "A7", True), ("it is a7 then", "a7", True),
        ],
    )  # fmt: skip
    def test_a_short_identifier_needs_its_kind_beside_it(self, text: str, value: str, trusted: bool) -> None:
        assert is_trusted(said(text), value, exact=True, kind="order") is trusted
        assert is_trusted(said(text), value, exact=True, kind="Order") is trusted

    def test_a_number_that_identifies_nothing_needs_none(self) -> None:
        assert said("it cost 13 then").origin("to", "13", exact=False).trusted
        assert said("it cost 13 then").is_said("13", exact=False)
        assert said("it cost 13 then").is_public("13")

    def test_a_field_of_a_result_says_the_kind_by_its_name(self) -> None:
        sources = learnt([{"order_id": 13, "rooms": 14}])
        assert is_trusted(sources, "13", exact=True, kind="order")
        assert not is_trusted(sources, "14", exact=True, kind="order")


@pytest.mark.parametrize(
    ("said_", "value", "trusted"),
    [
        ("1" * 30, "1" * 29 + "2", False),
        ("1" * 30, "1" * 30 + ".00", True),
        ("120", "120." + "0" * 30 + "1", False),
        ("120", "120." + "0" * 36, True),
        ("120", "120." + "0" * 37, False),
        ("1" * 40, "1" * 41, False),
        ("0.50", "0.5", True),
        ("0", "0.00", True),
        ("1,200", "1200.0", True),
        ("12,5", "12.50", True),
        ("100", "10", False),
    ],
)
def test_a_number_is_found_by_its_worth_to_the_last_digit(said_: str, value: str, trusted: bool) -> None:
    assert is_trusted(said(f"pay {said_} now"), value) is trusted
    assert is_trusted(said(f"pay {value} now"), said_) is trusted


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x marks it", "bob"),
        ("write @ bob", ""),
        ("@", ""),
        ("read C:\\x\\y", "c:\\X\\y"),
        ("read /a/B", "/a/b"),
        ("to Bob Smith", "Rob Smith"),
    ],
)
def test_what_was_not_said_stands_nowhere(text: str, value: str) -> None:
    assert not is_trusted(said(text), value)


def test_texts_and_numbers_have_their_paths_and_other_things_none() -> None:
    assert list(texts_in({"b": [1, True, None, "x", {"c": 2.5}]})) == [("b.0", "1"), ("b.3", "x"), ("b.4.c", "2.5")]
    assert list(texts_in(["x", ["y"]])) == [("0", "x"), ("1.0", "y")]
    assert list(texts_in("x")) == [("", "x")]


@pytest.mark.parametrize(
    ("data", "paths", "left"),
    [
        ({"a": "x", "b": 1}, ["a"], {"b": 1}),
        ({"a": {"c": 1, "d": 2}, "b": 1}, ["a.c"], {"a": {"d": 2}, "b": 1}),
        ({"b": 1}, ["a", "c.d"], {"b": 1}),
        ([{"a": 1, "b": 2}, {"b": 3}], ["a"], [{"b": 2}, {"b": 3}]),
        ({"a": "xyz", "b": 1}, ["a.c"], {"a": None, "b": 1}),
        ("xyz", ["a"], None),
        (7, ["a"], None),
        ({"a": 1}, [], {"a": 1}),
    ],
)
def test_what_is_left_of_a_result_without_some_of_its_fields(data: Any, paths: Any, left: Any) -> None:
    assert without(data, paths) == left
