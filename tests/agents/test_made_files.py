"""Files: made by tools, seen by the model as a handle, taken by other tools, kept with the session."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from backstay import Agent, RunContext, Tool, ToolResult, tool
from backstay.agents.drive import told
from backstay.agents.state import SessionState
from backstay.core.errors import NotFoundError
from backstay.core.files import MAX_FILE_BYTES, File
from backstay.core.messages import Artifact, Label, ModelRequest
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.memory import MemoryStore
from backstay.store.protocol import RunStore
from backstay.tools import MemoryCache
from desk import propose

PNG = bytes(range(256))


@tool(risk="read")
def draw_chart(title: str = "sales") -> File:
    """Draw a chart. Use it when the user wants a picture."""
    return File(f"../{title}.png", PNG)


@tool(risk="read")
def count_bytes(file: File) -> dict[str, Any]:
    """Count the bytes of a file. Use it when the user asks how large a file is."""
    return {"name": file.name, "mime": file.mime, "bytes": len(file.data), "sum": sum(file.data)}


def shown(request: ModelRequest) -> ToolResult:
    return request.messages[-1].returns[0].result


async def test_a_model_sees_name_type_size_and_handle_and_another_tool_takes_the_handle(store: RunStore) -> None:
    def model(request: ModelRequest, ctx: Any) -> Any:
        if ctx.step == 1:
            return call("draw_chart")
        if ctx.step == 2:
            return call("count_bytes", file=shown(request).artifacts[0].ref)
        return shown(request).summary

    agent = Agent(FunctionModel(model), tools=[draw_chart, count_bytes])
    run = await agent.run("draw", session="s", store=store)
    (chart,) = run.artifacts
    assert (chart.name, chart.mime, chart.size) == ("sales.png", "image/png", 256)
    made = run.new_messages[2].returns[0].result
    assert made.summary == f"[file sales.png, image/png, 256 bytes: {chart.ref}]"
    assert made.data == chart.ref
    assert run.output == '{"bytes":256,"mime":"image/png","name":"sales.png","sum":32640}'
    assert (await agent.artifact(chart, session="s", store=store)).data == PNG
    assert (await agent.artifact(chart.ref, session="s", store=store)).name == "sales.png"


async def test_files_stand_anywhere_in_a_result_and_are_kept_once(store: RunStore) -> None:
    @dataclass
    class Report:
        charts: list[File]
        note: str

    @tool(risk="read")
    def report(ctx: RunContext[None]) -> Report:
        """Report. Use it when asked."""
        ctx.attach(File("notes.txt", b"seen"))
        chart = File("a.png", PNG)
        return Report(charts=[chart, File("a.png", PNG), File("b.csv", b"1,2")], note="two charts")

    run = await Agent(ScriptedModel(call("report"), "done"), tools=[report]).run("report", session="s", store=store)
    result = run.new_messages[2].returns[0].result
    assert [one.name for one in run.artifacts] == ["notes.txt", "a.png", "b.csv"]
    refs = {one.name: one.ref for one in run.artifacts}
    assert result.data == {"charts": (refs["a.png"], refs["a.png"], refs["b.csv"]), "note": "two charts"}
    first, *files = result.summary.split("\n")
    assert first.startswith('{"charts":["artifact:')
    assert [line.split(",")[0] for line in files] == ["[file notes.txt", "[file a.png", "[file b.csv"]
    for one in run.artifacts:
        assert (await store.artifact("s", one.ref))[0] == one


async def test_a_tool_of_a_class_opens_the_handle_itself_and_attaches_to_a_result_of_its_own(store: RunStore) -> None:
    from pydantic import BaseModel

    class Input(BaseModel):
        """What to copy."""

        file: File

    class Upper(Tool):
        """Writes in capitals."""

        name = "upper"
        description = "Write a file in capitals. Use it when asked."
        input_schema = Input
        risk = "read"

        async def _run(self, input: Input, context: RunContext[Any]) -> object:
            text = (await context.open(input.file)).decode().upper()
            context.attach(File("upper.txt", text.encode()))
            return ToolResult(ok=True, summary="written")

    @tool(risk="read", untrusted=True)
    def fetch() -> File:
        """Fetch a file. Use it when asked."""
        return File("page.txt", b"buy now")

    ref = File("page.txt", b"buy now").ref
    lines = (call("fetch"), call("upper", file=ref), "done")
    run = await Agent(ScriptedModel(*lines), tools=[fetch, Upper()]).run("go", session="s", store=store)
    result = run.new_messages[4].returns[0].result
    assert result.summary.startswith("written\n[file upper.txt, text/plain, 7 bytes: artifact:")
    assert (await store.artifact("s", run.artifacts[1].ref))[1] == b"BUY NOW"
    assert result.label == run.artifacts[1].label == Label(trusted=False)


async def test_what_a_tool_makes_of_an_untrusted_file_is_untrusted(store: RunStore) -> None:
    @tool(risk="read", untrusted=True)
    def fetch() -> File:
        """Fetch a file. Use it when asked."""
        return File("page.txt", b"buy now")

    lines = (call("fetch"), call("count_bytes", file=File("page.txt", b"buy now").ref), "done")
    run = await Agent(ScriptedModel(*lines), tools=[fetch, count_bytes]).run("go", session="s", store=store)
    assert run.new_messages[4].returns[0].result.label == Label(trusted=False)


async def test_a_handle_of_another_session_is_refused(store: RunStore) -> None:
    theirs = await Agent(ScriptedModel(call("draw_chart"), "drawn"), tools=[draw_chart]).run(
        "draw", session="theirs", store=store
    )
    lines = (call("count_bytes", file=theirs.artifacts[0].ref), call("count_bytes", file="chart.png"), "no")
    run = await Agent(ScriptedModel(*lines), tools=[count_bytes]).run("count", session="mine", store=store)
    unknown, no_handle = (one.returns[0].result for one in run.new_messages if one.role == "tool")
    assert (unknown.code, unknown.summary) == (
        "tool.input",
        f"there is no file '{theirs.artifacts[0].ref}' in this conversation",
    )
    assert no_handle.code == "tool.input"
    assert "expected the handle of a file" in no_handle.summary
    with pytest.raises(NotFoundError):
        await store.artifact("mine", theirs.artifacts[0].ref)


async def test_a_file_too_large_fails_the_call_and_not_the_run(store: RunStore) -> None:
    @tool(risk="read")
    def huge() -> File:
        """Make a large file. Use it when asked."""
        return File("huge.bin", bytes(MAX_FILE_BYTES + 1))

    run = await Agent(ScriptedModel(call("huge"), "too large"), tools=[huge]).run("go", store=store)
    result = run.new_messages[2].returns[0].result
    assert (result.ok, result.code) == (False, "artifact.too_large")
    assert (run.status, run.artifacts) == ("done", ())


async def test_a_session_has_a_bound_for_all_its_files(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backstay.agents.own_tools.catalogue.MAX_SESSION_BYTES", 600)
    lines = [call("draw_chart", title=name) for name in ("a", "b", "b", "c")]
    agent = Agent(ScriptedModel(*lines, "done"), tools=[draw_chart])
    run = await agent.run("draw", session="s", store=store)
    codes = [one.returns[0].result.code for one in run.new_messages if one.role == "tool"]
    assert codes == [None, None, "artifact.too_large", "artifact.too_large"]


async def test_a_file_of_an_approved_action_reaches_the_result_and_the_next_one(store: RunStore) -> None:
    @tool(risk="high")
    def refund(order_id: str, amount: str) -> File:
        """Pay an order back. Use it when asked."""
        return File("receipt.txt", b"paid")

    agent = Agent(ScriptedModel(propose(), "wait", "paid"), tools=[refund, draw_chart])
    waiting = await agent.run("refund order 1001, 20 EUR", session="s", store=store)
    done = await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert done is not None
    assert [one.name for one in done.artifacts] == ["receipt.txt"]
    assert "[file receipt.txt, text/plain, 4 bytes: artifact:" in done.new_messages[0].text
    assert (await agent.artifact(done.artifacts[0], session="s", store=store)).text == "paid"


async def test_the_files_before_a_wait_are_in_the_result_after_it(store: RunStore) -> None:
    @tool(risk="high")
    def refund(order_id: str, amount: str) -> str:
        """Pay an order back. Use it when asked."""
        return "paid"

    agent = Agent(ScriptedModel(call("draw_chart"), propose(), "wait", "paid"), tools=[refund, draw_chart])
    waiting = await agent.run("refund order 1001", session="s", store=store)
    assert [one.name for one in waiting.artifacts] == ["sales.png"]
    done = await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert done is not None
    assert done.artifacts == waiting.artifacts
    row = await store.run(done.run_id)
    assert (await told(store, row)).artifacts == waiting.artifacts


async def test_files_are_forgotten_with_their_session(store: RunStore) -> None:
    agent = Agent(ScriptedModel(call("draw_chart"), "drawn"), tools=[draw_chart])
    run = await agent.run("draw", session="s", store=store)
    await store.forget("s")
    with pytest.raises(NotFoundError):
        await agent.artifact(run.artifacts[0], session="s", store=store)


async def test_calls_beside_each_other_each_keep_their_files(store: RunStore) -> None:
    @tool(risk="write")
    async def write_report(title: str) -> File:
        """Write a report. Use it when asked."""
        await asyncio.sleep(0)
        return File(f"{title}.txt", title.encode())

    names = [f"r{n}" for n in range(6)]
    model = ScriptedModel([call("write_report", title=name) for name in names], "done")
    run = await Agent(model, tools=[write_report]).run(" ".join(names), session="s", store=store)
    assert [one.name for one in run.artifacts] == [f"{name}.txt" for name in names]
    for one in run.artifacts:
        assert (await store.artifact("s", one.ref))[1].decode() == one.name[:-4]


EVERY_KIND: dict[str, Any] = {
    "nothing": None, "empty list": [], "zero": 0, "empty text": "", "text": "\u202ewords\x1b", "float": 1.5,
    "rows": [{"id": n, "t": "x" * 300} for n in range(300)], "object": {"a": {"b": [1, None, True]}},
    "bytes": b"\xff", "set": {3, 1, 2}, "file": File("a.txt", b"a"), "files": {"f": [File("b.bin", b"b")]},
    "own": ToolResult(ok=True, summary="own words", data={"n": 1}, keep=("n",)),
    "own failure": ToolResult(ok=False, summary="no", error="no", code="tool.failed"),
}  # fmt: skip


@pytest.mark.parametrize("kind", EVERY_KIND)
async def test_a_live_run_equals_a_resumed_one(kind: str, store: RunStore) -> None:
    @tool(risk="read", untrusted=["b"], secret=["a"])
    def give() -> Any:
        """Give it. Use it when asked."""
        return EVERY_KIND[kind]

    run = await Agent(ScriptedModel(call("give"), "done"), tools=[give]).run("go", session="s", store=store)
    state = SessionState("s")
    state.load(await store.load("s"))
    live, resumed = run.new_messages[2].returns[0].result, state.messages[2].returns[0].result
    assert live == resumed
    assert repr(live) == repr(resumed)
    assert hash(live) == hash(resumed)


async def test_a_cached_result_never_carries_another_conversations_file() -> None:
    runs: list[str] = []

    @tool(risk="read", cache=MemoryCache())
    async def draw(title: str) -> File:
        """Draw. Use it when asked."""
        runs.append(title)
        await asyncio.sleep(0)
        return File(f"{title}.png", PNG)

    store = MemoryStore()
    agent = Agent(FunctionModel(lambda request, ctx: call("draw", title="x") if ctx.step == 1 else "ok"), tools=[draw])
    done = await asyncio.gather(*(agent.run("draw", session=f"s{n}", store=store) for n in range(3)))
    done.append(await agent.run("draw", session="s3", store=store))
    assert len(runs) == 4
    for n, run in enumerate(done):
        assert (await store.artifact(f"s{n}", run.artifacts[0].ref))[1] == PNG


def test_a_tool_that_takes_a_file_cannot_have_a_cache() -> None:
    from backstay.core.errors import ToolDefinitionError

    with pytest.raises(ToolDefinitionError) as caught:

        @tool(risk="read", cache=MemoryCache())
        def size(files: list[File]) -> int:
            """Size. Use it when asked."""
            return 0

    assert "takes a file" in caught.value.message


async def test_outside_a_run_a_tool_takes_the_file_itself() -> None:
    result = await count_bytes.run({"file": File("a.txt", b"ab")})
    assert result.data == {"name": "a.txt", "mime": "text/plain", "bytes": 2, "sum": 195}
    assert (await count_bytes.run({"file": File("a.txt", b"ab").ref})).code == "tool.input"
    assert [one.name for one in (await draw_chart.run({})).artifacts] == ["sales.png"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("../../etc/passwd", "passwd"), ("C:\\temp\\a.txt", "a.txt"), ("..", "file"), ("", "file"), ("a\x00\nb", "a b"),
        ("\u202egpj.exe", "gpj.exe"), (".hidden", "hidden"), ("x" * 300 + ".csv", "x" * 88 + ".csv"),
    ],
)  # fmt: skip
def test_the_name_of_a_file_is_a_name(given: str, name: str) -> None:
    assert File(given, b"").name == name


def test_a_file_is_a_destination_of_nothing() -> None:
    @tool(risk="write")
    def send(to: str, attachment: File) -> str:
        """Send. Use it when asked."""
        return "sent"

    assert send.facts(None).sinks == {"to"}
    assert Artifact(ref="r", name="n", mime="m", size=1).label == Label()
