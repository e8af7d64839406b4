"""One path has one key, however it is spelled, and is found from every folder around it."""

from __future__ import annotations

import pytest

from backstay.boundary.places import around, inside_of, key_of, paths_in
from backstay.core.context import ToolFacts

FACTS = ToolFacts(
    name="t",
    digest="",
    risk="write",
    effect="once",
    sinks=frozenset({"to"}),
    meanings={"to": "path", "source": "path", "parts.file": "path", "note": "text"},
)


@pytest.mark.parametrize("other", ["a//b.txt", "./a/b.txt", "a/x/../b.txt", "A/B.TXT", "a/b.txt/"])
def test_spellings_of_one_path_share_a_key(other: str) -> None:
    assert key_of(other) == key_of("a/b.txt")


@pytest.mark.parametrize("other", ["/a/b.txt", "b.txt", "a/b.txt.bak", "a/b", "a\\b.txt", "~/a/b.txt", ""])
def test_other_paths_have_other_keys(other: str) -> None:
    assert key_of(other) != key_of("a/b.txt")


def test_what_lies_in_a_folder_is_found_from_it_and_from_those_around_it() -> None:
    assert {inside_of("a/b"), inside_of("a"), inside_of(".")} == set(around("a/b/c.txt"))
    assert {inside_of("/a"), inside_of("/")} < set(around("/a/b"))
    assert inside_of("b") not in set(around("a/b/c.txt"))


def test_paths_are_found_by_meaning_and_in_lists() -> None:
    args = {"to": "x", "source": ["y", "z"], "parts": [{"file": "p", "other": "q"}], "note": "n"}
    assert paths_in(args, FACTS) == ("x", "y", "z", "p")
    assert paths_in(args, FACTS, sinks_only=True) == ("x",)
