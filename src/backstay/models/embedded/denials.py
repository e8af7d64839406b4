"""What the user says not to do: "don't cancel it", 不要退款, "not the cancelled ones". English and Chinese.

Places in the text, and the tools whose act is named there.

Source: SPEC L2; an act that was refused in words is never the act that is chosen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from backstay.core.encoder import Encoder
from backstay.core.messages import ToolSpec
from backstay.models.embedded.vectors import cosines
from backstay.models.embedded.words import HIDDEN, is_cjk, tokens_of

_ACT = 0.62
"""Cosine from which a word is the act of a tool: "call off" is further from `cancel` than 取消 and "cancelled"."""

_ALIKE = 0.12
"""How much further another tool's act may be to be refused with the nearest."""
_ENGLISH = re.compile(
    r"\b(?:do not|don['’]?t|does not|doesn['’]t|did not|didn['’]t|never|must not|mustn['’]t|should not|shouldn['’]t"
    r"|needn['’]t|need not|won['’]t|no need to|without|instead of|rather than|no longer|not|no(?=\s+\w))\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    "(?<![要])不要|(?<![用])不用|不想|不需要|不必|无需|不是|(?<![特个分区级性类告辨])别(?![的人处名])|没有?(?!要|让|说|想)|没有?[要让说想]|未|勿|不"
)
_HARMLESS = re.compile(
    r"why (?:don['’]?t|not)|don['’]?t (?:forget|wait|hesitate|worry|mind)|not only|if not|or not|not sure|no problem"
    r"|没问题|不好意思|对不起|不过|不仅|不但|不只|不客气|不错|不知道|差不多|有没有|没有?[？?。]?$|(.)不\1",
    re.IGNORECASE,
)
"""Negations that refuse nothing; `A不A` is how Chinese asks."""
_NARROW = re.compile("没有?|未|不")
"""Chinese words that mostly state a fact and negate only the next characters."""
_REACH = 4
_END = re.compile(r"[,.;!?，。；！？\n]|\bbut\b|\bjust\b|\bonly\b|但|而是|只|就|是(?=[\dA-Z])", re.IGNORECASE)
_EMPTY = re.compile(
    r"^(?:\s|[了吧啦呢啊做办的要]|it|that|this|do|needed|necessary|required|wanted|what i want|so)*$", re.IGNORECASE
)
_BARE = re.compile(
    r"^\W*(?:(?:no|nope|nah|thanks?|thank you|please|never ?mind|forget (?:it|that)|stop|don['’]?t|do not|do it|that"
    r"|不|不用了?|不要了?|不了|不必了?|算了|别了?|别这样|先|没事了?|谢谢)(?:\W+|(?=[\u4e00-\u9fff])|$))+$",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:no|nope|nah|never ?mind|forget|stop|don['’]?t|do not)\b|不|算了|别|没事", re.IGNORECASE)
_ANY = frozenset(
    re.findall(
        r"\w+", "get find show list look read view check fetch search describe add create make set update put write do"
    )
)
"""First words of names that say nothing of the act: what follows them does."""


def is_bare_no(text: str) -> bool:
    """Whether it says no and nothing else."""
    return _BARE.match(text) is not None and _NO.search(text) is not None


@dataclass(frozen=True, slots=True)
class Denial:
    """One negation: the words under it, its own included."""

    start: int
    end: int
    reach: int
    """Up to here an act counts as refused; what follows may be a fact beside it."""


def denials_in(text: str, *, until: int | None = None) -> tuple[Denial, ...]:
    """Every negation; none from `until` on, where a carried text begins."""
    harmless = [found.span() for found in _HARMLESS.finditer(text)]
    found: list[Denial] = []
    for match in sorted((*_ENGLISH.finditer(text), *_CHINESE.finditer(text)), key=lambda one: one.start()):
        start, end = match.span()
        used = [*harmless, *((one.start, one.end) for one in found)]
        if start < (until or len(text)) and not any(start < stop and begin < end for begin, stop in used):
            found.append(_denial(text, match))
    return tuple(found)


def _denial(text: str, match: re.Match[str]) -> Denial:
    stop = _END.search(text, match.end())
    end = stop.start() if stop else len(text)
    if _EMPTY.match(text[match.end() : end]):
        # 退款就不用了, "a refund is not needed": what is refused stands before.
        before = max((found.end() for found in re.finditer(r"[.;!?。；！？\n,，]", text[: match.start()])), default=0)
        return Denial(before, end, end)
    reach = min(end, match.end() + _REACH) if _NARROW.fullmatch(match.group()) else end
    return Denial(match.start(), end, reach)


def hidden(text: str, denials: Iterable[Denial]) -> str:
    """The text with what is refused made unreadable, every other character where it was."""
    for one in denials:
        text = text[: one.start] + HIDDEN * (one.end - one.start) + text[one.end :]
    return text


def denied_tools(text: str, denials: Sequence[Denial], tools: Sequence[ToolSpec], encoder: Encoder) -> frozenset[str]:
    """Names of the tools whose act is named where a negation reaches."""
    return frozenset().union(*(tools_named(text[one.start : one.reach], tools, encoder) for one in denials))


def tools_named(text: str, tools: Sequence[ToolSpec], encoder: Encoder) -> frozenset[str]:
    """Names of the tools whose act a text names: the nearest one, and those about as near."""
    said = _words(text)
    if not said:
        return frozenset()
    counts = Counter(word for spec in tools for word in set(_name_words(spec.name)))
    vectors = encoder.encode(said)
    near = {
        spec.name: float(cosines(encoder.encode(act), vectors).max())
        for spec in tools
        if (act := _act(spec.name, counts))
    }
    best = max(near.values(), default=0.0)
    return frozenset(name for name, cosine in near.items() if cosine >= max(_ACT, best - _ALIKE))


def _name_words(name: str) -> list[str]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+", name)
    return [word.casefold().removesuffix("s") for word in words if len(word) > 2 or not word.isascii()]


def _act(name: str, counts: Counter[str]) -> list[str]:
    """The words of a name that say what is done; a thing that several tools deal with does not."""
    words = _name_words(name)
    first = [word for word in words[:1] if word not in _ANY]
    return first or [word for word in words[1:] if counts[word] == 1]


def _words(text: str) -> list[str]:
    tokens = [token.text.casefold() for token in tokens_of(text) if not token.is_mark and not token.is_number]
    latin = [token for token in tokens if not is_cjk(token)]
    found = [*latin, *(f"{one} {other}" for one, other in pairwise(latin))]
    for run in re.findall("[\u3040-\u30ff\u3400-\u9fff]+", text):
        found += [run[n : n + size] for size in (1, 2, 3) for n in range(len(run) - size + 1)]
    return [word for word in dict.fromkeys(found) if word not in _NO_ACT]


_NO_ACT = frozenset(
    ["not", "no", "don't", "do", "it", "the", "不", "要", "不要", "别", "用", "不用", "没", "没有", "了", "order"]
)
