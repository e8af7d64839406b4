"""Modifiers: what a sentence says beside its rule: that its author wants to be asked, and until when it holds.

A modifier is taken out and the rest reads as the plain prohibition that it is: `ask me before you send mail` is `never
send mail`, with a person asked. Everything works on text as `segments.plain` makes it, with marks of `places`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from backstay.core.patterns import Pattern


class Plain(NamedTuple):
    """A sentence without its modifiers."""

    text: str
    asks: bool = False
    """Whether the author wants to be asked."""
    until: str | None = None
    """The last day on which it holds, ISO."""
    today: bool = False
    """Whether that day is today, so that a total is one of the day."""


_YES = (
    r"(?:ok|okay|o\.k\.|approval|permission|consent|confirmation|agreement|go-ahead|say-so|word|sign-off"
    r"|explicit [a-z]+)"
)
_ASKING = (
    rf"(?:ask|check with|consult|confirm with|consult with|clear it with|run it by|notify and ask|get back to) (?:me"
    rf"|us)(?: first)?"
    rf"|(?:get|obtain|wait for|have|ask for|ask me for|request) (?:my|our|an?"
    rf"|explicit)(?: explicit)? {_YES}(?: from me| first)?"
    rf"|(?:confirm|ask)(?: first)?"
)
_LEAD = r"(?:please |always |you (?:must|should|have to|need to) |make sure you |make sure to |first )*"
_ASK_BEFORE = Pattern(rf"{_LEAD}(?:{_ASKING}),? (?:before|prior to) (?:you )?(?:ever |actually )?(?P<rest>.+)")
_BEFORE_ASK = Pattern(rf"before (?:you )?(?P<rest>[^,]+), {_LEAD}(?:{_ASKING})[.!]*")
_MUST_AGREE = Pattern(
    r"(?:a (?:person|human|manager|colleague)|someone|somebody|i|we|the user) (?:must|has to|have to|should"
    r"|needs? to|want to|wants to)"
    r" (?:be asked|approve|confirm|agree|sign off|decide|ok it|be consulted)(?: it"
    r"| to it)? before (?:you )?(?P<rest>.+)"
)
_NEEDS = Pattern(
    r"(?:every|each|any|all|an?)? ?(?P<noun>[a-z-]+) (?:must|has to|have to|needs? to|should) be (?:approved"
    r"|confirmed|signed off"
    r"|authori[sz]ed|okayed) (?:by (?:me|us|a person|a human|someone)|first)[.!]*"
    rf"|(?:every|each|any|all|an?)? ?(?P<noun2>[a-z-]+) (?:needs?|requires?) (?:my|our|an?"
    rf"|explicit)(?: explicit)? {_YES}[.!]*"
    r"|(?:i|we) (?:must|have to|want to|need to|will) (?:approve|confirm|see) (?:every|each|any"
    r"|all) (?P<noun3>[a-z-]+) before .+"
)
_WITHOUT = Pattern(
    rf"(?P<rest>.+?),? (?:without (?:first )?(?:asking|checking with|consulting|confirming with)(?: me| us)?(?: first)?"
    rf"|without (?:my|our|an?|explicit)(?: explicit)? {_YES}"
    rf"|unless (?:i|we) (?:say so|agree|approve|confirm(?: it)?|ok it|allow it|have agreed|tell you to))[.!]*"
)
_NEGATIVE = Pattern(
    r"(?:please |and |but )*(?:never|don't|do not|no |not |you (?:must|may|should|can)(?:n't|not| not| never)"
    r"|must not|nothing)"
)
_NOUN = Pattern(r"(?:any|each|every|an?|the|all) (?P<noun>[a-z-]+)[.!]*\Z")

_ZH_YES = r"(?:同意|允许|批准|许可|确认|点头|认可|授权|审批|审核)"
_ZH_ASKED = (
    r"(?:(?:问|请示|请教|告诉|通知|告知|询问|知会)(?:过|一下|问|一声)?(?:我|人工|主管|负责人)(?:一下|一声)?"
    rf"|(?:征得|征求|经过?|得到|获得|取得|等|拿到|有)(?:我|人工|人|主管|负责人|用户)的?(?:明确)?(?:{_ZH_YES}|意见)"
    rf"|(?:跟|和|找|向|与)(?:我|主管|负责人)(?:{_ZH_YES}|打招呼|商量|核实)(?:一下|下)?|让(?:我|人)(?:{_ZH_YES})"
    rf"|(?:我|人工|人){_ZH_YES}|经过我|(?:给|让|叫)我(?:先)?(?:看|过目|审)(?:一下|一眼|看|过)?)"
)
_ZH_MUST = r"(?:必须|必需|务必|一定|要|得|请|应该|应当|应|需要|需|都|一律|总是|,| )*"
_ZH_BEFORE = Pattern(
    rf"(?:每次|在|凡是|请)?(?P<rest>.+?)(?:之前|以前|前),? ?{_ZH_MUST}(?:先)?{_ZH_ASKED}(?:才行|才可以|才能)?[.!]*"
)
_ZH_OVER = Pattern(
    rf"(?:凡是)?(?P<rest>.*(?:超过|超出|高于|大于|多于).+?)(?:时|的时候|的话)?,? ?{_ZH_MUST}先?{_ZH_ASKED}(?:才行"
    rf"|才可以)?[.!]*"
)
_ZH_WITHOUT = Pattern(
    rf"(?:没有?|未|不)(?:经过?|征得|得到|获得|取得)?我的?{_ZH_YES}(?:之前|以前|前|的话|的情况下)?,? ?(?:都"
    rf"|就)?(?P<rest>.+)"
)
_ZH_UNASKED = Pattern(
    r"(?:没有?|未|不)(?:先)?(?:问|请示|告诉|通知)过?我(?:之前|以前|前|的话)?,? ?(?:就|都)?(?P<rest>.+)"
)
_ZH_TOPIC = Pattern(
    rf"(?:要|想|凡是)?(?P<rest>[^,]{{1,12}}?){_ZH_MUST}先{_ZH_MUST}{_ZH_ASKED}(?:才行|才可以|才能)?[.!]*"
)
_ZH_NEEDS = Pattern(
    r"(?:所有|任何|一切|每一?[次笔封个条份]|凡是)?的?(?P<rest>[^,我]{1,10}?)(?:都|一律)?(?:必须|需要|需|要|得)(?:由"
    r"|经|等|有|得到)?我来?的?"
    rf"{_ZH_YES}(?:才能?[^,]{{0,4}}|后才能?[^,]{{0,4}}|过)?[.!]*"
)
_ZH_NEGATIVE = Pattern(r"(?:千万|绝对)?(?:不要|别|不准|不许|不得|禁止|严禁|切勿|勿|不可|不能)")

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ZH_DAYS = "一二三四五六日"
_UNTIL = (
    rf"(?:until|till) (?:(?:this |next )?(?P<day>{'|'.join(_DAYS)})|(?P<tomorrow>tomorrow)"
    r"|the end of (?:the |this )?(?P<end>day|week|month)|(?P<iso>20[0-9]{2}-[0-9]{2}-[0-9]{2}))"
)
_TODAY = r"(?P<today>(?:just |only )?(?:for )?(?:the rest of (?:today|the day)|today)(?: only)?)"
_SPAN = r"(?:for |during )?(?:this|the rest of (?:this|the)) (?P<span>week|month)"
_LIFETIMES = (
    Pattern(rf"\A(?P<a>)(?:(?:from now )?{_UNTIL}|{_TODAY}|{_SPAN}),? (?P<b>.+)"),
    Pattern(rf"\A(?P<a>.+?),? (?:{_UNTIL}|{_TODAY}|{_SPAN})(?P<b>)[.!]*\Z"),
    Pattern(
        r"\A(?P<a>.{0,6}?)(?:(?P<today>(?:就|只在)?(?:今天|今日)(?:之内|以内|内|一天|之前)?)|(?:到|在)?(?:本周|这周"
        r"|周|星期|礼拜|这个星期)"
        r"(?P<day>[一二三四五六日天])(?:之前|以前|前|为止)|(?P<tomorrow>明天)(?:之前|以前|前)|(?:到)?(?P<end>本周"
        r"|这周|本月|这个月)(?:之内|以内|内|底前|底之前)?"
        r"|(?P<iso>20[0-9]{2}-[0-9]{2}-[0-9]{2})(?:之前|以前|前)"
        r"|(?P<y>20[0-9]{2})年(?P<m>[0-9]{1,2})月(?P<d>[0-9]{1,2})[日号](?:之前|以前|前)),?(?P<b>.+)\Z"
    ),
)


_HAN = Pattern(r"[\u3400-\u9fff]")
_MAY_ASK = Pattern(
    r"(?<![a-z])(?:ask|asking|asked|check|checking|consult|consulting|confirm|confirmed|clear it|run it|notify"
    r"|get back|get|obtain|wait"
    r"|have|request|approve|approved|agree|decide|sign|signed|without|unless|needs?|requires?|see)(?![a-z])|[我人]"
    r"|主管|负责人|用户|请示"
)
_MAY_END = Pattern(
    r"(?<![a-z])(?:until|till|today|this (?:week|month)|the rest of)(?![a-z])|[今明周]|星期|礼拜|[本这个]月|20[0-9]{2}"
)


def without_asking(text: str) -> Plain | None:
    """The prohibition behind a wish to be asked; None where no such wish is stated."""
    if not _MAY_ASK.search(text):
        return None
    return _chinese_asking(text) if _HAN.search(text) else _english_asking(text)


def _english_asking(text: str) -> Plain | None:
    for pattern in (_ASK_BEFORE, _BEFORE_ASK, _MUST_AGREE):
        if found := pattern.fullmatch(text):
            noun = _NOUN.match(found["rest"])
            return Plain(f"no {noun['noun']}" if noun else f"never {found['rest']}", asks=True)
    if found := _NEEDS.fullmatch(text):
        return Plain(f"no {found['noun'] or found['noun2'] or found['noun3']}", asks=True)
    if (found := _WITHOUT.fullmatch(text)) and _NEGATIVE.match(found["rest"]):
        return Plain(found["rest"], asks=True)
    return None


def _chinese_asking(text: str) -> Plain | None:
    if found := _ZH_OVER.fullmatch(text):
        return Plain(f"{found['rest']}的不要", asks=True)
    if found := _ZH_BEFORE.fullmatch(text):
        return Plain(f"不要{found['rest']}", asks=True)
    for pattern in (_ZH_WITHOUT, _ZH_UNASKED):
        if (found := pattern.fullmatch(text)) and _ZH_NEGATIVE.match(found["rest"]):
            return Plain(found["rest"], asks=True)
    if found := _ZH_NEEDS.fullmatch(text) or _ZH_TOPIC.fullmatch(text):
        return Plain(f"不要{found['rest']}", asks=True)
    return None


def without_lifetime(text: str, today: date) -> Plain | None:
    """The rule without the day to which it holds; None where no such day is named."""
    if not _MAY_END.search(text):
        return None
    for pattern in _LIFETIMES:
        found = pattern.search(text)
        if found is None:
            continue
        until = _until(found, today)
        if until is not None and until >= today:
            return Plain(f"{found['a']}{found['b']}".strip(), until=until.isoformat(), today=bool(found["today"]))
    return None


def _until(found: re.Match[str], today: date) -> date | None:
    named = found.groupdict()
    if named["today"]:
        return today
    if named["tomorrow"]:
        return today + timedelta(1)
    if named["day"]:
        number = (
            _DAYS.index(named["day"]) if named["day"] in _DAYS else _ZH_DAYS.index(named["day"].replace("天", "日"))
        )
        return today + timedelta((number - today.weekday() - 1) % 7 + 1)
    if end := named["end"] or named.get("span"):
        return _END_OF[end](today)
    try:
        if named.get("y"):
            return date(int(named["y"]), int(named["m"]), int(named["d"]))
        return date.fromisoformat(named["iso"])
    except ValueError:
        return None


def _end_of_week(today: date) -> date:
    return today + timedelta(6 - today.weekday())


def _end_of_month(today: date) -> date:
    return (today.replace(day=28) + timedelta(4)).replace(day=1) - timedelta(1)


_END_OF: dict[str, Callable[[date], date]] = {
    "day": lambda today: today,
    "week": _end_of_week,
    "month": _end_of_month,
    "本周": _end_of_week,
    "这周": _end_of_week,
    "本月": _end_of_month,
    "这个月": _end_of_month,
}
