"""A message with more than one wish: where one ends and the next begins, and whether a message asks or wants.

Cutting is careful: a part is a wish of its own only if it begins like a request, since "chicken, rice and ginger" is
one list. What follows a colon is carried and never cut. Source: SPEC L2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from backstay.models.embedded.words import Place

_JOINT = re.compile(
    r"(?P<told>[,，.;?？。；]\s*(?=(?:and )?(?:if|unless) (?!possible|you|that|not)|如果|要是|假如)"
    r"|[.;!?]\s+also\b,?\s+|[,，.;]?\s*\b(?:and then|and also|then also|then"
    r"|and after that|after that|afterwards)\b,?\s+"
    r"|[,，。；]?\s*(?:然后再?|另外|顺便|接着|同时|并且|并(?!不|没)|再(?!次|见)|还有(?!呢))(?=[^\s呢？?]))"
    r"|(?P<joined>,?\s+and\s+|\s+以及\s*)"
    r"|(?P<plain>[.!](?=\s)\s*|[?？。！；;\n]\s*|[,，]\s*)",
    re.IGNORECASE,
)
_CARRIED = re.compile(
    r"[:：](?!\d)|(?<=[消信短])息?说|\b(?:tell|write|note|say|saying|says)\b[^,.;]*\bthat\b", re.IGNORECASE
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》")
_BEGINS = re.compile(
    r"\s*(?:and\s+|also\s+|so\s+)?(?:please|can|could|would|will|let"
    r"|i want|i need|i'd|tell|show|give|get|find|list|look|check|track|see|what"
    r"|what's|where|where's|when|who|how|which|why|is|are|was|has|have|did|does|add|put|note|write|send|book|reserve"
    r"|cancel|refund|return|pay|open|read|calculate|convert|make|create|remove|delete|set|change|update|move|invite"
    r"|assign|ask|rename|order|call|search|sing|play|fix|print|buy|start|stop|close|turn|explain|translate|remind|email"
    r"|schedule|draw|delete|don't|do not)\b"
    "|(?:也|先|就)?(?:请|帮|麻烦|查|看|找|告诉|给|把|将|取消|退|列出|显示|打开|发|订|预订|加|记|换算|计算|算|提醒|我想|我要|邀请|寄|搜|安排|让"
    r"|别|不要|\w{0,8}(?:在哪|到哪|是什么|怎么样|多少|退款|取消))",
    re.IGNORECASE,
)
_ROW = re.compile(
    r"(?<![\w.-])[A-Za-z]{0,4}-?\d{3,}(?:\s*(?:,\s*and\s|,|，|、|and\s|&|和|与|跟|以及)\s*[A-Za-z]{0,4}-?\d{3,})+(?![\w-]|[.,]\d)",
    re.IGNORECASE,
)
_IF = re.compile(r"\b(?:if|unless|in case|otherwise|whether)\b|如果|要是|假如|除非|否则|的话", re.IGNORECASE)
_ASKS = re.compile(
    r"^\s*(?:and |so |but )?(?:(?:why|when|which|what|who|where|how)\b(?! about| don't)"
    r"|(?:was|were|is|are|has|have|had|did|does)\b.*[?？]\s*$)",
    re.IGNORECASE | re.DOTALL,
)
_ASKS_ZH = re.compile("吗|了没|没有?[？?。]*$|是否|为什么|为何|有没有|什么时候|哪些|哪个|多少|谁|怎么")
_WANTS_ZH = re.compile("可以|可不可以|能不能|能否|可否|好吗|行吗|帮|请(?!问)|麻烦|能")


def is_question(text: str) -> bool:
    """Whether it asks how things are; "can you cancel it?" and 可以退款吗 want something."""
    if _ASKS.match(text):
        return True
    return _ASKS_ZH.search(text) is not None and _WANTS_ZH.search(text) is None


def is_conditional(text: str) -> bool:
    """Whether a part hangs on another: it is then not for a model that does not plan."""
    return _IF.search(text) is not None


def begins_like_a_wish(text: str) -> bool:
    """Whether it begins as requests do."""
    return _BEGINS.match(text) is not None


@dataclass(frozen=True, slots=True)
class Row:
    """Identifiers one after the other: "1001, 1003 and 1007"."""

    start: int
    end: int
    identifiers: tuple[str, ...]


def row_of_identifiers(text: str) -> Row | None:
    """The first row of identifiers of a text."""
    found = _ROW.search(text)
    if found is None:
        return None
    return Row(*found.span(), identifiers=tuple(re.findall(r"(?<![A-Za-z])[A-Za-z]{0,4}-?\d{3,}", found.group())))


def cut(text: str, is_wish: Callable[[str], bool], is_one: Callable[[int, int], bool]) -> list[str]:
    """The wishes of a text, in order; the text itself if it holds one.

    Args:
        text: what the user said.
        is_wish: whether a part by itself is something that can be asked for here.
        is_one: whether what stands on both sides of a place belongs to one value.
    """
    carried = _CARRIED.search(text)
    until = carried.start() if carried else len(text)
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    joints = [one for one in _joints(text) if one.start < until and not any(one.meets(place) for place in quoted)]
    wishes, begin = [], 0
    for number, joint in enumerate(joints):
        before, after = text[begin : joint.start].strip(), text[joint.end :].strip()
        stop = joints[number + 1].start if number + 1 < len(joints) else len(text)
        head = text[joint.end : stop].strip()
        if not before or not head or not begins_like_a_wish(before) or not is_wish(before):
            continue
        if is_one(joint.start, joint.end):
            continue
        begins = begins_like_a_wish(after)
        if joint.is_told or (begins and (joint.is_and or is_wish(head) or is_wish(after))):
            wishes.append(before)
            begin = joint.end
    return [*wishes, text[begin:].strip()]


@dataclass(frozen=True, slots=True)
class _Joint:
    """A place where one wish may end."""

    start: int
    end: int
    is_told: bool
    """A word that can only lead to something more: then, also, 然后."""
    is_and: bool

    def meets(self, place: Place) -> bool:
        return self.start < place[1] and place[0] < self.end


def _joints(text: str) -> list[_Joint]:
    found = [
        _Joint(*one.span(), is_told=one.lastgroup == "told", is_and=one.lastgroup == "joined")
        for one in _JOINT.finditer(text)
    ]
    return [one for one in found if one.end > one.start]
