"""Several wishes in one message: served one after the other, or said not to be done. Both languages."""

from __future__ import annotations

import pytest
from bench.embedded.cases import load_tools

from backstay.core.messages import ToolResult
from models.embedded.talk import Talk

TOOLS = load_tools("develop")
DESK = tuple(
    one for one in TOOLS if one.name in ("find_order", "list_orders", "track_parcel", "add_note", "propose_action")
)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Cancel 1004 and tell me where the parcel of 1001 is", ["cancel_order 1004", "track_parcel 1001"]),
        (
            "Where is the parcel of order 1001 and what is the status of order 1002?",
            ["track_parcel 1001", "find_order 1002"],
        ),
        ("Refund 20 EUR of order 1002 and then cancel order 1004", ["refund 1002", "cancel_order 1004"]),
        ("Refund order 1001 and cancel order 1004", ["find_order 1001", "refund 1001", "cancel_order 1004"]),
        ("Cancel order 1004. Also add a note to order 1001: customer called", ["cancel_order 1004", "add_note 1001"]),
        ("Track orders 1001 and 1003", ["track_parcel 1001", "track_parcel 1003"]),
        ("Where is the parcel of order 1001? Then refund 10 EUR of it", ["track_parcel 1001", "refund 1001"]),
        ("查一下1001，再把1003退款", ["find_order 1001", "find_order 1003", "refund 1003"]),
        ("取消1004，然后告诉我1001的包裹到哪了", ["cancel_order 1004", "track_parcel 1001"]),
        ("取消订单1004，另外给1001加备注：客户来电", ["cancel_order 1004", "add_note 1001"]),
    ],
)
def test_wishes_are_served_one_after_the_other(text: str, calls: list[str]) -> None:
    talk = Talk(DESK)
    talk.say(text)
    assert [f"{name} {args['order_id']}" for name, args in talk.calls] == calls


@pytest.mark.parametrize(
    "text",
    [
        "Add butter, cheese and tomatoes to the shopping list",
        "Add call the bank and clean the car to my todo list",
        "We need onions and olive oil, put them on the list",
        "Find a recipe with chicken, rice and ginger",
        "Send Maria a message: check the files and cancel the meeting",
        "把鸡蛋、面包和西红柿加到购物清单",
        "给小王发消息：先查订单，然后取消会议",
        "Refund 20 EUR of order 1001, it never came",
    ],
)
def test_one_wish_is_not_cut(text: str) -> None:
    talk = Talk(TOOLS)
    said = talk.say(text)
    assert len(talk.calls) == 1
    assert "Not done" not in said
    assert "没有做" not in said


@pytest.mark.parametrize(
    ("text", "name", "left"),
    [
        ("Cancel order 1004 and sing me a song", "cancel_order", "sing me a song"),
        ("查一下订单1001，然后给我讲个笑话", "find_order", "给我讲个笑话"),
        ("Where is order 1001? If it has arrived, refund it", "find_order", "refund it"),
        ("查一下订单1001，如果没到，再把1001退款", "find_order", "把1001退款"),
    ],
)
def test_what_is_not_done_is_said(text: str, name: str, left: str) -> None:
    talk = Talk(TOOLS)
    said = talk.say(text)
    assert [called for called, _ in talk.calls] == [name]
    assert left in said
    assert "Not done" in said or "没有做" in said


def test_a_second_wish_is_served_although_the_first_was_refused() -> None:
    refused = ToolResult(ok=False, summary="no such order", error="x", code="tool.failed")
    talk = Talk(TOOLS, results={"cancel_order": refused})
    said = talk.say("Cancel order 1004 and show me order 1001")
    assert [name for name, _ in talk.calls] == ["cancel_order", "find_order"]
    assert "no such order" in said
    assert "find_order ok" in said


def test_an_answer_goes_to_the_wish_that_lacked_it() -> None:
    talk = Talk(TOOLS)
    assert "order id" in talk.say("Cancel my order and tell me where order 1001 is")
    assert talk.calls == []
    talk.say("1004")
    assert [(name, args["order_id"]) for name, args in talk.calls] == [("cancel_order", "1004"), ("find_order", "1001")]


def test_a_second_wish_is_never_a_follow_up_of_the_first_action() -> None:
    talk = Talk(TOOLS)
    talk.say("Cancel 1004 and tell me where 1001 is")
    assert ("cancel_order", {"order_id": "1001"}) not in talk.calls
