"""How people really put it: in a hurry, politely, in a roundabout way, two things at once. English and Chinese."""

from __future__ import annotations

from typing import Any

import pytest
from bench.rules.cases import NOW, load_tools

from backstay.boundary.text import ToolWords, bind, parse
from backstay.boundary.text.chinese_turns import turned as turned_zh
from backstay.boundary.text.english_turns import turned
from backstay.boundary.text.spelling import respelled

TOOLS = load_tools("develop")
READS = {tool.name for tool in TOOLS if tool.risk == "read"}
FILES = ["delete_file", "erase_photo"]


def enforced(text: str, tools: tuple[ToolWords, ...] = TOOLS) -> list[tuple[Any, ...]]:
    """Every rule of a message: its check, whom it reaches by name, or else by meaning, and what else was said."""
    locale = "zh" if any("\u4e00" <= char <= "\u9fff" for char in text) else "en"
    made = [bind(draft, tools, author="user", id="u1") for draft in parse(text, locale=locale, now=NOW, tools=tools)]
    return [
        (dict(one.check), sorted(one.tools) or one.bind.get("meaning"), *said(one.severity, one.until))
        for one in made
        if one.check is not None
    ]


def said(severity: str, until: str | None) -> tuple[str, ...]:
    return tuple(filter(None, ("asks" if severity == "confirm" else "", until)))


def window(**ends: Any) -> tuple[Any, ...]:
    return {"op": "window", **{name.rstrip("_"): end for name, end in ends.items()}}, "window"


def at_most(euros: str, *tools: str, op: str = "le", currency: str = "EUR") -> tuple[Any, ...]:
    return {"op": op, "money": euros, "currency": currency}, sorted(tools) or "money"


def in_all(euros: str, *tools: str, per: str = "session") -> tuple[Any, ...]:
    return {"op": "sum", "max": euros, "money": "EUR", "per": per}, sorted(tools) or "money"


def never(*tools: str) -> tuple[Any, ...]:
    return {"op": "forbid"}, sorted(tools)


def times(most: int, tool: str, per: str = "session") -> tuple[Any, ...]:
    return {"op": "count", "max": most, "per": per}, [tool]


def outside(*folders: str, of: tuple[str, ...] = ()) -> tuple[Any, ...]:
    return {"op": "not", "of": {"op": "path", "under": folders}}, sorted(of) or "path"


def within(folder: str, *tools: str) -> tuple[Any, ...]:
    return {"op": "path", "under": (folder,)}, sorted(tools) or "path"


def not_named(name: str, *tools: str) -> tuple[Any, ...]:
    return {"op": "not", "of": {"op": "glob", "like": (f"*{name}*",)}}, sorted(tools)


WRITES = sorted({tool.name for tool in TOOLS} - READS)
CHANGES = ("delete_file", "erase_photo", "export_sheet", "write_file")
REACHING = ("notify_team", "send_email")

