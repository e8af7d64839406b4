"""Model names: `"provider:model"` → a model. Source: SPEC L1, L2."""

from __future__ import annotations

from pathlib import Path

from backstay.core.errors import AppError
from backstay.models.model import ChatModel

DEFAULT = "embedded"
"""The model of a script or a chat that names none. Servers, workers and the profile `prod` demand a name instead."""

_COMPATIBLE = (
    "openai", "ollama", "llamacpp", "lmstudio", "vllm", "deepseek", "qwen", "mistral", "groq", "openrouter", "xai",
)  # fmt: skip
"""The rows of models/servers.py, by name alone: client and wire are not loaded before somebody asks for one."""

PROVIDERS: dict[str, str] = dict.fromkeys(_COMPATIBLE, "speaks OpenAI's chat completions") | {DEFAULT: "this machine"}
"""Provider → what it is; a row for each client there is."""


def resolve(name: str | ChatModel | None = None, *, base_url: str | None = None) -> ChatModel:
    """Return the model of that name; an instance is returned as it is, and without a name the embedded model.

    Args:
        name: `provider:model`, `embedded`, `embedded:smollm2-135m`, `embedded:PATH.gguf`, or a model.
        base_url: another address of the provider's server.

    Raises:
        AppError: `model.unknown`, when no client answers to the name; `model.base_url`, for an address that is none or
            a model that has none; `model.extra`, when the package that the client speaks through is not installed.
    """
    if name is None:
        name = DEFAULT
    if not isinstance(name, str):
        _refuse_address(base_url, name.name)
        return name
    provider, colon, model = name.partition(":")
    if provider == DEFAULT and bool(colon) == bool(model):
        _refuse_address(base_url, name)
        return _embedded(model)
    if not colon or not model:
        raise AppError(f"{name!r} is no model name: write provider:model, or pass a model object", code="model.unknown")
    if provider in _COMPATIBLE:
        return _compatible(provider, model, base_url)
    known = ", ".join(sorted(PROVIDERS))
    raise AppError(f"no client for {provider!r} (in {name!r}). Providers: {known}", code="model.unknown")


def _embedded(model: str) -> ChatModel:
    """The embedded model by name, or any GGUF file by path."""
    # Imported here alone: the package and its native runtime load only for whom they serve.
    from backstay.models.embedded.model import EmbeddedModel
    from backstay.models.embedded.weights import KNOWN

    if not model or model in KNOWN:
        return EmbeddedModel()
    if model.endswith(".gguf"):
        return EmbeddedModel(Path(model))
    known = ", ".join(sorted(KNOWN))
    raise AppError(f"no embedded model {model!r}. Known: {known}; or embedded:PATH.gguf", code="model.unknown")


def _refuse_address(base_url: str | None, name: str) -> None:
    if base_url is not None:
        raise AppError(f"{name} is asked at no address, so base_url has no meaning", code="model.base_url")


def _compatible(provider: str, model: str, base_url: str | None) -> ChatModel:
    from backstay.models.openai import OpenAIChatModel
    from backstay.models.servers import SERVERS

    return OpenAIChatModel(model, base_url=base_url, server=SERVERS[provider])
