"""Things: amounts, quantities, lengths of time and dates in a clause, taken out and replaced by short marks.

The clause `never refund more than €200` becomes `never refund more than ⟦ma⟧`, so that the patterns of both languages
see the same marks and a text may mix them. Marks: m money, q quantity, s a length of time, w a window that reaches
back from today, d dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType

from backstay.boundary.text.dates import YEAR, Days, read_dates
from backstay.boundary.text.numbers import NUMBER, number
from backstay.core.canon import FrozenDict
from backstay.core.messages import Args
from backstay.core.patterns import Pattern

_MOST = 24

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        word: code
        for code, words in {
            "EUR": "€ eur euros euro 欧元 欧",
            "USD": "us$ $ usd dollars dollar bucks 美元 美金",
            "GBP": "£ gbp pounds pound quid 英镑",
            "CNY": "cn¥ cny rmb yuan renminbi 元人民币 块人民币 人民币 块钱 块 元",
            "JPY": "jp¥ jpy yen 日元 日圆 円",
            "CHF": "chf francs 瑞士法郎 瑞郎",
            "HKD": "hk$ hkd 港币 港元",
            "TWD": "nt$ twd 新台币 台币",
            "AUD": "a$ aud 澳元",
            "CAD": "c$ cad 加元",
            "NZD": "nz$ nzd",
            "SGD": "s$ sgd 新元",
            "KRW": "₩ krw won 韩元",
            "INR": "₹ inr rupees rupee 卢比",
            "SEK": "sek",
            "NOK": "nok",
            "DKK": "dkk",
            "PLN": "pln zloty",
            "CZK": "czk",
            "BRL": "r$ brl",
            "?": "¥",
        }.items()
        for word in words.split()
    }
)
"""Word or sign of a currency → ISO code; `?` for the sign that is two currencies. Source: SPEC C7."""


def _any_of(words: Mapping[str, str]) -> str:
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(
        re.escape(word) + ("(?![a-z])" if word[-1].isascii() and word[-1].isalpha() else "") for word in ordered
    )


_CURRENCY = _any_of(_WORDS)
_MONEY = Pattern(
    rf"(?:(?<![a-z])(?P<pre>{_CURRENCY}) ?)(?P<n1>{NUMBER})(?: ?(?P<post1>{_CURRENCY}))?"
    rf"|(?P<n2>{NUMBER}) ?(?P<post2>{_CURRENCY})"
)

_TIME: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        word: (kind, factor)
        for (kind, factor), words in {
            ("days", 1): "days day 天 日",
            ("days", 7): "weeks week 周 星期 个星期 礼拜 个礼拜",
            ("days", 14): "fortnights fortnight",
            ("months", 1): "months month 个月",
            ("months", 3): "quarters quarter 季度 个季度",
            ("months", 12): "years year 年",
            ("hours", 1): "hours hour 小时 个小时 钟头",
        }.items()
        for word in words.split()
    }
)
_UNIT = _any_of({word: "" for word in _TIME})
_LENGTH = Pattern(rf"(?P<n>{NUMBER})[ -]?(?P<unit>{_UNIT})|(?<=than )an? (?P<one>{_UNIT})(?![a-z])")
_BACK = Pattern(
    r"(?<![a-z])(?:the )?(?:(?:most )?recent|(?:very )?last|past|previous|preceding|latest) ⟦s(?P<a>[a-z])⟧"
    r"|(?:最近|近|过去|前)的?⟦s(?P<b>[a-z])⟧(?:以内|之内|内)?"
    r"|(?:最近|近|过去) (?:the )?(?:last |past )?⟦s(?P<c>[a-z])⟧"
    r"|⟦s(?P<d>[a-z])⟧(?:以内|之内|内)"
    rf"|(?<![a-z])(?:the (?:last|past|previous)|past) (?P<unit>{_UNIT})"
    r"|(?<![a-z])(?P<today>today)(?![a-z])|(?P<today2>今天|今日)"
)

_RANGE = Pattern(r"⟦d(?P<a>[a-z])⟧ ?(?:-|–|—|~|to|until|till|through|and|至|到) ?⟦d(?P<b>[a-z])⟧")

_NOUNS: Mapping[str, str] = MappingProxyType(
    {
        word: unit
        for unit, words in {
            "items": "items item pieces piece pcs articles article products product 件商品 个商品 件 个 项 份 台 本 张",
            "orders": "orders order 个订单 笔订单 张订单 份订单 条订单 订单 单",
            "emails": "emails email e-mails e-mail mails mail 邮件 封邮件 封电子邮件 封",
            "messages": "messages message 条消息 消息 条信息 条短信",
            "files": "files file 个文件 份文件 文件",
            "rows": "rows row lines line 行数据 行",
            "records": "records record entries entry 条记录 条数据 记录 条",
            "results": "results result 条结果 个结果",
            "pages": "pages page 页",
            "customers": "customers customer clients client 位客户 个客户 名客户 客户",
            "people": "people persons person recipients recipient 个人 位 名 人",
            "tickets": "tickets ticket 张票",
            "documents": "documents document docs doc 份文档 个文档",
            "percent": "percent %",
            "kg": "kg kilograms kilos 公斤 千克",
            "users": "users user 个用户 名用户 位用户",
            "?": "times time calls call refunds refund transfers transfer payments payment attempts retries deletions"
            " deletion purchases purchase bookings booking cancellations cancellation 次 笔 遍 趟",
            "companies": "家",
        }.items()
        for word in words.split()
    }
)
"""Noun or measure word → unit; `?` for what is counted over several calls."""
_WHAT = Pattern(r"(?![的以就吧了即为封内左上下都也不而或和与])[\u3400-\u9fff]{2}")
"""What a general measure word measures, where no table knows it: `三个建议`."""
_MEASURES = frozenset("个件条份张位名")
_NAMED = Pattern("订单|邮件|文件|客户|记录|消息")
_QUANTITY = Pattern(
    rf"百分之(?P<pc>{NUMBER})|(?P<tenths>[一二两三四五六七八九])成(?=的?折扣"
    rf"|的?优惠|\Z|,)|(?P<n>{NUMBER}) ?(?:[a-z]+ )?(?P<noun>{_any_of(_NOUNS)})"
)
_OTHERS = Pattern(rf"(?P<n>{NUMBER}) (?P<noun>[a-z]{{3,}}s)(?![a-z])")
"""A number of things that no table knows: `10 commands`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """What a mark stands for."""

    value: Decimal | None = None
    """None where the number can be read in two ways."""
    unit: str = ""
    """A currency, a unit, `hours`; `?` where it is not one thing."""
    days: Days = None
    text: str = ""


