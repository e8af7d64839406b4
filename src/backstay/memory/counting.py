"""How many tokens messages, tools and requests have, and what a provider's own figures say about the guess.

The provider's last figure is the anchor; only what has changed since is estimated, times a factor that the session has
learnt. Everything here is linear in the text, and additive: a request is the sum of its messages and tools.
Source: SPEC M9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType
from typing import assert_never

from backstay.core.canon import canonical
from backstay.core.messages import (
    Media,
    Message,
    ModelRequest,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolReturn,
    ToolSpec,
    Usage,
)
from backstay.memory.estimator import estimate

MESSAGE = 4
"""Tokens of a message beyond its parts."""
CALL = 8
"""Tokens of a call or a result beyond its words: the id and the frame."""
TOOL = 10
"""Tokens of an offered tool beyond its words."""
MEDIA: Mapping[str, int] = MappingProxyType(
    {"image/": 1_600, "application/pdf": 4_500, "audio/": 1_900, "video/": 8_000, "": 1_600}
)
"""Tokens of a part of media by the beginning of its type: an image of usual size, three pages, a minute, half of one.
Nobody knows before the provider says so; the longest beginning wins."""

_LOWEST, _HIGHEST = 0.5, 4.0
_FADING = 0.9
_PRIOR = 60
"""Tokens that the ratio of the first request counts for, against what later requests show."""
_TELLING = 24
"""Estimated tokens below which a difference between two requests says nothing about the factor."""
OVERFLOW = 1.15
"""What the factor grows by when the provider refuses a request as too long."""


def message_tokens(message: Message, count: Callable[[str], int] = estimate) -> int:
    """Tokens of a message with everything in it: words, reasoning, calls, results, media.

    Args:
        message: any message.
        count: counts a text; the estimator where it is left out.
    """
    return MESSAGE + sum(part_tokens(part, count) for part in message.parts)


def part_tokens(part: Part, count: Callable[[str], int] = estimate) -> int:
    """Tokens of one part. Of a result, what the model is shown; an opaque signature of reasoning counts as its text."""
    match part:
        case Text():
            return count(part.text)
        case Reasoning():
            return count(part.text) + (count(part.signature) if part.signature else 0)
        case ToolCall():
            return CALL + count(part.name) + count(part.raw if part.raw is not None else canonical(part.args))
        case ToolReturn():
            return CALL + count(part.result.summary)
        case Media():
            return media_tokens(part.mime)
        case _:
            assert_never(part)


def media_tokens(mime: str) -> int:
    """Tokens of media of this type, by the table."""
    return MEDIA[max((start for start in MEDIA if mime.startswith(start)), key=len)]


def tools_tokens(tools: Iterable[ToolSpec], count: Callable[[str], int] = estimate) -> int:
    """Tokens of the tools that a request offers."""
    return sum(TOOL + count(one.name) + count(one.description) + count(canonical(one.schema)) for one in tools)


def request_tokens(request: ModelRequest, count: Callable[[str], int] = estimate) -> int:
    """Tokens of a whole request: messages, the system's among them, tools, and the schema of its answer."""
    schema = count(canonical(request.output_schema)) if request.output_schema else 0
    messages = sum(message_tokens(message, count) for message in request.messages)
    return messages + tools_tokens(request.tools, count) + schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a session has learnt of how its provider counts. Frozen, so that it can be journalled as it is."""

    anchor_tokens: int = 0
    """The provider's figure for the last request; 0 before the first."""
    anchor_estimate: int = 0
    """The estimate of the same request."""
    seen_tokens: float = 0.0
    """Tokens by the provider of what came to the requests, the older ones faded."""
    seen_estimate: float = 0.0
    """The estimate of the same."""
    boost: float = 1.0
    """What refusals for length have added."""

    @property
    def is_anchored(self) -> bool:
        """Whether the provider has said something that still holds. Plan with 3 % of the window to spare, else 10 %."""
        return self.anchor_tokens > 0

    @property
    def factor(self) -> float:
        """The provider's tokens for one estimated token: 1 as long as nothing is known."""
        if not self.seen_estimate:
            return self.boost
        return min(_HIGHEST, max(_LOWEST, self.seen_tokens / self.seen_estimate)) * self.boost

    def predict(self, estimated: int) -> int:
        """The tokens that the provider will count for a request with this estimate.

        What the last request had is taken at the provider's word; the difference to it, up or down, is estimated. The
        same request again is predicted exactly.
        """
        if not self.is_anchored:
            return ceil(estimated * self.factor)
        return max(0, ceil(self.anchor_tokens + (estimated - self.anchor_estimate) * self.factor))

    def observed(self, estimated: int, usage: Usage | None) -> Calibration:
        """What is known after a request: `usage.input_tokens` has to count the cached ones too. None says nothing."""
        if usage is None or usage.input_tokens <= 0 or estimated <= 0:
            return self
        tokens, guess = usage.input_tokens, estimated
        if not self.is_anchored:
            seen = (_PRIOR * tokens / guess, float(_PRIOR))
        elif guess - self.anchor_estimate >= _TELLING and tokens > self.anchor_tokens:
            grown = (tokens - self.anchor_tokens, guess - self.anchor_estimate)
            seen = (self.seen_tokens * _FADING + grown[0], self.seen_estimate * _FADING + grown[1])
        else:  # nothing much came, or something went: the anchor moves, the factor stays
            seen = (self.seen_tokens, self.seen_estimate)
        return replace(self, anchor_tokens=tokens, anchor_estimate=guess, seen_tokens=seen[0], seen_estimate=seen[1])

    def overflowed(self) -> Calibration:
        """After the provider refused a request as too long: trust the guess less."""
        return replace(self, anchor_tokens=0, anchor_estimate=0, boost=self.boost * OVERFLOW)
