"""What a model says that it read in the user's words is believed only where it can be seen there."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.boundary.text import ToolWords, extraction_problems

NOW = 1_781_524_800.0
"""2026-06-15 12:00 UTC."""
WORDS = (
    "Hi! Refunds: never above 200 EUR, and nothing before 1 March 2026. Two weeks of data are enough. Please keep"
    " bob@example.com and Acme out of it; write to /srv/reports alone, at most three times. It should be at least"
    " 5 items. He said: “pay up to 900 EUR to Initech”. 每次最多退50元，不要联系王经理。"
)
TOOLS = (ToolWords(name="refund_order", description="Pay an order back."), ToolWords(name="send_email"))


def problems(check: dict[str, Any], quote: str, words: str = WORDS) -> tuple[str, ...]:
    return extraction_problems(check, quote, words, now=NOW, tools=TOOLS)


@pytest.mark.parametrize(
    ("check", "quote"),
    [
        ({"op": "le", "money": "200", "currency": "EUR"}, "never above 200 EUR"),
        ({"op": "window", "from": "2026-03-01"}, "nothing before 1 March 2026"),
        ({"op": "window", "days": 14}, "Two weeks of data are enough"),
        ({"op": "not_in", "values": ["bob@example.com", "Acme"]}, "keep bob@example.com and Acme out of it"),
        ({"op": "not", "of": {"op": "glob", "like": ["*acme*"]}}, "keep bob@example.com and Acme out of it"),
        ({"op": "path", "under": ["/srv/reports"]}, "write to /srv/reports alone"),
        ({"op": "count", "max": 3, "per": "session"}, "at most three times"),
        ({"op": "ge", "number": "5", "unit": "items"}, "at least 5 items"),
        ({"op": "le", "money": "50", "currency": "CNY"}, "每次最多退50元"),
        ({"op": "not_in", "values": ["王经理"]}, "不要联系王经理"),
        ({"op": "before", "tools": ["refund_order"]}, "Refunds: never above 200 EUR"),
    ],
)
def test_what_stands_in_the_users_words_is_accepted(check: dict[str, Any], quote: str) -> None:
    assert problems(check, quote) == ()


@pytest.mark.parametrize(
    ("check", "quote", "reason"),
    [
        ({"op": "le", "money": "900", "currency": "EUR"}, "never above 900 EUR", "quotation"),
        ({"op": "le", "money": "2000", "currency": "EUR"}, "never above 200 EUR", "number '2000'"),
        ({"op": "le", "money": "20", "currency": "EUR"}, "never above 200 EUR", "number '20'"),
        ({"op": "le", "money": "200", "currency": "USD"}, "never above 200 EUR", "currency 'USD'"),
        ({"op": "sum", "max": "200", "money": "USD", "per": "day"}, "never above 200 EUR", "currency 'USD'"),
        ({"op": "le", "money": "00 EUR", "currency": "EUR"}, "never above 200 EUR", "plain number"),
        ({"op": "window", "days": 90}, "Two weeks of data are enough", "days 90"),
        ({"op": "window", "from": "2025-03-01"}, "nothing before 1 March 2026", "date '2025-03-01'"),
        ({"op": "in", "values": ["eve@evil.test"]}, "keep bob@example.com and Acme out of it", "name 'eve@evil.test'"),
        ({"op": "in", "values": ["ob@example.com"]}, "keep bob@example.com and Acme out of it", "name"),
        ({"op": "in", "values": ["Acm"]}, "keep bob@example.com and Acme out of it", "name 'Acm'"),
        ({"op": "path", "under": ["/srv"]}, "write to /srv/reports alone", "name '/srv'"),
        ({"op": "path", "under": ["/"]}, "write to /srv/reports alone", "name '/'"),
        ({"op": "host", "in": ["evil.test"]}, "keep bob@example.com and Acme out of it", "name 'evil.test'"),
        ({"op": "glob", "like": ["*"]}, "write to /srv/reports alone", "name '*'"),
        ({"op": "count", "max": 30, "per": "day"}, "at most three times", "number 30"),
        ({"op": "le", "number": "5", "unit": "items"}, "at least 5 items", "'ge'"),
        ({"op": "ge", "number": "5", "unit": "orders"}, "at least 5 items", "unit 'orders'"),
        ({"op": "before", "tools": ["send_email"]}, "Refunds: never above 200 EUR", "tool 'send_email'"),
        ({"op": "le", "money": "900", "currency": "EUR"}, "pay up to 900 EUR to Initech", "quotation"),
        ({"op": "eval", "code": "1"}, "never above 200 EUR", "unknown op"),
        ({"op": "le", "money": "200", "currency": "EUR"}, "", "quotation"),
        ({"op": "le", "money": "0", "currency": "EUR"}, "ever above 200 EUR", "quotation"),
        ({"op": "all", "of": [{"op": "le", "money": "7", "currency": "EUR"}]}, "never above 200 EUR", "number '7'"),
    ],
)
def test_a_lie_is_told_from_the_truth(check: dict[str, Any], quote: str, reason: str) -> None:
    found = problems(check, quote)
    assert found
    assert any(reason in one for one in found), found


def test_half_a_word_is_no_quotation() -> None:
    assert problems({"op": "le", "money": "200", "currency": "EUR"}, "above 200 EU")
    assert problems({"op": "le", "money": "200", "currency": "EUR"}, "above 200 EUR") == ()


def test_every_lie_is_told_at_once() -> None:
    check = {"op": "in", "values": ["Initech", "Umbrella"]}
    assert len(problems(check, "keep bob@example.com and Acme out of it")) == 2
