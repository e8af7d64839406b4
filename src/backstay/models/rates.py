"""`RateLimit`: how many requests and tokens may go out in a span of time, from all that share the object.

A place is taken at once and its time waited for afterwards, so that those who wait keep their order and who gives up
frees the place. Source: SPEC L5.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backstay.core.context import RunContext
from backstay.core.errors import ModelError, SetupError
from backstay.core.messages import Delta, ModelReply, ModelRequest, Text, ToolReturn, Usage
from backstay.models.model import ChatModel, ModelProfile
from backstay.models.names import resolve

_CHARS = 4
"""Characters of a token, by the rule of thumb: a limit that errs a little errs on both sides."""


@dataclass(slots=True, eq=False)
class Place:
    """One request's place in the span."""

    at: float
    tokens: int


class RateLimit:
    """At most so many requests and tokens in any span of `seconds`. Give the same object to all that shall share it.

    Args:
        requests: in a span; None: any number.
        tokens: input and output in a span; None: any number. A request counts as its length until its usage is known;
            one that alone is above the limit goes out when nothing else has in its span.
        seconds: the span.

    Raises:
        SetupError: code `limits`, for a limit that is none.
    """

    def __init__(self, requests: int | None = None, *, tokens: int | None = None, seconds: float = 60.0) -> None:
        given = [one for one in (requests, tokens) if one is not None]
        if not given or min(given) < 1 or not seconds > 0:
            raise SetupError("RateLimit needs requests= or tokens= above 0 and seconds= above 0", code="limits")
        self._requests, self._tokens, self._seconds = requests, tokens, seconds
        self._places: deque[Place] = deque()
        self._lock = threading.Lock()

    async def enter(self, request: ModelRequest, ctx: RunContext[Any]) -> Place:
        """Wait for a place; cancelling the wait frees it.

        Raises:
            ModelError: code `model.rate_limit`, at once, where the place would come after the run's deadline.
        """
        place = self._take(ctx.clock(), estimate(request))
        wait = place.at - ctx.clock()
        try:
            if ctx.clock() + wait > ctx.deadline:
                told = f"the next place under the rate limit comes in {wait:.1f} s, after the run's time is up"
                raise ModelError(told, retryable=False, code="model.rate_limit")
            if wait > 0:
                await ctx.sleep(wait)
        except BaseException:
            self._leave(place)
            raise
        return place

    def settle(self, place: Place, usage: Usage | None) -> None:
        """Count what a request has really used."""
        if usage is not None:
            place.tokens = usage.total_tokens

    def _take(self, now: float, tokens: int) -> Place:
        with self._lock:
            places, seconds = self._places, self._seconds
            while places and places[0].at <= now - seconds:
                places.popleft()
            at = max(now, places[-1].at) if places else now
            if self._requests is not None and len(places) >= self._requests:
                at = max(at, places[-self._requests].at + seconds)
            if self._tokens is not None:
                at = max(at, self._room_at(tokens, at))
            place = Place(at, tokens)
            places.append(place)
            return place

    def _room_at(self, tokens: int, at: float) -> float:
        """When so many tokens have room: when the newest place that does not fit beside them has left the span."""
        assert self._tokens is not None
        for place in reversed(self._places):
            tokens += place.tokens
            if tokens > self._tokens:
                return place.at + self._seconds
        return at

    def _leave(self, place: Place) -> None:
        with self._lock:
            if place in self._places:
                self._places.remove(place)


class RateLimitedModel:
    """A model whose requests, each attempt for itself, wait for a place under a limit.

    Args:
        model: a name or a model. A `FallbackModel` is given limited models instead, so that a full limit asks the next.
        limit: shared by whoever has the same object.
    """

    def __init__(self, model: str | ChatModel, limit: RateLimit) -> None:
        self._model, self._limit = resolve(model), limit

    @property
    def profile(self) -> ModelProfile:
        """The model's."""
        return self._model.profile

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def request(
        self, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None = None
    ) -> ModelReply:
        """Wait, then ask.

        Raises:
            ModelError: the model's, or `model.rate_limit`.
        """
        place = await self._limit.enter(request, ctx)
        reply = await self._model.request(request, ctx, on_delta)
        self._limit.settle(place, reply.usage)
        return reply


def estimate(request: ModelRequest) -> int:
    """About how many tokens a request has: instructions, tools and their schemas, messages and results. Case C73."""
    chars = sum(len(one.name) + len(one.description) + len(str(one.schema)) for one in request.tools)
    for message in request.messages:
        for part in message.parts:
            match part:
                case Text(text=text):
                    chars += len(text)
                case ToolReturn(result=result):
                    chars += len(result.summary)
                case _:
                    chars += len(str(getattr(part, "args", "")))
    return chars // _CHARS + 1
