"""What the store of a process keeps: the objects themselves, and what must be found quickly.

A session whose id is its run's id belongs to that run alone. When the run has ended and nothing of it waits for a
person, only the newest `KEPT` of such sessions stay readable; so a process that runs an agent 10,000 times stays flat.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from backstay.boundary.actions import PendingAction
from backstay.core.context import Principal, is_shared
from backstay.core.messages import Json, ToolResult
from backstay.store import checks
from backstay.store.access import Owner, check_opens, may_continue, may_see, owner_of
from backstay.store.chain import Chain
from backstay.store.checks import Held
from backstay.store.memory.files import Files
from backstay.store.memory.rows import Audit, Root, Run, Stream
from backstay.store.records import ENDED, AuditRow, Fence, Record, RunRow, SpanRow

KEPT = 256
"""How many finished runs without a session stay readable."""
TRACES = 1_024
"""How many traces stay readable."""
_WAITS = ("waiting", "needs_narrowing")


class Tables:
    """The rows of a memory store. Nothing in here waits or locks; its caller does."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.chain = Chain(secrets.token_bytes(32))
        self.roots: dict[str, Root] = {}
        self.streams: dict[str, Stream] = {}
        self.runs: dict[str, Run] = {}
        self.dedups: dict[str, str] = {}
        self.actions: dict[str, PendingAction] = {}
        self.open: dict[str, float] = {}
        """Open actions and when they end."""
        self.arrived: dict[str, None] = {}
        """Runs with un-numbered arrivals."""
        self.running: dict[str, None] = {}
        self.waking: dict[str, float] = {}
        self.changes = 0
        """How often halts and grants have changed."""
        self.parked: dict[str, int] = {}
        """Runs that a halt has parked, and the change at which."""
        self.audits: dict[str, Audit] = {}
        self.shared: dict[str, Held] = {}
        """The ledger's keys that all sessions share."""
        self.board: dict[tuple[str, str], tuple[Json, int]] = {}
        self.files = Files()
        self.traces: OrderedDict[str, dict[str, SpanRow]] = OrderedDict()
        self.finished: OrderedDict[str, None] = OrderedDict()
        """Sessions that may be dropped, oldest first."""
        self._order = 0

    def run(self, run_id: str) -> Run:
        """A run, or NotFoundError."""
        found = self.runs.get(run_id)
        if found is None:
            raise checks.no_run(run_id)
        return found

    def action(self, action_id: str) -> PendingAction:
        """An action, or NotFoundError."""
        found = self.actions.get(action_id)
        if found is None:
            raise checks.no_action(action_id)
        return found

    def held(self, fence: Fence) -> Root:
        """The root session of a fence that still holds, or FencedError."""
        root = self.roots.get(fence.root_id)
        if root is None or root.owner != fence.owner or root.epoch != fence.epoch:
            raise checks.fenced(fence)
        return root

    def stream(self, session_id: str, root_id: str) -> Stream:
        """A session's stream, made if there is none; one that was about to be dropped stays."""
        found = self.streams.get(session_id)
        if found is not None:
            self.finished.pop(found.root.session_id, None)
            return found
        root = self.roots.get(root_id)
        if root is None:
            root = self.roots[root_id] = Root(root_id)
        if session_id != root_id:
            self.stream(root_id, root_id)
        root.sessions.append(session_id)
        made = self.streams[session_id] = Stream(root)
        return made

    def opened(self, run: RunRow) -> Stream:
        """The stream in which a new run's principal may speak; it is theirs if it was not there."""
        known = self.streams.get(run.session_id)
        if known is not None:
            check_opens(run.principal, run.session_id, known.owner)
        stream = self.stream(run.session_id, run.root_id)
        if stream.owner is None:
            stream.owner = owner_of(run.principal)
        return stream

    def owner(self, session_id: str) -> Owner:
        """Whose a session is; None where there is none."""
        found = self.streams.get(session_id)
        return found.owner if found else None

    def add(self, row: RunRow, stream: Stream, status: str) -> Run:
        """A new run of a session."""
        self._order += 1
        made = self.runs[row.run_id] = Run(with_status(row, status, row.created_at or self.clock()), self._order)
        stream.runs.append(made)
        return made

    def waiting(self, stream: Stream, principal: Principal) -> Run | None:
        """The newest run of a session that waits for somebody and that this principal may go on with."""
        mine = (run for run in stream.waits.values() if may_continue(principal, run.row.principal))
        return max(mine, key=lambda run: run.order, default=None)

    def at_work(self, stream: Stream) -> Run | None:
        """The run whose driver holds a session now."""
        return None if stream.root.is_free(self.clock()) else self.runs.get(stream.root.driver)

    def leave(self, run: Run, record: Record, ahead: int = checks.IN_LINE) -> None:
        """Leave an arrival for whoever drives the run; an input goes to the end of its line."""
        run.arrivals.append(record)
        self.arrived[run.row.run_id] = None
        if record.kind == "input":
            self.streams[run.row.session_id].lines[ahead].append(run.row.run_id)

    def steer(self, run: Run, row: RunRow, first: Record, dedup: str | None) -> None:
        """Leave an input that is to enter the run at work."""
        run.steering.append((row, first, dedup))
        self.arrived[run.row.run_id] = None
        if dedup:
            self.name(run, dedup)

    def name(self, run: Run, dedup: str) -> None:
        """Let a key that starts at most one run name this one."""
        self.dedups[dedup] = run.row.run_id
        run.dedups.append(dedup)

    def interrupt(self, stream: Stream, row: RunRow, by: str) -> bool:
        """Wish the run at work cancelled, and earlier interrupting ones that have not begun; False if not seen."""
        at_work = self.at_work(stream)
        if at_work is not None and not may_see(row.principal, owner_of(at_work.row.principal)):
            return False
        for run in filter(None, (at_work, *(self.runs[one] for one in stream.lines[checks.INTERRUPTING]))):
            if run.row.run_id != by and may_see(row.principal, owner_of(run.row.principal)):
                self.wish(run, checks.interruption(run.row, by, self.clock()))
        return True

    def wish(self, run: Run, wish: Record) -> None:
        """Leave a wish to cancel, unless the run has ended or the wish is there already."""
        if run.row.status not in ENDED and not any(one.kind == "status" for one in run.arrivals):
            self.leave(run, wish)

    def next_input(self, run: Run) -> Record | None:
        """Number the oldest input that steers a run."""
        if not run.steering:
            return None
        _, first, _ = run.steering.pop(0)
        stream = self.streams[run.row.session_id]
        return self.number(stream, run, [replace(first, run_id=run.row.run_id)])[0]

    def set_free(self, run: Run) -> None:
        """Make runs of the inputs that an ended run has not taken in."""
        left, run.steering = run.steering, []
        for row, first, dedup in left:
            made = self.add(row, self.streams[row.session_id], "queued")
            self.leave(made, first, checks.SET_FREE)
            if dedup:
                run.dedups.remove(dedup)
                self.name(made, dedup)

    def take(self, stream: Stream, run: Run, owner: str, ttl: float) -> Fence:
        """Give the session's fence to an owner and number what has arrived for the run."""
        root = stream.root
        root.owner, root.driver, root.until = owner, run.row.run_id, self.clock() + ttl
        root.epoch += 1
        self.start(stream, run)
        return Fence(root_id=root.session_id, owner=owner, epoch=root.epoch)

    def start(self, stream: Stream, run: Run) -> None:
        """Set a run to running, with all that has arrived for it numbered.

        A decision about a row that an ended run left open, such as a rule to be confirmed, goes with it.
        """
        run_id = run.row.run_id
        left = [one for name in self.arrived if (one := self.runs[name]).row.session_id == run.row.session_id]
        for over in sorted(left, key=lambda one: one.order):
            if over.arrivals and over.row.status in ENDED:
                taken, over.arrivals = over.arrivals, []
                self.number(stream, over, [one for one in taken if one.kind == "decided"])
        if run.arrivals:
            taken, run.arrivals = run.arrivals, []
            self.number(stream, run, taken)
            for line in stream.lines:
                line[:] = [one for one in line if one != run_id]
        if run.wake_at is not None:
            run.wake_at = None
            self.waking.pop(run_id, None)
        self.parked.pop(run_id, None)
        self.set_status(run, "running")

    def number(self, stream: Stream, run: Run, records: Sequence[Record]) -> list[Record]:
        """Give arrivals their places in the stream."""
        if not run.arrivals and not run.steering:
            self.arrived.pop(run.row.run_id, None)
        placed = [checks.numbered(one, len(stream.records) + n, run.row.session_id) for n, one in enumerate(records, 1)]
        for record in placed:
            self.put(stream, record)
        return placed

    def put(self, stream: Stream, record: Record) -> None:
        """Keep a numbered record."""
        stream.records.append(record)
        if record.kind == "snapshot":
            stream.snapshot = record

    def check_places(self, root: Root, records: Sequence[Record]) -> None:
        """FencedError unless the records follow on the last of their sessions, which are the fence's."""
        expected: dict[str, int] = {}
        for record in records:
            session_id = record.session_id
            seq = expected.get(session_id, 0)
            if not seq:
                stream = self.streams.get(session_id)
                seq = len(stream.records) + 1 if stream is not None and stream.root is root else -1
            if record.seq != seq:
                raise checks.gap(session_id, record.seq)
            expected[session_id] = seq + 1

    def set_status(self, run: Run, status: str) -> None:
        """Set a run's status, and note whether it runs."""
        row = run.row
        if status == "running":
            self.running[row.run_id] = None
        else:
            self.running.pop(row.run_id, None)
        waits = self.streams[row.session_id].waits
        if status in _WAITS:
            waits[row.run_id] = run
        else:
            waits.pop(row.run_id, None)
        if row.status != status:
            run.row = with_status(row, status, row.created_at)
        if run.steering and status in ENDED:
            self.set_free(run)

    def keep_action(self, root: Root, action: PendingAction) -> None:
        """Keep an action under its root session."""
        if action.id not in self.actions:
            root.actions.append(action.id)
        self.change_action(action)

    def change_action(self, action: PendingAction) -> None:
        """Keep a later version of an action."""
        self.actions[action.id] = action
        if action.state == "open":
            self.open[action.id] = action.expires_at
        else:
            self.open.pop(action.id, None)

    def is_newer(self, action: PendingAction) -> bool:
        """Whether a driver's version of an action is to be kept."""
        old = self.actions.get(action.id)
        return old is None or checks.replaces(old.id, old.version, old.state, action)

    def finish(self, root: Root, key: str, result: ToolResult) -> None:
        """Keep the outcome of an effect and settle what it had reserved."""
        row = root.effects[key]
        for name, amount in row.reserve if row.is_unsettled else ():
            self.ledger_of(root, name)[name] = checks.settle(self.held_of(root, name), amount, result)
        root.effects[key] = replace(row, outcome=result)

    def ledger_of(self, root: Root, name: str) -> dict[str, Held]:
        """Where a key of the ledger is kept: with its session, or for all of them."""
        return self.shared if is_shared(name) else root.ledger

    def held_of(self, root: Root, name: str) -> Held:
        """What a key of the ledger holds."""
        return self.ledger_of(root, name).get(name, Held())

    def write_audit(self, session_id: str, rows: Sequence[AuditRow]) -> None:
        """Keep audit rows."""
        if rows:
            audit = self.audits.get(session_id)
            if audit is None:
                audit = self.audits[session_id] = Audit()
            audit.rows += rows

    def chained(self, session_id: str) -> Audit:
        """A session's audit chain, up to its last row."""
        audit = self.audits.get(session_id, Audit())
        links, audit.head = self.chain.extend(session_id, audit.head, audit.rows)
        audit.links += links
        audit.rows.clear()
        return audit

    def waiting_arrivals(self, run_id: str) -> int:
        """How many decisions, wishes and inputs that steer wait to be numbered."""
        run = self.runs.get(run_id)
        return sum(one.kind != "input" for one in run.arrivals) + len(run.steering) if run else 0

    def is_wish(self, run_id: str, root: Root) -> bool:
        """Whether somebody wishes to cancel this run, and it is the one that the root's holder drives, or its child."""
        run = self.runs[run_id]
        stream = self.streams[run.row.session_id]
        mine = run_id == root.driver or run.row.session_id != root.session_id
        return stream.root is root and mine and any(one.kind == "status" for one in run.arrivals)

    def called(self) -> list[str]:
        """Runs for which something has arrived; an input that steers does not call one that a halt has parked."""
        return [one for one in self.arrived if self.runs[one].arrivals or one not in self.parked]

    def is_due(self, run: Run, now: float) -> bool:
        """Whether somebody may drive this run now and should."""
        row = run.row
        stream = self.streams[row.session_id]
        if row.status in ENDED or not stream.root.is_free(now):
            return False
        if row.run_id in stream.line and stream.line[0] != row.run_id:
            return False
        return row.parent_id is None or not self.is_parents(run, now)

    def is_parents(self, run: Run, now: float) -> bool:
        """Whether a child has no cause of its own to be driven: its parent will do it."""
        told = self.waiting_arrivals(run.row.run_id) or (run.wake_at is not None and run.wake_at <= now)
        late = any(at <= now and self.actions[one].run_id == run.row.run_id for one, at in self.open.items())
        return not told and not late

    def drop_if_over(self, root: Root, run: Run) -> None:
        """Let go of an ended run's own session, unless something of it waits; the newest stay readable for a while."""
        if run.row.status not in ENDED or root.session_id != run.row.run_id:
            return
        if any(self.actions[one].state in ("open", "approved") for one in root.actions):
            return
        if self.streams[root.session_id].line:
            return
        self.finished[root.session_id] = None
        if len(self.finished) > KEPT:
            oldest = next(iter(self.finished))
            self.drop(self.roots[oldest])
            self.audits.pop(oldest, None)

    def drop(self, root: Root) -> None:
        """Forget a root session and its children, but for the audit chain."""
        runs = [run for session_id in root.sessions for run in self.streams.pop(session_id).runs]
        self.finished.pop(root.session_id, None)
        self.files.drop(root.session_id)
        del self.roots[root.session_id]
        for run in runs:
            for table in (self.runs, self.arrived, self.running, self.waking, self.parked):
                _without(table, run.row.run_id)
            for dedup in run.dedups:
                del self.dedups[dedup]
            self.traces.pop(run.row.trace_id, None)
        for action_id in root.actions:
            del self.actions[action_id]
            self.open.pop(action_id, None)

    def traces_of_run(self, run_id: str) -> list[dict[str, SpanRow]]:
        """The traces in which a run has spans."""
        run = self.runs.get(run_id)
        if run is not None and run.row.trace_id in self.traces:
            return [self.traces[run.row.trace_id]]
        return [trace for trace in self.traces.values() if any(one.run_id == run_id for one in trace.values())]


def _without(table: dict[str, Any], key: str) -> None:
    table.pop(key, None)


def with_status(row: RunRow, status: str, created_at: float) -> RunRow:
    """A row with another status. Spelt out, since this is hot and `replace` is slow."""
    return RunRow(
        run_id=row.run_id,
        session_id=row.session_id,
        root_id=row.root_id,
        parent_id=row.parent_id,
        agent=row.agent,
        agent_digest=row.agent_digest,
        principal=row.principal,
        trace_id=row.trace_id,
        status=status,
        created_at=created_at,
    )
