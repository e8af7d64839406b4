"""`FallbackModel`: several models in a row, each asked when the one before could not answer.

What is tried next and when is decided here; who asks, waits and tells is agents/ask.py, as for every model.
Source: SPEC L5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from backstay.core.context import RunContext
from backstay.core.errors import ModelError, SetupError
from backstay.core.messages import Delta, Media, ModelReply, ModelRequest
from backstay.models.model import ChatModel, ModelProfile
from backstay.models.names import resolve
from backstay.models.prices import known_price

_NOT_HELPED = frozenset({"model.script", "model.not_recorded", "model.unfit"})
"""Failures of a test's own set-up: another model's answer would hide them."""


def is_helped(error: ModelError) -> bool:
    """Whether another model may answer what this one could not: outages, limits, keys, credit, a window too short."""
    return error.code not in _NOT_HELPED


class FallbackModel:
    """The first of several models that answers.

    Args:
        *models: names or models, the preferred first.
        fallback_on: whether the next one is asked after an error; by default `is_helped`. A reply, a refusal too, is an
            answer.

    Raises:
        SetupError: code `model.unfit`, without a model.
        AppError: for a name that no client answers to.
    """

    def __init__(self, *models: str | ChatModel, fallback_on: Callable[[ModelError], bool] = is_helped) -> None:
        if not models:
            raise SetupError("a FallbackModel needs at least one model", code="model.unfit")
        self.models: tuple[ChatModel, ...] = tuple(flat for one in models for flat in _flat(resolve(one)))
        self.fallback_on = fallback_on
        profiles = [one.profile for one in self.models]
        self._profile = replace(
            profiles[0],
            window=min(one.window for one in profiles),
            media=frozenset[str]().union(*(one.media for one in profiles)),
            price=known_price(self.models[0]) if all(known_price(one) is not None for one in self.models) else None,
        )

    @property
    def profile(self) -> ModelProfile:
        """The first one's, with the shortest window, all media, and a price only if each has one."""
        return self._profile

    @property
    def name(self) -> str:
        """`fallback:` and the names."""
        return f"fallback:{','.join(one.name for one in self.models)}"

    def after(self, tried: ChatModel | None, error: ModelError | None, request: ModelRequest) -> ChatModel | None:
        """The model to ask next; None where none can help.

        Args:
            tried: the one that has just failed; None at first.
            error: what it said.
            request: what is asked. A model that cannot take it is passed over.
        """
        if error is not None and not self.fallback_on(error):
            return None
        start = 0 if tried is None else next(at for at, one in enumerate(self.models) if one is tried) + 1
        for one in self.models[start:]:
            is_no_longer = tried is not None and one.profile.window <= tried.profile.window
            if unfit(one.profile, request) or (error is not None and error.code == "model.too_long" and is_no_longer):
                continue
            return one
        return None

    def none_fits(self, request: ModelRequest) -> ModelError:
        """The error when no model can take a request."""
        why = "; ".join(f"{one.name} {unfit(one.profile, request)}" for one in self.models)
        return ModelError(f"no model can take the request: {why}", retryable=False, code="model.unfit")

    async def request(
        self, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None = None
    ) -> ModelReply:
        """Ask one after the other, each once. In a run agents/ask.py does this instead, with each one's own retries.

        Raises:
            ModelError: the last one's.
        """
        model, error = self.after(None, None, request), self.none_fits(request)
        while model is not None:
            try:
                return await model.request(request, ctx, on_delta)
            except ModelError as raised:
                error = raised
            model = self.after(model, error, request)
        raise error


def _flat(model: ChatModel) -> Iterator[ChatModel]:
    if isinstance(model, FallbackModel):
        yield from model.models
    else:
        yield model


def unfit(profile: ModelProfile, request: ModelRequest) -> str:
    """Why a model cannot take a request as it is; empty where it can."""
    if request.tools and not profile.tools:
        return "calls no tools"
    media = {part.mime for one in request.messages for part in one.parts if isinstance(part, Media)}
    alien = sorted(mime for mime in media if not {mime, mime.partition("/")[0]} & profile.media)
    return f"takes no {', '.join(alien)}" if alien else ""
