"""The rate limiter: one limit for all agents that have the same object. Source: SPEC L5, G8."""

from __future__ import annotations

from typing import Any

from backstay.agents.middleware.chain import Middleware, ModelNext
from backstay.core.context import RunContext
from backstay.core.messages import ModelReply, ModelRequest
from backstay.models.rates import RateLimit


class RateLimiter(Middleware):
    """Lets a model request wait for a place under a limit. Further attempts at the same request take no other place.

    Args:
        limit: shared by whoever has the same object.
    """

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit

    async def model(self, request: ModelRequest, ctx: RunContext[Any], next: ModelNext) -> ModelReply:
        """Wait, then ask.

        Raises:
            ModelError: code `model.rate_limit`, where the place would come after the run's time is up.
        """
        place = await self._limit.enter(request, ctx)
        reply = await next(request, ctx)
        self._limit.settle(place, reply.usage)
        return reply
