"""Words that speak of high impact: a tool whose name or description has one must say what its risk is.

The list only makes the developer decide; it never classifies by itself. Source: SPEC T13.
"""

from __future__ import annotations

import re

ENGLISH = (
    "delete", "remove", "erase", "purge", "wipe", "drop", "destroy", "truncate", "unlink", "uninstall", "terminate",
    "revoke", "cancel", "refund", "pay", "payment", "payout", "transfer", "charge", "purchase", "buy", "order placed",
    "withdraw", "wire", "invoice", "bulk", "mass", "overwrite", "reset", "format", "shutdown", "kill", "deploy",
    "irreversible", "cannot be undone",
)  # fmt: skip
CHINESE = (
    "删除", "移除", "清空", "清除", "销毁", "抹掉", "卸载", "终止", "撤销", "吊销", "取消", "退款", "付款", "支付", "转账",
    "汇款", "扣款", "购买", "下单", "提现", "开票", "批量", "群发", "覆盖", "重置", "格式化", "关机", "部署", "不可撤销",
    "无法恢复", "不可恢复",
)  # fmt: skip

_ENGLISH = re.compile(r"(?<![a-z])(?:" + "|".join(ENGLISH) + r")(?:s|d|ed|ing|es|al|ment)?(?![a-z])", re.IGNORECASE)
_CHINESE = re.compile("|".join(CHINESE))
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def danger_in(name: str, description: str) -> str | None:
    """Return the first word of high impact in a tool's name or in the first sentence of its description, or None."""
    words = _CAMEL.sub(" ", name).replace("_", " ").replace("-", " ")
    for text in (words, re.split(r"(?<=[.!?。！？])\s|\n\n", description.strip(), maxsplit=1)[0]):
        found = _ENGLISH.search(text) or _CHINESE.search(text)
        if found:
            return found.group()
    return None
