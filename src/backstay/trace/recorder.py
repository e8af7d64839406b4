"""The recorder: events → summary rows of a trace, in the store, in batches, never in the way of a run.

A row for each run, model request and tool call; arguments and results redacted and at most 1 KiB. Audit does not pass
through here. Source: SPEC O1, O2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from backstay.core.canon import canonical, digest, freeze
from backstay.core.errors import StoreError
from backstay.core.events import (
    BoundaryVerdict,
    Emitter,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelFallback,
    ModelStart,
    RunFinish,
    RunStart,
    ToolFinish,
)
from backstay.core.ids import new_span_id
from backstay.core.logs import logger
from backstay.core.messages import Json, ToolCall, Usage
from backstay.core.redaction import redact, redact_json
from backstay.store.protocol import RunStore
from backstay.store.records import SpanRow

SpanKind: TypeAlias = Literal["run", "model", "tool"]
_log = logger("backstay.trace")
BATCH_SECONDS = 0.05
MAX_CHARS = 1024
"""Characters of arguments or of a result that a row holds."""


class Recorder:
    """Listens and writes rows. Attach it to the process, to an agent or to a run.

    Args:
        store: where the rows go.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._rows: list[SpanRow] = []
        self._runs: dict[tuple[str, str], tuple[float, str]] = {}
        self._asked: dict[tuple[str, str], tuple[float, str]] = {}
        self._blocks: dict[tuple[str, str], str] = {}
        """Digest of the constraint block that stood in the last request."""
        self._sessions: dict[str, str] = {}
        self._rules: dict[tuple[str, str], tuple[str, ...]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writes: set[asyncio.Task[None]] = set()
        self.dropped = 0
        """Rows that could not be written."""

    def attach(self, emitter: Emitter) -> Callable[[], None]:
        """Start to listen; the returned function ends it."""
        offs = [
            emitter.on(RunStart, self._run_start),
            emitter.on(RunFinish, self._run_finish),
            emitter.on(ModelStart, self._model_start),
            emitter.on(ModelAnswered, self._model_end),
            emitter.on(ModelFailed, self._model_failed),
            emitter.on(ModelFallback, self._model_fell),
            emitter.on(BoundaryVerdict, self._judged),
            emitter.on(ToolFinish, self._tool_end),
        ]

        def off() -> None:
            for one in offs:
                one()

        return off

    async def close(self) -> None:
        """Write what is left and wait until it is written."""
        self._flush()
        while self._writes:
            await asyncio.wait(set(self._writes))

    def _run_start(self, event: RunStart) -> None:
        self._runs[event.run_id, event.span_id] = (event.at, event.input)
        self._sessions[event.run_id] = event.session_id

    def _run_finish(self, event: RunFinish) -> None:
        started, text = self._runs.pop((event.run_id, event.span_id), (event.at, ""))
        self._asked.pop((event.run_id, event.span_id), None)
        self._blocks.pop((event.run_id, event.span_id), None)
        ok = event.status in ("done", "waiting")
        row = self._row(event, "run", event.agent, started, event.at - started, ok)
        self._sessions.pop(event.run_id, None)
        self._add(
            row(
                span_id=event.span_id,
                parent_id=event.parent_id,
                code=event.code or event.status,
                input=_short(text),
                output=_short(event.reason),
                usage=event.usage,
                cost_usd=event.cost_usd,
            )
        )

    def _model_start(self, event: ModelStart) -> None:
        self._asked[event.run_id, event.span_id] = (event.at, event.model)
        self._blocks[event.run_id, event.span_id] = event.rules_digest

    def _model_end(self, event: ModelAnswered) -> None:
        started, name = self._asked.pop((event.run_id, event.span_id), (event.at - event.seconds, event.reply.model))
        said = event.reply.text or ", ".join(one.name for one in event.reply.calls)
        row = self._row(event, "model", event.model or name, started, event.seconds, True)
        self._add(
            row(
                span_id=new_span_id(),
                parent_id=event.span_id,
                code=event.reply.finish,
                input_digest=self._blocks.get((event.run_id, event.span_id), ""),
                output=_short(said),
                usage=event.reply.usage or Usage(),
                cost_usd=event.cost_usd,
            )
        )

    def _model_failed(self, event: ModelFailed) -> None:
        started, name = self._asked.pop((event.run_id, event.span_id), (event.at, ""))
        row = self._row(event, "model", name, started, event.at - started, False)
        self._add(row(span_id=new_span_id(), parent_id=event.span_id, code=event.code, output=_short(event.error)))

    def _model_fell(self, event: ModelFallback) -> None:
        started, _ = self._asked.get((event.run_id, event.span_id), (event.at, ""))
        self._asked[event.run_id, event.span_id] = (event.at, event.next)
        row = self._row(event, "model", event.model, started, event.at - started, False)
        self._add(row(span_id=new_span_id(), parent_id=event.span_id, code=event.code, output=_short(event.error)))

    def _judged(self, event: BoundaryVerdict) -> None:
        if event.verdict.rules:
            self._rules[event.run_id, event.span_id] = event.verdict.rules

    def _tool_end(self, event: ToolFinish) -> None:
        call, result = event.call, event.result
        row = self._row(event, "tool", call.name[:128], event.at - event.seconds, event.seconds, result.ok)
        self._add(
            row(
                span_id=event.span_id,
                parent_id=event.parent_id,
                code=result.code or "",
                input=_arguments(call),
                input_digest=digest(_json(call)),
                output=_short(result.summary),
                via=result.via,
                rules=self._rules.pop((event.run_id, event.span_id), ()),
            )
        )

    def _row(
        self, event: Event, kind: SpanKind, name: str, started_at: float, seconds: float, ok: bool
    ) -> Callable[..., SpanRow]:
        """A row of which only what is its kind's own is missing."""
        return partial(
            SpanRow,
            trace_id=event.trace_id,
            run_id=event.run_id,
            session_id=self._sessions.get(event.run_id, ""),
            agent=event.agent,
            kind=kind,
            name=name,
            step=event.step,
            attempt=event.attempt,
            started_at=started_at,
            seconds=max(seconds, 0.0),
            ok=ok,
        )

    def _add(self, row: SpanRow) -> None:
        self._rows.append(row)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._rows:
            rows, self._rows = self._rows, []
            write = asyncio.ensure_future(self._write(rows))
            self._writes.add(write)
            write.add_done_callback(self._writes.discard)

    async def _write(self, rows: list[SpanRow]) -> None:
        try:
            await self._store.put_spans(rows)
        except StoreError as error:
            self.dropped += len(rows)
            _log.warning("%d trace rows are lost: %s", len(rows), error.message)


def _arguments(call: ToolCall) -> str:
    return _cut(redact(call.raw) if call.raw is not None else canonical(redact_json(_json(call))))


def _json(call: ToolCall) -> Json:
    """The arguments, if they are JSON: a program may have passed anything before they were refused."""
    try:
        return freeze(call.args)
    except TypeError:
        return redact(repr(dict(call.args)))


def _short(text: str) -> str:
    return _cut(redact(text))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"
