"""Modifiers: what a sentence says beside its rule: that its author wants to be asked, and until when it holds.

A modifier is taken out and the rest reads as the plain prohibition that it is: `ask me before you send mail` is `never
send mail`, with a person asked. Everything works on text as `segments.plain` makes it, with marks of `places`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta

from backstay.boundary.text.chinese_asking import chinese_asking
from backstay.boundary.text.english_asking import english_asking
from backstay.boundary.text.plain_words import Plain
from backstay.core.patterns import Pattern

__all__ = ["Plain", "without_asking", "without_lifetime"]

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ZH_DAYS = "一二三四五六日"
_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_MONTHS = _MONTH.split("|")
_UNTIL = (
    r"(?:(?P<to>before)|until|till|through|up to(?: and including)?) (?:"
    rf"(?:this |next )?(?P<day>{'|'.join(_DAYS)})|(?P<tomorrow>tomorrow)"
    r"|the end of (?:the |this )?(?P<end>day|week|month)|(?P<iso>20[0-9]{2}-[0-9]{2}-[0-9]{2})"
    rf"|(?:the )?(?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})[a-z]*,? (?P<y>20[0-9]{{2}})"
    rf"|(?P<m2>{_MONTH})[a-z]* (?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?,? (?P<y2>20[0-9]{{2}}))"
)
_TODAY = r"(?P<today>(?:just |only )?(?:for )?(?:the rest of (?:today|the day)|today)(?: only)?)"
_SPAN = r"(?:for |during )?(?:this|the rest of (?:this|the)) (?P<span>week|month)"
_LIFETIMES = (
    Pattern(rf"\A(?P<a>)(?:(?:from now )?{_UNTIL}|{_TODAY}|{_SPAN}),? (?P<b>.+)"),
    Pattern(rf"\A(?P<a>.+?),? (?:{_UNTIL}|{_TODAY}|{_SPAN})(?P<b>)[.!]*\Z"),
    Pattern(
        r"\A(?P<a>.{0,6}?)(?:(?P<today>(?:就|只在)?(?:今天|今日)(?:之内|以内|内|一天|之前)?)|(?:到|在)?(?:本周|这周"
        r"|周|星期|礼拜|这个星期)"
        r"(?P<day>[一二三四五六日天])(?:之前|以前|前|为止)|(?P<next>下)个?"
        r"(?:周|星期|礼拜)(?P<day2>[一二三四五六日天])(?:之前|以前|前|为止)"
        r"|(?P<end3>月底|月末|周末|这周末)(?:之前|以前|前)"
        r"|(?P<tomorrow>明天)(?:之前|以前|前)|(?:到)?(?P<end>本周"
        r"|这周|本月|这个月)(?:之内|以内|内|底前|底之前)?"
        r"|(?P<iso>20[0-9]{2}-[0-9]{2}-[0-9]{2})(?:之前|以前|前)"
        r"|(?P<y>20[0-9]{2})年(?P<m>[0-9]{1,2})月(?P<d>[0-9]{1,2})[日号](?:之前|以前|前)),?(?P<b>.+)\Z"
    ),
)


_HAN = Pattern(r"[\u3400-\u9fff]")
_MAY_ASK = Pattern(
    r"(?<![a-z])(?:ask|asking|asked|check|checking|consult|consulting|confirm|confirmed|clear it|run it|notify"
    r"|get back|get|obtain|wait"
    r"|have|request|approve|approved|agree|decide|sign|signed|without|unless"
    r"|needs?|requires?|see|tell|let|inform|warn|double|verify|run|clear"
    r"|through|only|speak|talk|come|by me|past me|until|before|if|when"
    r"|goes?|put|discuss|must|ping)(?![a-z])|[我人经声]|同意|允许|批准"
    r"|主管|负责人|用户|请示"
)
_MAY_END = Pattern(
    r"(?<![a-z])(?:until|till|through|up to|before|today|this (?:week|month)"
    r"|the rest of)(?![a-z])|[今明周月]|星期|礼拜|[本这个]月|20[0-9]{2}"
)


def without_asking(text: str) -> Plain | None:
    """The prohibition behind a wish to be asked; None where no such wish is stated."""
    if not _MAY_ASK.search(text):
        return None
    return chinese_asking(text) if _HAN.search(text) else english_asking(text)


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
    if named.get("to"):  # `before Friday` ends with Thursday
        return _last_before(named, today)
    return _named(named, today)


def _named(named: Mapping[str, str | None], today: date) -> date | None:
    if named["today"]:
        return today
    if named["tomorrow"]:
        return today + timedelta(1)
    if day := named["day"]:
        number = _DAYS.index(day) if day in _DAYS else _ZH_DAYS.index(day.replace("天", "日"))
        return today + timedelta((number - today.weekday() - 1) % 7 + 1)
    if named.get("next"):
        return today + timedelta(7 - today.weekday() + _ZH_DAYS.index((named["day2"] or "").replace("天", "日")))
    if end := named["end"] or named.get("span") or named.get("end3"):
        return _END_OF[end](today)
    try:
        for n in ("", "2"):
            if named.get(f"m{n}") in _MONTHS:
                month = _MONTHS.index(named[f"m{n}"] or "") + 1
                return date(int(named[f"y{n}"] or 0), month, int(named[f"d{n}"] or 0))
        if named.get("y"):
            return date(int(named["y"] or 0), int(named["m"] or 0), int(named["d"] or 0))
        return date.fromisoformat(named["iso"] or "")
    except ValueError:
        return None


def _last_before(named: dict[str, str | None], today: date) -> date | None:
    whole = {name: None for name in named} | {
        name: named[name] for name in named if name not in ("today", "end", "span")
    }
    if named["end"]:
        return None
    first = _named(whole, today)
    return None if first is None else first - timedelta(1)


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
    "周末": _end_of_week,
    "这周末": _end_of_week,
    "月底": _end_of_month,
    "月末": _end_of_month,
    "本月": _end_of_month,
    "这个月": _end_of_month,
}
