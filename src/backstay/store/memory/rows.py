"""The rows of a memory store, each with what must be found quickly from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from backstay.store.access import Owner
from backstay.store.chain import Head, Link
from backstay.store.checks import EffectRow, Held
from backstay.store.records import AuditRow, Record, RunRow


class Run:
    """A run, its un-numbered arrivals and what names it."""

    __slots__ = ("arrivals", "dedups", "order", "row", "steering", "wake_at")

    def __init__(self, row: RunRow, order: int) -> None:
        self.row = row
        self.order = order
        self.arrivals: list[Record] = []
        self.steering: list[tuple[RunRow, Record, str | None]] = []
        """Inputs that wait to enter the run, oldest first: what run each becomes if it does not, and its dedup."""
        self.dedups: list[str] = []
        self.wake_at: float | None = None


class Stream:
    """A session: its records, the newest snapshot, the runs whose inputs are queued (oldest first)."""

    __slots__ = ("lines", "owner", "records", "root", "runs", "snapshot", "waits")

    def __init__(self, root: Root) -> None:
        self.root = root
        self.owner: Owner = None
        self.records: list[Record] = []
        self.snapshot: Record | None = None
        self.lines: tuple[list[str], list[str], list[str]] = ([], [], [])
        """Those runs by how far ahead they go: `checks.IN_LINE`, `SET_FREE`, `INTERRUPTING`."""
        self.runs: list[Run] = []
        self.waits: dict[str, Run] = {}
        """Those of its runs that wait for somebody."""

    @property
    def line(self) -> list[str]:
        """The runs whose inputs are queued, in the order in which they are driven."""
        in_line, set_free, interrupting = self.lines
        return interrupting + set_free + in_line if interrupting or set_free else in_line


class Root:
    """What a root session and its children share: the fence, effects, ledger, actions."""

    __slots__ = ("actions", "driver", "effects", "epoch", "ledger", "owner", "session_id", "sessions", "until")

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.owner: str | None = None
        self.driver = ""
        self.epoch = 0
        self.until = 0.0
        self.sessions: list[str] = []
        self.effects: dict[str, EffectRow] = {}
        self.ledger: dict[str, Held] = {}
        self.actions: list[str] = []

    def is_free(self, now: float) -> bool:
        """Whether nobody alive holds it."""
        return self.owner is None or self.until <= now


@dataclass(slots=True)
class Audit:
    """A session's audit rows, chained when somebody asks: inside one process nobody could change them before."""

    rows: list[AuditRow] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    head: Head | None = None
