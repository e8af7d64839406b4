"""What an argument means: marks for `Annotated` that constraints and provenance bind to.

    amount: Annotated[Decimal, Money("EUR")]
    days: Annotated[int, Quantity("days")]
    since: Annotated[date, DateRange("start")]

Each mark has a `meaning`: the text that stands in `ToolFacts.meanings`, such as `money:EUR`. Source: SPEC T11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Meaning:
    """The root of the marks; `meaning` is what a constraint binds to."""

    @property
    def meaning(self) -> str:
        """The mark as text."""
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True, slots=True)
class Money(Meaning):
    """An amount of money in one currency (ISO 4217). Never converted; another currency is refused, not guessed."""

    currency: str

    @property
    def meaning(self) -> str:
        """`money:EUR`."""
        return f"money:{self.currency}"


@dataclass(frozen=True, slots=True)
class Quantity(Meaning):
    """A number of something: `days`, `items`, `percent`, `kg`."""

    unit: str

    @property
    def meaning(self) -> str:
        """`quantity:days`."""
        return f"quantity:{self.unit}"


@dataclass(frozen=True, slots=True)
class DateRange(Meaning):
    """A bound of a span of time (`start`, `end`), or the whole of it in one value such as `2026-01-01/2026-01-31`."""

    bound: Literal["start", "end", "whole"] = "whole"

    @property
    def meaning(self) -> str:
        """`date_range:start`."""
        return f"date_range:{self.bound}"


@dataclass(frozen=True, slots=True)
class Id(Meaning):
    """The identifier of a kind of thing: an order, a customer. Matched by reference, never by substring."""

    kind: str

    @property
    def meaning(self) -> str:
        """`id:order`."""
        return f"id:{self.kind}"


@dataclass(frozen=True, slots=True)
class Recipient(Meaning):
    """Who gets something: a mail address, an account, a channel."""

    @property
    def meaning(self) -> str:
        """`recipient`."""
        return "recipient"


@dataclass(frozen=True, slots=True)
class FilePath(Meaning):
    """A file or folder."""

    @property
    def meaning(self) -> str:
        """`path`."""
        return "path"


@dataclass(frozen=True, slots=True)
class Url(Meaning):
    """A URL or host."""

    @property
    def meaning(self) -> str:
        """`url`."""
        return "url"


@dataclass(frozen=True, slots=True)
class FreeText(Meaning):
    """Words for a person to read: no destination, so no sink."""

    @property
    def meaning(self) -> str:
        """`text`."""
        return "text"
