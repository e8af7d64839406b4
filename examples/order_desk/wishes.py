"""What a user wants of the desk, read by a few patterns, English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

T = TypeVar("T")

_CHINESE = re.compile("[\u4e00-\u9fff]")
_ORDER = re.compile(r"(?<![\w.-])(?<!C-)([12]\d{3})(?![\d-]|\.\d)", re.ASCII)
_CUSTOMER = re.compile(r"\bC-\d{3}\b", re.ASCII)
_CAPITALS = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)+")
_NOT_A_NAME = frozenset(
    [
        "Did",
        "Find",
        "For",
        "Give",
        "Has",
        "List",
        "Of",
        "Only",
        "Order",
        "Orders",
        "Please",
        "Show",
        "Tell",
        "The",
        "What",
        "Which",
        "All",
    ]
)
_NAME = re.compile("([^\\W\\d_天月周年日内看查下我帮请一的最近过去给和]{2,3})(?=的订单|最近|近|过去|买了|下了)")
_AMOUNT = re.compile(r"€\s*(\d+(?:\.\d{1,2})?)|(\d+(?:\.\d{1,2})?)\s*(?:EUR\b|euros?\b|€|欧元)", re.IGNORECASE)
_NOTE = re.compile(r"(?:note|备注|记)[^:：]*[:：]\s*(.+)", re.IGNORECASE | re.DOTALL)
_SPAN = re.compile(
    r"(\d+|one|two|three|four|six|twelve|两|三|六|半)?\s*个?\s*(days?|weeks?|months?|quarters?|years?|天|日|周|星期|月|季度|年)",
    re.IGNORECASE,
)
_LOOKS_BACK = re.compile(r"\b(?:last|past|previous)\b|近|过去|上个?(?=周|星期|月|季)|去年|以来", re.IGNORECASE)
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "six": 6, "twelve": 12, "两": 2, "三": 3, "六": 6}
_DAYS = {"day": 1, "week": 7, "month": 30, "quarter": 90, "year": 365}
_DAYS |= {"天": 1, "日": 1, "周": 7, "星期": 7, "月": 30, "季度": 90, "年": 365}
_KINDS = (
    ("refund", re.compile(r"refund|money back|pay(?:ed)? .*back|退款|退钱|退\s*\d", re.IGNORECASE)),
    ("cancel", re.compile(r"cancel|取消", re.IGNORECASE)),
    ("note", re.compile(r"\bnote\b|备注|记一下|记下", re.IGNORECASE)),
    ("track", re.compile(r"where|track|parcel|deliver|arriv|包裹|快递|物流|到哪|送到|发货", re.IGNORECASE)),
    (
        "list",
        re.compile(r"\borders\b|\border(?:ed)? .*\b(?:last|past)\b|bought|哪些|的订单|列出|买了|下了", re.IGNORECASE),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One wish. What the user did not say now is taken from what they said before, or is empty."""

    kind: str
    text: str
    is_chinese: bool
    order: str = ""
    customer: str = ""
    days: int = 0
    amount: Decimal | None = None
    note: str = ""


def read_wish(said: Sequence[str]) -> Wish:
    """Read the last of the user's messages; an order or a customer may stand in an earlier one."""
    text = said[-1] if said else ""
    backwards = list(reversed(said))
    order = _first(_order, backwards)
    return Wish(
        kind=_kind(text, bool(_order(text))),
        text=text,
        is_chinese=_CHINESE.search(text) is not None,
        order=order or "",
        customer=_first(_customer, backwards) or "",
        days=_days(text),
        amount=_amount(text),
        note=found.group(1).strip() if (found := _NOTE.search(text)) else "",
    )


def _kind(text: str, names_order: bool) -> str:
    for kind, pattern in _KINDS:
        if pattern.search(text) and not (kind == "list" and names_order):
            return kind
    return "find" if names_order else "help"


def _first(read: Callable[[str], T | None], texts: Iterable[str]) -> T | None:
    return next((found for text in texts if (found := read(text)) is not None), None)


def _order(text: str) -> str | None:
    found = _ORDER.search(_AMOUNT.sub(" ", text))
    return found.group(1) if found else None


def _customer(text: str) -> str | None:
    if found := _CUSTOMER.search(text):
        return found.group()
    for found in _CAPITALS.finditer(text):
        words = [word for word in found.group().split() if word not in _NOT_A_NAME]
        if len(words) >= 2:
            return " ".join(words[-2:])
    found = _NAME.search(text)
    return found.group(1) if found else None


def _days(text: str) -> int:
    """The look-back in days; 0 where none is named."""
    if not _LOOKS_BACK.search(text):
        return 0
    for found in _SPAN.finditer(text):
        number, unit = (found.group(1) or "1").lower(), found.group(2).lower()
        size = _DAYS.get(unit) or _DAYS.get(unit.rstrip("s"), 0)
        if number == "半":
            return size // 2
        return size * (_NUMBERS[number] if number in _NUMBERS else int(number))
    return 0


def _amount(text: str) -> Decimal | None:
    found = _AMOUNT.search(text)
    return Decimal(found.group(1) or found.group(2)) if found else None
