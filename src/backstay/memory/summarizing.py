"""`SummarizeMemory`: past a threshold the oldest units fold into a running summary, and the newest stay word for word.

A summariser that fails, hangs, answers nothing or echoes our marks loses nothing: an extract stands in its place, the
log keeps every message, and until the summary is there the old messages are. Source: SPEC M1, M8; cases C37, C39.
"""

from __future__ import annotations

import asyncio

from backstay.core.errors import MemoryConfigError
from backstay.core.logs import logger
from backstay.core.messages import PLAIN, Label, Message, ModelReply, Text
from backstay.memory.buffers import Held, UnitMemory
from backstay.memory.counting import message_tokens
from backstay.memory.estimator import estimate
from backstay.memory.folding import Folding, extract, notes_in, planned, request_for
from backstay.memory.marks import escaped
from backstay.memory.policies import Summarise, SummedUp, Summing, WindowPolicy

TRIES = 2
"""How often the summariser is asked before an extract stands in its place."""
_log = logger("backstay.memory")


class SummarizeMemory(UnitMemory):
    """Shows a summary of what is old and the rest as it was said. The system's messages are never folded.

    Args:
        summarise: writes the notes it is asked for. None: an extract, without any model.
        max_tokens: of the window that the memory is for.
        threshold: share of it from which the oldest units fold, until half of that is held.
        keep_units: the newest units that never fold, at least 1.
        timeout: seconds that the summariser has for one answer.

    Raises:
        MemoryConfigError: for numbers that could not work.
    """

    def __init__(
        self,
        summarise: Summarise | None = None,
        *,
        max_tokens: int = 128_000,
        threshold: float = 0.75,
        keep_units: int = 2,
        timeout: float = 30.0,
    ) -> None:
        super().__init__()
        if max_tokens < 1 or not 0 < threshold <= 1 or keep_units < 1 or timeout <= 0:
            raise MemoryConfigError(
                f"max_tokens={max_tokens}, threshold={threshold}, keep_units={keep_units}, timeout={timeout}: expected"
                " at least 1 token, a share above 0 to 1, at least 1 unit and more than 0 seconds"
            )
        self.max_tokens = max_tokens
        self.threshold = threshold
        self.keep_units = keep_units
        self.timeout = timeout
        self.summary = ""
        """The notes on everything that is folded; empty before the first fold."""
        self._ids: tuple[str, ...] = ()
        self._label: Label = PLAIN
        self._summarise = summarise
        self._tokens = 0
        self._folding = asyncio.Lock()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The system's messages, the summary if there is one, and what is not folded, oldest first."""
        shown = super().messages
        if not self.summary:
            return shown
        head = next((n for n, one in enumerate(shown) if one.role != "system"), len(shown))
        return (*shown[:head], self._note(), *shown[head:])

    async def add(self, message: Message) -> None:
        """Take in a message, then fold if there is too much. If it is cancelled while it folds, nothing is folded."""
        held = self._append(message, self._joined_by(message))
        if held.unit.is_orphan:
            return
        held.tokens += (tokens := message_tokens(message))
        self._tokens += tokens
        if self._tokens > self.max_tokens * self.threshold:
            async with self._folding:
                await self._fold()

    async def reset(self) -> None:
        """Show nothing any more, the summary neither."""
        await super().reset()
        self.summary, self._ids, self._label = "", (), PLAIN

    def as_policy(self) -> WindowPolicy:
        """Notes on the older units of a session; without a function of its own the agent's summariser writes them."""
        how = Summing(summarise=self._summarise, timeout=self.timeout, max_tokens=self.max_tokens)
        return SummedUp(capacity=int(self.max_tokens * self.threshold), keep_units=self.keep_units, how=how)

    async def _fold(self) -> None:
        leaving = self._leaving()
        if not leaving:
            return
        before = self.summary
        messages = [message for held in leaving for message in held.unit.messages]
        folding = planned(before, self._ids, self._label, messages, window=self.max_tokens)
        notes = await self._asked(folding) or extract(folding, estimate)
        if not notes or before != self.summary or any(held.number not in self._live for held in leaving):
            return  # no notes, or somebody deleted meanwhile what they are about: everything stays
        self.summary, self._ids, self._label = notes, folding.ids, folding.label
        for held in leaving:
            self._drop(held)

    def _leaving(self) -> list[Held]:
        """The oldest units that may fold, as many as bring what is held down to half of the threshold."""
        may = [one for one in self._live.values() if not one.unit.is_pinned][: -self.keep_units]
        excess = self._tokens - self.max_tokens * self.threshold / 2
        leaving: list[Held] = []
        for held in may:
            if excess <= 0:
                break
            leaving.append(held)
            excess -= held.tokens
        return leaving

    async def _asked(self, folding: Folding) -> str | None:
        return None if self._summarise is None else await notes_by(self._summarise, folding, self.timeout)

    def _note(self) -> Message:
        ids = f"\nidentifiers: {escaped(', '.join(self._ids))}" if self._ids else ""
        text = f"<summary>\nNotes on earlier parts of this conversation:\n{self.summary}{ids}\n</summary>"
        return Message(id="summary", role="notice", parts=(Text(text=text),), label=self._label)

    def _drop(self, held: Held) -> None:
        if held.number in self._live:
            self._tokens -= held.tokens
        super()._drop(held)


async def notes_by(summarise: Summarise, folding: Folding, timeout: float) -> str | None:
    """The notes that a program's own summariser writes, asked twice at most; None where it has none that will do."""
    for _ in range(TRIES):
        try:
            async with asyncio.timeout(timeout):
                said = await summarise(request_for(folding))
        except Exception as error:  # whatever a program's own summariser raises must not cost the conversation
            _log.warning("the summariser failed: %s: %s", type(error).__name__, error)
            continue
        notes = notes_in(_reply(said), folding, estimate)
        if notes is not None:
            return notes
    return None


def _reply(said: ModelReply | str) -> ModelReply:
    if isinstance(said, ModelReply):
        return said
    return ModelReply(parts=(Text(text=str(said)),), finish="stop", usage=None, model="")
