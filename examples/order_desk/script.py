"""The desk's brain without a model: it reads the last user message and the tool results, and never makes up a fact.

English and Chinese. Whatever it says of orders comes out of a tool's result in the request; what a tool or the boundary
refused is repeated with the reason it was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from backstay import RunContext, ToolResult
from backstay.core.messages import Message, ModelRequest
from backstay.models import Line, call
from examples.order_desk.wishes import Wish, read_wish

_NOTICE = re.compile(r'<notice[^>]*state="(\w+)"[^>]*>(.*)</notice>', re.DOTALL)
_NOTICES = {
    "done": ("Done: {}", "已处理：{}"),
    "failed": ("That did not work. {}", "没有成功。{}"),
    "refused": ("A person has refused it. {}", "人工已拒绝。{}"),
    "expired": ("Nobody answered in time. {}", "没有人及时答复。{}"),
    "stale": ("It was not carried out. {}", "没有执行。{}"),
    "in_doubt": ("I do not know whether it happened. {}", "不确定是否已经发生。{}"),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What has happened since the user last spoke."""

    wish: Wish
    results: Mapping[str, ToolResult]
    """Tool → its last result of this turn."""
    notices: tuple[str, ...]

    def say(self, english: str, chinese: str) -> str:
        """The words in the user's language."""
        return chinese if self.wish.is_chinese else english

    def refusal(self, result: ToolResult) -> str:
        """What was refused, with the reason as it was given."""
        if result.code == "constraint.broken":
            return self.say(
                f"I may not do that, so nothing was looked up or changed. {result.summary}",
                f"规则不允许，所以没有查询也没有改动任何数据。{result.summary}",
            )
        return self.say(f"That did not work: {result.summary}", f"没有成功：{result.summary}")


def desk_script(request: ModelRequest, ctx: RunContext[None]) -> Line:
    """Reply like a simple, honest clerk. A customer who names nobody means themselves."""
    turn = _read(request, ctx.principal.id if ctx.principal.kind == "customer" else "")
    if turn.notices:
        return "\n".join(_notice(turn, text) for text in turn.notices)
    return _ANSWERS[turn.wish.kind](turn)


def _read(request: ModelRequest, customer: str) -> Turn:
    messages = request.messages
    last = max((n for n, one in enumerate(messages) if one.role == "user"), default=0)
    said = [one.text for one in messages[: last + 1] if one.role == "user"]
    since = messages[last + 1 :]
    results = {part.name: part.result for one in since for part in one.returns}
    wish = read_wish(said)
    if customer and not wish.customer:
        wish = replace(wish, customer=customer)
    return Turn(wish, results, tuple(_notices_after_words(since)))


def _notices_after_words(since: tuple[Message, ...]) -> list[str]:
    """Notices that no answer has followed yet."""
    waiting: list[str] = []
    for message in since:
        if message.role == "notice" and _NOTICE.search(message.text):
            waiting.append(message.text)
        elif message.role == "assistant":
            waiting.clear()
    return waiting


def _notice(turn: Turn, text: str) -> str:
    found = _NOTICE.search(text)
    assert found is not None
    state, told = found.groups()
    state = "failed" if state == "done" and " was approved and failed: " in told else state
    english, chinese = _NOTICES.get(state, ("{}", "{}"))
    return turn.say(english, chinese).format(told)


def _show_order(turn: Turn) -> Line:
    result = turn.results.get("find_order")
    if result is None:
        return call("find_order", order_id=turn.wish.order) if turn.wish.order else _which_order(turn)
    if not result.ok:
        return turn.refusal(result)
    return _order_line(turn, _object(result))


def _order_line(turn: Turn, order: Mapping[str, Any]) -> str:
    back = Decimal(str(order.get("refunded", "0")))
    english = "{id}: {item}, {amount} {currency}, placed by {customer} on {placed_on}, {status}.".format(**order)
    chinese = "订单 {id}：{item}，{amount} {currency}，{customer} 于 {placed_on} 下单，状态 {status}。".format(**order)
    if back:
        return turn.say(f"Order {english} {back} paid back so far.", f"{chinese}已退款 {back}。")
    return turn.say(f"Order {english}", chinese)


