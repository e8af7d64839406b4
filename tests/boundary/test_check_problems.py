"""Each thing that may be wrong with a check is told once, by itself, and what lies on the border is fine."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.boundary.predicates import check_problems

NOT = "not"
EUR = {"op": "le", "money": "200", "currency": "EUR"}
MANY = [f"a{n}" for n in range(1000)]
LONG = "x" * 1000

FINE: list[Any] = [
    EUR,
    {"op": "ne", "number": 3},
    {"op": "ne", "number": 0.5, "unit": "items"},
    {"op": "in", "values": ["a", 1, True, 0]},
    {"op": "not_in", "values": MANY},
    {"op": "window", "days": 0},
    {"op": "window", "days": 36_525},
    {"op": "window", "months": 36_525},
    {"op": "window", "from": "2026-01-01"},
    {"op": "window", "to": "2026-01-01"},
    {"op": "window", "from": "2026-01-01", "to": "2026-01-01"},
    {"op": "path", "under": ["/", "a/b", LONG]},
    {"op": "path", "under": MANY, "base": "/"},
    {"op": "path", "under": ["/a"], "base": "/srv/app"},
    {"op": "host", "in": ["a.com", "10.0.0.1", "bücher.de"]},
    {"op": "glob", "like": ["*", "x" * 256]},
    {"op": "sum", "max": "300", "money": "EUR", "per": "day"},
    {"op": "sum", "max": 0, "unit": "items", "per": "session"},
    {"op": "sum", "max": 3, "per": "session"},
    {"op": "count", "max": 0, "per": "day"},
    {"op": "count", "max": 1_000_000_000, "per": "session"},
    {"op": "same_as", "argument": "to"},
    {"op": "same_as", "argument": LONG},
    {"op": "subset_of", "argument": "all"},
    {"op": "subset_of", "of": ["a", 1]},
    {"op": "own_words"},
    {"op": "claim", "name": "region"},
    {"op": "owned_by"},
    {"op": "owned_by", "kind": "order"},
    {"op": "forbid"},
    {"op": "before", "tools": ["look", "see"]},
    {"op": "function", "name": "ours"},
    {"op": "all", "of": [EUR]},
    {"op": "any", "of": (EUR, {"op": NOT, "of": EUR})},
]

WRONG: list[tuple[Any, str]] = [
    (3, "a check is an object with an 'op', got 3"),
    ({"op": "nope"}, "unknown op 'nope'; known are all, any, before, claim"),
    ({"op": 3}, "unknown op '3'; known are"),
    ({"op": "le"}, "'le' needs 'number'"),
    ({"op": "le", "number": 3, "currency": "EUR"}, "'le' has no 'currency'"),
    ({**EUR, "unit": "items"}, "'le' has no 'unit'"),
    ({"op": "le", "number": "many"}, "number must be a plain number such as '200', got many"),
    ({**EUR, "money": True}, "money must be a plain number such as '200', got true"),
    ({**EUR, "currency": "EURO"}, "currency must be an ISO 4217 code such as 'EUR', got EURO"),
    ({**EUR, "currency": "eur"}, "currency must be an ISO 4217 code such as 'EUR', got eur"),
    ({**EUR, "currency": "E1R"}, "currency must be an ISO 4217 code such as 'EUR', got E1R"),
    ({**EUR, "currency": 978}, "currency must be an ISO 4217 code such as 'EUR', got 978"),
    ({"op": "le", "number": 3, "unit": ""}, "unit must be a word such as 'items', got "),
    ({"op": "le", "number": 3, "unit": 3}, "unit must be a word such as 'items', got 3"),
    ({"op": "in", "values": []}, "values must be an array of at least one text or number"),
    ({"op": "in", "values": "abc"}, "values must be an array of at least one text or number"),
    ({"op": "in", "values": ["a", {"b": 1}]}, 'values may hold texts and numbers, got {"b": 1}'),
    ({"op": "in", "values": ["a"], "x": 1}, "'in' has no 'x'"),
    ({"op": "window"}, "a window has either days, or months, or from and/or to"),
    ({"op": "window", "days": 3, "months": 3}, "a window has either days, or months, or from and/or to"),
    ({"op": "window", "days": 3, "to": "2026-01-01"}, "a window has either days, or months, or from and/or to"),
    ({"op": "window", "days": 36_526}, "days must be a whole number from 0 to 36525, got 36526"),
    ({"op": "window", "months": -1}, "months must be a whole number from 0 to 36525, got -1"),
    ({"op": "window", "days": True}, "days must be a whole number from 0 to 36525, got true"),
    ({"op": "window", "from": "20260101"}, "from must be a date such as '2026-01-31', got 20260101"),
    ({"op": "window", "to": 5}, "to must be a date such as '2026-01-31', got 5"),
    ({"op": "window", "to": "soon", "from": "2026-01-01"}, "to must be a date such as '2026-01-31', got soon"),
    ({"op": "window", "from": "2026-01-02", "to": "2026-01-01"}, "from lies after to"),
    ({"op": "window", "days": 3, "x": 1}, "'window' has no 'x'"),
    ({"op": "path", "under": []}, "under must be an array of at least one path"),
    ({"op": "path", "under": ["/a", "../b"]}, "under may hold paths, got ../b"),
    ({"op": "path", "under": ["/a", "."]}, "under may hold paths, got ."),
    ({"op": "path", "under": [*MANY, "b"]}, "under may have 1000 items, got 1001"),
    ({"op": "path", "under": ["x" * 1001]}, "under may hold paths, got xxx"),
    ({"op": "path", "under": ["/a"], "base": "b"}, "base must be a whole path such as '/srv/app', got b"),
    ({"op": "path", "under": ["/a"], "base": "/~"}, "base must be a whole path such as '/srv/app', got /~"),
    ({"op": "path", "under": ["/a"], "base": 3}, "base must be a whole path such as '/srv/app', got 3"),
    ({"op": "path", "under": ["/a"], "x": 3}, "'path' has no 'x'"),
    ({"op": "host", "in": ["a.com", "a@b.com"]}, "in may hold hosts, got a@b.com"),
    ({"op": "host", "in": ["a.com/x"]}, "in may hold hosts, got a.com/x"),
    ({"op": "host", "in": ["https://a.com"]}, "in may hold hosts, got https://a.com"),
    ({"op": "host", "in": ["*.com"]}, "in may hold hosts, got *.com"),
    ({"op": "glob", "like": ["a", ""]}, "like may hold patterns, got "),
    ({"op": "glob", "like": ["x" * 257]}, "like may hold patterns, got xxx"),
    ({"op": "sum", "max": "300", "per": 1}, "per must be 'session' or 'day', got 1"),
    ({"op": "host", "in": []}, "in must be an array of at least one host"),
    ({"op": "sum", "max": "300", "per": "week"}, "per must be 'session' or 'day', got week"),
    ({"op": "sum", "max": "-1", "per": "day"}, "max must be a plain number such as '300', got -1"),
    ({"op": "sum", "max": "many", "per": "day"}, "max must be a plain number such as '300', got many"),
    ({"op": "sum", "max": 3, "money": "eur", "per": "day"}, "money must be an ISO 4217 code such as 'EUR', got eur"),
    ({"op": "sum", "max": 3, "money": "EU", "per": "day"}, "money must be an ISO 4217 code such as 'EUR', got EU"),
    ({"op": "sum", "max": 3, "money": "E1R", "per": "day"}, "money must be an ISO 4217 code such as 'EUR', got E1R"),
    ({"op": "sum", "max": 3, "money": 978, "per": "day"}, "money must be an ISO 4217 code such as 'EUR', got 978"),
    ({"op": "sum", "max": 3, "unit": "", "per": "day"}, "unit must be a word such as 'items', got "),
    ({"op": "sum", "max": 3, "unit": 3, "per": "day"}, "unit must be a word such as 'items', got 3"),
    ({"op": "sum", "max": 3, "unit": "kg", "money": "EUR", "per": "day"}, "a sum is of money or of a unit, not of"),
    ({"op": "count", "max": -1, "per": "day"}, "max must be a whole number of calls, got -1"),
    ({"op": "count", "max": 1_000_000_001, "per": "day"}, "max must be a whole number of calls, got 1000000001"),
    ({"op": "count", "max": True, "per": "day"}, "max must be a whole number of calls, got true"),
    ({"op": "count", "max": 1, "per": "day", "unit": "kg"}, "'count' has no 'unit'"),
    ({"op": NOT, "of": {"op": "count", "max": 1, "per": "day"}}, "'count' stands by itself, as a rule of its own"),
    ({"op": "all", "of": [{"op": "sum", "max": 1, "per": "day"}]}, "'sum' stands by itself, as a rule of its own"),
    ({"op": "any", "of": [{"op": "sum", "max": 1, "per": "day"}]}, "'sum' stands by itself, as a rule of its own"),
    ({"op": "same_as", "argument": " "}, "argument must be a name, got  "),
    ({"op": "same_as", "argument": "x" * 1001}, "argument must be a name, got xxx"),
    ({"op": "same_as", "argument": "a", "of": ["b"]}, "'same_as' has no 'of'"),
    ({"op": "subset_of"}, "'subset_of' has either an 'argument' or an 'of'"),
    ({"op": "subset_of", "argument": "a", "of": ["b"]}, "'subset_of' has either an 'argument' or an 'of'"),
    ({"op": "subset_of", "argument": ""}, "argument must be a name, got "),
    ({"op": "subset_of", "of": []}, "of must be an array of at least one text or number"),
    ({"op": "subset_of", "of": "abc"}, "of must be an array of at least one text or number"),
    ({"op": "subset_of", "of": ["a", {"b": 1}]}, 'of may hold texts and numbers, got {"b": 1}'),
    ({"op": "subset_of", "of": ["a"], "x": 1}, "'subset_of' has no 'x'"),
    ({"op": "subset_of", "argument": "a", "x": 1}, "'subset_of' has no 'x'"),
    ({"op": "own_words", "x": 1}, "'own_words' has no 'x'"),
    ({"op": "claim", "name": ""}, "name must be a name, got "),
    ({"op": "claim", "name": "a", "x": 1}, "'claim' has no 'x'"),
    ({"op": "owned_by", "kind": ""}, "kind must be a name, got "),
    ({"op": "owned_by", "x": 1}, "'owned_by' has no 'x'"),
    ({"op": "forbid", "x": 1}, "'forbid' has no 'x'"),
    ({"op": "before", "tools": []}, "tools must be an array of at least one tool name"),
    ({"op": "before", "tools": ["a", 3]}, "tools may hold tool names, got 3"),
    ({"op": "before", "tools": ["a"], "x": 1}, "'before' has no 'x'"),
    ({"op": "function", "name": 3}, "name must be a name, got 3"),
    ({"op": "function", "name": "a", "x": 1}, "'function' has no 'x'"),
    ({"op": "all", "of": []}, "of must be an array of at least one check"),
    ({"op": "any", "of": EUR}, "of must be an array of at least one check"),
    ({"op": "any", "of": [EUR], "x": 1}, "'any' has no 'x'"),
    ({"op": NOT}, "'not' needs 'of'"),
    ({"op": NOT, "of": [EUR]}, "a check is an object with an 'op', got "),
    ({"op": NOT, "of": EUR, "x": 1}, "'not' has no 'x'"),
]  # fmt: skip


@pytest.mark.parametrize("check", FINE)
def test_a_check_on_the_border_is_fine(check: Any) -> None:
    assert check_problems(check) == []


@pytest.mark.parametrize(("check", "told"), WRONG)
def test_one_mistake_is_one_sentence(check: Any, told: str) -> None:
    (problem,) = check_problems(check)
    assert problem.startswith(told)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({"op": "le", "x": 1}, ["'le' needs 'number'", "'le' has no 'x'"]),
        ({"op": "le", "money": "3"}, ["'le' needs 'currency'", "currency must be an ISO 4217 code"]),
        ({"op": "sum", "max": 3}, ["'sum' needs 'per'", "per must be 'session' or 'day', got null"]),
        ({"op": "claim"}, ["'claim' needs 'name'", "name must be a name, got null"]),
        ({"op": "any"}, ["'any' needs 'of'", "of must be an array of at least one check"]),
        ({"op": "all", "of": [{"op": "forbid", "x": 1}, {"op": "nope"}]}, ["'forbid' has no 'x'", "unknown op 'nope'"]),
        ({"op": "count"}, ["'count' needs 'max'", "'count' needs 'per'", "per must be", "max must be a whole number"]),
    ],
)
def test_several_mistakes_are_told_together(check: Any, told: list[str]) -> None:
    found = check_problems(check)
    assert len(found) == len(told)
    assert all(one.startswith(start) for one, start in zip(found, told, strict=True))


def nested(depth: int) -> Any:
    check: Any = EUR
    for _ in range(depth):
        check = {"op": NOT, "of": check}
    return check


def test_checks_lie_at_most_sixteen_deep() -> None:
    assert check_problems(nested(16)) == []
    assert check_problems(nested(17)) == ["checks may be nested 16 deep"]


def test_a_check_has_at_most_256_parts_at_all_depths() -> None:
    half = {"op": "any", "of": [EUR] * 127}
    assert check_problems({"op": "all", "of": [EUR] * 255}) == []
    assert check_problems({"op": "all", "of": [EUR] * 256}) == ["a check may have 256 parts"]
    assert check_problems({"op": "all", "of": [{"op": NOT, "of": half}, {"op": "any", "of": [EUR] * 124}]}) == []
    assert check_problems({"op": "all", "of": [{"op": NOT, "of": half}, half]}) == ["a check may have 256 parts"]
