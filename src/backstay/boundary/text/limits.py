"""Limits: the wordings that bound a thing, English and Chinese, found in a clause whose things are marks.

A row is a pattern, what it does with the mark it captured, and the language whose gate the words around it must pass.
Order matters: a mark belongs to the first row that takes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from backstay.boundary.text.things import Reading, Thing, compared, dated, window
from backstay.core.messages import Args
from backstay.core.patterns import Pattern

Lang: TypeAlias = Literal["en", "zh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A bound that a clause states, whether or not it is meant as a rule."""

    start: int
    end: int
    """Characters of the marked clause that state it."""
    lang: Lang
    check: Args | None
    why: str
    """Key of `render.advice` where `check` is None."""
    mid: str
    """The words between the limiting word and what it limits."""
    key: str
    """Letter of the mark that it bounds."""
    strong: bool
    """False where the words are a limit only if they stand alone: `within the last 3 months`."""


_Make: TypeAlias = Callable[[re.Match[str], Thing], "Args | None"]


class _Row(NamedTuple):
    pattern: Pattern
    make: _Make
    lang: Lang
    strong: bool = True


_MQ = r"⟦(?P<k>[mq])(?P<x>[a-z])⟧"
_WS = r"⟦(?P<k>[ws])(?P<x>[a-z])⟧"
_W = r"⟦(?P<k>w)(?P<x>[a-z])⟧"
_S = r"⟦(?P<k>s)(?P<x>[a-z])⟧"
_D = r"⟦(?P<k>d)(?P<x>[a-z])⟧"
_WD = r"⟦(?P<k>[wd])(?P<x>[a-z])⟧"
_NOT = (
    r"(?<![a-z])(?:under no circumstances|never|won't|will not|don't|do not"
    r"|must not|mustn't|may not|can't|cannot|shouldn't|should not|shall not"
    r"|to not|not"
    r"|no|nothing|none)"
)
_WORDS = r"(?P<mid>(?: [a-z0-9'/&.-]+){0,8}?)"
_ONLY = r"(?<![a-z])(?:only|just|solely|exclusively|nothing but)"
_KEEP = r"(?<![a-z])(?:limit|cap|restrict|confine|narrow|keep|stick|stay|remain|hold)(?:s|ed|ped|ted)?"
_HOW_WORD = (
    r"(?P<how>since|from|after|starting(?: from| on)?|as of|before|until|till|up to(?: and including)?|through|prior to"
    r"|in|on|of|for|during|between|dated)"
)
_ONWARDS = r"(?P<on>,? (?:onwards?|on|and later|or later|and after|forward))?(?![a-z])"
_OLDER = (
    r"(?:older than|beyond|past|(?:further|farther|longer|deeper)(?: back| ago)? than|earlier than|before|from before)"
)
_EARLIER = r"(?:before|older than|earlier than|prior to|(?:further|farther|longer|deeper)(?: back| ago)? than)"
_MORE = r"(?:more than|over|above|upwards of|exceed(?:ing)?|beyond|higher than|greater than|in excess of)"
_WITHOUT = r"(?<![a-z])(?:exclude|skip|ignore|omit|drop|discard|leave out|filter out|avoid|forget(?: about)?)"
_FORBIDDEN = (
    r"(?:(?:is|are) (?:off[- ]limits|forbidden|not allowed|not permitted|prohibited|excluded"
    r"|irrelevant|out of scope|not ok(?:ay)?|off the table|out of bounds|none of your business|not (?:needed|relevant"
    r"|of interest|required)|of no (?:interest|use|relevance))|(?:can|should"
    r"|must|may) be (?:ignored|skipped|left out|dropped"
    r"|excluded|omitted)|(?:do|does)(?:n't| not) (?:matter|count|interest "
    r"(?:me|us)|concern you)|(?:is|are)n't (?:needed"
    r"|relevant|allowed|of interest))(?![a-z])"
)
_ENOUGH = (
    r"(?:(?:is|are) (?:enough|plenty|sufficient|all (?:i|we|you) (?:want|need))|(?:will|would|should) (?:do|suffice"
    r"|be (?:enough|plenty|fine))|suffices?)(?: for (?:me|us|now|this|that))?(?: please| thanks)?(?=,|\Z)"
)
_AT_MOST = (
    r"(?<![a-z])(?:at (?:the )?(?:very )?most|up to|max(?:imum)?\.?(?: of)?|a (?:limit|cap|budget) of|not exceeding"
    r"|(?:limit|cap|budget|maximum|ceiling)(?P<mid>(?: [a-z]+){0,4}?) ?(?:is|=|:))"
)
_OR_LESS = r"(?:or less|or under|or fewer|or below|max(?:imum)?|at (?:the )?(?:very )?most|tops)(?![a-z])"
_ZH_NOT = r"(?:不(?:得|能|可以|可|要|许|准|应该|应|该|允许|会)?|别(?![的人家处])|勿|莫|禁止|严禁)"
_ZH_GAP = r"(?P<mid>[^⟦⟧,;:]{0,10}?)"
_ZH_ONLY = (
    r"(?:只(?!有)|仅|限于|局限于|限(?=最近|近|过去|⟦)|就(?=看|要|查)|光(?=看|要|查)"
    r"|范围[^⟦⟧,;]{0,8}?|(?:限制|控制|限定)在)"
)
_ZH_BEFORE = r" ?(?:之前|以前|前)"
_ZH_DROP = (
    r"的?[^⟦⟧,;]{0,8}?(?:不要|[别甭](?:看|要|管|查|用|拉|取|提|退|付|转"
    r"|买|做|批|给)|不[看用查管算行准许能退付转买做批给取]|不需要|排除"
    r"|忽略|略过"
    r"|跳过|免谈|免了|不考虑|不得|禁止|一律拒绝)"
)
_ZH_ENOUGH = r"[^⟦⟧,;]{0,8}?(?:就行|就好|即可|就够(?!呛)|就可以|就成|为限|才[要行可算看])"
_ZH_AFTER = r"(?: ?(?P<how>以后|之后|后|以来|起|开始|以前|之前|前|为止))?"