def _list(turn: Turn) -> Line:
    wish, result = turn.wish, turn.results.get("list_orders")
    if result is None:
        if not wish.customer:
            return turn.say(
                "Whose orders? Give me a name or a customer number.", "要查谁的订单？请给我姓名或客户编号。"
            )
        return call("list_orders", {"customer": wish.customer, **({"days": wish.days} if wish.days else {})})
    if not result.ok:
        return turn.refusal(result)
    orders = result.data if isinstance(result.data, tuple | list) else ()
    shown = "- {id} · {placed_on} · {item} · {amount} {currency} · {status}"
    lines = [shown.format_map(one) for one in orders if isinstance(one, Mapping)]
    head = turn.say(f"{wish.customer}: {len(orders)} orders", f"{wish.customer}：{len(orders)} 个订单")
    return "\n".join([head, *lines])


def _track(turn: Turn) -> Line:
    result = turn.results.get("track_parcel")
    if result is None:
        return call("track_parcel", order_id=turn.wish.order) if turn.wish.order else _which_order(turn)
    if not result.ok:
        return turn.refusal(result)
    found = _object(result)
    head = turn.say(
        f"Order {found['order_id']} is {found['status']}.", f"订单 {found['order_id']} 状态：{found['status']}。"
    )
    lines = ["- {at} · {place} · {event}".format(**one) for one in found["events"]]
    return "\n".join([head, *(lines or [turn.say("The carrier has reported nothing yet.", "承运商还没有任何记录。")])])


def _note(turn: Turn) -> Line:
    wish, result = turn.wish, turn.results.get("add_note")
    if result is None:
        if not wish.order:
            return _which_order(turn)
        if not wish.note:
            return turn.say("What shall I write? Put it after a colon.", "要记什么？请写在冒号后面。")
        return call("add_note", order_id=wish.order, text=wish.note)
    if not result.ok:
        return turn.refusal(result)
    return turn.say(f"Noted on order {wish.order}: {wish.note}", f"已在订单 {wish.order} 上记下：{wish.note}")


def _refund(turn: Turn) -> Line:
    wish, result = turn.wish, turn.results.get("propose_action")
    if not wish.order:
        return _which_order(turn)
    if result is not None:
        return _proposed(turn, result, turn.say("The refund", "退款"))
    if wish.amount is not None:
        return _propose_refund(turn, wish.amount)
    found = turn.results.get("find_order")
    if found is None:
        return call("find_order", order_id=wish.order)
    if not found.ok:
        return turn.refusal(found)
    order = _object(found)
    left = Decimal(order["amount"]) - Decimal(order["refunded"])
    if left <= 0:
        return turn.say(f"Order {wish.order} has been paid back in full already.", f"订单 {wish.order} 已全额退款。")
    return _propose_refund(turn, left)


def _propose_refund(turn: Turn, amount: Decimal) -> Line:
    arguments = {"order_id": turn.wish.order, "amount": str(amount)}
    return call("propose_action", action={"name": "refund", "arguments": arguments}, reason=turn.wish.text)


def _cancel(turn: Turn) -> Line:
    result = turn.results.get("propose_action")
    if not turn.wish.order:
        return _which_order(turn)
    if result is not None:
        return _proposed(turn, result, turn.say("The cancellation", "取消"))
    action = {"name": "cancel_order", "arguments": {"order_id": turn.wish.order}}
    return call("propose_action", action=action, reason=turn.wish.text)


def _proposed(turn: Turn, result: ToolResult, what: str) -> str:
    if result.code != "action.waiting":
        return turn.refusal(result)
    action = _object(result)["action"]
    return turn.say(
        f"{what} for order {turn.wish.order} is proposed as {action}. A person has to decide; it has not happened yet.",
        f"{what}已提交（订单 {turn.wish.order}，编号 {action}），需要人工确认，目前还没有执行。",
    )


def _help(turn: Turn) -> Line:
    return turn.say(
        "I can look up an order, list a customer's orders, track a parcel, keep a note, and propose a refund or a"
        " cancellation. Name an order (1001) or a customer.",
        "我可以查订单、列出客户的订单、查物流、记备注，也可以提交退款或取消申请。请给我订单号（1001）或客户姓名。",
    )


def _which_order(turn: Turn) -> str:
    return turn.say("Which order? Give me its number.", "是哪个订单？请给我订单号。")


def _object(result: ToolResult) -> Mapping[str, Any]:
    return result.data if isinstance(result.data, Mapping) else {}


_ANSWERS: Mapping[str, Callable[[Turn], Line]] = {
    "refund": _refund,
    "cancel": _cancel,
    "note": _note,
    "track": _track,
    "list": _list,
    "find": _show_order,
    "help": _help,
}
