"""`TokenMemory`: as many units as fit into a number of tokens, counted by estimate first and exactly in batches.

Source: SPEC M2.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backstay.core.errors import MemoryConfigError
from backstay.core.messages import Message
from backstay.memory.buffers import Held, UnitMemory
from backstay.memory.counting import message_tokens
from backstay.memory.policies import Fitting, Tokenize, WindowPolicy, exactly

Selector: TypeAlias = "Callable[[Sequence[Message]], Message | Iterable[Message] | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHandlers:
    """What may be done in another way."""

    tokenize: Tokenize | None = None
    """Counts a batch of messages exactly, one number each; `memory.bpe.Encoding` is one. None: estimates are final."""
    estimate: Callable[[Message], int] = message_tokens
    """Counts one message, fast."""
    removal_selector: Selector | None = None
    """Names one or several of the messages that may go, oldest first; each takes its unit along. None: the oldest."""


class TokenMemory(UnitMemory):
    """Shows the newest units that fit, tool calls and results counted in full. The system's messages never go.

    Before a message enters, units leave until what is held and the new one have at most `max_tokens × threshold`
    tokens. New messages are counted by estimate and are *dirty*; once more than `sync_threshold` of the messages are,
    the dirty ones are counted exactly in one batch, and what is too much leaves. Adding is O(1) amortised.

    Args:
        max_tokens: of the window that the memory is for.
        threshold: share of it that may be filled, above 0 to 1.
        sync_threshold: share of messages that may be dirty, 0 to 1.
        handlers: other ways to count and to choose what goes.

    Raises:
        MemoryConfigError: for numbers outside these bounds.
    """

    def __init__(
        self,
        max_tokens: int = 128_000,
        *,
        threshold: float = 0.75,
        sync_threshold: float = 0.25,
        handlers: TokenHandlers | None = None,
    ) -> None:
        super().__init__()
        if max_tokens < 1:
            raise MemoryConfigError(f"max_tokens={max_tokens}: a window has at least 1 token")
        if not 0 < threshold <= 1 or not 0 <= sync_threshold <= 1:
            raise MemoryConfigError(
                f"threshold={threshold}, sync_threshold={sync_threshold}: shares are from 0 to 1, threshold above 0"
            )
        self.max_tokens = max_tokens
        self.threshold = threshold
        self.sync_threshold = sync_threshold
        self.handlers = handlers or TokenHandlers()
        self.tokens_used = 0
        """Tokens of what is shown, as far as they are known."""
        self._evictable: OrderedDict[int, Held] = OrderedDict()
        self._dirty: OrderedDict[int, Held] = OrderedDict()
        self._dirty_messages = 0
        self._messages = 0

    @property
    def capacity(self) -> int:
        """Tokens that may be held: `max_tokens × threshold`."""
        return int(self.max_tokens * self.threshold)

    @property
    def is_dirty(self) -> bool:
        """Whether some of what is shown is counted by estimate only."""
        return self._dirty_messages > 0

    async def add(self, message: Message) -> None:
        """Take in a message; older units leave for it.

        Raises:
            MemoryConfigError: if it can never fit, or the selector names nothing that could go. It is not taken in.
        """
        if message.role == "tool" and self._joined_by(message) is None:
            self._append(message, None)  # an orphan is logged only
            return
        tokens, is_dirty = self._estimate(message), self.handlers.tokenize is not None
        if is_dirty and (tokens > self.capacity or self._is_due(1)):
            tokens, is_dirty = await self._settled(message), False
        joins = self._joined_by(message)
        for one in self._to_leave(self.tokens_used + tokens - self.capacity, joins):
            self._drop(one)
        held = self._append(message, joins)
        self._messages += 1
        if not held.unit.is_pinned:
            self._evictable[held.number] = held
        self._weigh(held, tokens, tokens if is_dirty else 0, int(is_dirty))

    async def sync(self) -> None:
        """Count what is dirty exactly, in one batch; what is too much leaves, as the selector says.

        Raises:
            MemoryConfigError: if the newest unit and the system's messages alone are too much; they stay.
        """
        await self._settled(None)
        for one in self._to_leave(self.tokens_used - self.capacity, next(reversed(self._live.values()), None)):
            self._drop(one)

    def as_policy(self) -> WindowPolicy:
        """The newest units of a session that fit.

        Raises:
            MemoryConfigError: with a `removal_selector`: of a session's log the oldest units leave first.
        """
        handlers = self.handlers
        if handlers.removal_selector is not None:
            raise MemoryConfigError(
                "a TokenMemory with a removal_selector cannot be the memory of an agent: of a session's log the oldest"
                " units leave first. Leave the selector out"
            )
        return Fitting(
            capacity=self.capacity,
            sync_threshold=self.sync_threshold,
            estimate=None if handlers.estimate is message_tokens else handlers.estimate,
            tokenize=handlers.tokenize,
        )

    def _is_due(self, more: int) -> bool:
        return self._dirty_messages + more > self.sync_threshold * (self._messages + more)

    async def _settled(self, message: Message | None) -> int:
        """Count the dirty messages exactly, and one that is about to enter in the same batch; returns its tokens."""
        dirty = [(held, held.unit.messages[-held.dirty :]) for held in self._dirty.values()]
        batch = [one for _, messages in dirty for one in messages]
        counts = iter(await self._exactly([*batch, *([message] if message is not None else ())]))
        for held, messages in dirty:
            exact = sum(next(counts) for _ in messages)
            if held.number in self._live and held.dirty == len(messages):  # as it was when counting began
                self._weigh(held, exact - held.rough, -held.rough, -held.dirty)
        return next(counts, 0)

    async def _exactly(self, messages: Sequence[Message]) -> Sequence[int]:
        tokenize = self.handlers.tokenize
        return await exactly(tokenize, messages) if messages and tokenize is not None else []

    def _estimate(self, message: Message) -> int:
        tokens = self.handlers.estimate(message)
        if tokens < 0:
            raise MemoryConfigError(f"estimate returned {tokens} for a message; return at least 0")
        return tokens

    def _to_leave(self, excess: int, stays: Held | None) -> list[Held]:
        """The units that have to go, chosen before any of them does."""
        leaving: dict[int, Held] = {}
        oldest = iter(self._evictable.values())
        while excess > 0:
            for held in self._next(oldest, stays, leaving):
                if held.number not in leaving:
                    leaving[held.number] = held
                    excess -= held.tokens
        return list(leaving.values())

    def _next(self, oldest: Iterator[Held], stays: Held | None, leaving: Mapping[int, Held]) -> list[Held]:
        select = self.handlers.removal_selector
        if select is not None:
            return self._selected(select, stays, leaving)
        held = next((one for one in oldest if one is not stays), None)
        if held is None:
            raise self._too_much()
        return [held]

    def _selected(self, select: Selector, stays: Held | None, leaving: Mapping[int, Held]) -> list[Held]:
        may_go = [one for one in self._evictable.values() if one is not stays and one.number not in leaving]
        if not may_go:
            raise self._too_much()
        named = select([message for held in may_go for message in held.unit.messages])
        wanted = [named] if isinstance(named, Message) else list(named or ())
        some = [held for one in wanted if (held := _among(may_go, one)) is not None]
        if not some or len(some) < len(wanted):
            raise MemoryConfigError(
                f"removal_selector returned {len(wanted)} messages, {len(wanted) - len(some)} of which may not go or"
                " are not held; return at least one of those it is given"
            )
        return some

    def _too_much(self) -> MemoryConfigError:
        return MemoryConfigError(
            f"a message cannot fit: {self.capacity:,} tokens may be held (max_tokens {self.max_tokens:,} × threshold"
            f" {self.threshold:g}), and nothing more can leave for it. Shorten the message or raise max_tokens"
        )

    def _weigh(self, held: Held, tokens: int, rough: int, dirty: int) -> None:
        """Change what a unit weighs, how much of that is an estimate, and of how many messages."""
        held.tokens += tokens
        held.rough += rough
        held.dirty += dirty
        self.tokens_used += tokens
        self._dirty_messages += dirty
        if held.dirty:
            self._dirty[held.number] = held
        else:
            self._dirty.pop(held.number, None)

    def _drop(self, held: Held) -> None:
        if held.number not in self._live:
            return
        super()._drop(held)
        self._evictable.pop(held.number, None)
        self._dirty.pop(held.number, None)
        self._messages -= len(held.unit.messages)
        self._dirty_messages -= held.dirty
        self.tokens_used -= held.tokens


def _among(held: Sequence[Held], message: Message) -> Held | None:
    """The unit that holds this very message, else the oldest with an equal one."""
    same = (one for one in held if any(inner is message for inner in one.unit.messages))
    equal = (one for one in held if message in one.unit.messages)
    return next(same, None) or next(equal, None)
