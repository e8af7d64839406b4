"""What an agent does with its long-term memory by itself: what it looks up for every input, what it keeps after a run.

Source: SPEC M3, M4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from backstay.core.errors import SetupError

Keeping: TypeAlias = Literal["stressed", "overflow", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembering:
    """Settings of an agent's long-term memory."""

    retrieve_tokens: int = 300
    """Tokens that what was found for an input may have in a request, a tenth of the window at most. 0: entries are
    found by the tool `search_memory` alone."""
    retrieve_entries: int = 3
    """So many entries at most."""
    least_close: float = 0.3
    """How close an entry has to be to the input, 0..1; see `Found.closeness`. Chosen on `bench/retrieval`."""
    write: Keeping = "stressed"
    """What is kept after a run: what the user has stressed and what no longer fits the working memory, the second
    alone, or nothing."""

    def __post_init__(self) -> None:
        if self.retrieve_tokens < 0 or self.retrieve_entries < 1 or not 0 <= self.least_close <= 1:
            raise SetupError(
                f"retrieve_tokens={self.retrieve_tokens} has to be at least 0, retrieve_entries={self.retrieve_entries}"
                f" at least 1, least_close={self.least_close:g} within 0 and 1",
                code="memory.config",
            )


REMEMBERING = Remembering()
