"""Words of a request with their places, and which of them only hold the others together. English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""Characters of a text, end excluded."""

HIDDEN = "\ufffc"
"""Stands for a character that no value may be taken from: as long as what it hides, and no word."""
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(
    rf"'s\b|’s\b|\d+(?:[.,:]\d+)*%?|[^\W\d_{_CJK}][^\W{_CJK}]*(?:[-.@/&+][^\W{_CJK}]+|['’](?!s\b)[^\W{_CJK}]+)*"
    rf"|[{_CJK}]|[^\w\s]|_"
)
_IS_CJK = re.compile(f"[{_CJK}]")
_IS_CHINESE = re.compile("[\u4e00-\u9fff]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*%?")

_ENGLISH = frozenset(
    re.findall(
        r"\S+",
        """a an the this that these those of to in on at for from by with into about as and or but if than then i me my
        we us our you your he she it its they them their is are was were be been being am do does did done have has had
        having will would shall should can could may might must what when where who whom which why how please kindly
        tell show give get let want need like there here not no yes any some all much many more most just now again also
        too still yet up out over off so what's i'm i'd i've it's don't doesn't didn't isn't under below within between
        last past next happen happened say says said look looks go goes going one ones everything something anything""",
    )
)
_CHINESE = re.compile(
    "请问|请|帮我|帮忙|麻烦|给我|告诉我|告诉|我想要|我想|我要|我们|我|你们|你|他们|他|她|它|什么时候|什么|怎么样|怎么|多少钱|多少|"
    "哪些|哪里|哪儿|哪个|哪|谁|为什么|吗|呢|吧|啊|了|的|得|着|是|有没有|在|从|把|给|为|和|与|跟|或者|或|及|以及|还有|还是|也|都|"
    "就|才|又|再|用|可以|可能|应该|需要|将|被|这个|这|那个|那|些|个|现在|最近|近|过去|目前|一下|看看|查查|查一下|查询|看一下|找一下|"
    "一[个位张件本把台条份只支间场部辆双套篇]|"
    "问一下|列出|显示|关于|介绍|里面|加上"
)
_OFTEN = re.compile("[上下中内里写说买来去不没会能到对向往有看找要想让加放过地于查开调移寄订请搬转改叫由住]")
"""Characters that mostly join words but stand in many names: 上海, 中国. Borders, and hardly a fault."""
_END = re.compile(r"^[?!.。？！…]$")


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, mark or Chinese character."""

    text: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """Digits, with separators."""
        return _NUMBER.fullmatch(self.text) is not None

    @property
    def is_mark(self) -> bool:
        """Punctuation."""
        return not (self.text[0].isalnum() or self.text[0] == "_" or self.text in ("'s", "’s"))

    @property
    def cue(self) -> str:
        """What it is for its neighbours: lower case, every number alike, every end of a sentence alike."""
        return "#" if self.is_number else "$" if _END.match(self.text) else self.text.casefold()


@dataclass(frozen=True, slots=True)
class Span:
    """Some words of a text in a row; `text` is exactly what was written."""

    text: str
    start: int
    end: int
    first: int
    """Number of its first token."""
    last: int
    """Number of its last token."""

    def overlaps(self, place: Place) -> bool:
        """Whether it shares a character with the place."""
        return self.start < place[1] and place[0] < self.end


def is_cjk(text: str) -> bool:
    """Whether it holds characters that are written without blanks."""
    return _IS_CJK.search(text) is not None


def is_chinese(text: str) -> bool:
    """Whether it is to be answered in Chinese."""
    return _IS_CHINESE.search(text) is not None


def tokens_of(text: str) -> list[Token]:
    """Every token, in order."""
    return [Token(found.group(), found.start(), found.end()) for found in _TOKEN.finditer(text)]


def often_functional(text: str, tokens: list[Token]) -> frozenset[int]:
    """Numbers of the Chinese characters that mostly hold others together and may as well be a part of a name."""
    return frozenset(number for number, token in enumerate(tokens) if _OFTEN.fullmatch(token.text))


def functional(text: str, tokens: list[Token]) -> frozenset[int]:
    """Numbers of the tokens that only hold others together: articles, prepositions, particles, polite words."""
    chinese = [found.span() for found in _CHINESE.finditer(text)]
    return frozenset(
        number
        for number, token in enumerate(tokens)
        if token.text.casefold() in _ENGLISH
        or token.text in ("'s", "’s")
        or any(start <= token.start and token.end <= end for start, end in chinese)
    )


def spans_of(text: str, tokens: list[Token], *, max_words: int = 7, max_characters: int = 10) -> Iterator[Span]:
    """Every row of tokens that neither begins nor ends with a mark; Chinese counts by characters."""
    for first, begin in enumerate(tokens):
        if begin.is_mark or begin.text in ("'s", "’s"):
            continue
        for last in range(first, len(tokens)):
            end = tokens[last]
            if end.text == HIDDEN:
                break
            inside = text[begin.start : end.end]
            if last - first >= (max_characters if is_cjk(inside) else max_words):
                break
            if not end.is_mark:
                yield Span(inside, begin.start, end.end, first, last)