@dataclass(slots=True, kw_only=True)
class Reading:
    """A clause with marks in it, and the things they stand for."""

    text: str
    today: date
    things: dict[str, Thing] = field(default_factory=dict)

    def put(self, kind: str, thing: Thing) -> str:
        """Keep the thing and return its mark; past 24 things in one clause the words stay as they are."""
        if len(self.things) >= _MOST:
            return thing.text
        key = chr(ord("a") + len(self.things))
        self.things[key] = thing
        return f"⟦{kind}{key}⟧"


def read(clause: str, today: date) -> Reading:
    """Return the clause with everything countable replaced by marks."""
    reading = Reading(text=clause, today=today)
    reading.text = read_dates(reading.text, today, lambda days: reading.put("d", Thing(days=days)))
    reading.text = _RANGE.sub(lambda found: _range(found, reading), reading.text)
    for pattern, replace in _PASSES:
        reading.text = pattern.sub(lambda found, r=replace: r(found, reading), reading.text)  # type: ignore[misc]
    return reading


def _range(found: re.Match[str], reading: Reading) -> str:
    first, last = reading.things[found["a"]].days, reading.things[found["b"]].days
    whole = None if first is None or last is None or last[1] < first[0] else (first[0], last[1])
    return reading.put("d", Thing(days=whole, text=found[0]))


def _money(found: re.Match[str], reading: Reading) -> str:
    code = _WORDS[found["post1"] or found["pre"] or found["post2"]]
    if code == "?" and found["pre"] and found["post1"]:
        code = _WORDS[found["post1"]]
    return reading.put("m", Thing(value=number(found["n1"] or found["n2"]), unit=code, text=found[0]))


_EACH = Pattern(r"不|最多|至多|只|总|合计|累计|上限|别")


def _length(found: re.Match[str], reading: Reading) -> str:
    if found[0] == "一天" and _EACH.match(reading.text, found.end()):  # `a day`, no length
        return found[0]
    kind, factor = _TIME[found["unit"] or found["one"]]
    value = number(found["n"]) if found["n"] else Decimal(1)
    return reading.put("s", _time(None if value is None else value * factor, kind, found[0]))


