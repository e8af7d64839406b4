"""The purse of a drive: what its budgets still allow, held before a request and charged after the reply.

Before a request, what its input will use at least is added to the day's keys, all of them or none, in one transaction
of the store: of workers at once, only so many get through as there is room for. After the reply the rest of what it
really used is charged. What a reply adds is known only then, so requests under way may pass a budget by their own
outputs. A process that dies between the two leaves its hold on the day's books: a budget errs on the side of less.
Source: SPEC B14.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from backstay.agents.journal import Journal
from backstay.boundary.budgets import Budget, Line, lines
from backstay.core.context import Reserve
from backstay.core.messages import Usage

_ZERO = Decimal(0)


class Purse:
    """Holds and charges what one drive of one run uses.

    Args:
        budgets: of its boundary; at least one.
        journal: of the run, for its store, its fence and whom it is for.
        agent: its name.
        clock: seconds since 1970.
    """

    def __init__(self, budgets: Sequence[Budget], journal: Journal, agent: str, clock: Callable[[], float]) -> None:
        self._budgets = budgets
        self._journal = journal
        self._agent = agent
        self._clock = clock
        self._held: list[tuple[Line, Decimal]] = []
        """What is held for the request under way."""
        self.spent: tuple[tuple[str, float, float], ...] = ()
        """What was used before the request at work: name, used, allowed."""

    async def hold(self, tokens: int, usd: Decimal) -> Line | None:
        """Hold what a request will use at least; the line that has no room for it, with nothing held.

        Args:
            tokens: of its input, at least 1.
            usd: what these cost.
        """
        found = [line for line in self._lines() if line.unit != "calls"]
        if not found:
            return None
        used = await self._journal.store.spent([line.key for line in found])
        self.spent = tuple((line.text, float(used[line.key]), float(line.cap)) for line in found)
        wanted = [(line, Decimal(tokens) if line.unit == "tokens" else usd) for line in found]
        full = next((line for line, amount in wanted if used[line.key] >= line.cap), None)
        if full is None:
            full = await self._charge([(line, amount, line.cap) for line, amount in wanted])
        if full is None:
            self._held = wanted
        return full

    async def settle(self, usage: Usage | None, usd: Decimal | None) -> None:
        """Charge what a reply has used beyond what is held; of what is unknown the hold stays as the charge.

        A further reply, such as that to a request for a summary, is charged whole.
        """
        held, self._held = self._held or [(line, _ZERO) for line in self._lines() if line.unit != "calls"], []
        used = {"tokens": None if usage is None else Decimal(usage.total_tokens), "usd": usd}
        rest = [(line, real - amount, None) for line, amount in held if (real := used[line.unit]) is not None]
        await self._charge([one for one in rest if one[1]])

    async def give_back(self) -> None:
        """Give back what is held for a request that has brought no reply."""
        held, self._held = self._held, []
        await self._charge([(line, -amount, None) for line, amount in held if amount])

    async def calls(self, count: int) -> Line | None:
        """Charge so many tool calls, or none of them and say which line has no room."""
        return await self._charge([(line, Decimal(count), line.cap) for line in self._lines() if line.unit == "calls"])

    def _lines(self) -> tuple[Line, ...]:
        return lines(self._budgets, self._journal.row.principal, self._agent, self._clock())

    async def _charge(self, amounts: Sequence[tuple[Line, Decimal, Decimal | None]]) -> Line | None:
        if not amounts:
            return None
        wanted = [Reserve(line.key, amount, cap) for line, amount, cap in amounts]
        full = await self._journal.store.charge(self._journal.fence, wanted)
        return next((line for line, _, _ in amounts if line.key == full), None)
