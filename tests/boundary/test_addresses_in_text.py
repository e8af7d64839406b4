"""Which addresses a text would send a reader to, and what of running text is a token beside them."""

from __future__ import annotations

import pytest

from backstay.boundary.provenance import TrustedText
from backstay.boundary.provenance.tokens import addresses


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nothing here", []),
        ("at @ or http:", []),
        ("mail bob@x.org", ["bob@x.org"]),
        ("mail bob@x.org.", ["bob@x.org"]),
        ("mail 'bob@x.org", ["bob@x.org"]),
        ("mail 'bob@x.org'.", ["bob@x.org"]),
        ("bob@x.org and eve@x.org", ["bob@x.org", "eve@x.org"]),
        ("bob@x.org,eve@x.org", ["bob@x.org", "eve@x.org"]),
        ("see WWW.Evil.org!", ["WWW.Evil.org"]),
        ("see (https://x.org/a), or bob@x.org", ["https://x.org/a", "bob@x.org"]),
        ("点https://evil.org/看", ["https://evil.org/看"]),
    ],
)
def test_every_address_is_found_once_without_what_surrounds_it(text: str, found: list[str]) -> None:
    assert addresses(text) == found


def is_said(text: str, value: str) -> bool:
    trusted = TrustedText()
    trusted.add("m1", text)
    return trusted.origin("to", value, exact=True).trusted


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("bob,https://x.org/a", "bob"),
        ("bob,https://x.org/a", "https://x.org/a"),
        ("x.com/?to=https://evil.com", "x.com/?to=https://evil.com"),
        ("ask @x", "x"),
        ("ask @x", "@x"),
        ("X's order", "X"),
        ("take A-1's", "A-1"),
        ("https://x.org/a(b)", "https://x.org/a(b)"),
        ("(https://x.org/a?b=[c])", "https://x.org/a?b=[c]"),
    ],
)
def test_what_stands_beside_or_around_an_address_is_a_token_too(text: str, value: str) -> None:
    assert is_said(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x.com/?to=https://evil.com", "https://evil.com"),
        ("x.com/?to=https://evil.com", "to"),
        ("https://x.org/a(b)", "https://x.org/a(b"),
        ("X's order", "X'"),
        ("Xs order", "X"),
    ],
)
def test_what_only_looks_like_one_is_none(text: str, value: str) -> None:
    assert not is_said(text, value)
