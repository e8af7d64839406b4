from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstay.boundary.predicates import check_problems
from backstay.boundary.text import ToolWords, bind, extraction_problems, parse, parse_rule

NOW = 1_781_524_800.0
_ENGLISH = (
    "only just never no more than at most up to under the last past 30 3 1,000.50 1.000 half dozen days weeks months "
    "2026 2026-01-01 january 31/31/2026 february € $ ¥ EUR items orders % older before since refund i he said "
    ", . ! ? ; : ' \" “ ” ` ``` > - ( ) ask me before you until friday today first then without my ok brackets "
    "/etc ~/a example.com a@b.co *.md run_it Bob and or delete files send mail write in under from people anything"
)
_CHINESE = (
    "只要 只看 仅限 最近 近 过去 三十 两 半 天 个月 周 最多 不要 不得 超过 之前 "
    "以前 以后 的 元 欧元 ￥ ２００ 件 个 退款 别 动 吗 了 2026年 13月 1月1日 我 "
    "先 再 除了 都可以 括号里 先问我 周五 今天 一共 每天 三次 删 文件 给 王经理 发邮件 写到 没有 同意"
)
_ODD = ["\n", "\ufffc", "⟦ma⟧", "\u200b", "\x00", "İ", "ﬁ", "½", "²", "\ud800"]
PIECES = st.sampled_from([*_ENGLISH.split(), *_CHINESE.split(), *_ODD])
TEXTS = st.text(max_size=200) | st.lists(PIECES, max_size=30).map(" ".join) | st.lists(PIECES, max_size=30).map("".join)
TOOLS = (
    ToolWords(name="send_email", description="Send a mail.", meanings={"to": "recipient"}),
    ToolWords(name="delete_file", description="删除文件。", meanings={"path": "path"}),
    ToolWords(name="list_orders", risk="read", meanings={"days": "quantity:days"}),
    ToolWords(name="refund", meanings={"amount": "money:EUR", "order": "id:order"}),
)


@settings(max_examples=400, deadline=None)
@given(TEXTS, st.sampled_from(["en", "zh", "zh-Hans-CN", ""]))
def test_parsing_never_raises_and_spans_index_the_original(text: str, locale: str) -> None:
    for draft in parse(text, locale=locale, now=NOW):
        start, end = draft.span
        assert text[start:end] == draft.text
        assert draft.text.strip() == draft.text != ""
        assert draft.check is None or check_problems(draft.check) == []
        bound = bind(draft, TOOLS, author="user", id="u1")
        assert bound.check is None or check_problems(bound.check) == []
    rule = parse_rule(text, locale=locale, now=NOW)
    assert rule.text == text
    assert rule.check is None or check_problems(rule.check) == []


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_the_same_text_makes_the_same_drafts(text: str) -> None:
    assert parse(text, now=NOW) == parse(text, now=NOW)


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS)
def test_an_extraction_is_never_believed_beyond_its_words(quote: str, words: str) -> None:
    check = {"op": "le", "money": "7341", "currency": "EUR"}
    assert extraction_problems(check, quote, words, now=NOW, tools=TOOLS)


@pytest.mark.parametrize(
    "piece",
    [
        ".",
        ".x",
        "'a ",
        '"',
        "“",
        "“‘",
        "`",
        "``` ",
        "~~~",
        "> x\n",
        "only the last 30 days. ",
        "never ",
        "never refund more than, ",
        "1,000",
        "1",
        "1.",
        " ",
        "one two three ",
        "jan 1 to ",
        "only x x x x x x ,",
        "只要",
        "不要",
        "一二三四五六七八九十",
        "最多 ",
        "please ",
        "每次退款请不只仅",
        "只要近30天的数据。",
        "I ordered it two weeks ago, he said. ",
        "2026年1月",
        "¥",
        "- ",
        "⟦",
        "leave x ",
        "ask me before you ",
        "before you ask me, ",
        "first x, then ",
        "until friday, no ",
        "don't mail Bob and Eve or ",
        "Bob ",
        "only a.b.com, ",
        "a.b.",
        "/a/",
        "*.a",
        "a_b_",
        "none of those in brackets (a, b). ",
        "(a, ",
        "From: a\nTo: b\n",
        "On a day, b wrote:\n",
        "--- Forwarded message\n",
        "先查库存再",
        "除了张三，不要给",
        "括号里的不要（甲乙、丙丁）。",
        "没有我的同意不要",
        "退款前先问我。",
        "今天别退款，",
        "别联系",
    ],
)
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece)) + "x"
        began = time.process_time()
        parse(text, now=NOW)
        return time.process_time() - began

    small, large = seconds(25_000), seconds(100_000)
    assert large < 10.0
    assert large < 0.25 or large < small * 16
