"""`Notifier`: tells people what waits for them, reminds them, tells others after a while, and says how it ended.

It listens, so it changes nothing and nothing waits for it: notes are queued and sent beside the runs. What could not be
sent is tried again and then logged. Source: SPEC B24.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any

from backstay.agents.notices.note import Note, NoteKind, NoticeError, Sink
from backstay.boundary.actions import PendingAction
from backstay.core.context import Principal
from backstay.core.events import ActionAsked, ActionDone, Emitter, Event
from backstay.core.logs import logger
from backstay.store.protocol import RunStore

_log = logger("backstay.notices")
_ATTEMPTS = 3
_WAITS = (1.0, 5.0)
"""Seconds between attempts."""
_PAGE = 200
_TOLD = frozenset({"expired", "in_doubt"})
"""Ends of which the deciders are told as well: nobody of them has brought these about."""


class Notifier:
    """Sends notes about pending actions while its block is open: `async with Notifier([sink]).listening(agent): ...`.

    Args:
        sinks: who decides.
        requester: where the principal of a run is told how it ended (`expired` is told, never `denied`); None: nowhere.
        link: of an action, where it is decided; a text with `{id}` in it.
        remind_seconds: after so long an open action is told once more; 4 hours where it is left out.
        escalate_seconds: after so long the others are told; 12 hours where it is left out.
        escalate_to: the others.
        clock: seconds since 1970.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        *,
        requester: Callable[[Principal], Sink | None] | None = None,
        link: str = "",
        remind_seconds: float = 4 * 3_600.0,
        escalate_seconds: float = 12 * 3_600.0,
        escalate_to: Sequence[Sink] = (),
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sinks = tuple(sinks)
        self._requester = requester
        self._link = link
        self._remind_seconds = remind_seconds
        self._escalate_seconds = escalate_seconds
        self._others = tuple(escalate_to)
        self._clock = clock
        self._sleep = sleep
        self._queue: asyncio.Queue[tuple[Note, Sink]] = asyncio.Queue()
        self._told: dict[str, set[NoteKind]] = {}
        """Open actions and what was told of them by this process."""
        self._offs: list[Callable[[], None]] = []
        self._worker: asyncio.Task[None] | None = None

    def listening(self, source: Emitter | Any) -> Notifier:
        """Listen to an agent, or to `backstay.events` for all of them."""
        self._offs += [source.on(ActionAsked, self._asked), source.on(ActionDone, self._done)]
        return self

    async def __aenter__(self) -> Notifier:
        self._worker = asyncio.create_task(self._work(), name="backstay-notices")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening, send what is queued, and end."""
        for off in self._offs:
            off()
        self._offs.clear()
        if self._worker is not None:
            if kind is None:
                await self._queue.join()
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    async def sent(self) -> None:
        """Wait until everything that was queued is sent, or was given up."""
        await self._queue.join()

    async def remind(self, store: RunStore) -> int:
        """Look at all that is open, queue what is due of reminders and escalations, and return how many notes.

        To be called now and then, such as once a minute beside `resume --due`. An action whose end has come is told as
        expired by whoever drives its run.
        """
        count, after = 0, ""
        while page := await store.pending(after=after, limit=_PAGE):
            for action in page:
                count += self._due(action)
            after = page[-1].id
        return count

    def _due(self, action: PendingAction) -> int:
        age, told = self._clock() - action.asked_at, self._told.setdefault(action.id, set())
        count = 0
        if age >= self._remind_seconds and "reminder" not in told:
            told.add("reminder")
            count += self._tell(Note(kind="reminder", action=action, link=self._place(action)), self._sinks)
        if age >= self._escalate_seconds and "escalation" not in told:
            told.add("escalation")
            count += self._tell(Note(kind="escalation", action=action, link=self._place(action)), self._others)
        return count

    def _asked(self, event: Event) -> None:
        action: PendingAction = event.action  # type: ignore[attr-defined]  # the matcher is the event's class
        self._tell(Note(kind="asked", action=action, link=self._place(action)), self._sinks)

    def _done(self, event: Event) -> None:
        action: PendingAction = event.action  # type: ignore[attr-defined]  # the matcher is the event's class
        self._told.pop(action.id, None)
        note = Note(kind="closed", action=action)
        sink = self._requester(action.principal) if self._requester is not None else None
        if sink is not None:
            self._tell(note, (sink,))
        if action.state in _TOLD:
            self._tell(note, self._sinks)

    def _place(self, action: PendingAction) -> str:
        return self._link.replace("{id}", action.id)

    def _tell(self, note: Note, sinks: Sequence[Sink]) -> int:
        for sink in sinks:
            self._queue.put_nowait((note, sink))
        return len(sinks)

    async def _work(self) -> None:
        while True:
            note, sink = await self._queue.get()
            try:
                await self._send(note, sink)
            finally:
                self._queue.task_done()

    async def _send(self, note: Note, sink: Sink) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                await sink.send(note)
            except NoticeError as error:
                if attempt == _ATTEMPTS - 1 or not error.is_retryable:
                    _log.error("the note about %s through %r did not arrive: %s", note.action.id, sink, error.message)
                    return
                await self._sleep(_WAITS[attempt])
            except Exception as error:  # a sink of the program: its fault stops no other note
                _log.error(
                    "the note about %s through %r did not arrive: %s", note.action.id, sink, type(error).__name__
                )
                return
            else:
                return
