"""The ledger of a drive: what calls under way have reserved under sums and counts, until their results are journalled.

What is journalled lives in the session's state; what all sessions of a store share lives in the store alone. A call is
judged against all of it but its own reservation, so that it may be judged again: after a crash, by a middleware, for a
further attempt. Source: SPEC B9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from backstay.core.context import Reserve, is_shared
from backstay.core.messages import ToolResult

Amounts = tuple[tuple[str, Decimal], ...]
_ZERO = Decimal(0)


class Ledger:
    """Reserves synchronously, with nothing awaited between the look and the reservation."""

    __slots__ = ("_begun", "_open", "_shared")

    def __init__(self) -> None:
        self._open: dict[str, dict[str, Decimal]] = {}
        """Call → what it holds, by key of the ledger."""
        self._begun: set[str] = set()
        """Calls whose effect has begun: only its outcome gives back what they hold."""
        self._shared: dict[str, Decimal] = {}
        """What the store holds of shared keys, the open calls of this drive not counted."""

    def load(self, open_: Mapping[str, Sequence[tuple[str, Decimal]]], shared: Mapping[str, Decimal]) -> None:
        """Take in what the store knows: calls of this step that an earlier process has begun, and the shared keys."""
        for call, amounts in open_.items():
            self._open.setdefault(call, dict(amounts))
            self._begun.add(call)
        self._shared = dict(shared)
        for call in self._begun:
            for key, amount in self._open.get(call, {}).items():
                if key in self._shared:
                    self._shared[key] -= amount

    def spent(self, settled: Mapping[str, Decimal], call: str) -> Mapping[str, Decimal]:
        """What is spent by key, as this call has to see it."""
        if not self._open and not self._shared:
            return settled
        total = {**settled, **self._shared}
        for other, amounts in self._open.items():
            if other != call:
                for key, amount in amounts.items():
                    total[key] = total.get(key, _ZERO) + amount
        return total

    def reserve(self, call: str, amounts: Sequence[Reserve]) -> None:
        """Hold what a call may spend; one that is judged again holds the most it was ever allowed."""
        held = self._open.setdefault(call, {})
        for key, amount, _ in amounts:
            held[key] = max(held.get(key, _ZERO), amount)

    def begin(self, call: str) -> None:
        """The effect begins."""
        if call in self._open:
            self._begun.add(call)

    def settle(self, call: str, result: ToolResult) -> None:
        """The outcome of an effect: what is sure not to have happened gives back what it held."""
        if result.is_void:
            self._open.pop(call, None)
            self._begun.discard(call)

    def give_back(self, call: str, result: ToolResult) -> None:
        """The result of a call: one that never came to its effect gives back what it held."""
        if call not in self._begun:
            self.settle(call, result)

    def close(self, call: str) -> Amounts:
        """Take out what a call and the calls its body made have spent, to be journalled with its result."""
        done = [one for one in self._open if one == call or one.startswith(f"{call}/")]
        total: dict[str, Decimal] = {}
        for one in done:
            for key, amount in self._open.pop(one).items():
                into = self._shared if is_shared(key) else total
                into[key] = into.get(key, _ZERO) + amount
        self._begun.difference_update(done)
        return tuple(total.items())