SAID: list[tuple[str, list[tuple[Any, ...]]]] = [
    # windows
    ("dont go further back than 30 days", [window(days=30)]),
    ("nothing older then 10 days pls", [window(days=10)]),
    ("The last 14 days will do.", [window(days=14)]),
    ("Two weeks back at most.", [window(days=14)]),
    ("Anything before March 2026 is irrelevant.", [window(from_="2026-03-01")]),
    ("Forget everything before 2026-01-01.", [window(from_="2026-01-01")]),
    ("Anything older than a year can be ignored.", [window(months=12)]),
    ("Yesterday only.", [window(from_="2026-06-14", to="2026-06-14")]),
    ("Just this week.", [window(from_="2026-06-15", to="2026-06-21")]),
    ("The last 7 days, nothing else.", [window(days=7)]),
    ("最多查两周内的", [window(days=14)]),
    ("半年以前的就别看了", [window(months=6)]),
    ("往前最多翻90天", [window(days=90)]),
    ("最远查到2026年3月", [window(from_="2026-03-01")]),
    ("查最近7天，别的不要", [window(days=7)]),
    ("只看昨天的", [window(from_="2026-06-14", to="2026-06-14")]),
    # money
    ("keep it under 50 bucks each", [at_most("50", op="lt", currency="USD")]),
    ("Under no circumstances pay more than 1000 EUR.", [at_most("1000")]),
    ("I won't pay more than 60 EUR.", [at_most("60")]),
    ("I'd rather not spend more than 60 EUR.", [at_most("60")]),
    ("Try not to exceed 250 EUR overall.", [in_all("250")]),
    ("You've got 200 euros max.", [at_most("200")]),
    ("Don't buy anything that costs more than 80 EUR.", [at_most("80", "place_order")]),
    ("Fine by me as long as it's under 50 EUR.", [at_most("50", op="lt")]),
    ("dont transfer more then 200 euro", [at_most("200", "transfer_money")]),
    ("单笔别超500欧", [at_most("500")]),
    ("一共不要超过1000欧元", [in_all("1000")]),
    ("随便买，别超过80欧就行", [at_most("80")]),
    ("50欧元以上的退款不要做", [at_most("50", "refund_order")]),
    ("不能比80欧贵", [at_most("80")]),
    # what is forbidden
    ("read-only please", [never(*WRITES)]),
    ("Look but don't touch.", [never(*WRITES)]),
    ("Don't change anything.", [never(*WRITES)]),
    ("只看不改", [never(*WRITES)]),
    ("看看就行，别改", [never(*WRITES)]),
    ("I'd rather you didn't send any emails.", [never("send_email")]),
    ("Would you mind not sending emails?", [never("send_email")]),
    ("Be careful not to delete files.", [never("delete_file")]),
    ("Don't even think about deleting files.", [never("delete_file")]),
    ("Stop sending emails.", [never("send_email")]),
    ("Absolutely no refunds.", [never("refund_order")]),
    ("Refunds are off the table.", [never("refund_order")]),
    ("Files must not be deleted.", [never("delete_file")]),
    ("Nothing gets deleted.", [never(*FILES)]),
    ("Don't issue any refunds.", [never("refund_order")]),
    ("You have no permission to delete files.", [never("delete_file")]),
    ("Anything goes except refunds.", [never("refund_order")]),
    ("Please do it without run_command.", [never("run_command")]),
    ("Never use the run_command tool.", [never("run_command")]),
    ("Don't do anything except search orders.", [never(*({tool.name for tool in TOOLS} - {"search_orders"}))]),
    ("邮件一封都别发", [never("send_email")]),
    ("我不希望你发邮件", [never("send_email")]),
    ("先别退款", [never("refund_order")]),
    ("转账就免了", [never("transfer_money")]),
    ("不要进行任何退款", [never("refund_order")]),
    ("谁也别联系", [never(*REACHING)]),
    ("禁用 run_command", [never("run_command")]),
    # places and people
    ("Don't you dare touch /etc.", [outside("/etc")]),
    ("Steer clear of /srv/prod.", [outside("/srv/prod")]),
    ("leave /srv/prod the way it is", [outside("/srv/prod", of=CHANGES)]),
    ("Don't leave /srv/app.", [within("/srv/app")]),
    ("Everything outside /srv/app is off limits.", [within("/srv/app")]),
    ("Save files in /srv/out and nowhere else.", [within("/srv/out", "write_file")]),
    (
        "Never open .pem files.",
        [({"op": "not", "of": {"op": "glob", "like": ("**/*.pem",)}}, ["read_file", "view_log"])],
    ),
    ("Leave Bob alone.", [not_named("Bob", *REACHING)]),
    ("No emails to gmail.com.", [({"op": "not", "of": {"op": "host", "in": ("gmail.com",)}}, ["send_email"])]),
    ("别出 /srv/app", [within("/srv/app")]),
    ("除了 /srv/out，别的地方都不许写", [within("/srv/out", "write_file")]),
    (
        "别上 facebook.com",
        [({"op": "not", "of": {"op": "host", "in": ("facebook.com",)}}, ["crawl_site", "fetch_page"])],
    ),
    ("别发邮件给王经理", [not_named("王经理", "send_email")]),
    ("除了张三谁都不要联系", [({"op": "in", "values": ("张三",)}, sorted(REACHING))]),
    ("别买华星的", [not_named("华星", "place_order")]),
    # asking
    ("Let me know before you refund anything.", [(*never("refund_order"), "asks")]),
    ("Every refund needs my OK.", [(*never("refund_order"), "asks")]),
    ("If you want to delete a file, ask me first.", [(*never("delete_file"), "asks")]),
    ("Any transfer has to go through me.", [(*never("transfer_money"), "asks")]),
    ("Don't send any mail until I say so.", [(*never("send_email"), "asks")]),
    ("Refunds over 50 EUR need my approval.", [(*at_most("50", "refund_order"), "asks")]),
    ("Refunds up to 50 EUR are fine, above that ask me.", [(*at_most("50", "refund_order"), "asks")]),
    ("转账前跟我说一下", [(*never("transfer_money"), "asks")]),
    ("如果要删文件，先问我", [(*never("delete_file"), "asks")]),
    ("50欧元以上的退款要我批准", [(*at_most("50", "refund_order"), "asks")]),
    ("等我同意再发邮件", [(*never("send_email"), "asks")]),
    ("未经允许不得转账", [(*never("transfer_money"), "asks")]),
    # until when
    ("Hold off on refunds until Friday.", [(*never("refund_order"), "2026-06-19")]),
    ("No refunds before Friday.", [(*never("refund_order"), "2026-06-18")]),
    ("Don't delete anything until 1 July 2026.", [(*never(*FILES), "2026-07-01")]),
    ("月底前不要转账", [(*never("transfer_money"), "2026-06-30")]),
    ("下周一之前别发邮件", [(*never("send_email"), "2026-06-22")]),
    # in which order, how often
    ("Don't order without checking the stock first.", [({"op": "before", "tools": ("check_stock",)}, ["place_order"])]),
    ("Look up the order before refunding it.", [({"op": "before", "tools": ("search_orders",)}, ["refund_order"])]),
    ("没查库存不要下单", [({"op": "before", "tools": ("check_stock",)}, ["place_order"])]),
    ("Three emails a day, max.", [times(3, "send_email", "day")]),
    ("Refund at most twice.", [times(2, "refund_order")]),
    ("Only one refund.", [times(1, "refund_order")]),
    ("只许发一封邮件", [times(1, "send_email")]),
    # two things at once
    (
        "Do your thing but keep off /srv/prod and don't mail Bob.",
        [outside("/srv/prod"), not_named("Bob", "send_email")],
    ),
    (
        "Hey, could you check my orders and please don't refund anything over 20 EUR?",
        [at_most("20", "refund_order")],
    ),
    ("帮我查一下订单，只看最近两周的，退款别超过20欧", [window(days=14), at_most("20", "refund_order")]),
    ("每天最多转账两次，每次不超过100欧", [times(2, "transfer_money", "day"), at_most("100", "transfer_money")]),
]


