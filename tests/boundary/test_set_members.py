"""Which values are the same member of a set: by case, form, kind and what nobody sees."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.boundary.predicates import Bound, Scene, check_problems, evaluate
from backstay.core.context import Principal

AT = Scene(0.0, Principal(id="ann", zone="UTC"))


def is_member(value: Any, *values: Any) -> bool:
    check = {"op": "in", "values": list(values)}
    assert check_problems(check) == []
    found = evaluate(check, [Bound("to", "", value)], AT)
    refused = evaluate({"op": "not_in", "values": list(values)}, [Bound("to", "", value)], AT)
    assert bool(found) != bool(refused), "what is no member of a list passes a list of refusals"
    return not found


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ("mhz", "\u3392"),  # one sign that stands for `MHz`
        ("\u03ab\u0301", "\u03b0"),  # capital and small upsilon with two marks, one of them in two characters
        ("STRASSE", "straße"),
    ],
)
def test_letters_are_folded_however_they_are_put_together(value: str, member: str) -> None:
    assert is_member(value, member)
    assert is_member(member, value)


def test_truth_is_a_member_of_its_own() -> None:
    assert is_member(True, True)
    assert is_member(True, "true")
    assert is_member(False, "FALSE")
    assert not is_member(True, False)
    assert not is_member(False, True)
    assert not is_member(True, 1)


@pytest.mark.parametrize(
    ("value", "member", "same"),
    [
        (10**30 + 1, 10**30 + 2, False),
        (10**30, 10**30, True),
        ("1" * 30 + ".50", "1" * 30 + ".5", False),  # texts, which are compared as such
        (0.5, 0.50, True),
        (1e3, 1000, True),
        (1e3, "1000", True),
        (-0.0, 0, True),
        (100, 10, False),
        (1e-30, 0, False),
    ],
)
def test_numbers_are_the_same_member_to_the_last_digit(value: Any, member: Any, same: bool) -> None:
    assert is_member(value, member) is same
    assert is_member(member, value) is same


def test_a_refused_text_with_an_invisible_character_is_refused_as_it_stands() -> None:
    check = {"op": "not_in", "values": ["ab\u200bc"]}
    assert evaluate(check, [Bound("to", "", "ab\u200bc")], AT) != ()
    assert evaluate(check, [Bound("to", "", "abd")], AT) == ()


def test_a_set_has_at_most_a_thousand_members() -> None:
    assert check_problems({"op": "in", "values": list(range(1000))}) == []
    assert check_problems({"op": "in", "values": list(range(1001))}) == ["values may have 1000 items, got 1001"]
