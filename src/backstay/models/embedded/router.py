"""`ToolRouter`: which tool a text asks for, by meaning, with a score and a margin. Usable on its own, with any model.

Three things add up: how close the text is to the tool's description, to the nearest of its examples, and word by word
to the tool's name; besides them a caller may add evidence of its own. Source: notes embedded-model 3; issue 3.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from backstay.core.encoder import Encoder
from backstay.core.messages import ToolSpec
from backstay.models.embedded.encoder import shared_encoder
from backstay.models.embedded.vectors import cosines
from backstay.models.embedded.words import is_cjk, tokens_of

THRESHOLD = 1.04
"""Score under which no tool is chosen; scores lie between 0 and about 3.5."""
MARGIN = 0.01
"""Lead over the second tool under which the choice is not made."""
_ACROSS = 0.7
"""Share of the threshold for a text in Chinese, Japanese or Korean and tools described in another script: their vectors
lie further apart."""
_SENTENCE = 0.8
"""What a sentence of the description counts beside an example, where a tool has none or none is as close."""
_SAME = 0.97
"""Cosine from which two words are one."""
_SAID = 0.06
"""What a word of the name that stands in the text counts besides, times its rarity."""
_ASIDE = 0.55
"""Cosine from which a text is small talk, unless a tool's score is above twice that."""
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_TOLD = re.compile(r"\b(?:please )?(?:tell|let) me (?:know )?(?=\w)|(?:请|再)?告诉我(?=.)", re.IGNORECASE)
"""Who asks to be told something sends nobody a message."""
_HEAD = re.compile(r"[:：]| that |说")
_PREFIX = re.compile(r"^Use (?:it|this) when (?:the user )?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What the router found."""

    scores: tuple[tuple[str, float], ...]
    """Every tool that was not ruled out, best first."""
    chosen: str | None
    """The best tool, if its score and its lead are high enough."""

    @property
    def score(self) -> float:
        """Of the best tool; 0 where there is none."""
        return self.scores[0][1] if self.scores else 0.0

    @property
    def margin(self) -> float:
        """Lead of the best tool over the second; its whole score where it is alone."""
        return self.score - self.scores[1][1] if len(self.scores) > 1 else self.score


@dataclass(frozen=True, slots=True)
class _Card:
    """A tool as the router compares it."""

    description: str
    sentences: tuple[str, ...]
    examples: tuple[str, ...]
    name_words: tuple[str, ...]


class ToolRouter:
    """Chooses a tool for a text.

        router = ToolRouter()
        route = router.route("Where is my parcel?", tools)
        route.chosen, route.score, route.margin

    Args:
        encoder: turns sentences into vectors; the process's own small one where it is left out.
        threshold: the least score of a choice.
        margin: the least lead of a choice.
    """

    def __init__(self, encoder: Encoder | None = None, *, threshold: float = THRESHOLD, margin: float = MARGIN) -> None:
        self._encoder = encoder or shared_encoder()
        self.threshold = threshold
        self.margin = margin

    def route(
        self,
        text: str,
        tools: Sequence[ToolSpec],
        evidence: Callable[[ToolSpec], float | None] | None = None,
        *,
        aside: Sequence[str] = (),
    ) -> Route:
        """Score the tools for a text.

        Args:
            text: what the user said, in any of the encoder's languages.
            tools: names, descriptions and examples are compared.
            evidence: adds to a tool's score; None rules the tool out.
            aside: things people say that no tool is for; a text that is nearer to one of them gets no tool.
        """
        found: list[tuple[str, float]] = []
        scores = self._scores(text, tools)
        for spec, score in zip(tools, scores, strict=True):
            more = evidence(spec) if evidence else 0.0
            if more is not None:
                found.append((spec.name, round(score + more, 4)))
        found.sort(key=itemgetter(1), reverse=True)
        route = Route(scores=tuple(found), chosen=None)
        is_clear = bool(found) and route.score >= self.threshold_for(text, tools) and route.margin >= self.margin
        is_clear = is_clear and not self.is_aside(text, aside, route.score)
        return Route(scores=route.scores, chosen=found[0][0]) if is_clear else route

    def threshold_for(self, text: str, tools: Sequence[ToolSpec]) -> float:
        """The least score for a text: lower where text and tools are in different scripts."""
        is_across = is_cjk(text) and not any(is_cjk(spec.description) for spec in tools)
        return self.threshold * (_ACROSS if is_across else 1.0)

    def is_aside(self, text: str, aside: Sequence[str], score: float) -> bool:
        """Whether a text is nearer to one of these sayings than a tool's score makes likely."""
        if not aside:
            return False
        near = float(cosines(self._encoder.encode(aside), self._encoder.encode([text])).max())
        return near > _ASIDE and 2 * near > score

    def _scores(self, text: str, tools: Sequence[ToolSpec]) -> list[float]:
        if not tools:
            return []
        asked = [_masked(text)]
        head = _HEAD.split(text, maxsplit=1)[0]
        if 5 < len(head) < len(text) or (is_cjk(head) and 3 < len(head) < len(text)):
            # What follows a colon is carried, not asked: "Add a note: the parcel is lost" does not look for a parcel.
            asked.append(_masked(head))
        queries, words = self._encoder.encode(asked), self._encoder.encode(_words(text))
        rarity = _rarity(tools)
        return [self._score(card, queries, words, rarity) for card in map(_card, tools)]

    def _score(
        self,
        card: _Card,
        queries: Sequence[Sequence[float]],
        words: Sequence[Sequence[float]],
        rarity: dict[str, float],
    ) -> float:
        def nearest(texts: Sequence[str]) -> float:
            return float(cosines(self._encoder.encode(texts), queries).max()) if texts else 0.0

        told = nearest((card.description,)) if card.description else 0.0
        shown = max(nearest(card.examples), _SENTENCE * nearest(card.sentences))
        return told + shown + self._named(card, words, rarity)

    def _named(self, card: _Card, words: Sequence[Sequence[float]], rarity: dict[str, float]) -> float:
        """Word by word: how near the text comes to each word of the name, rare words counting more. Finds "track" in
        物流 and "note" in 备注, which whole sentences do not.
        """
        weights = [rarity[word] for word in card.name_words]
        if not weights or not words:
            return 0.0
        near = cosines(self._encoder.encode(card.name_words), words).max(axis=1)
        said = max((w for w, n in zip(weights, near, strict=True) if n > _SAME), default=0.0)
        return float(sum(w * n for w, n in zip(weights, near, strict=True)) / sum(weights) + _SAID * said)


def _card(spec: ToolSpec) -> _Card:
    return _made(spec.name, spec.description, tuple(text for text, _ in spec.examples))


@lru_cache(maxsize=1024)
def _made(name: str, description: str, examples: tuple[str, ...]) -> _Card:
    sentences = [one.strip() for one in re.split(r"(?<=[.。])\s+|\n+", description) if one.strip()]
    plain = [_PREFIX.sub("", one) for one in sentences]
    spoken = name.replace("_", " ").replace("-", " ")
    return _Card(
        description=_masked(description),
        sentences=tuple(dict.fromkeys(map(_masked, (*sentences, *plain, spoken)))),
        examples=tuple(map(_masked, examples)),
        name_words=_name_words(name),
    )


def _name_words(name: str) -> tuple[str, ...]:
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+", name)
    return tuple(dict.fromkeys(word.casefold() for word in words if word.casefold() not in ("of", "the", "to", "for")))


def _rarity(tools: Sequence[ToolSpec]) -> dict[str, float]:
    counts = Counter(word for spec in tools for word in _name_words(spec.name))
    return {word: math.log((len(tools) + 1) / count) for word, count in counts.items()}


def _words(text: str) -> list[str]:
    """The words of a text; of Chinese every two and three characters in a row."""
    tokens = [token.text for token in tokens_of(text) if not token.is_mark and not token.is_number]
    found = [token.casefold() for token in tokens if not is_cjk(token)]
    for run in re.findall("[\u3040-\u30ff\u3400-\u9fff]+", text):
        found += [run[n : n + size] for size in (2, 3) for n in range(len(run) - size + 1)] or [run]
    return list(dict.fromkeys(found))[:120]


def _masked(text: str) -> str:
    """Every number alike: the encoder would find 1001 closer to 1002 than to an order."""
    return _NUMBER.sub("5", _TOLD.sub("", text))
