"""One thread that writes: what queues up while a transaction is being made durable shares the next one.

Each job has a savepoint of its own, so that one that is refused undoes nothing of the others. If SQLite itself gives up
(a full disk), the whole transaction is undone and its jobs are tried again one by one, so that each gets its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from backstay.core.errors import BackstayError, StoreError
from backstay.store.sqlite.opening import connect, meaning

T = TypeVar("T")
Job: TypeAlias = Callable[[sqlite3.Connection], T]

MOST = 64
"""How many jobs may share a transaction."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer of a job that refuses, but whose writes stay."""

    error: BackstayError


class _Order(Generic[T]):
    """A job on its way, and where its answer goes."""

    __slots__ = ("answer", "error", "future", "job", "lazy", "loop")

    def __init__(self, job: Job[T], lazy: bool) -> None:
        self.job = job
        self.lazy = lazy
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.answer: Any = None
        self.error: BaseException | None = None

    def attempt(self, db: sqlite3.Connection) -> bool:
        """Do the job and say whether what it wrote stays. What SQLite itself raises is the caller's matter."""
        self.error = None
        try:
            self.answer = self.job(db)
        except sqlite3.Error:
            raise
        except (UnicodeError, OverflowError) as error:
            self.error = StoreError(f"an identifier or number does not fit the database ({error})", code="store.id")
        except Exception as error:
            self.error = error
        else:
            if isinstance(self.answer, Kept):
                self.error = self.answer.error
            return True
        return False

    def settle(self) -> None:
        """Hand over the answer. Runs in the caller's loop."""
        if self.future.cancelled():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.answer)


class Writer:
    """The only thread that writes to one file in this process.

    Args:
        path: the file, with its schema in place.
        busy_seconds: how long to wait for another process that writes.
    """

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        self._path = path
        self._orders: SimpleQueue[_Order[Any] | None] = SimpleQueue()
        self._durable = connect(path, busy_seconds=busy_seconds, synchronous="FULL")
        self._lazy = connect(path, busy_seconds=busy_seconds, synchronous="NORMAL")
        for db in (self._durable, self._lazy):
            db.execute("PRAGMA secure_delete=ON")
        self._is_closed = False
        self.transactions = 0
        """How many durable transactions were committed."""
        self._thread = threading.Thread(target=self._work, name=f"backstay-store:{path.name}", daemon=True)
        self._thread.start()

    async def run(self, job: Job[T], *, lazy: bool = False) -> T:
        """Do a job in a transaction and return its answer once it is durable (`lazy`: once it is written).

        A caller that is cancelled is told so when the job is done: what it then reads is what there is.
        """
        if self._is_closed:
            raise StoreError("this store is closed; open another one", code="store.closed")
        order = _Order(job, lazy)
        self._orders.put(order)
        try:
            return await asyncio.shield(order.future)
        except asyncio.CancelledError:
            await _end_of(order.future)
            raise

    async def close(self) -> None:
        """Do what is queued, then end the thread."""
        if not self._is_closed:
            self._is_closed = True
            self._orders.put(None)
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        is_open = True
        while is_open:
            orders, is_open = self._gather()
            durable = [one for one in orders if not one.lazy]
            lazy = [one for one in orders if one.lazy]
            for db, some in ((self._durable, durable), (self._lazy, lazy)):
                if some:
                    self._write(db, some)
                    _hand_over(some)
        self._lazy.close()
        self._durable.close()

    def _gather(self) -> tuple[list[_Order[Any]], bool]:
        order = self._orders.get()
        orders: list[_Order[Any]] = []
        while order is not None:
            if not order.future.cancelled():
                orders.append(order)
            if len(orders) >= MOST:
                return orders, True
            try:
                order = self._orders.get_nowait()
            except Empty:
                return orders, True
        return orders, False

    def _write(self, db: sqlite3.Connection, orders: Sequence[_Order[Any]]) -> None:
        try:
            self._together(db, orders)
        except sqlite3.Error as error:
            if db.in_transaction:
                # A ROLLBACK that fails as well has nothing to add; the next BEGIN will say so.
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
            if len(orders) == 1:
                orders[0].error = meaning(error, self._path)
                return
            for order in orders:
                self._write(db, (order,))

    def _together(self, db: sqlite3.Connection, orders: Sequence[_Order[Any]]) -> None:
        db.execute("BEGIN IMMEDIATE")
        if len(orders) == 1:
            if not orders[0].attempt(db):
                db.execute("ROLLBACK")
                return
        else:
            for order in orders:
                _apart(db, order)
        db.execute("COMMIT")
        if db is self._durable:
            self.transactions += 1


async def _end_of(future: asyncio.Future[Any]) -> None:
    while not future.done():
        with contextlib.suppress(asyncio.CancelledError):  # the caller raises the one that it has caught
            await asyncio.wait([future])


def _apart(db: sqlite3.Connection, order: _Order[Any]) -> None:
    db.execute("SAVEPOINT job")
    if not order.attempt(db):
        db.execute("ROLLBACK TO job")
    db.execute("RELEASE job")


def _hand_over(orders: Sequence[_Order[Any]]) -> None:
    """Wake each loop once, however many of its callers are answered."""
    loops = {order.loop for order in orders}
    for loop in loops:
        # The loop of a caller that did not wait may be gone.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, [order for order in orders if order.loop is loop])


def _settle(orders: Sequence[_Order[Any]]) -> None:
    for order in orders:
        order.settle()
