"""Words that speak of high impact: a tool whose name or description has one must say what its risk is.

The lists only make the developer decide; they never classify by themselves. They are meant to be answered, not to be
got used to. So a word that more often means something harmless counts only beside what makes it harmful ("format a
disk", not "ISO format"), what a tool says it does not do is left out ("never deletes"), and in a tool that only looks
(`get_refund_status`, 查询退款进度) a word counts only where it says what the tool does as well ("and cancels it").
In doubt a word counts: declaring a risk costs one argument. Source: SPEC T13.
"""

from __future__ import annotations

import re
from functools import cache

ENGLISH = (
    "delet(?:e|es|ed|ing|ion|ions)", "remov(?:e|es|ed|ing|al|als)", "eras(?:e|es|ed|ing|ure)", "purg(?:e|es|ed|ing)",
    "wip(?:e|es|ed|ing)", "drop(?:s|ped|ping)?(?![- ]?(?:down|shadow|off|box|zone))", "discard(?:s|ed|ing)?",
    "destr(?:oy|oys|oyed|oying|uction)", "truncat(?:e|es|ed|ing|ion)", "unlink(?:s|ed|ing)?", "rm(?:dir)?",
    "nuk(?:e|es|ed|ing)",
    "(?:clear|empt)(?:s|y|ies|ed|ied|ing|ying)?(?: out)?(?: the| all| an?| my| your)? (?:everything"
    "|database|table|history|inbox|folder|trash|bin|bucket|cart|records?|data|logs?|queue)s?",
    "uninstall(?:s|ed|ing)?", "terminat(?:e|es|ed|ing|ion)", "revo(?:ke|kes|ked|king|cation)",
    "decommission(?:s|ed|ing)?", "deregister(?:s|ed|ing)?", "clos(?:e|es|ed|ing)(?: an?| the)? (?:bank )?accounts?",
    "get(?:s|ting)? rid", "cancel(?:s|l?ed|l?ing|lation|lations)?", "refund(?:s|ed|ing)?",
    "reimburs(?:e|es|ed|ing|ement|ements)", "return(?:s|ed|ing)?(?: the| their)? (?:money|funds|payment)s?",
    "pa(?:y|ys|id|ying|yment|yments|yout|youts)", "disburs(?:e|es|ed|ing|ement|ements)",
    "remit(?:s|ted|ting|tance)?", "transfer(?:s|red|ring)?", "charg(?:e|es|ed|ing)", "debit(?:s|ed|ing)?",
    "top(?:s|ped|ping)?[- ]up", "purchas(?:e|es|ed|ing)", "buy(?:s|ing)?", "sell(?:s|ing)?",
    "donat(?:e|es|ed|ing|ion)", "plac(?:e|es|ing)(?: an?| the)? (?:orders?|bids?|bets?|trades?)", "orders? placed",
    "withdraw(?:s|n|ing|al|als)?", "(?:wir(?:e|es|ing)|send(?:s|ing)?) (?:money|funds|transfers?)",
    "invoic(?:e|es|ed|ing)", "settl(?:e|es|ed|ing)(?: an?| the)? (?:bill|debt|invoice|payment)s?", "bulk",
    "mass[- ](?:e?-?mail|message|update|edit|change|send|import)s?", "broadcast(?:s|ing)?",
    "(?:e-?mail|message|text|notify|notifies|invite|update|change)s? (?:all|every|everyone|everybody)",
    "overwrit(?:e|es|ten|ing)", "reset(?:s|ting)?", "force[- ]push(?:es|ed|ing)?",
    "format(?:s|ted|ting)?(?: an?| the)? (?:hard )?(?:disk|drive|volume|partition|card)s?",
    "shut(?:s|ting)?[- ]?down", "kill(?:s|ed|ing)?", "deploy(?:s|ed|ing|ment|ments)?",
    "sign(?:s|ed|ing)?(?: an?| the)? (?:contract|agreement)s?",
    "(?:run|execut)(?:e|s|es|ing|ning)?(?: an?| any| arbitrary| the)? (?:shell|sql|bash|commands?|scripts?|code)",
    "irreversibl[ey]", "can(?:not|'t| not) be undone",
)  # fmt: skip
CHINESE = (
    "删[除掉去了光]", "移除", "清空", "清除", "销毁", "抹[掉除]", "擦除", "卸载", "终止", "撤销", "吊销", "注销",
    "作废", "取消", "退[款钱订]", "付款", "付钱", "支付", "缴费", "转账", "汇款", "打[款钱]", "放款", "扣[款费]",
    "充值", "赔付", "结[算账]", "购买", "下单", "[买卖][入出]", "出售", "提现", "开票", "批量", "群发",
    "全员(?:通知|发送)", "覆盖(?![率面范])", "重置", "销户", "冻结", "封禁", "开除", "解[雇约]", "签署",
    r"格式化(?=\s*(?:磁盘|硬盘|分区|U盘))", "关机", "部署", "执行(?:任意)?(?:命令|脚本|代码|SQL)",
    "(?:不可|无法|不能)(?:撤销|恢复|逆)",
)  # fmt: skip

