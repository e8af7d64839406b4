"""`ChatModel`: one method that turns a request into a whole reply; streaming is a callback beside it.

A client never retries (agents/ask.py does) and never executes anything. Source: SPEC L1, L3; TYPES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from backstay.core.context import RunContext
from backstay.core.messages import Args, Delta, ModelReply, ModelRequest, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What a model is and can do."""

    family: str
    """Whose it is: `openai`, `qwen`, `scripted`. A grader must be of another family than what it grades."""
    window: int
    """Tokens of context."""
    tools: bool = True
    choices: frozenset[str] = frozenset({"auto", "required", "none", "tool"})
    """Which `tool_choice` it understands."""
    schema_output: bool = False
    keeps_notes: bool = True
    """Whether it can sum up old turns and propose the working memory; else the framework's rules do both."""
    parallel: bool = True
    media: frozenset[str] = frozenset()
    price: Args | None = None
    """USD per million tokens as decimal text: `{"input": "0.25", "cached": "0.025", "output": "2"}`. None: unknown."""


class ChatModel(Protocol):
    """A model that chats and calls tools."""

    @property
    def profile(self) -> ModelProfile:
        """What it is and can do."""
        ...

    @property
    def name(self) -> str:
        """`provider:model`, as traces and cost tables show it."""
        ...

    async def request(
        self,
        request: ModelRequest,
        ctx: RunContext[Any],
        on_delta: Callable[[Delta], None] | None = None,
    ) -> ModelReply:
        """Return the whole reply; call `on_delta` with every piece while it comes in, if somebody listens.

        Raises:
            ModelError: with `retryable` as the provider's answer implies.
        """
        ...


_MILLION = Decimal(1_000_000)
_FREE = Decimal(0)


class Price:
    """What a model costs, read once from its profile; see `ModelProfile.price`."""

    __slots__ = ("_cached", "_input", "_is_known", "_output")

    def __init__(self, price: Args | None) -> None:
        self._is_known = price is not None and {"input", "output"} <= price.keys()
        rates = {key: Decimal(str(value)) for key, value in (price or {}).items()}
        self._input = rates.get("input", _FREE)
        self._cached = rates.get("cached", self._input)
        self._output = rates.get("output", _FREE)

    def cost_usd(self, usage: Usage | None) -> Decimal | None:
        """What a request cost; None where usage or price is unknown, never 0 in their place."""
        if usage is None or not self._is_known:
            return None
        if not (self._input or self._cached or self._output):
            return _FREE
        fresh = max(usage.input_tokens - usage.cached_tokens, 0)
        return (
            fresh * self._input + usage.cached_tokens * self._cached + usage.output_tokens * self._output
        ) / _MILLION
