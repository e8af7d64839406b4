"""The response cache: an equal request is answered with the reply that it had before. Source: SPEC G8."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

from backstay.agents.middleware.chain import Middleware, ModelNext
from backstay.core.canon import digest
from backstay.core.context import RunContext
from backstay.core.messages import ModelReply, ModelRequest, Usage
from backstay.models.recording import normal


class ResponseCache(Middleware):
    """Keeps whole replies in memory. Two requests are equal if the model is sent the same; a kept reply costs nothing.

    A reply that was cut off, refused or is empty is not kept. Calls in a kept reply run again: they are judged, and
    their effects are new. Credentials are redacted before requests are compared, so give each tenant a cache of its own
    where they could be all that differs.

    Args:
        size: replies that are kept; the one that was used longest ago goes first.
        seconds: how long a reply is kept.
    """

    def __init__(self, size: int = 1_000, *, seconds: float = 3_600.0) -> None:
        self._size, self._seconds = size, seconds
        self._kept: OrderedDict[str, tuple[float, ModelReply]] = OrderedDict()
        self.hits = 0
        """Requests that were answered without a model."""

    async def model(self, request: ModelRequest, ctx: RunContext[Any], next: ModelNext) -> ModelReply:
        """Answer from the cache, or ask and keep the reply."""
        key, now = digest([ctx.model, ctx.agent, normal(request)]), ctx.clock()
        found = self._kept.get(key)
        if found is not None and now < found[0]:
            self._kept.move_to_end(key)
            self.hits += 1
            return replace(found[1], usage=Usage())
        reply = await next(request, ctx)
        if reply.parts and reply.finish in ("stop", "tool_calls"):
            self._kept[key] = (now + self._seconds, reply)
            self._kept.move_to_end(key)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return reply
