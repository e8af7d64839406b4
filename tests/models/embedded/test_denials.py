"""What the user refuses in words is not what is done, in both languages."""

from __future__ import annotations

import pytest
from bench.embedded.cases import load_tools

from backstay.models.embedded.denials import denials_in, is_bare_no
from models.embedded.talk import Talk

TOOLS = load_tools("develop")
ACTS = {"refund", "cancel_order", "add_note", "send_message"}


@pytest.mark.parametrize(
    "text",
    [
        "Don't cancel order 1004",
        "Please do not refund order 1001",
        "I never asked you to cancel order 1004",
        "A refund for order 1001 is not needed",
        "No refund for order 1001 please",
        "Make sure that you don't cancel order 1004",
        "Where is order 1001? Don't refund it yet",
        "Why was order 1004 not cancelled?",
        "Don't add a note to order 1002",
        "不要取消订单1004",
        "订单1001不要退款",
        "1003的退款就不用了",
        "别取消1004",
        "我没有要取消订单1004",
        "请不要给1002退钱",
        "先别退款，查一下1001的物流",
    ],
)
def test_a_refused_act_is_not_done(text: str) -> None:
    talk = Talk(TOOLS)
    said = talk.say(text)
    assert not ACTS & {name for name, _ in talk.calls}
    assert talk.calls or "?" in said or "？" in said


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("Do not cancel order 1004, just tell me where its parcel is", "track_parcel", {"order_id": "1004"}),
        ("Show me the orders of Ann Berg, not the cancelled ones", "list_orders", {"customer": "Ann Berg"}),
        ("Cancel order 1004, not 1005", "cancel_order", {"order_id": "1004"}),
        ("What's the weather in Paris, not Berlin?", "get_weather", {"place": "Paris"}),
        ("Refund 20 EUR of order 1002 instead of cancelling it", "refund", {"order_id": "1002", "amount": 20}),
        ("不用退款，取消订单1004", "cancel_order", {"order_id": "1004"}),
        ("不是1001，是1002，查一下这个订单", "find_order", {"order_id": "1002"}),
        ("列出李雷的订单，不要取消的", "list_orders", {"customer": "李雷"}),
    ],
)
def test_what_is_wanted_beside_a_refusal_is_done(text: str, name: str, args: dict[str, object]) -> None:
    talk = Talk(TOOLS)
    talk.say(text)
    assert talk.calls == [(name, args)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Don't forget to cancel order 1004", "cancel_order"),
        ("Why don't you cancel order 1004?", "cancel_order"),
        ("I don't want order 1033 any more, please cancel it", "cancel_order"),
        ("1007这个订单不想要了，帮我取消吧", "cancel_order"),
        ("能不能取消订单1004？", "cancel_order"),
        ("没收到货，订单1001退款30欧元", "refund"),
        ("Add a note to order 1002: do not ring the bell", "add_note"),
        ("给订单1002加备注：不要按门铃", "add_note"),
        ("Tell Ben that I will not come", "send_message"),
    ],
)
def test_a_not_that_refuses_nothing_changes_nothing(text: str, name: str) -> None:
    talk = Talk(TOOLS)
    talk.say(text)
    assert [called for called, _ in talk.calls] == [name]


@pytest.mark.parametrize("no", ["no", "No, don't", "no thanks", "never mind", "don't cancel it"])
def test_a_no_after_a_proposal_repeats_nothing(no: str) -> None:
    talk = Talk(TOOLS)
    talk.say("Cancel order 1004")
    said = talk.say(no)
    assert talk.calls == []
    assert "cancel order" in said


@pytest.mark.parametrize("no", ["不要", "算了", "不用了", "别取消了"])
def test_a_chinese_no_after_a_proposal_repeats_nothing(no: str) -> None:
    talk = Talk(TOOLS)
    talk.say("取消订单1004")
    assert "没有" in talk.say(no)
    assert talk.calls == []


@pytest.mark.parametrize(
    "text",
    [
        "Was order 1001 refunded?",
        "Has order 1004 been cancelled already?",
        "订单1003退款了吗？",
        "1004号订单取消了没有？",
    ],
)
def test_a_question_proposes_no_action(text: str) -> None:
    talk = Talk(TOOLS)
    talk.say(text)
    assert [name for name, _ in talk.calls] == ["find_order"]


@pytest.mark.parametrize("text", ["特别好", "有没有货", "不过", "Why not?", "not only this", "个别订单"])
def test_words_that_only_look_like_a_refusal(text: str) -> None:
    assert denials_in(text) == ()


def test_a_bare_no_is_told_from_a_wish() -> None:
    assert all(map(is_bare_no, ("no", "No, thank you", "never mind", "不用了，谢谢", "算了")))
    assert not any(map(is_bare_no, ("thanks", "cancel it", "no, cancel it", "谢谢", "不是1001")))