def _op(op: str) -> _Make:
    return lambda found, thing: compared(op, thing, found["k"])


def _back(_found: re.Match[str], thing: Thing) -> Args | None:
    return window(thing)


def _how(how: str) -> _Make:
    return lambda _found, thing: dated(thing, how)


_HOW = {
    word: how
    for how, words in {
        "since": "since,as of,以后,之后,后,以来,起,开始",
        "after": "after",
        "before": "before,prior to,以前,之前,前",
        "until": "until,till,through,为止",
    }.items()
    for word in words.split(",")
}


def _worded(found: re.Match[str], thing: Thing) -> Args | None:
    """The window for a mark behind `only`: whatever word stands with the dates says which side they bound."""
    if found["k"] == "w":
        return window(thing)
    groups = found.groupdict()
    how = groups.get("how") or ""
    single = thing.days is not None and thing.days[0] == thing.days[1]
    if how.startswith("up to"):
        return dated(thing, "until")
    if groups.get("on") or how.startswith("starting") or (how == "from" and single):
        return dated(thing, "since")
    return dated(thing, _HOW.get(how, "in"))


def _row(pattern: str, make: _Make, lang: Lang, strong: bool = True) -> _Row:
    return _Row(Pattern(pattern), make, lang, strong)


_ROWS: tuple[_Row, ...] = (
    # windows first: `more than 30 days old` must not be taken for a quantity
    _row(rf"{_NOT}{_WORDS} {_OLDER} {_WS}(?: (?:old|ago|back))?", _back, "en"),
    _row(rf"{_NOT}{_WORDS} (?:more|longer) than {_WS} (?:old|ago|back|of history|of data)", _back, "en"),
    _row(rf"{_NOT}{_WORDS} {_EARLIER} {_D}", _how("since"), "en"),
    _row(rf"{_NOT}{_WORDS} (?:after|later than|newer than|beyond|past) {_D}", _how("until"), "en"),
    _row(rf"{_ONLY}{_WORDS}(?: {_HOW_WORD})? {_WD}{_ONWARDS}", _worded, "en"),
    _row(rf"(?:(?<![a-z]){_HOW_WORD} )?{_WD}(?:,? onwards?)?,?(?: [a-z]+)? only(?![a-z])", _worded, "en"),
    _row(rf"{_KEEP}{_WORDS} (?:to|within|in|inside|from) {_WD}", _worded, "en"),
    _row(rf"{_WITHOUT}{_WORDS} {_OLDER} {_WS}", _back, "en"),
    _row(rf"{_WITHOUT}{_WORDS} (?:before|older than|earlier than|prior to) {_D}", _how("since"), "en"),
    _row(rf"{_WITHOUT}{_WORDS} (?:after|later than|newer than) {_D}", _how("until"), "en"),
    _row(rf"{_OLDER} {_WS} {_FORBIDDEN}", _back, "en"),
    _row(rf"{_EARLIER} {_D} {_FORBIDDEN}", _how("since"), "en"),
    _row(rf"{_W}(?: of [a-z]+)? {_ENOUGH}", _back, "en"),
    _row(rf"{_S} of (?:data|history|orders|records|logs|news|mail|emails) {_ENOUGH}", _back, "en"),
    _row(rf"{_S} (?:back|old) (?:at (?:the )?(?:very )?most|max(?:imum)?|tops)(?![a-z])", _back, "en"),
    _row(rf"(?<![a-z])back {_S} (?:at (?:the )?most|max(?:imum)?|tops)", _back, "en"),
    _row(rf"(?<![a-z])at most {_S} (?:back|old|of (?:data|history))", _back, "en"),
    _row(rf"{_W} (?:is|are) (?:all|everything) (?:that )?(?:i|we) (?:want|need|care)", _back, "en"),
    _row(rf"(?<![a-z])within {_W}", _back, "en", False),
    _row(rf"{_ZH_NOT}{_ZH_GAP}(?:早于|晚过) ?{_WS}", _back, "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}(?:超过|超出) ?{_S}{_ZH_BEFORE}", _back, "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}(?:超过|超出) ?{_W}", _back, "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}(?:超过|超出) ?{_S}的", _back, "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}{_S}{_ZH_BEFORE}", _back, "zh"),
    _row(rf"{_S}{_ZH_BEFORE}{_ZH_DROP}", _back, "zh"),
    _row(rf"(?:超过|超出|早于) ?{_S}{_ZH_DROP}", _back, "zh"),
    _row(rf"{_S}(?:以外|之外|开外){_ZH_DROP}", _back, "zh"),
    _row(rf"(?:最多|至多){_ZH_GAP}{_W}", _back, "zh"),
    _row(r"(?:往前|向前|往回|再往前)(?:最多|至多|顶多|别|不要|不能|不得)(?:只"
rf"|能|再)?(?:查|看|推|翻|追|到|找|超过|多于|超出)*{_S}", _back, "zh"),
    _row(rf"{_ZH_NOT}(?:再)?(?:往前|向前|往回)(?:查|看|推|翻|追|找)?(?:超过|超出|多于){_S}", _back, "zh"),
    _row(rf"(?:最早|最远)(?:只|能|可以|就|再)*(?:查|看|推|追溯|翻|从|到)*{_D}", _how("since"), "zh"),
    _row(rf"(?:最早|最远)(?:只|能|可以|就|再)*(?:往前)?(?:查|看|推|追溯|翻|到)*{_S}", _back, "zh"),
    _row(rf"(?:最多|至多|只){_ZH_GAP}(?:往前|向前|往回|向后倒|追溯|回溯|倒推)(?:查|看|推|翻|到)?{_S}", _back, "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}早于 ?{_D}", _how("since"), "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}晚于 ?{_D}", _how("until"), "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}{_D}{_ZH_BEFORE}", _how("since"), "zh"),
    _row(rf"{_D}{_ZH_BEFORE}{_ZH_DROP}", _how("since"), "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}{_D} ?(?:之后|以后|后)", _how("until"), "zh"),
    _row(rf"{_D} ?(?:之后|以后|后){_ZH_DROP}", _how("until"), "zh"),
    _row(rf"{_ZH_ONLY}(?P<mid>[^⟦⟧,;]{{0,14}}?){_WD}{_ZH_AFTER}", _worded, "zh"),
    _row(rf"{_WD}{_ZH_AFTER}{_ZH_ENOUGH}", _worded, "zh"),
    # money and quantities
    _row(rf"{_NOT}{_WORDS} {_MORE} {_MQ}", _op("le"), "en"),
    _row(rf"(?<![a-z]){_MORE} {_MQ} {_FORBIDDEN}", _op("le"), "en"),
    _row(rf"{_NOT}{_WORDS} (?:less than|fewer than|below|lower than) {_MQ}", _op("ge"), "en"),
    _row(rf"{_KEEP}{_WORDS} (?:to|at|within) {_MQ}", _op("le"), "en"),
    _row(rf"{_AT_MOST} {_MQ}", _op("le"), "en"),
    _row(rf"(?:<=|≤|=<) ?{_MQ}", _op("le"), "en"),
    _row(rf"(?<![a-z])(?:under|below|less than|fewer than) {_MQ}", _op("lt"), "en"),
    _row(rf"(?<![a-z])(?:at least|min(?:imum)?\.?(?: of)?) {_MQ}", _op("ge"), "en"),
    _row(rf"{_MQ}(?: [a-z]+){{0,2}}? {_OR_LESS}", _op("le"), "en"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}(?:超过|超出|高于|大于|多于|超) ?{_MQ}", _op("le"), "zh"),
    _row(rf"(?:超过|超出|高于|大于|多于) ?{_MQ}(?:以上)?{_ZH_DROP}", _op("le"), "zh"),
    _row(rf"{_MQ}(?:以上|开外|往上){_ZH_DROP}(?![贵多少高低]|什么|啥)", _op("le"), "zh"),
    _row(rf"(?:不要|别|不许|不准|不得|不能){_ZH_GAP}{_MQ}(?:以上|开外|往上)(?!下)", _op("le"), "zh"),
    _row(rf"(?:贵于|贵过|高出) ?{_MQ}{_ZH_DROP}", _op("le"), "zh"),
    _row(r"(?:不(?:能|要|得|许|可以?|准)|别)(?:买|订|选|要|花|挑)?(?:比|贵过"
rf"|贵于){_MQ}(?:更|还)?(?:贵|多|高|贵的)?", _op("le"), "zh"),
    _row(rf"{_ZH_NOT}{_ZH_GAP}(?:少于|低于|小于) ?{_MQ}", _op("ge"), "zh"),
    _row(rf"(?:最多|至多|顶多|最高|上限|限额|预算|(?:限制|控制|限定)在|限于){_ZH_GAP}{_MQ}", _op("le"), "zh"),
    _row(rf"{_MQ} ?(?:以内|之内|内|封顶|为限|为上限|上限)", _op("le"), "zh"),
    _row(rf"{_MQ} ?(?:以下|之下)", _op("lt"), "zh"),
    _row(rf"(?:低于|少于|小于|(?<=[要须得应])(?:不足|不到)) ?{_MQ}", _op("lt"), "zh"),
    _row(rf"(?:至少|最少|起码){_ZH_GAP}{_MQ}", _op("ge"), "zh"),
)  # fmt: skip


_BARE = _row(_W, _back, "en")


def find_limits(reading: Reading, *, rule: bool = False) -> Iterator[Limit]:
    """Yield every bound that a marked clause states, each mark at most once.

    Args:
        reading: the marked clause.
        rule: True where the text is known to be a rule: then a bare `the last 30 days` is one too.
    """
    taken: set[str] = set()
    for row in (*_ROWS, _BARE) if rule else _ROWS:
        for found in row.pattern.finditer(reading.text):
            groups = found.groupdict()
            key = groups["x"]
            if key in taken:
                continue
            taken.add(key)
            thing = reading.things[key]
            check = row.make(found, thing)
            yield Limit(
                start=found.start(),
                end=found.end(),
                lang=row.lang,
                check=check,
                why="" if check else _why(thing, groups["k"]),
                mid=groups.get("mid") or "",
                key=key,
                strong=row.strong,
            )


def _why(thing: Thing, kind: str) -> str:
    if kind == "d":
        return "date"
    if thing.value is None:
        return "number"
    return {"m": "currency", "q": "count"}.get(kind, "length")
