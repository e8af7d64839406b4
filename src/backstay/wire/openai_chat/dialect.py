"""How the servers that speak chat completions differ, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One server's chat completions. The defaults are OpenAI's own."""

    max_tokens: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """What the cap on the reply is called."""
    seed: Literal["seed", "random_seed"] = "seed"
    """What the seed of sampling is called."""
    choices: frozenset[str] = frozenset({"auto", "required", "none", "tool"})
    """Which `tool_choice` it honours; what it does not is brought about by the tools that are offered."""
    output: Literal["json_schema", "json_object"] = "json_schema"
    """How an answer is held to a schema; with `json_object` the schema itself goes into the last system message."""
    has_stream_usage: bool = True
    """Whether `stream_options` may ask for the usage; servers without it send the usage unasked or refuse the field."""
    returns_reasoning: bool = False
    """Whether it wants its own `reasoning_content` back beside the tool calls that followed from it."""
    is_short_id: bool = False
    """Whether ids of calls have to be nine letters and digits."""
    reasoning_mark: str = ""
    """What marks reasoning as this server's own, so that it goes back to nobody else; only with `returns_reasoning`."""
