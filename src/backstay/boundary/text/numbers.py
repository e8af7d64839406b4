"""Numbers in words and digits, English and Chinese, as exact decimals."""

from __future__ import annotations

import re
from decimal import Decimal

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_EN = {
    **{word: value for value, word in enumerate(_SMALL.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    "dozen": 12,
    "hundred": 100,
    "thousand": 1000,
}
_SCALES = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 1000,
    "k": 1000,
    "十": 10,
    "百": 100,
    "千": 1000,
    "万": 10**4,
    "亿": 10**8,
}
_ZH = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}

_WORD = "|".join(_EN)
_DIGITS = (
    r"(?:[0-9]{1,3}(?:(?:,[0-9]{3})+|(?:\.[0-9]{3})+|(?:'[0-9]{3})+|(?: [0-9]{3})+)(?![0-9])(?:[.,][0-9]+(?![0-9]))?"
    r"|[0-9]+(?:[.,][0-9]+)?)(?: ?(?:k|thousand)(?![a-z])|[百千万亿])?"
)
NUMBER = (
    rf"(?:(?<![0-9.,a-z]){_DIGITS}|[零〇一二两三四五六七八九十百千万亿半]+"
    rf"|(?<![a-z])(?:half a |a half |a )?(?:{_WORD})(?:(?: and | |-)(?:{_WORD})(?![a-z]))*(?![a-z]))"
)
"""Pattern of a number, without groups, for text that `segments.plain` made."""


def number(text: str) -> Decimal | None:
    """Return the value of what `NUMBER` matched; None where it can be read in two ways (`1.000`) or in none."""
    text = text.strip()
    if not text:
        return None
    if text[0].isdigit():
        return _digits(text)
    return _english(text) if text.isascii() else _chinese(text)


def _digits(text: str) -> Decimal | None:
    match = re.fullmatch(r"([0-9.,' ]*[0-9]) ?(\D*)", text)
    if match is None:
        return None
    value = _grouped(match[1])
    return None if value is None else value * _SCALES.get(match[2], 1)


def _grouped(digits: str) -> Decimal | None:
    digits = digits.replace("'", "").replace(" ", "")
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and dot >= 0:
        thousands, point = (",", ".") if dot > comma else (".", ",")
        return Decimal(digits.replace(thousands, "").replace(point, ".")) if digits.count(point) == 1 else None
    if comma >= 0:
        groups = re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+", digits)
        return Decimal(digits.replace(",", "" if groups else "."))
    if digits.count(".") > 1:
        return Decimal(digits.replace(".", ""))
    # English reads 1.000 as one, German as a thousand: a limit must not be guessed.
    return None if re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", digits) else Decimal(digits)


def _english(text: str) -> Decimal:
    words = re.split(r"[ -]", text)
    half = "half" in words
    total = part = 0
    for word in words:
        value = _EN.get(word)
        if value is None:
            continue
        if word in _SCALES:
            part = (part or 1) * value
            if word == "thousand":
                total, part = total + part, 0
        else:
            part += value
    return Decimal(total + part) / 2 if half else Decimal(total + part)


def _chinese(text: str) -> Decimal | None:
    if text == "半":
        return Decimal("0.5")
    if "半" in text:
        return None
    if len(text) > 1 and not any(char in _SCALES for char in text):
        return Decimal("".join(str(_ZH[char]) for char in text))
    total = section = digit = 0
    for char in text:
        scale = _SCALES.get(char)
        if scale is None:
            digit = _ZH[char]
        elif scale < 10**4:
            section, digit = section + (digit or 1) * scale, 0
        else:
            total, section, digit = (total + section + digit) * scale, 0, 0
    return Decimal(total + section + digit)
