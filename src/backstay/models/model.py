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


def cost_usd(usage: Usage | None, price: Args | None) -> Decimal | None:
    """What a request cost; None where usage or price is unknown, never 0 in their place."""
    if usage is None or price is None:
        return None
    rates = {key: Decimal(str(value)) for key, value in price.items()}
    fresh = usage.input_tokens - usage.cached_tokens
    cached = rates.get("cached", rates["input"])
    return (fresh * rates["input"] + usage.cached_tokens * cached + usage.output_tokens * rates["output"]) / _MILLION
