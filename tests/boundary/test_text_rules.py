"""How people limit agents, English and Chinese: the sentences of `bench/rules`, read and bound to tools."""

from __future__ import annotations

from functools import cache

import pytest
from bench.rules.cases import NOW, PARTS, TUNED, load_cases, load_tools
from bench.rules.score import Score, rows, score

from backstay.boundary.predicates import check_problems
from backstay.boundary.text import ToolWords, bind, parse, parse_rule

FLOOR = 0.95
LOCALES = pytest.mark.parametrize("locale", ["en", "zh"])


@cache
def scored(part: str) -> dict[str, Score]:
    return score(part)


@LOCALES
@pytest.mark.parametrize(("part", "sentences"), [("develop", 60), ("set_aside", 35)])
def test_what_can_be_enforced_is_enforced_as_it_was_said(part: str, sentences: int, locale: str) -> None:
    one = scored(part)[locale]
    assert one.enforceable >= sentences
    assert one.recall >= FLOOR, [case.text for case in one.missed]


@LOCALES
@pytest.mark.parametrize("part", TUNED)
def test_nothing_is_enforced_that_was_not_said(part: str, locale: str) -> None:
    assert [case.text for case in scored(part)[locale].wrong] == []


@LOCALES
@pytest.mark.parametrize("part", TUNED)
def test_what_no_predicate_says_is_kept_as_advice_and_what_limits_nothing_is_not(part: str, locale: str) -> None:
    one = scored(part)[locale]
    assert one.advisory >= 5
    assert [case.text for case in one.lost] == []
    assert one.silent >= 12
    assert [case.text for case in one.noise] == []


def test_the_fresh_part_is_told_and_never_tuned_by(capsys: pytest.CaptureFixture[str]) -> None:
    scores = scored("fresh")
    with capsys.disabled():
        print("\n" + "\n".join(rows("fresh", scores)))
    assert sum(one.sentences for one in scores.values()) >= 250


def test_the_parts_share_no_sentence_and_the_tuned_ones_no_tool() -> None:
    said = [{case.text.casefold() for case in load_cases(part)} for part in PARTS]
    assert len(set().union(*said)) == sum(map(len, said))
    assert not {tool.name for tool in load_tools("develop")} & {tool.name for tool in load_tools("set_aside")}


@pytest.mark.parametrize("part", PARTS)
def test_every_check_that_is_read_and_bound_can_be_evaluated(part: str) -> None:
    tools = load_tools(part)
    for case in load_cases(part):
        for draft in parse(case.text, locale=case.locale, now=NOW, before=case.before):
            rule = bind(draft, tools, author="user", id="u1")
            assert rule.check is None or check_problems(rule.check) == []
            assert rule.render


TOOLS = load_tools("develop")


def bound(text: str, tools: tuple[ToolWords, ...] = TOOLS, locale: str = "en") -> list[tuple[str, tuple[str, ...]]]:
    made = [bind(draft, tools, author="user", id="u1") for draft in parse(text, locale=locale, now=NOW)]
    return [(one.render, one.tools) for one in made]


@pytest.mark.parametrize(
    ("text", "locale", "render"),
    [
        ("Never touch /etc.", "en", "not under /etc"),
        ("Only write under /srv/a or /srv/b.", "en", "write_file: only under /srv/a, /srv/b"),
        ("At most three refunds.", "en", "refund_order: at most 3 calls in this session"),
        ("Ask me before you send any mail.", "en", "send_email: ask first"),
        ("Don't refund more than 50 EUR without asking me.", "en", "refund: at most 50 EUR, else ask"),
        ("No refunds until Friday.", "en", "refund_order: never (until the end of 2026-06-19)"),
        ("Check the stock before you order anything.", "en", "place_order: only after check_stock"),
        ("千万别动 /etc。", "zh", "不得位于 /etc"),
        ("退款每天最多三次。", "zh", "refund_order：每天最多 3 次"),
        ("发邮件前先问我。", "zh", "send_email：须先询问"),
        ("今天别退款。", "zh", "refund_order：禁止（到 2026-06-15 为止）"),
        ("先查库存再下单。", "zh", "place_order：须先调用 check_stock"),
    ],
)
def test_a_bound_rule_names_its_tools_in_the_language_of_its_author(text: str, locale: str, render: str) -> None:
    assert [one for one, _ in bound(text, locale=locale)] == [render]


