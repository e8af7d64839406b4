"""`backstay trace`: what a run did, from the rows of its trace. Source: SPEC O1–O3, W8."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any

import typer

from backstay.cli.exits import DONE
from backstay.cli.options import DEFAULT_STORE, AsOption, JsonOption, StoreOption, opened, principal_asked
from backstay.cli.printing import Printer, money, one_line, took, when
from backstay.core.context import Principal
from backstay.core.errors import NotFoundError
from backstay.store.protocol import RunStore
from backstay.store.records import SpanRow

app = typer.Typer(help="What runs did: tokens, cost, calls.", no_args_is_help=True, rich_markup_mode=None)


@app.command("ls")
def list_traces(
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Traces of a page.")] = 20,
    after: Annotated[str, typer.Option("--after", metavar="TRACE", help="Go on after this trace.")] = "",
    as_: AsOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """List traces, newest first."""
    return asyncio.run(_list(principal_asked(as_), limit, after, store, Printer(as_json=as_json)))


async def _list(who: Principal | None, limit: int, after: str, place: str, out: Printer) -> int:
    async with opened(place) as store:
        found = await store.traces(principal=who, after=after, limit=limit)
        rows = [await _as_it_stands(store, one) for one in found]
    following = rows[-1].trace_id if len(rows) == limit else None
    out.document({"traces": [span_document(one) for one in rows], "after": following})
    if not rows:
        out.line("no traces")
        return DONE
    head = ["TRACE", "RUN", "AGENT", "STARTED", "TOOK", "TOKENS", "COST", "STATUS", "INPUT"]
    out.table(
        head,
        [
            [
                one.trace_id,
                one.run_id,
                one.agent,
                when(one.started_at),
                took(one.seconds),
                f"{one.usage.total_tokens:,}",
                money(one.cost_usd),
                one.code or ("ok" if one.ok else "failed"),
                one_line(one.input, 60),
            ]
            for one in rows
        ],
    )
    if following:
        out.line(f"more: --after {following}")
    return DONE


async def _as_it_stands(store: RunStore, root: SpanRow) -> SpanRow:
    """A trace's first row with the status, tokens and cost of the run's last drive: these count from its start."""
    drives = [one for one in await store.spans(root.trace_id) if one.kind == "run" and one.run_id == root.run_id]
    last = max(drives, key=lambda one: one.started_at, default=root)
    return replace(
        root,
        seconds=sum(one.seconds for one in drives),
        ok=last.ok,
        code=last.code,
        usage=last.usage,
        cost_usd=last.cost_usd,
    )


@app.command("show")
def show_trace(
    trace_or_run: Annotated[str, typer.Argument(metavar="TRACE_OR_RUN_ID", help="A trace's or a run's id.")],
    as_: AsOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Show one trace as a tree: each drive of the run, its model requests and its tool calls."""
    return asyncio.run(_show(trace_or_run, principal_asked(as_), store, Printer(as_json=as_json)))


async def _show(wanted: str, who: Principal | None, place: str, out: Printer) -> int:
    async with opened(place) as store:
        rows = await store.spans(wanted, principal=who)
    if not rows:
        raise NotFoundError(f"no trace and no traced run {wanted!r} in this store")
    out.document({"trace_id": rows[0].trace_id, "spans": [span_document(one) for one in rows]})
    out.line(f"trace {rows[0].trace_id} · run {rows[0].run_id} · session {rows[0].session_id}", "bold")
    head = ["WHAT", "STEP", "AT", "TOOK", "TOKENS", "COST", "STATUS", "ARGUMENTS OR INPUT"]
    out.table(head, [_cells(row, depth, rows[0].started_at) for row, depth in tree(rows)])
    out.line(_totals(rows))
    return DONE


def tree(rows: Sequence[SpanRow]) -> Iterator[tuple[SpanRow, int]]:
    """Every span after its parent, by start, with its depth. A span whose parent is not there stands at the root."""
    known = {one.span_id for one in rows}
    below: dict[str | None, list[SpanRow]] = {}
    for one in sorted(rows, key=lambda row: (row.started_at, row.step, row.kind != "model")):
        below.setdefault(one.parent_id if one.parent_id in known else None, []).append(one)
    waiting = [(one, 0) for one in reversed(below.get(None, []))]
    while waiting:
        row, depth = waiting.pop()
        yield row, depth
        waiting += [(one, depth + 1) for one in reversed(below.get(row.span_id, []))]


def _cells(row: SpanRow, depth: int, began: float) -> list[str]:
    attempt = f" (attempt {row.attempt})" if row.attempt > 1 else ""
    return [
        f"{'  ' * depth}{row.kind} {row.name}{attempt}",
        str(row.step) if row.kind != "run" else "",
        f"+{max(0.0, row.started_at - began):.3f}",
        took(row.seconds),
        f"{row.usage.total_tokens:,}" if row.kind != "tool" else "",
        money(row.cost_usd) if row.kind == "run" or row.cost_usd is not None else "",
        _status(row),
        _told(row),
    ]


def _told(row: SpanRow) -> str:
    """Arguments or input, what a model said where there are none, and which rules had something to say of a call."""
    said = one_line(row.input, 200) or (f"→ {one_line(row.output, 120)}" if row.kind == "model" else "")
    return f"{said} · {', '.join(row.rules)}" if row.rules else said


def _status(row: SpanRow) -> str:
    ok = row.code if row.kind == "run" and row.code else "ok"
    if row.kind == "tool" and row.via not in ("", "ran"):
        ok = row.via
    return ok if row.ok else f"{row.via if row.via in ('refused', 'in_doubt') else 'failed'} [{row.code}]"


def _totals(rows: Sequence[SpanRow]) -> str:
    models = [one for one in rows if one.kind == "model"]
    tools = [one for one in rows if one.kind == "tool"]
    used = sum(one.usage.total_tokens for one in models)
    last = {one.run_id: one.cost_usd for one in rows if one.kind == "run"}
    known = [one for one in last.values() if one is not None]
    cost = sum(known, Decimal(0)) if last and len(known) == len(last) else None
    seconds = sum(one.seconds for one in rows if one.kind == "run")
    return (
        f"{len(models)} model request{'' if len(models) == 1 else 's'}, {len(tools)} tool call"
        f"{'' if len(tools) == 1 else 's'}, {used:,} tokens, {money(cost)}, {took(seconds)} of work"
    )


def span_document(row: SpanRow) -> dict[str, Any]:
    """A span as JSON."""
    return {
        "trace_id": row.trace_id,
        "span_id": row.span_id,
        "parent_id": row.parent_id,
        "run_id": row.run_id,
        "session_id": row.session_id,
        "agent": row.agent,
        "kind": row.kind,
        "name": row.name,
        "step": row.step,
        "attempt": row.attempt,
        "started_at": row.started_at,
        "seconds": row.seconds,
        "ok": row.ok,
        "code": row.code,
        "via": row.via,
        "rules": list(row.rules),
        "input": row.input,
        "input_digest": row.input_digest,
        "output": row.output,
        "input_tokens": row.usage.input_tokens,
        "output_tokens": row.usage.output_tokens,
        "cost_usd": None if row.cost_usd is None else str(row.cost_usd),
    }
