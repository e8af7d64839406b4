"""The store of a process, as the protocol has it: each door is one locked look at the tables."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import Literal, TypeVar

from backstay.boundary.actions import Decision, PendingAction
from backstay.core.context import Effect, Principal, Reserve
from backstay.core.errors import FencedError, StoreError
from backstay.core.ids import new_id
from backstay.core.messages import Artifact, Json, ToolResult
from backstay.store import checks, codec
from backstay.store.access import check_opens, dedup_key, may_see, may_steer, owner_of
from backstay.store.checks import EffectRow, Held
from backstay.store.memory.standing import MemoryStanding
from backstay.store.memory.tables import TRACES, Tables
from backstay.store.protocol import NO_STATUSES
from backstay.store.records import ENDED, AuditRow, Fence, OnBusy, Record, RunRow, Snapshot, SpanRow

T = TypeVar("T")


class MemoryStore:
    """A `RunStore` that lives and dies with its process. Safe to use from several threads and loops.

    Args:
        clock: seconds since 1970, by which leases end.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._lock = threading.Lock()
        self._is_closed = False
        self._t = Tables(clock)
        self.standing = MemoryStanding(self._t, self._opened)

    @property
    def is_durable(self) -> bool:
        """False: nothing survives the process."""
        return False

    async def create(
        self,
        run: RunRow,
        first: Record,
        *,
        dedup: str | None = None,
        claim: tuple[str, float] | None = None,
        on_busy: OnBusy = "queue",
    ) -> tuple[RunRow, Fence | None]:
        """See `RunStore.create`. A run id that exists already counts as the same creation once more."""
        checks.named(run.run_id, run.session_id, run.root_id, dedup or "")
        with self._opened():
            if dedup:
                dedup = dedup_key(run.principal, dedup)
            known = self._t.runs.get(self._t.dedups.get(dedup, run.run_id) if dedup else run.run_id)
            if known is not None:
                check_opens(run.principal, known.row.session_id, owner_of(known.row.principal))
                return known.row, None
            stream = self._t.opened(run)
            at_work = self._t.at_work(stream)
            is_busy = at_work is not None or bool(stream.line)
            if is_busy and on_busy == "reject":
                raise checks.busy(run.session_id, at_work.row.run_id if at_work else stream.line[0])
            if at_work is not None and on_busy == "steer" and may_steer(run, at_work.row):
                self._t.steer(at_work, run, first, dedup)
                return at_work.row, None
            is_taken = claim is None or is_busy
            waiting = self._t.waiting(stream, run.principal)
            by = (waiting.row if waiting else run).run_id
            is_first = on_busy == "interrupt" and self._t.interrupt(stream, run, by)
            target = waiting or self._t.add(run, stream, "queued" if is_taken else "running")
            if dedup:
                self._t.name(target, dedup)
            first = first if waiting is None else replace(first, run_id=target.row.run_id)
            self._t.leave(target, first, checks.INTERRUPTING if is_first else checks.IN_LINE)
            if claim is None or is_taken:
                return target.row, None
            fence = self._t.take(stream, target, *claim)
            return target.row, fence

    async def claim(self, run_id: str, *, owner: str, ttl: float) -> tuple[Fence, RunRow] | None:
        """See `RunStore.claim`. A live lease is nobody's to take, its own owner's neither: two drives of one process
        would both write. Only a child run of a session that this owner drives gets the same fence.
        """
        with self._opened():
            run = self._t.run(run_id)
            stream = self._t.streams[run.row.session_id]
            root, now = stream.root, self._t.clock()
            if run.row.status in ENDED or (run_id in stream.line and stream.line[0] != run_id):
                return None
            if root.is_free(now):
                return self._t.take(stream, run, owner, ttl), run.row
            if run.row.parent_id is None or root.owner != owner:
                return None
            root.until = max(root.until, now + ttl)
            self._t.start(stream, run)
            return Fence(root_id=root.session_id, owner=owner, epoch=root.epoch), run.row

    async def renew(self, fence: Fence, ttl: float) -> Literal["held", "cancel", "lost"]:
        """See `RunStore.renew`. A wish about another run that waits in the same session is not this driver's."""
        with self._opened():
            try:
                root = self._t.held(fence)
            except FencedError:
                return "lost"
            root.until = self._t.clock() + ttl
            return "cancel" if any(self._t.is_wish(run_id, root) for run_id in self._t.arrived) else "held"

    async def load(self, session_id: str) -> Sequence[Record]:
        """See `RunStore.load`. Snapshots are left out of what follows the newest one. Empty for no such session."""
        with self._opened():
            stream = self._t.streams.get(session_id)
            if stream is None:
                return []
            newest = stream.snapshot
            if newest is None:
                return list(stream.records)
            tail = newest.body.tail if isinstance(newest.body, Snapshot) else newest.seq
            return [newest, *(one for one in stream.records[max(tail, 1) - 1 :] if one.kind != "snapshot")]

    async def arrivals(self, fence: Fence, run_id: str) -> Sequence[Record]:
        """See `RunStore.arrivals`."""
        with self._opened():
            self._t.held(fence)
            run = self._t.run(run_id)
            stream = self._t.streams[run.row.session_id]
            taken = [one for one in run.arrivals if one.kind != "input"]
            run.arrivals = [one for one in run.arrivals if one.kind == "input"]
            return self._t.number(stream, run, taken)

    async def next_input(self, fence: Fence, run_id: str) -> Record | None:
        """See `RunStore.next_input`."""
        with self._opened():
            self._t.held(fence)
            return self._t.next_input(self._t.run(run_id))

    async def arrived(self, run_id: str) -> int:
        """See `RunStore.arrived`."""
        with self._opened():
            return self._t.waiting_arrivals(run_id)

    async def append(
        self,
        fence: Fence,
        records: Sequence[Record],
        *,
        pending: Sequence[PendingAction] = (),
        outcomes: Sequence[tuple[str, ToolResult]] = (),
        audit: Sequence[AuditRow] = (),
        statuses: Mapping[str, str] = NO_STATUSES,
        files: Sequence[tuple[Artifact, bytes]] = (),
    ) -> int:
        """See `RunStore.append`. Everything is checked before anything is written."""
        checks.sized(files)
        with self._opened():
            root = self._t.held(fence)
            self._t.check_places(root, records)
            actions = [one for one in pending if self._t.is_newer(one)]
            for key, _ in outcomes:
                if key not in root.effects:
                    raise checks.no_effect(key)
            runs = [(self._t.run(run_id), status) for run_id, status in statuses.items()]
            for record in records:
                self._t.put(self._t.streams[record.session_id], record)
            for action in actions:
                self._t.keep_action(root, action)
            for key, result in outcomes:
                self._t.finish(root, key, result)
            for run, status in runs:
                self._t.set_status(run, status)
            self._t.write_audit(root.session_id, audit)
            if files:
                self._t.files.keep(root.session_id, files)
            return sum(self._t.waiting_arrivals(run_id) for run_id in {one.run_id for one in records})

    async def artifact(
        self, session_id: str, ref: str, *, principal: Principal | None = None
    ) -> tuple[Artifact, bytes]:
        """See `RunStore.artifact`."""
        with self._opened():
            if not may_see(principal, self._t.owner(session_id)):
                raise checks.no_artifact(ref)
            stream = self._t.streams.get(session_id)
            return self._t.files.get(stream.root.session_id if stream else session_id, ref)

    async def begin_effect(
        self,
        fence: Fence,
        key: str,
        effect: Effect,
        digest: str,
        attempt: int,
        reserve: Sequence[Reserve],
        audit: AuditRow,
    ) -> Literal["new", "started"] | ToolResult:
        """See `RunStore.begin_effect`. Of effects that an older epoch began, only `once` is `started`; the repeatable
        ones are taken over and `new`. The audit row is written with `new` alone.
        """
        with self._opened():
            root = self._t.held(fence)
            row = root.effects.get(key)
            answer = checks.begin(row, fence, key, digest)
            if answer != "new":
                return answer
            full = None if row else checks.over(reserve, lambda name: self._t.held_of(root, name))
            if full is not None:
                return full
            held = row.reserve if row else checks.amounts_of(reserve)
            for name, amount in () if row else held:
                before = self._t.held_of(root, name)
                self._t.ledger_of(root, name)[name] = Held(before.reserved + amount, before.committed)
            root.effects[key] = EffectRow(
                effect=effect, digest=digest, attempt=attempt, epoch=fence.epoch, reserve=held
            )
            self._t.write_audit(root.session_id, (audit,))
            return "new"

    async def reserved(self, session_id: str, effects: Sequence[str]) -> Mapping[str, Sequence[tuple[str, Decimal]]]:
        """See `RunStore.reserved`."""
        with self._opened():
            stream = self._t.streams.get(session_id)
            known = stream.root.effects if stream else {}
            names = [one for one in known if any(one == key or one.startswith(f"{key}/") for key in effects)]
            return {one: known[one].reserve for one in names if known[one].holds}

    async def charge(self, fence: Fence, amounts: Sequence[Reserve]) -> str | None:
        """See `RunStore.charge`."""
        with self._opened():
            self._t.held(fence)
            found = {one.key: self._t.shared.get(one.key, Held()) for one in amounts}
            full = checks.full(amounts, found)
            if full is None:
                self._t.shared.update(checks.charged(amounts, found))
            return full

    async def spent(self, keys: Sequence[str]) -> Mapping[str, Decimal]:
        """See `RunStore.spent`."""
        with self._opened():
            found = {key: self._t.shared.get(key, Held()) for key in keys}
            return {key: held.reserved + held.committed for key, held in found.items()}

    async def release(
        self,
        fence: Fence,
        run_id: str,
        status: str,
        records: Sequence[Record],
        *,
        wake_at: float | None = None,
        parked: int | None = None,
    ) -> None:
        """See `RunStore.release`. A child released inside its parent's drive leaves the session with the parent."""
        with self._opened():
            root = self._t.held(fence)
            run = self._t.run(run_id)
            self._t.check_places(root, records)
            for record in records:
                self._t.put(self._t.streams[record.session_id], record)
            self._t.set_status(run, status)
            run.wake_at = wake_at
            if parked is not None:
                self._t.parked[run_id] = parked
            if wake_at is not None:
                self._t.waking[run_id] = wake_at
            if root.driver == run_id:
                root.owner = None
                self._t.drop_if_over(root, run)

    async def decide(self, pending_id: str, version: int, decision: Decision, audit: AuditRow) -> PendingAction:
        """See `RunStore.decide`. A decision that comes too late makes the row `expired` and wakes its run."""
        with self._opened():
            action = self._t.action(pending_id)
            after = checks.judged(action, version, decision)
            run = self._t.run(action.run_id)
            self._t.change_action(after)
            if after.state == "expired":
                run.wake_at = self._t.waking[action.run_id] = decision.at
                raise checks.expired(action)
            if after.state != "open":
                self._t.leave(run, checks.arrival_of_decision(action, decision))
            self._t.write_audit(run.row.root_id, (audit,))
            return after

    def sign(self, what: str) -> str:
        """See `RunStore.sign`."""
        return self._t.chain.seal("signed", what)

    async def note(self, pending_id: str, audit: AuditRow) -> None:
        """See `RunStore.note`."""
        with self._opened():
            self._t.write_audit(self._t.run(self._t.action(pending_id).run_id).row.root_id, (audit,))

    async def action(self, pending_id: str, *, principal: Principal | None = None) -> PendingAction:
        """See `RunStore.action`."""
        with self._opened():
            found = self._t.action(pending_id)
            if not may_see(principal, owner_of(found.principal)):
                raise checks.no_action(pending_id)
            return found

    async def pending(
        self, *, principal: Principal | None = None, state: str = "open", after: str = "", limit: int = 50
    ) -> Sequence[PendingAction]:
        """See `RunStore.pending`."""
        with self._opened():
            ids = self._t.open if state == "open" else self._t.actions
            found = (self._t.actions[one] for one in sorted(one for one in ids if one > after))
            return _page((one for one in found if state in ("", one.state) and _is_seen(principal, one)), limit)

    async def run(self, run_id: str, *, principal: Principal | None = None) -> RunRow:
        """See `RunStore.run`."""
        with self._opened():
            row = self._t.run(run_id).row
            if not _is_seen(principal, row):
                raise checks.no_run(run_id)
            return row

    async def runs(
        self, *, principal: Principal | None = None, status: str = "", after: str = "", limit: int = 50
    ) -> Sequence[RunRow]:
        """See `RunStore.runs`."""
        with self._opened():
            found = (self._t.runs[one].row for one in sorted(one for one in self._t.runs if one > after))
            return _page((one for one in found if status in ("", one.status) and _is_seen(principal, one)), limit)

    async def read(
        self, session_id: str, *, principal: Principal | None = None, after: int = 0, limit: int = 200
    ) -> Sequence[Record]:
        """See `RunStore.read`. Empty for no such session."""
        with self._opened():
            stream = self._t.streams.get(session_id)
            start = max(after, 0)
            is_seen = stream is not None and may_see(principal, stream.owner)
            return stream.records[start : start + limit] if stream and is_seen else []

    async def audit(self, session_id: str, *, principal: Principal | None = None) -> Sequence[tuple[AuditRow, str]]:
        """See `RunStore.audit`. Rows of child runs stand in their root session's chain."""
        with self._opened():
            if not may_see(principal, self._t.owner(session_id)):
                return []
            return [(link.row, link.hash) for link in self._t.chained(session_id).links]

    async def audit_heads(self) -> Sequence[tuple[str, int, str]]:
        """See `RunStore.audit_heads`."""
        with self._opened():
            found = [(one, self._t.chained(one).head) for one in sorted(self._t.audits)]
            return [(one, head.n, head.hash) for one, head in found if head is not None]

    async def verify_audit(self, session_id: str | None = None) -> Sequence[str]:
        """See `RunStore.verify_audit`."""
        with self._opened():
            chosen = list(self._t.audits) if session_id is None else [session_id]
            audits = [(one, self._t.chained(one)) for one in chosen]
            return [wrong for one, audit in audits for wrong in self._t.chain.verify(one, audit.links, audit.head)]

    async def board_get(self, scope: str, key: str) -> tuple[Json, int] | None:
        """See `RunStore.board_get`."""
        with self._opened():
            return self._t.board.get((scope, key))

    async def board_put(self, fence: Fence, scope: str, key: str, value: Json, *, expect: int) -> int:
        """See `RunStore.board_put`."""
        checks.named(scope, key)
        with self._opened():
            self._t.held(fence)
            _, version = self._t.board.get((scope, key), (None, 0))
            if version != expect:
                raise checks.conflict(scope, key, version, expect)
            self._t.board[scope, key] = codec.load_json(codec.dump_json(value)), version + 1
            return version + 1

    async def due(self, now: float, limit: int) -> Sequence[str]:
        """See `RunStore.due`. Oldest first. A child is named for a decision, a wish or its time, not for its input."""
        with self._opened():
            names = {*self._t.called(), *self._t.running}
            names.update(run_id for run_id, at in self._t.waking.items() if at <= now)
            names.update(run_id for run_id, at in self._t.parked.items() if at != self._t.changes)
            names.update(self._t.actions[one].run_id for one, at in self._t.open.items() if at <= now)
            runs = [
                self._t.runs[one] for one in names if one in self._t.runs and self._t.is_due(self._t.runs[one], now)
            ]
            return [run.row.run_id for run in sorted(runs, key=lambda run: run.order)[:limit]]

    async def cancel(self, run_id: str, reason: str) -> None:
        """See `RunStore.cancel`. Nothing happens to a run that has ended, or whose wish is there already."""
        with self._opened():
            run = self._t.run(run_id)
            self._t.wish(run, checks.wish_to_cancel(run.row, reason, self._t.clock()))

    async def fork(self, session_id: str, upto: int) -> str:
        """See `RunStore.fork`."""
        with self._opened():
            source = self._t.streams.get(session_id)
            if source is None:
                raise checks.no_session(session_id)
            copy = new_id("session")
            stream = self._t.stream(copy, copy)
            stream.owner = source.owner
            for record in source.records[: max(upto, 0)]:
                self._t.put(stream, checks.numbered(record, record.seq, copy))
            self._t.files.copy(source.root.session_id, copy)
            return copy

    async def forget(self, session_id: str) -> None:
        """See `RunStore.forget`. Child sessions go with their root; one that is not there is forgotten already."""
        with self._opened():
            root = self._t.roots.get(session_id)
            if root is not None:
                self._t.drop(root)

    async def put_spans(self, spans: Sequence[SpanRow]) -> None:
        """See `RunStore.put_spans`. Only the newest `TRACES` traces stay readable."""
        with self._opened():
            for span in spans:
                self._t.traces.setdefault(span.trace_id, {})[span.span_id] = span
            while len(self._t.traces) > TRACES:
                self._t.traces.popitem(last=False)

    async def spans(self, trace_id: str, *, principal: Principal | None = None) -> Sequence[SpanRow]:
        """See `RunStore.spans`."""
        with self._opened():
            traces = [self._t.traces[trace_id]] if trace_id in self._t.traces else self._t.traces_of_run(trace_id)
            found = (one for trace in traces for one in trace.values())
            return sorted((one for one in found if may_see(principal, self._t.owner(one.session_id))), key=_by_start)

    async def traces(
        self, *, principal: Principal | None = None, after: str = "", limit: int = 50
    ) -> Sequence[SpanRow]:
        """See `RunStore.traces`. A trace whose run was driven several times is named by its first drive."""
        with self._opened():
            firsts = [found for trace in self._t.traces.values() if (found := _first(trace.values()))]
            firsts = [one for one in firsts if may_see(principal, self._t.owner(one.session_id))]
            firsts.sort(key=lambda span: (span.started_at, span.trace_id), reverse=True)
            at = next((n + 1 for n, span in enumerate(firsts) if span.trace_id == after), 0)
            return firsts[at : at + limit]

    async def close(self) -> None:
        """See `RunStore.close`. What was kept is gone."""
        self._is_closed = True

    def _opened(self) -> threading.Lock:
        if self._is_closed:
            raise StoreError("this store is closed; open another one", code="store.closed")
        return self._lock


def _page(found: Iterable[T], limit: int) -> list[T]:
    return list(islice(found, max(limit, 0)))


def _is_seen(principal: Principal | None, row: RunRow | PendingAction) -> bool:
    return principal is None or may_see(principal, owner_of(row.principal))


def _by_start(span: SpanRow) -> tuple[float, str]:
    return span.started_at, span.span_id


def _first(trace: Iterable[SpanRow]) -> SpanRow | None:
    """The root span of a trace's first drive."""
    roots = [span for span in trace if span.kind == "run" and span.parent_id is None]
    return min(roots, key=_by_start, default=None)
