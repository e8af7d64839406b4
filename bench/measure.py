"""How things are measured. Standard library only: the peer's environment runs this file too.

CPU time is of the whole process, its threads included. The garbage collector is left as users have it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The repository."""
_STATM = Path("/proc/self/statm")


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Repeats of one measurement."""

    median: float
    lowest: float
    highest: float

    def times(self, factor: float) -> Spread:
        """The same in another unit."""
        return Spread(median=self.median * factor, lowest=self.lowest * factor, highest=self.highest * factor)

    def as_dict(self) -> dict[str, float]:
        """As the fields of a row."""
        return {"measured": self.median, "lowest": self.lowest, "highest": self.highest}


def spread(values: Sequence[float]) -> Spread:
    """Median, lowest and highest."""
    return Spread(median=statistics.median(values), lowest=min(values), highest=max(values))


async def cpu_each(
    once: Callable[[], Awaitable[object]], *, runs: int, repeats: int = 10, warm_up: int = 200
) -> Spread:
    """CPU seconds of one `once()`, over `runs` runs in `repeats` equal batches, after a warm-up."""
    for _ in range(warm_up):
        await once()
    batch = max(1, runs // repeats)
    return spread([await _cpu_of_batch(once, batch) for _ in range(repeats)])


async def cpu_side_by_side(
    onces: Mapping[str, tuple[Callable[[], Awaitable[object]], int]], *, repeats: int = 10
) -> dict[str, Spread]:
    """CPU seconds of each of several `once()`, batch after batch in turn, so that a busy machine slows all alike.

    Args:
        onces: name → what to run, and how many of it make a batch.
    """
    found: dict[str, list[float]] = {name: [] for name in onces}
    for number in range(repeats + 1):
        for name, (once, batch) in onces.items():
            cost = await _cpu_of_batch(once, batch)
            if number:
                found[name].append(cost)
    return {name: spread(costs) for name, costs in found.items()}


async def _cpu_of_batch(once: Callable[[], Awaitable[object]], batch: int) -> float:
    before = time.process_time()
    for _ in range(batch):
        await once()
    return (time.process_time() - before) / batch


def cpu_each_call(once: Callable[[], object], *, runs: int, repeats: int = 10, warm_up: int = 200) -> Spread:
    """CPU seconds of one `once()` that is no coroutine."""
    for _ in range(warm_up):
        once()
    return spread([_cpu_of_calls(once, max(1, runs // repeats)) for _ in range(repeats)])


def _cpu_of_calls(once: Callable[[], object], batch: int) -> float:
    before = time.process_time()
    for _ in range(batch):
        once()
    return (time.process_time() - before) / batch


def cpu_of_code(code: str, *, repeats: int = 11) -> Spread:
    """CPU seconds that `code` adds to a bare interpreter: this one's executable, fresh, pair after pair.

    The first pair compiles and is not counted: whoever measures finds its bytecode cached, as an installed package's
    is, whether or not this environment keeps bytecode (PYTHONDONTWRITEBYTECODE).
    """
    with tempfile.TemporaryDirectory(prefix="backstay-bench-") as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache
        added = []
        for _ in range(repeats + 1):
            bare = _cpu_of_child("pass", environment)
            added.append(_cpu_of_child(code, environment) - bare)
    return spread(added[1:])


def _cpu_of_child(code: str, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def rss_mib() -> float:
    """Resident memory of this process in MiB: now where the system tells, else the most it ever was."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * resource.getpagesize() / (1 << 20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / (1 << 10)
