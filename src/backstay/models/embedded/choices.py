"""Which of a closed set of values a request names: the value itself, or a common name of the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from backstay.core.messages import Json
from backstay.models.embedded.words import Place, is_cjk

_SAME = (
    "km kilometre kilometres kilometer kilometers 公里 千米", "miles mile mi 英里", "m metre metres meter meters 米",
    "cm centimetre centimetres centimeter centimeters 厘米", "feet foot ft 英尺", "inches inch 英寸",
    "yards yard yd 码",
    "kg kilo kilos kilogram kilograms 公斤 千克", "pounds pound lb lbs 磅", "g gram grams 克", "ounces ounce oz 盎司",
    "celsius centigrade °c c 摄氏度 摄氏", "fahrenheit °f f 华氏度 华氏", "litres litre liters liter l 升",
    "gallons gallon gal 加仑",
    "usd dollars dollar $ us-dollar 美元 美金", "eur euros euro € 欧元", "gbp pounds pound £ sterling 英镑",
    "jpy yen 日元 日圆", "cny yuan rmb renminbi 人民币", "chf francs 瑞士法郎",
    "on 打开 开启 开", "off 关闭 关掉 关上 关", "phone telephone 电话 手机",
    "email e-mail mail 邮箱 邮件", "address 地址",
    "urgent 紧急", "high 高", "low 低", "normal 普通", "shopping 购物", "todo to-do 待办",
    "food 餐饮", "rent 房租", "travel 差旅",
    "yes true 是", "no false 否", "day 天", "week 周", "month 月", "year 年",
)  # fmt: skip
_NAMES = [frozenset(line.split()) for line in _SAME]


@dataclass(frozen=True, slots=True)
class Mention:
    """A value of the set and where the request names it."""

    value: Json
    place: Place


def mentions_of(text: str, choices: Iterable[Json]) -> list[Mention]:
    """Every mention, in order; where two overlap the longer one counts."""
    found: list[Mention] = []
    for choice in choices:
        for name in names_of(choice):
            found += [Mention(choice, match.span()) for match in _pattern(name).finditer(text)]
    found.sort(key=lambda one: (one.place[0], -one.place[1]))
    kept: list[Mention] = []
    for one in found:
        if not kept or one.place[0] >= kept[-1].place[1]:
            kept.append(one)
    return kept


def names_of(choice: Json) -> frozenset[str]:
    """The value as text, and other names of the same thing."""
    name = str(choice).casefold()
    return frozenset({name, name.replace("_", " ")}.union(*(same for same in _NAMES if name in same)))


def _pattern(name: str) -> re.Pattern[str]:
    if is_cjk(name) or not name[0].isalnum():
        return re.compile(re.escape(name), re.IGNORECASE)
    # A single letter must be written like a unit: after a number.
    before = r"(?<=\d)\s?" if len(name) == 1 else r"(?<![A-Za-z])"
    return re.compile(rf"{before}{re.escape(name)}(?![A-Za-z])", re.IGNORECASE)
