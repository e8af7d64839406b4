"""What models cost, with the day on which it was read. A model that is not here has no known price, never the price 0.

Only what the vendor's own page says, and only where it is one price: models that charge for writing to the cache, or
more beyond some length of the prompt, are left out, since `Price` could not reckon them. `profile={"price": …}` of a
model overrides the table, and a file of prices that `BACKSTAY_PRICES` names overrides both. Source: SPEC L7.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import NamedTuple

from backstay.core.canon import FrozenDict
from backstay.core.errors import AppError
from backstay.core.messages import Args
from backstay.models.model import ChatModel, Price

FILE = "BACKSTAY_PRICES"
"""A JSON file: `{"openai:my-model": {"input": "0.25", "cached": "0.025", "output": "2"}}`; read once by a process."""

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


def price_of(model: ChatModel) -> Price:
    """What a model costs; unknown stays unknown.

    Raises:
        AppError: code `model.prices`, for a file that cannot be read.
    """
    return Price(known_price(model))


def known_price(model: ChatModel) -> Args | None:
    """The rates of a model as `ModelProfile.price` has them, the program's own file first; None: unknown.

    Raises:
        AppError: code `model.prices`, for a file that cannot be read.
    """
    path = os.environ.get(FILE)
    return (_own(path).get(model.name) if path else None) or model.profile.price


@cache
def _own(path: str) -> Mapping[str, Args]:
    try:
        table = json.loads(Path(path).read_text("utf-8"))
        return {name: FrozenDict({key: _rate(rate) for key, rate in rates.items()}) for name, rates in table.items()}
    except (OSError, ValueError, AttributeError, InvalidOperation) as error:
        raise AppError(f"{FILE}={path}: no table of prices ({error})", code="model.prices") from None


def _rate(rate: object) -> str:
    value = Decimal(str(rate))
    if not value.is_finite() or value < 0:
        raise ValueError(f"{rate!r} is no price")
    return str(value)
