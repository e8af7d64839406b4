"""Documents in pieces, texts in terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.memory.longterm.entry import digest_of
from backstay.memory.longterm.pieces import MOST, pieces
from backstay.memory.longterm.words import stem, terms


@given(st.text(alphabet="ab .\n#。中\t", max_size=6_000), st.integers(5, 200))
def test_pieces_hold_every_word_in_order_and_are_small(text: str, most: int) -> None:
    made = pieces(text, most)
    assert all(0 < len(one) <= most and one.strip() == one for one in made)
    assert "".join("".join(made).split()) == "".join(text.split())


def test_a_short_text_is_one_piece_and_a_heading_goes_with_what_follows() -> None:
    assert pieces(" one\n\ntwo ") == ["one\n\ntwo"]
    long = "word " * 200
    made = pieces(f"# First\n\n{long}\n\n# Second\n\n{long}")
    assert [one.split("\n")[0] for one in made] == ["# First", "# Second"]
    assert all(len(one) <= MOST for one in made)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The orders of Bern", ["order", "bern"]),
        ("只要近30天", ["只要", "要近", "30", "天"]),
        ("o-1001 a.b@c.org", ["o1001", "o", "1001", "abcorg", "b", "c", "org"]),
        ("", []),
        ("the of and", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    "words", ["order orders ordered ordering", "story stories", "plan plans planned planning", "like likes liked"]
)
def test_the_commonest_endings_make_no_difference(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


@given(st.text(max_size=200))
def test_terms_are_letters_and_digits_alone(text: str) -> None:
    assert all((one and all(char.isalnum() for char in one)) or not one.isascii() for one in terms(text))
    assert all('"' not in one and " " not in one for one in terms(text))


def test_case_width_spaces_and_end_marks_make_no_other_text() -> None:
    assert digest_of("I  am VEGETARIAN.") == digest_of("i am vegetarian")
    assert digest_of("好的！") == digest_of("好的")
    assert digest_of("account 17") != digest_of("account 71")
