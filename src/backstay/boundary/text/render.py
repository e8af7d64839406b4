"""Rendering: a rule in one line as it was understood, or why it was not, in the author's language. Source: SPEC C7."""

from __future__ import annotations

from collections.abc import Mapping

from backstay.boundary.predicates import limit_text
from backstay.core.canon import EMPTY
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
    "nothing": (
        "advisory: none of the tools does what it is about; kept and shown, not enforced",
        "仅作提示：没有工具涉及这条规则；会保留并显示，但不强制执行",
    ),
    "several": ("advisory: more than one rule; write each by itself", "仅作提示：包含多条规则，请分开写"),
}
_ZH_OPS = {"lt": "少于", "le": "最多", "gt": "多于", "ge": "至少", "eq": "正好", "ne": "不是"}


def advice(why: str, locale: str) -> str:
    """Why a rule has no predicate; empty where there is no such reason."""
    return _ADVICE[why][locale.startswith("zh")] if why else ""


def rendered(
    check: Args,
    scope: tuple[str, ...],
    locale: str,
    *,
    total: bool = False,
    severity: str = "block",
    until: str | None = None,
) -> str:
    """The rule in one line: `refund: at most 200 EUR`, `退款：最多 200 EUR`.

    With `total` it says that the words meant a sum (`per month`), of which each call is checked alone.
    """
    zh = locale.startswith("zh")
    says = (_chinese if zh else _english)(check)
    if severity == "confirm":
        forbids = check["op"] == "forbid"
        says = (
            ("须先询问" if forbids else f"{says}，否则须先询问")
            if zh
            else ("ask first" if forbids else f"{says}, else ask")
        )
    words = ("：" if zh else ": ").join(filter(None, (("、" if zh else ", ").join(scope), says)))
    if total:
        words += "（按每次调用检查，不累计）" if zh else " (in each call; the total is not counted)"
    if until:
        words += f"（到 {until} 为止）" if zh else f" (until the end of {until})"
    return words


def _english(check: Args) -> str:
    if check["op"] != "not":
        return limit_text(check)
    text = limit_text(_inner(check))
    return f"not {text.removeprefix('only ')}" if text.startswith("only ") else f"not ({text})"


def _chinese(check: Args) -> str:
    op = str(check["op"])
    if op == "not":
        return f"不得{_chinese(_inner(check)).removeprefix('只限')}"
    if op in _ZH_OPS:
        return (
            f"{_ZH_OPS[op]} {check['money']} {check['currency']}"
            if "money" in check
            else f"{_ZH_OPS[op]} {check['number']} {check.get('unit', '')}".rstrip()
        )
    if op == "window":
        return _chinese_window(check)
    if op in _ZH_LISTS:
        key, words = _ZH_LISTS[op]
        listed = check[key]
        return f"{words} {'、'.join(map(str, listed if isinstance(listed, tuple | list) else ()))}"
    if op in ("sum", "count"):
        what = f"{check['max']} {check.get('money') or check.get('unit') or '次'}"
        return f"{'每天' if check['per'] == 'day' else '本次会话'}{'合计' if op == 'sum' else ''}最多 {what}"
    return {"forbid": "禁止", "own_words": "只限用户自己写出的内容"}.get(op) or limit_text(check)


def _inner(check: Args) -> Args:
    of = check["of"]
    return of if isinstance(of, Mapping) else EMPTY


_ZH_LISTS = {
    "path": ("under", "只限位于"),
    "host": ("in", "只限访问或发往"),
    "glob": ("like", "只限形如"),
    "in": ("values", "只限"),
    "not_in": ("values", "不得为"),
    "before": ("tools", "须先调用"),
}


def _chinese_window(check: Args) -> str:
    if "days" in check:
        return f"只限最近 {check['days']} 天" if check["days"] else "只限今天"
    if "months" in check:
        return f"只限最近 {check['months']} 个月"
    if "from" in check and "to" in check:
        return f"只限 {check['from']} 至 {check['to']}"
    return f"只限 {check['from']} 起" if "from" in check else f"只限 {check['to']} 止"
