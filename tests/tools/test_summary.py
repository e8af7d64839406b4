"""What a model is shown of a result: bounded, cut between records, never in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core.canon import freeze
from backstay.core.fields import fields_named
from backstay.core.messages import Artifact, Json, Label, ToolResult
from backstay.core.printable import printable
from backstay.tools.summary import IDS, file_line, shrink, summarise, weigh
from backstay.tools.summary import shown as whole

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=10), inner, max_size=8),
    max_leaves=60,
)


def test_four_kinds_of_nothing_differ() -> None:
    assert [summarise(data, 100).text for data in (None, (), 0, "")] == ["null", "[]", "0", '""']


@given(JSON, st.integers(40, 400))
def test_a_summary_is_bounded_and_says_when_it_is_cut(data: Any, max_tokens: int) -> None:
    frozen = freeze(data)
    shown = summarise(frozen, max_tokens)
    assert weigh(shown.text) <= max_tokens
    assert shown.is_cut == (shown.text != whole(frozen))


def test_rows_are_cut_between_rows() -> None:
    shown = summarise(freeze([{"id": n, "name": "x" * 40} for n in range(312)]), 500)
    head, *rows = shown.text.split("\n")
    assert head == f"{len(rows)} of 312 rows:"
    assert [json.loads(row)["id"] for row in rows] == list(range(len(rows)))


def test_the_long_list_of_an_object_is_cut_and_the_rest_stays() -> None:
    shown = summarise(
        freeze({"total": 312, "next": "p2", "items": [{"id": n, "n": "y" * 40} for n in range(312)]}), 500
    )
    first, second, *_ = shown.text.split("\n")
    assert json.loads(first) == {"total": 312, "next": "p2"}
    assert second.startswith("items: ")
    assert "of 312 rows" in second


def test_text_is_cut_between_lines() -> None:
    shown = summarise("\n".join(f"line {n} " + "z" * 30 for n in range(1000)), 300)
    assert shown.text.startswith(f"{len(shown.text.splitlines()) - 1:,} of 1,000 lines:")


@pytest.mark.parametrize(
    "text", ["删" * 4_000 + "a" * 100_000, "a" * 100_000, "删" * 50_000, "я" * 9_000 + "a" * 90_000]
)
def test_one_long_line_is_cut_between_characters_within_the_bound(text: str) -> None:
    shown = summarise(text, 4_000)
    assert shown.is_cut
    assert 1_000 < weigh(shown.text) <= 4_000


def test_a_lone_surrogate_can_be_weighed() -> None:
    assert weigh("\ud800" * 8) > 0


def test_several_long_lists_of_nested_objects_are_each_cut_with_their_path() -> None:
    orders = [{"id": n, "note": "x" * 40} for n in range(300)]
    lines = [{"sku": n, "note": "y" * 40} for n in range(90)]
    data = freeze({"total": 3, "page": {"orders": orders, "next": "p2"}, "lines": lines, "few": [1, 2]})
    head, *rest = summarise(data, 800).text.split("\n")
    assert json.loads(head) == {"total": 3, "page": {"next": "p2"}, "few": [1, 2]}
    heads = [line for line in rest if " of " in line]
    assert len(heads) == 2
    assert sorted(line.partition(":")[0] for line in heads) == ["lines", "page.orders"]
    for line in rest:
        if line not in heads:
            assert set(json.loads(line)) in ({"id", "note"}, {"sku", "note"})


def test_a_list_that_is_nearly_whole_leaves_its_room_to_the_other() -> None:
    data = freeze({"few": ["a" * 50] * 5, "many": ["b" * 50] * 500})
    text = summarise(data, 1_000).text
    assert text.count("a" * 50) == 5
    assert text.count("b" * 50) > 40


def test_a_table_of_objects_is_cut_between_fields() -> None:
    data = freeze({str(n): {"name": "x" * 60} for n in range(200)})
    head, *rows = summarise(data, 400).text.split("\n")
    assert head == f"{len(rows)} of 200 fields:"
    assert all(json.loads(row) for row in rows)


def test_a_row_that_is_too_long_by_itself_is_cut_inside_at_its_own_records() -> None:
    data = freeze([{"id": 7, "items": [{"n": n, "text": "z" * 50} for n in range(100)]}])
    head, first, second, *rows = summarise(data, 300).text.split("\n")
    assert head == "0 of 1 rows, the first begins:"
    assert json.loads(first) == {"id": 7}
    assert second == f"0.items: {len(rows)} of 100 rows:"


@pytest.mark.parametrize("hidden", ["\x1b", "\x00", "\r", "\u202e", "\u2066", "\u200f", "\x85", "\U000e0041"])
def test_what_nobody_could_see_is_not_shown(hidden: str) -> None:
    assert summarise(f"a{hidden}b\n\tc", 50).text == "ab\n\tc"
    assert summarise(freeze({"k": f"a{hidden}b" if hidden >= " " else "ab"}), 50).text == '{"k":"ab"}'
    assert hidden not in summarise((f"x{hidden}y" * 40 + "\n") * 40, 50).text


def test_files_are_named_on_lines_of_their_own_and_stand_for_an_empty_result() -> None:
    chart = Artifact(ref="artifact:ab", name="chart.png", mime="image/png", size=12_345)
    line = "[file chart.png, image/png, 12,345 bytes: artifact:ab]"
    assert summarise(None, 100, artifacts=(chart,)).text == line
    assert summarise({"ok": 1}, 100, artifacts=(chart,)).text == f'{{"ok":1}}\n{line}'
    assert summarise("w" * 900, 100, artifacts=(chart,)).text.endswith(line)


def made(data: Any, max_tokens: int, **fields: Any) -> ToolResult:
    cut = summarise(data, max_tokens, artifacts=fields.get("artifacts", ()))
    return ToolResult(ok=True, summary=cut.text, data=data, ref="run:1" if cut.is_cut else None, **fields)


@given(JSON, st.integers(24, 300), st.integers(24, 300), st.booleans())
def test_a_shrunken_result_is_never_longer_and_loses_nothing_but_words(
    data: Any, first: int, then: int, has_file: bool
) -> None:
    files = (Artifact(ref="artifact:ab", name="a.txt", mime="text/plain", size=3),) if has_file else ()
    result = made(freeze(data), first, label=Label(trusted=False), artifacts=files)
    small = shrink(result, then, ref="c1")
    assert weigh(small.summary) <= max(min(weigh(result.summary), then), 24 + 24 * has_file)
    assert (small.data, small.label, small.artifacts, small.ok) == (result.data, result.label, files, True)
    if small.summary != result.summary:
        assert small.ref == (result.ref or "c1")
        assert all(file_line(one) in small.summary for one in files)
    assert shrink(small, then, ref="c1") == small


ROWS = st.lists(
    st.fixed_dictionaries({"order_id": st.text("abc123\u202e", min_size=1, max_size=9), "text": st.text(max_size=80)}),
    min_size=3,
    max_size=30,
)


@given(ROWS, st.integers(30, 200))
def test_what_is_kept_stands_in_the_shrunken_text_as_it_is(rows: list[dict[str, str]], max_tokens: int) -> None:
    data = freeze({"rows": rows})
    small = shrink(made(data, 4_000), max_tokens)
    if " more values" in small.summary or "kept: " not in small.summary:
        return
    kept = json.loads(small.summary.partition("kept: ")[2].partition("\n")[0])
    assert kept == {"rows.order_id": [printable(row["order_id"]) for row in rows]}


def test_named_fields_are_kept_and_ids_where_nothing_is_named() -> None:
    data = freeze({"invoice_id": "R-77", "total": {"amount": "120.00"}, "rows": ["x" * 90] * 40})
    assert 'kept: {"invoice_id":"R-77"}' in shrink(made(data, 4_000), 60).summary
    assert 'kept: {"total.amount":"120.00"}' in shrink(made(data, 4_000, keep=("total.amount",)), 60).summary
    assert "kept" not in shrink(made(data, 4_000, keep=("nothing",)), 60).summary


def test_kept_values_that_do_not_fit_are_counted() -> None:
    data = freeze([{"id": f"order-{n:05}", "text": "x" * 50} for n in range(500)])
    small = shrink(made(data, 4_000), 120)
    kept, _, more = small.summary.partition("kept: ")[2].partition(" and ")
    assert len(json.loads(kept)["id"]) + int(more.split()[0]) == 500
    assert weigh(small.summary) <= 120


def test_the_tools_own_words_are_cut_as_words_and_not_replaced_by_its_data() -> None:
    words = "\n".join(f"point {n}: " + "w" * 40 for n in range(40))
    result = ToolResult(ok=True, summary=words, data=freeze({"id": 7, "raw": [1, 2, 3]}))
    small = shrink(result, 80, ref="c9")
    assert small.summary.startswith(f"{small.summary.count('point')} of 40 lines:\npoint 0")
    assert small.summary.endswith('kept: {"id":7}')
    assert small.ref == "c9"


def test_four_kinds_of_nothing_stay_four_however_little_room_there_is() -> None:
    small = [shrink(made(data, 100), 0).summary for data in (None, (), 0, "")]
    assert small == ["null", "[]", "0", '""']


def test_a_failure_shrinks_to_the_beginning_of_its_message() -> None:
    result = ToolResult(ok=False, summary="e" * 4_000, error="e" * 4_000, code="tool.failed")
    small = shrink(result, 100)
    assert weigh(small.summary) <= 100
    assert (small.error, small.code) == (result.error, "tool.failed")


@given(JSON)
def test_fields_are_found_by_the_end_of_their_path(data: Json) -> None:
    for field in fields_named(freeze(data), ("*",)):
        assert len(field.path) == 1
    found = list(fields_named(freeze({"a": {"order_id": 1, "b": [{"order_id": 2}]}, "order_id": {"id": 3}}), IDS))
    assert [(".".join(one.path), one.value, one.is_listed) for one in found] == [
        ("a.order_id", 1, False),
        ("a.b.order_id", 2, True),
        ("order_id", {"id": 3}, False),
    ]