@pytest.mark.parametrize(("text", "rules"), SAID, ids=[text for text, _ in SAID])
def test_what_people_mean_is_enforced(text: str, rules: list[tuple[Any, ...]]) -> None:
    assert enforced(text) == rules


LIMITS_NOTHING = [
    # questions and guesses
    "Don't you think we should email Bob?",
    "Is /etc off limits?",
    "Do refunds need my approval?",
    "Can you not find the file?",
    "最近30天够吗",
    "应该不会超过50欧元",
    "Hopefully no more than 50 EUR.",
    # what others say, and texts that are being dealt with
    "My boss won't pay more than 50 EUR.",
    "老板叫我不要退款",
    "请张三不要碰 /etc",
    "Translate: don't delete any files.",
    "Translate to German: no refunds until Friday.",
    "Summarise this:\nNever delete files.\nAlways ask first.",
    "Put this on the page: never touch /etc.",
    "把这句翻成英文：不要删文件",
    "For example: never delete files.",
    # stories and facts
    "Only yesterday I sent it.",
    "Files get deleted after 30 days.",
    "The files must be deleted.",
    "Not a single refund arrived.",
    "No one emails Bob.",
    "I avoid sending emails.",
    "The file is read-only.",
    "Last 30 days is enough for them.",
    "只发了一封邮件",
    "退款前查过订单",
    "文件一个都没删",
    "最近三天就够呛",
    "50欧元以上的不算贵",
    # what loosens, and what is negated twice
    "You don't have to ask me before you send mail.",
    "Don't just look at the last 30 days.",
    "别只看最近30天的",
    "不要只看最近30天",
    "发邮件不用问我",
    "不用限制在500欧元以内。",
    "超过50欧元也没关系",
    "Don't stop sending emails.",
    "不得不退款",
    # orders that describe what is to be done
    "Refund all orders under 50 EUR.",
    "Delete files older than 30 days.",
    "Send two emails.",
    "Let me see all refunds.",
    "Run it by Bob first.",
    "Just use search_orders.",
    "把超过一年的文件归档",
    "直接寄吧，不到20公斤",
    "告诉她孩子带的零花钱不要超过50欧元",
    "分别发邮件给张三和李四",
    # less than an action
    "Don't email me.",
    "Don't restart the server without telling me.",
    "The order must not be cancelled.",
    "On weekends, no refunds.",
    "Over the weekend, no refunds.",
]


