"""Scope words: what a limit is about, English and Chinese; `acts` knows the tools that they name.

The table is closed and holds actions alone. A noun such as `orders` is left out on purpose: a rule about the last 30
days of orders must also reach the tool that is called `sales_report`. Source: SPEC B8; DESIGN 8.2.
"""

from __future__ import annotations

import re

from backstay.core.patterns import Pattern

_GROUPS: tuple[str, ...] = (
    "refund refunds refunding refunded reimburse reimbursement 退款 退钱 退还 退费 退",
    "delete deletes deleting deletion deletions remove removing erase 删除 删掉 删 移除",
    "cancel cancels cancelling canceling cancellation cancellations 取消",
    "email emails e-mail mail mails mailing 邮件 电子邮件 发邮件",
    "transfer transfers transferring wire 转账 转帐 汇款",
    "pay pays paying payment payments payout payouts 付款 支付 付 缴费",
    "buy buying purchase purchases purchasing 购买 采购 买",
    "book books booking bookings reserve reservation 预订 预定",
    "send sends sending 发送 寄送 寄",
    "message messages messaging sms 短信 消息",
    "discount discounts 折扣 打折 优惠",
    "invoice invoices invoicing 发票 开票",
    "ship shipping shipment shipments 发货",
    "charge charges charging 扣款 收费",
    "withdraw withdrawal withdrawals 提现 取款",
    "donate donation donations 捐款 捐赠",
    "publish publishing post posting 发布 发表",
    "deploy deploys deploying deployment 部署 上线",
)
_GROUP_OF = {word: group for group in _GROUPS for word in group.split()}
_GROUP_OF |= dict.fromkeys(("pay back", "paying back", "paid back", "pays back"), _GROUPS[0])
_LATIN = sorted((word for word in _GROUP_OF if word.isascii()), key=len, reverse=True)
_HAN = sorted((word for word in _GROUP_OF if not word.isascii()), key=len, reverse=True)
_SCOPE = Pattern(
    rf"(?<![a-z_])(?:{'|'.join(map(re.escape, _LATIN))})(?![a-z_])|(?:{'|'.join(_HAN)})"
    r"(?<!退(?=[货出回]))(?<!赔付)(?<!补付)(?<!买(?=家))"
)


def set_of(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


def scope_words(clause: str) -> tuple[str, ...]:
    """The scope words of a clause in their order, one for each thing named: `退款`, `refund` for `refunds`."""
    found: dict[str, str] = {}
    for match in _SCOPE.finditer(clause):
        group = _GROUP_OF[match[0]]
        found.setdefault(group, group.split()[0] if match[0].isascii() else match[0])
    return tuple(found.values())
