"""Between rows of the tables and our dataclasses. Every statement is a constant; every value is bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from backstay.boundary.actions import PendingAction
from backstay.core.context import Principal
from backstay.store import checks, codec
from backstay.store.chain import Chain
from backstay.store.records import Record, RunRow, SpanRow

Row: TypeAlias = "tuple[Any, ...]"

RECORD = "session_id, seq, run_id, kind, version, at, trace_id, span_id, body"
ARRIVAL = "session_id, run_id, kind, version, at, trace_id, span_id, body"
RUN = "run_id, session_id, root_id, parent_id, agent, agent_digest, principal, trace_id, status, created_at"
ACTION = "id, version, state, run_id, session_id, root_id, tenant, person, expires_at, body, seal"


def text(value: str) -> str | bytes:
    """JSON text as a database can hold it: bytes where it has half a character, which no text column takes."""
    if value.isascii():
        return value
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def row_of_record(record: Record) -> Row:
    """Columns `RECORD`."""
    return (
        record.session_id,
        record.seq,
        record.run_id,
        record.kind,
        record.version,
        record.at,
        record.trace_id,
        record.span_id,
        text(codec.encode_body(record.kind, record.body)),
    )


def rows_of_records(records: Sequence[Record]) -> list[Row]:
    """Columns `RECORD`, encoded before a transaction is begun."""
    return [row_of_record(record) for record in records]


def record_of(row: Row) -> Record:
    """A record from columns `RECORD`."""
    session_id, seq, run_id, kind, version, at, trace_id, span_id, body = row
    return Record(
        session_id=session_id,
        seq=seq,
        run_id=run_id,
        kind=kind,
        at=at,
        body=codec.decode_body(kind, version, body),
        version=version,
        trace_id=trace_id,
        span_id=span_id,
    )


def row_of_run(run: RunRow, now: float) -> Row:
    """Columns `RUN`, then tenant and person."""
    return (
        run.run_id,
        run.session_id,
        run.root_id,
        run.parent_id,
        run.agent,
        run.agent_digest,
        text(codec.dump(run.principal)),
        run.trace_id,
        "queued",
        run.created_at or now,
        run.principal.tenant,
        run.principal.id,
    )


def run_of(row: Row, known: Principal | None = None) -> RunRow:
    """A run from columns `RUN`; `known` is its principal, where that need not be read."""
    run_id, session_id, root_id, parent_id, agent, agent_digest, principal, trace_id, status, created_at = row
    return RunRow(
        run_id=run_id,
        session_id=session_id,
        root_id=root_id,
        parent_id=parent_id,
        agent=agent,
        agent_digest=agent_digest,
        principal=known or codec.load(Principal, principal),
        trace_id=trace_id,
        status=status,
        created_at=created_at,
    )


def row_of_action(chain: Chain, action: PendingAction, root_id: str) -> Row:
    """Columns `ACTION`, sealed."""
    body = codec.dump(action)
    columns: Row = (
        action.id,
        action.version,
        action.state,
        action.run_id,
        action.session_id,
        root_id,
        action.principal.tenant,
        action.principal.id,
        float(action.expires_at),
    )
    return (*columns, text(body), chain.seal(*columns, body))


def action_of(chain: Chain, row: Row) -> PendingAction:
    """An action from columns `ACTION`, its seal checked before anything of it is read.

    Raises:
        DecisionError: code `action.tampered`.
    """
    *columns, stored, seal = row
    body = stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")
    if chain.seal(*columns, body) != seal:
        raise checks.tampered(row[0])
    return codec.load(PendingAction, body)


def row_of_span(span: SpanRow) -> Row:
    """A span and what is searched of it."""
    return (
        span.trace_id,
        span.span_id,
        span.run_id,
        span.session_id,
        int(span.kind == "run" and span.parent_id is None),
        span.started_at,
        text(codec.dump(span)),
    )


def span_of(row: Row) -> SpanRow:
    """A span from its body."""
    return codec.load(SpanRow, row[0])
