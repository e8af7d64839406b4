"""Model names: `"provider:model"` → a model. Source: SPEC L1."""

from __future__ import annotations

from backstay.core.errors import AppError
from backstay.models.model import ChatModel

PROVIDERS: dict[str, str] = {}
"""Provider → what it is; a row for each client there is."""


def resolve(name: str | ChatModel) -> ChatModel:
    """Return the model of that name; an instance is returned as it is.

    Raises:
        AppError: code `model.unknown`, when no client answers to the name.
    """
    if not isinstance(name, str):
        return name
    provider, colon, model = name.partition(":")
    if not colon or not model:
        raise AppError(f"{name!r} is no model name: write provider:model, or pass a model object", code="model.unknown")
    known = ", ".join(sorted(PROVIDERS)) or "none yet; pass a model object such as backstay.models.ScriptedModel"
    raise AppError(f"no client for {provider!r} (in {name!r}). Providers: {known}", code="model.unknown")
