"""The circuit: one retry budget per downstream, shared by all runs of the process.

An outage sees a bounded number of requests whatever the number of runs: after five faults in a row the circuit opens
for 30 seconds, then one probe goes through. Retries are at most a tenth of the calls of the last minute, three always.
Before any fault is known, slow start bounds what is under way.
Source: SPEC T7.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from backstay.core.errors import ToolError
from backstay.tools.slow_start import SlowStart

FAULTS = 5
"""Faults in a row that open the circuit."""
OPEN_SECONDS = 30.0
WINDOW_SECONDS = 60.0
MIN_RETRIES = 3


@dataclass(slots=True)
class Circuit:
    """The state of one downstream. Runs in several threads may share it."""

    downstream: str
    faults: int = 0
    ok_at: float | None = None
    """When it last answered."""
    opened_at: float | None = None
    is_probing: bool = False
    calls: deque[float] = field(default_factory=deque)
    retries: deque[float] = field(default_factory=deque)
    starts: SlowStart = field(default_factory=SlowStart)
    """What may be under way at once."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    async def admit(self, clock: Callable[[], float]) -> bool:
        """Let an attempt through as soon as there is room for it; else as `enter`.

        Raises:
            ToolError: code `tool.circuit_open`, also where it opens while the attempt waits.
            CancelledError: when it is stopped while it waits.
        """
        has_room = self.opened_at is None
        if has_room:
            await self.starts.wait()
        try:
            is_probe = self._enter(clock())
        except ToolError:
            if has_room:
                self.starts.give_back(ok=None)
            raise
        if not has_room:
            self.starts.take()
        return is_probe

    def enter(self, now: float) -> bool:
        """Let an attempt through at once; says whether it is the probe, which `leave` or `abandon` want to know.

        Raises:
            ToolError: code `tool.circuit_open`, while the downstream is given time to recover.
        """
        is_probe = self._enter(now)
        self.starts.take()
        return is_probe

    def _enter(self, now: float) -> bool:
        is_probe = self.opened_at is not None
        if self.opened_at is not None:
            self.opened_at = min(self.opened_at, now)  # a clock set back does not keep it open for longer
            left = self.opened_at + OPEN_SECONDS - now
            if left > 0 or self.is_probing:
                raise self._refusal(left)
            self.is_probing = True
        self.calls.append(now)
        _forget(self.calls, now)
        return is_probe

    def _refusal(self, left: float) -> ToolError:
        return ToolError(
            f"{self.downstream} has failed {self.faults} times in a row and is left alone"
            f" for {max(left, 1):.0f} more seconds. Do something else, or answer with what is known.",
            code="tool.circuit_open",
            applied=False,
        )

    def leave(self, now: float, *, ok: bool, is_probe: bool = False) -> None:
        """Record how the attempt ended. While the circuit is open only the probe's word counts."""
        with self._lock:
            is_counted = is_probe or self.opened_at is None
            if is_probe:
                self.is_probing = False
            if is_counted and ok:
                self.faults, self.opened_at, self.ok_at = 0, None, now
            elif is_counted:
                self.faults += 1
                if self.faults >= FAULTS:
                    self.opened_at = now
        if is_probe and ok:
            self.starts.start_anew()
        self.starts.give_back(ok=ok)
        if self.opened_at is not None:
            self.starts.let_go()

    def abandon(self, *, is_probe: bool = False) -> None:
        """The attempt did not reach the downstream, or was cancelled: it says nothing about it."""
        if is_probe:
            self.is_probing = False
        self.starts.give_back(ok=None)

    @property
    def counts_fault(self) -> bool:
        """Whether an earlier fault still counts. One that has seen no answer at all cannot say that it does not."""
        return self.faults > 0 or self.ok_at is None

    def may_retry(self, now: float) -> bool:
        """Whether the budget has a retry left; takes it."""
        with self._lock:
            _forget(self.retries, now)
            _forget(self.calls, now)
            if self.opened_at is not None or len(self.retries) >= max(MIN_RETRIES, len(self.calls) // 10):
                return False
            self.retries.append(now)
            return True


def _forget(times: deque[float], now: float) -> None:
    while times and times[0] <= now - WINDOW_SECONDS:
        times.popleft()


class Circuits:
    """The circuits of a process, by downstream."""

    def __init__(self) -> None:
        self._by_name: dict[str, Circuit] = {}

    def of(self, downstream: str) -> Circuit:
        """The circuit of a downstream, made at first use."""
        circuit = self._by_name.get(downstream)
        return circuit if circuit is not None else self._by_name.setdefault(downstream, Circuit(downstream))

    def reset(self) -> None:
        """Forget all faults, for tests."""
        self._by_name.clear()


circuits = Circuits()
"""Those of this process."""
