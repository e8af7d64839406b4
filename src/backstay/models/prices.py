"""What models cost, with the day on which it was read. A model that is not here has no known price, never the price 0.

Only what the vendor's own page says, and only where it is one price: models that charge for writing to the cache, or
more beyond some length of the prompt, are left out, since `Price` could not reckon them. `profile={"price": …}` of a
model overrides the table. Source: SPEC L7.
"""

from __future__ import annotations

from typing import NamedTuple

from backstay.core.canon import FrozenDict
from backstay.core.messages import Args

READ_ON = "2026-11-30"
"""When the pages were read, from a stored copy that bears no date of its own. Prices may have changed since."""
_PAGES = "https://developers.openai.com/api/docs/models/"


class Listed(NamedTuple):
    """What a vendor's page says of one model."""

    window: int
    """Tokens of context."""
    price: Args
    """USD per million tokens; see `ModelProfile.price`."""
    page: str
    """Where it stands."""


def _listed(page: str, window: int, **price: str) -> Listed:
    return Listed(window, FrozenDict(price), _PAGES + page)


_GPT_5_MINI = _listed("gpt-5-mini", 400_000, input="0.25", cached="0.025", output="2")
_GPT_5_NANO = _listed("gpt-5-nano", 400_000, input="0.05", cached="0.005", output="0.4")
_GPT_4 = _listed("gpt-4", 8_192, input="30", output="60")
_GPT_35_TURBO = _listed("gpt-3.5-turbo", 16_385, input="0.5", output="1.5")

LISTED: dict[str, Listed] = {
    "gpt-5-mini": _GPT_5_MINI,
    "gpt-5-mini-2025-08-07": _GPT_5_MINI,
    "gpt-5-nano": _GPT_5_NANO,
    "gpt-5-nano-2025-08-07": _GPT_5_NANO,
    "gpt-4": _GPT_4,
    "gpt-4-0613": _GPT_4,
    "gpt-3.5-turbo": _GPT_35_TURBO,
    "gpt-3.5-turbo-0125": _GPT_35_TURBO,
}
"""OpenAI's models by name; other snapshots of the same model may cost something else."""
