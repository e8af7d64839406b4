"""The recorder: a row for each run, request and call; bounded, redacted, in batches, never in the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from backstay import Agent, Boundary, tool
from backstay.core import redaction
from backstay.core.errors import FullError
from backstay.core.events import Emitter, events
from backstay.core.messages import ToolCall
from backstay.core.redaction import register_secret
from backstay.models import ScriptedModel, call
from backstay.store.memory import MemoryStore
from backstay.store.records import SpanRow
from backstay.tools import Toolset
from backstay.trace.recorder import MAX_CHARS, Recorder
from desk import Desk
from workbench import Bench


class Spans(MemoryStore):
    """A real store that also remembers its batches, and may be full."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[SpanRow]] = []
        self.is_full = False

    async def put_spans(self, rows: Sequence[SpanRow]) -> None:
        if self.is_full:
            raise FullError("no room")
        self.batches.append(list(rows))
        await super().put_spans(rows)

    @property
    def rows(self) -> list[SpanRow]:
        return [row for batch in self.batches for row in batch]


@pytest.fixture
def spans() -> Spans:
    return Spans()


async def run(agent: Agent[Any], spans: Spans, **more: Any) -> Recorder:
    recorder = Recorder(spans)
    off = recorder.attach(events)
    await agent.run("hello", store=spans, **more)
    off()
    await recorder.close()
    return recorder


async def test_a_run_its_requests_and_its_calls_are_rows_with_their_parents(spans: Spans) -> None:
    agent = Desk().agent([call("find_order", order_id="1001"), call("list_orders", days=2)], "Done.")
    recorder = await run(agent, spans)
    kinds = sorted((row.kind, row.name) for row in spans.rows)
    assert [kind for kind, _ in kinds] == ["model", "model", "run", "tool", "tool"]
    assert [name for kind, name in kinds if kind == "tool"] == ["find_order", "list_orders"]
    (root,) = [row for row in spans.rows if row.kind == "run"]
    assert root.parent_id is None
    assert {row.parent_id for row in spans.rows if row.kind != "run"} == {root.span_id}
    assert len({row.span_id for row in spans.rows}) == 5
    assert len({row.trace_id for row in spans.rows}) == 1
    assert {row.session_id for row in spans.rows} == {root.session_id}
    assert root.session_id
    assert all(row.ok and row.seconds >= 0 for row in spans.rows)
    assert len(spans.batches) <= 3
    assert recorder.dropped == 0


async def test_a_call_that_was_refused_is_a_row_too(spans: Spans) -> None:
    await run(Desk().agent([call("nothing"), call("find_order", wrong=1)], "Done."), spans)
    rows = {row.name: row for row in spans.rows if row.kind == "tool"}
    assert (rows["nothing"].ok, rows["nothing"].code, rows["nothing"].via) == (False, "tool.unknown", "refused")
    assert (rows["find_order"].ok, rows["find_order"].code) == (False, "tool.input")


async def test_rows_are_bounded(spans: Spans) -> None:
    @tool(risk="read")
    async def echo(text: str) -> str:
        """Echo."""
        return text

    await run(Agent(ScriptedModel(call("echo", text="x" * 50_000), "y" * 50_000), tools=[echo], name="a"), spans)
    for row in spans.rows:
        assert len(row.input) <= MAX_CHARS
        assert len(row.output) <= MAX_CHARS
    assert max(len(row.output) for row in spans.rows) == MAX_CHARS


async def test_canaries_are_in_no_row(spans: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_registered", {})
    register_secret("canary-0123456789")

    @tool(risk="read")
    async def echo(text: str, password: str) -> dict[str, str]:
        """Echo."""
        return {"text": text}

    line = call("echo", text="it is canary-0123456789", password="hunter2")
    await run(Agent(ScriptedModel(line, "canary-0123456789"), tools=[echo], name="a"), spans)
    shown = json.dumps([[row.input, row.output, row.name, row.code] for row in spans.rows])
    assert "canary-0123456789" not in shown
    assert "hunter2" not in shown
    assert "[redacted:" in shown


async def test_canaries_are_in_no_row_of_broken_arguments(spans: Spans) -> None:
    recorder, bench = Recorder(spans), Bench()
    recorder.attach(bench.emit)
    broken = ToolCall(id="c", name="nothing", args={}, raw='{"key": "sk-proj-abcdefghijklmnop1234"')
    await Toolset([]).run(broken, bench.context("nothing"))
    await recorder.close()
    assert "sk-proj" not in spans.rows[0].input


async def test_a_store_that_is_full_costs_rows_and_never_the_run(
    spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    spans.is_full = True
    recorder = await run(Desk().agent("Done."), spans)
    assert recorder.dropped == 2
    assert "trace rows are lost" in caplog.text


async def test_close_waits_for_what_is_left_and_may_be_called_again(spans: Spans) -> None:
    recorder, emitter = Recorder(spans), Emitter()
    recorder.attach(emitter)
    await recorder.close()
    assert spans.rows == []
    await asyncio.gather(recorder.close(), recorder.close())


async def test_many_runs_leave_nothing_in_the_recorder(spans: Spans) -> None:
    agent = Desk().agent("Done.")
    recorder = Recorder(spans)
    off = recorder.attach(events)
    for _ in range(50):
        await agent.run("hello", store=spans)
    off()
    await recorder.close()
    assert (recorder._runs, recorder._asked, recorder._sessions, recorder._rows) == ({}, {}, {}, [])
    assert sum(row.kind == "run" for row in spans.rows) == 50


async def test_a_row_names_the_rules_that_refused_a_call_or_only_noted_it(spans: Spans) -> None:
    lines = (call("list_orders", days=90), "done")
    for mode in ("enforce", "observe"):
        boundary = Boundary(constraints=["only the last 30 days"], mode=mode)  # type: ignore[arg-type]
        await run(Agent(ScriptedModel(*lines), tools=Desk().tools(), boundary=boundary), spans)
    assert [(row.ok, row.rules) for row in spans.rows if row.kind == "tool"] == [
        (False, ("c1",)),
        (True, ("noted:c1",)),
    ]