@pytest.mark.parametrize("text", LIMITS_NOTHING)
def test_what_limits_nothing_is_not_enforced(text: str) -> None:
    assert enforced(text) == []


def test_a_limit_of_each_is_none_of_the_day_before_it() -> None:
    (_, each) = enforced("At most two refunds a day, and no more than 50 EUR each.")
    assert each == at_most("50", "refund_order")


def test_what_is_paid_in_compensation_is_not_what_is_paid() -> None:
    assert enforced("处理一下投诉，每笔赔付别超25英镑") == [at_most("25", "compensate", currency="GBP")]


SHOP = (
    ToolWords(name="pay_bonus", description="Pay somebody a bonus.", risk="high", meanings={"amount": "money:EUR"}),
    ToolWords(name="rent_hall", description="Rent a hall.", risk="high", meanings={"price": "money:EUR"}),
    ToolWords(name="sort_boxes", description="Sort boxes.", risk="write", meanings={"boxes": "quantity:items"}),
    ToolWords(name="restart_server", description="Restart a server.", risk="high"),
)


@pytest.mark.parametrize("text", ["No bonus above 300 EUR.", "Bonuses: at most 300 EUR each.", "每笔奖金不超过300欧元"])
def test_a_limit_on_an_amount_narrows_to_the_tool_whose_name_speaks_of_the_thing(text: str) -> None:
    assert enforced(text, SHOP) == [at_most("300", "pay_bonus")]


@pytest.mark.parametrize(
    "text", ["At most 80 EUR per bonus and 300 EUR in total.", "每笔奖金不超过80欧元，总共不超过300欧元"]
)
def test_a_second_limit_is_about_what_the_first_is_about(text: str) -> None:
    assert enforced(text, SHOP) == [at_most("80", "pay_bonus"), in_all("300", "pay_bonus")]


def test_a_number_of_an_action_without_such_an_argument_counts_its_calls() -> None:
    assert enforced("最多重启3台", SHOP) == [times(3, "restart_server")]
    assert enforced("每天批假别超过5个", SHOP) == []


def test_slips_of_the_pen_are_put_right_and_names_are_not() -> None:
    assert (
        respelled("dont delte it, pls: more then 3, w/o asking")
        == "don't delete it, please: more than 3, without asking"
    )
    assert respelled("/srv/dont/pls.txt u.s. dont.py") == "/srv/dont/pls.txt u.s. dont.py"


def test_a_turn_of_phrase_says_no_more_than_what_it_becomes() -> None:
    assert turned("the order must not be cancelled") == "don't cancelled the order"
    assert turned("smoking is forbidden here") == "smoking is forbidden here"
    assert turned("x" * 601) == "x" * 601
    assert turned_zh("邮件一封都别发") == "邮件不要发"
    assert turned_zh("文件一个都没删") == "文件一个都没删"
