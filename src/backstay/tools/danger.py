"""Words that speak of high impact: a tool whose name or description has one must say what its risk is.

The list only makes the developer decide; it never classifies by itself. It is meant to be answered, not to be got used
to, so a word that more often means something harmless counts only beside what makes it harmful ("format a disk", not
"ISO format"), and what a tool says it does not do is left out ("never deletes"). Source: SPEC T13.
"""

from __future__ import annotations

import re
from functools import cache

ENGLISH = (
    "delet(?:e|es|ed|ing|ion|ions)", "remov(?:e|es|ed|ing|al)", "eras(?:e|es|ed|ing|ure)", "purg(?:e|es|ed|ing)",
    "wip(?:e|es|ed|ing)", "drop(?:s|ped|ping)?(?![- ]?(?:down|shadow|off|box|zone))",
    "destr(?:oy|oys|oyed|oying|uction)", "truncat(?:e|es|ed|ing|ion)", "unlink(?:s|ed|ing)?",
    "uninstall(?:s|ed|ing)?", "terminat(?:e|es|ed|ing|ion)", "revo(?:ke|kes|ked|king|cation)",
    "cancel(?:s|l?ed|l?ing|lation)?", "refund(?:s|ed|ing)?", "pa(?:y|ys|id|ying|yment|yments|yout|youts)",
    "transfer(?:s|red|ring)?", "charg(?:e|es|ed|ing)", "purchas(?:e|es|ed|ing)", "buy(?:s|ing)?",
    "plac(?:e|es|ing)(?: an?| the)? orders?", "orders? placed", "withdraw(?:s|n|ing|al|als)?",
    "wir(?:e|es|ing) (?:money|funds|transfers?)", "invoic(?:e|es|ed|ing)", "bulk",
    "mass[- ](?:e?-?mail|message|update|edit|change|send|import)s?", "overwrit(?:e|es|ten|ing)", "reset(?:s|ting)?",
    "format(?:s|ted|ting)?(?: an?| the)? (?:hard )?(?:disk|drive|volume|partition|card)s?",
    "shut(?:s|ting)?[- ]?down", "kill(?:s|ed|ing)?", "deploy(?:s|ed|ing|ment|ments)?", "irreversibl[ey]",
    "can(?:not|'t| not) be undone",
)  # fmt: skip
CHINESE = (
    "删[除掉去了]", "移除", "清空", "清除", "销毁", "抹掉", "卸载", "终止", "撤销", "吊销", "注销", "作废", "取消",
    "退款", "退钱", "付款", "付钱", "支付", "转账", "汇款", "打款", "扣款", "购买", "下单", "提现", "开票", "批量",
    "群发", "覆盖(?![率面范])", "重置", r"格式化(?=\s*(?:磁盘|硬盘|分区|U盘))", "关机", "部署",
    "(?:不可|无法|不能)(?:撤销|恢复|逆)",
)  # fmt: skip

_DENIED = (
    r"(?i)\b(?:not|cannot|never|without|nothing is|(?:do|does|ca|wo)n't)(?: be)? (?:[a-z]+, )?(?:[a-z]+ (?:or|and) )?$"
    r"|(?:不会|从不|绝不|无需|不能|并不|不)$"
)
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    english = r"(?<![a-z])(?:" + "|".join(ENGLISH) + r")(?![a-z])"
    return re.compile(english, re.IGNORECASE), re.compile("|".join(CHINESE))


def danger_in(name: str, description: str) -> str | None:
    """Return the first word of high impact in a tool's name or in its description, or None."""
    words = re.sub(_CAMEL, " ", name).replace("_", " ").replace("-", " ")
    for text in (words, " ".join(description.split())):
        for pattern in _patterns():
            for found in pattern.finditer(text):
                if not re.search(_DENIED, text[max(0, found.start() - 40) : found.start()]):
                    return found.group()
    return None
