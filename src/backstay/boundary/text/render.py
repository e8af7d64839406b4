"""Rendering: a rule in one line as it was understood, or why it was not, in the author's language. Source: SPEC C7."""

from __future__ import annotations

from backstay.boundary.predicates import limit_text
from backstay.core.messages import Args

_ADVICE = {
    "plain": ("advisory: kept and shown, not enforced", "仅作提示：会保留并显示，但不强制执行"),
    "currency": (
        "advisory: the currency of ¥ is not clear (CNY or JPY); say which",
        "仅作提示：“¥”的币种不明确（人民币还是日元？），请说明",
    ),
    "number": (
        "advisory: the number can be read in two ways (1.000); write 1000 or 1,000.00",
        "仅作提示：数字有两种读法（1.000），请写成 1000",
    ),
    "date": ("advisory: the date is not clear; write it as 2026-01-31", "仅作提示：日期不明确，请写成 2026-01-31"),
    "length": ("advisory: a window is checked in whole days or months", "仅作提示：时间范围只能按整天或整月检查"),
    "count": (
        "advisory: counted over several calls, which this rule cannot check",
        "仅作提示：需要跨多次调用计数，无法检查",
    ),
    "condition": (
        "advisory: it holds under a condition that is not understood",
        "仅作提示：规则带有无法理解的条件",
    ),
    "several": ("advisory: more than one rule; write each by itself", "仅作提示：包含多条规则，请分开写"),
}
_ZH_OPS = {"lt": "少于", "le": "最多", "gt": "多于", "ge": "至少", "eq": "正好", "ne": "不是"}


def advice(why: str, locale: str) -> str:
    """Why a rule has no predicate."""
    return _ADVICE[why][locale.startswith("zh")]


def rendered(check: Args, scope: tuple[str, ...], locale: str, *, total: bool = False) -> str:
    """The rule in one line: `refund: at most 200 EUR`, `退款：最多 200 EUR`.

    With `total` it says that the words meant a sum (`per day`, `in total`), of which each call is checked alone.
    """
    if not locale.startswith("zh"):
        words = ": ".join(filter(None, (", ".join(scope), limit_text(check))))
        return f"{words} (in each call; the total is not counted)" if total else words
    words = "：".join(filter(None, ("、".join(scope), _chinese(check))))
    return f"{words}（按每次调用检查，不累计）" if total else words


def _chinese(check: Args) -> str:
    op = str(check["op"])
    if "money" in check:
        return f"{_ZH_OPS[op]} {check['money']} {check['currency']}"
    if "number" in check:
        return f"{_ZH_OPS[op]} {check['number']} {check['unit']}"
    if "days" in check:
        return f"只限最近 {check['days']} 天" if check["days"] else "只限今天"
    if "months" in check:
        return f"只限最近 {check['months']} 个月"
    if "from" in check and "to" in check:
        return f"只限 {check['from']} 至 {check['to']}"
    return f"只限 {check['from']} 起" if "from" in check else f"只限 {check['to']} 止"