_DENIED = re.compile(
    r"(?i)\b(?:not|cannot|never|without|nothing is|(?:do|does|ca|wo)n't)(?: be)? (?:[a-z]+, )?(?:[a-z]+ (?:or|and) )?$"
    r"|(?:不会|从不|绝不|无需|不能|并不|不)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_LOOKS = (
    "get(?!s? rid)|list|find|search|fetch|read|show|view|count|check(?! ?out)|verify|validate|look ?up|query|describe"
    "|retrieve|load|inspect|browse|track|monitor|watch|audit|preview|estimate|calculate|compute|compare|analy[sz]e|explain"
    "|quote|predict|summari[sz]e|classify|detect"
)
_ASKS = "is|are|was|were|has|have|can|should|what|which|where|when|why|who|how"
_KNOWS = (
    "status(?:es)?|histor(?:y|ies)|polic(?:y|ies)|eligibility|reports?|stat(?:istic)?s|options|methods?|reasons?|terms"
)
_LISTS = (
    f"{_KNOWS}|lists?|counts?|details|info(?:rmation)?|logs?|schedules?|limits?|rates?|fees?|totals?|summary|overview"
)
_THINGS = (
    r"payments?|payouts?|deployments?|deletions?|cancell?ations?|withdrawals?|removals?|terminations?|reimbursements?"
)
_PAST = (
    r"(?:delet|remov|eras|purg|discard|cancel|cancell|refund|reimburs|transferr|charg|purchas|invoic|revok|terminat"
    r"|deploy|overwritt?)e[dn]|paid|withdrawn"
)
_LOOKING_NAME = re.compile(
    rf"(?:{_LOOKS}|{_ASKS})\b"
    rf"|(?:{_PAST}) \w+"
    rf"|(?:\w+ )*(?:{_THINGS}) (?:\w+ )?(?:{_LISTS})$"
    rf"|(?:\w+ )*(?:refund|charge|transfer|invoice|purchase) (?:{_KNOWS})$"
    r"|(?:查[询看找]?|搜索|检索|获取|列出|显示|统计|读取|浏览|计算|估算|预览)|.*(?:查询|查看|统计)$",
    re.IGNORECASE,
)
_LOOKING_TEXT = re.compile(
    rf"(?:(?:{_LOOKS})(?:e?s)?|returns?|{_ASKS}|all|every|status|list of|overview|summary)\b"
    r"|(?:查[询看找]?|搜索|检索|获取|列出|显示|返回|统计|读取|浏览|计算|估算|预览)|[^，。；,.;]*(?:查询|查看)(?:[，。；]|$)",
    re.IGNORECASE,
)
_AND = re.compile(
    r"(?i)\b(?:and|or|then|also|will|(?:us(?:e|ed)(?: it)?|able|lets you|allows you) to|by)(?: then| also)? $"
    r"|(?:并[且可]?|然后|再|后|同时|直接|或)$"
)
_START = re.compile(r"(?:^|[.!?;:。！？；：]\s*)$")
_PASSIVE = re.compile(r"(?i)(?<!that )(?<!which )(?<!who )\b(?:is|are|gets?|be) $")
_DONE = re.compile(_PAST, re.IGNORECASE)
_THING = re.compile(_THINGS, re.IGNORECASE)
_OF = re.compile(
    rf" (?:of|that|which|{_KNOWS})\b|(?:进度|状态|记录|方式|历史|明细|详情|列表|政策|规则|原因)", re.IGNORECASE
)
_ALWAYS = re.compile(r"(?i)undone|irreversibl|rid$|^(?:不可|无法|不能)")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    english = r"(?<![a-z])(?:" + "|".join(ENGLISH) + r")(?![a-z])"
    return re.compile(english, re.IGNORECASE), re.compile("|".join(CHINESE))


def danger_in(name: str, description: str) -> str | None:
    """Return the first word of high impact in a tool's name or in its description, or None."""
    words = re.sub(r"[_\-.\s]+", " ", _CAMEL.sub(" ", name)).strip()
    text = " ".join(description.split())
    looks = bool(_LOOKING_NAME.match(words)) or (not _found(words, looks=False) and bool(_LOOKING_TEXT.match(text)))
    return _found(words, looks=looks, is_name=True) or _found(text, looks=looks)


def _found(text: str, *, looks: bool, is_name: bool = False) -> str | None:
    for pattern in _patterns():
        for found in pattern.finditer(text):
            before = text[max(0, found.start() - 40) : found.start()]
            if not _DENIED.search(before) and (not looks or _acts(text, found, before, is_name)):
                return found.group()
    return None


def _acts(text: str, found: re.Match[str], before: str, is_name: bool) -> bool:
    """Whether a word in a tool that only looks says what else it does: "and refunds it", "Deletes", "is cancelled"."""
    word, after = found.group(), text[found.end() :]
    if _ALWAYS.search(word):
        return True
    if _DONE.fullmatch(word):
        return not is_name and bool(_PASSIVE.search(before))
    if _THING.fullmatch(word):
        return False
    if _AND.search(before):
        return True
    return not is_name and bool(_START.search(text[: found.start()])) and not _OF.match(after)