@pytest.mark.parametrize(
    "text",
    [
        "Never delete old backups.",
        "Don't cancel my subscription.",
        "Don't cancel the order.",
        "Don't delete this file.",
        "Don't send mail to customers.",
        "Don't send the mail yet.",
        "Send at most 3 emails to Bob.",
        "Don't pay Bob more than 50 EUR.",
        "When it is a weekend, don't send mail.",
        "If I don't answer, never refund.",
        "Don't call me Ann.",
        "Keep out of ~/private.",
        "别给客户发邮件。",
        "周末不要发邮件。",
        "如果下雨就不要下单。",
        "别删这个文件。",
    ],
)
def test_a_rule_about_less_than_an_action_is_advice_and_binds_nothing(text: str) -> None:
    (draft,) = parse(text, now=NOW)
    rule = bind(draft, TOOLS, author="user", id="u1")
    assert (rule.check, rule.tools, dict(rule.bind), rule.severity, rule.until) == (None, (), {}, "block", None)
    assert rule.render.startswith("advisory")


def test_a_rule_about_what_no_tool_does_says_so() -> None:
    (render, tools), *_ = bound("Never deploy anything.")
    assert render == "advisory: none of the tools does what it is about; kept and shown, not enforced"
    assert tools == ()


def test_an_action_is_found_by_a_tools_description_too() -> None:
    tools = (
        ToolWords(name="op_17", description="Refund an order."),
        ToolWords(name="op_18", description="把订单退款给客户。"),
        ToolWords(name="op_19", description="List the refunds of a month.", risk="read"),
    )
    assert bound("No refunds.", tools) == [("op_17, op_18: never", ("op_17", "op_18"))]


def test_a_tool_that_only_reads_is_no_action() -> None:
    tools = (
        ToolWords(name="list_refunds", risk="read"),
        ToolWords(name="get_refund_policy"),
        ToolWords(name="issueRefund"),
    )
    assert bound("At most two refunds.", tools)[0][1] == ("issueRefund",)


def test_many_mails_are_a_number_where_an_argument_counts_them_and_calls_where_none_does() -> None:
    (draft,) = parse("Send at most 5 emails.", now=NOW)
    one = bind(draft, (ToolWords(name="send_email"),), author="user", id="u1")
    many = bind(draft, (ToolWords(name="send_email", meanings={"n": "quantity:emails"}),), author="user", id="u1")
    assert dict(one.check or {}) == {"op": "count", "max": 5, "per": "session"}
    assert dict(many.check or {}) == {"op": "le", "number": "5", "unit": "emails"}


def test_what_was_left_out_is_nothing_that_a_list_of_refusals_names() -> None:
    def on_missing(text: str) -> str:
        (draft,) = parse(text, now=NOW)
        return bind(draft, TOOLS, author="user", id="u1").on_missing

    assert [on_missing(one) for one in ("Don't contact Bob.", "Only use addresses I gave you.")] == ["allow", "allow"]
    assert [on_missing(one) for one in ("Never touch /etc.", "Only write under /srv.")] == ["deny", "deny"]


def test_brackets_are_those_of_the_sentence_or_else_of_the_message_before() -> None:
    def names(text: str, before: str = "") -> object:
        drafts = parse(text, now=NOW, before=before)
        return [draft.check and draft.check["of"] for draft in drafts]

    acme = {"op": "glob", "like": ("*Acme*", "*Globex*")}
    assert names("Hooli (Acme, Globex): none of those in brackets.") == [acme]
    assert names("None of those in brackets.", before="Hooli (Acme and Globex).") == [acme]
    assert names("None of those in brackets.", before="“Hooli (Acme, Globex)”, it says.") == []
    assert names("None of those in brackets.") == []


def test_a_rule_of_the_developer_may_ask_and_end_too() -> None:
    asks = parse_rule("退款前必须经人同意", now=NOW)
    assert (asks.severity, dict(asks.check or {})) == ("confirm", {"op": "forbid"})
    ends = parse_rule("no refunds until 2026-07-01", now=NOW)
    assert (ends.until, dict(ends.check or {})) == ("2026-07-01", {"op": "forbid"})