def _time(value: Decimal | None, kind: str, text: str) -> Thing:
    if value is not None and kind == "hours" and value % 24 == 0:
        value, kind = value / 24, "days"
    if value is not None and kind == "months" and value == Decimal("0.5"):
        value, kind = Decimal(15), "days"
    return Thing(value=value, unit=kind, text=text)


def _back(found: re.Match[str], reading: Reading) -> str:
    key = found["a"] or found["b"] or found["c"] or found["d"]
    if key:
        return f"⟦w{key}⟧"
    if found["unit"]:
        kind, factor = _TIME[found["unit"]]
        return reading.put("w", _time(Decimal(factor), kind, found[0]))
    return reading.put("w", Thing(value=Decimal(0), unit="days", text=found[0]))


_AT_MOST = Pattern(r"(?:最多|至多|顶多|超过|超出)[^⟦⟧,;]{0,4}\Z")


def _quantity(found: re.Match[str], reading: Reading) -> str:
    if found[0] in ("一次", "一单", "一笔") and not _AT_MOST.search(reading.text, 0, found.start()):  # `each time`
        return found[0]
    if found["tenths"]:
        tenths = number(found["tenths"])
        percent = None if tenths is None else tenths * 10
        return reading.put("q", Thing(value=percent, unit="percent", text=found[0]))
    unit = "percent" if found["pc"] else _NOUNS[found["noun"]]
    if found["noun"] in ("个", "条", "份", "台", "本", "张", "项") and (
        other := _WHAT.match(reading.text, found.end())
    ):
        unit = other[0]
    if found["noun"] in _MEASURES:
        named = {_NOUNS[noun] for noun in _NAMED.findall(reading.text)}
        unit = named.pop() if len(named) == 1 else unit
    return reading.put("q", Thing(value=number(found["pc"] or found["n"]), unit=unit, text=found[0]))


def _others(found: re.Match[str], reading: Reading) -> str:
    return reading.put("q", Thing(value=number(found["n"]), unit=found["noun"], text=found[0]))


def _year(found: re.Match[str], reading: Reading) -> str:
    year = int(found[1])
    return reading.put("d", Thing(days=(date(year, 1, 1), date(year, 12, 31)), text=found[0]))


_PASSES: tuple[tuple[Pattern, Callable[[re.Match[str], Reading], str]], ...] = (
    (_MONEY, _money),
    (_LENGTH, _length),
    (_BACK, _back),
    (_QUANTITY, _quantity),
    (YEAR, _year),
    (_OTHERS, _others),
)


def window(thing: Thing) -> Args | None:
    """The check for a window that reaches so far back; None where it is not whole days or months."""
    if thing.value is None or thing.value % 1 or thing.unit not in ("days", "months") or not 0 <= thing.value <= 36500:
        return None
    return FrozenDict({"op": "window", thing.unit: int(thing.value)})


def between(first: date | None, last: date | None) -> Args:
    """The check for a window between two days; None, or the end of time, leaves a side open."""
    ends = {"from": first, "to": None if last == date.max else last}
    return FrozenDict({"op": "window", **{name: day.isoformat() for name, day in ends.items() if day}})


def dated(thing: Thing, how: str) -> Args | None:
    """The check for dates under a word: `in`, `since`, `after`, `until`, `before`; None where the date is not clear."""
    if thing.days is None:
        return None
    first, last = thing.days
    day = timedelta(1)
    match how:
        case "since":
            return between(first, None)
        case "after":
            return between(last + day, None) if last < date.max else None
        case "until":
            return between(None, last) if last < date.max else None
        case "before":
            return between(None, first - day)
        case _:
            return between(first, last)


def compared(op: str, thing: Thing, kind: str) -> Args | None:
    """The check for a limit on money or a quantity; None where number, currency or unit is not one thing.

    A limit on calls (unit `?`) is a count over the session, whatever `reading` makes of `a day`.
    """
    if thing.unit == "?" and kind == "q":
        return counted(op, thing.value)
    if thing.value is None or thing.unit == "?":
        return None
    value = format(thing.value, "f")
    if kind == "m":
        return FrozenDict({"op": op, "money": value, "currency": thing.unit})
    return FrozenDict({"op": op, "number": value, "unit": thing.unit})


def counted(op: str, value: Decimal | None, per: str = "session") -> Args | None:
    """The check for so many calls; None where it is no whole number or no upper limit."""
    if value is None or value % 1 or op not in ("le", "lt"):
        return None
    most = int(value) - (op == "lt")
    return FrozenDict({"op": "count", "max": most, "per": per}) if 0 <= most <= 1_000_000 else None
