"""Planted canaries: a registered credential that gets into whatever a run touches is in nothing that a run leaves."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import pytest

from backstay import Agent, Credential, Id, Middleware, Principal, RunContext, RunResult, ToolError, ToolResult, tool
from backstay.core import redaction
from backstay.core.messages import ModelReply, Reasoning, Text, ToolCall
from backstay.models import ScriptedModel, call
from backstay.store.sqlite import SQLiteStore
from backstay.tools import DiskCache, FunctionTool
from backstay.trace.recorder import Recorder
from cli.command import Command

CANARY = "k7-canary-4f9a/+Zq"
FORMS = [CANARY, base64.b64encode(CANARY.encode()).decode(), CANARY.encode().hex(), quote(CANARY, safe="")]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> Credential:
    monkeypatch.setattr(redaction, "_registered", {})
    monkeypatch.setenv("CANARY_KEY", CANARY)
    return Credential("env:CANARY_KEY")


class Answering(Middleware):
    async def tool(self, call: ToolCall, ctx: RunContext[Any], next: Any) -> ToolResult:
        if call.name == "answered":
            return ToolResult(ok=True, summary=CANARY, data={CANARY: [CANARY]}, error=CANARY)
        return await next(call, ctx)


def tools(key: Credential, cache: DiskCache) -> list[FunctionTool]:
    @tool(risk="read", cache=cache)
    async def fetch(ctx: RunContext[Any]) -> dict[str, Any]:
        """Fetch something. Use it when asked."""
        secret = await key.get(ctx)
        ctx.logger.error("asked with %s", secret)
        try:
            raise ValueError(secret)
        except ValueError:
            ctx.logger.exception("it broke with %s", secret, stack_info=True)
        return {"echo": FORMS, secret: {"deep": f"Bearer {secret}"}, "long": [secret] * 5_000}

    @tool(risk="read")
    def whole(ctx: RunContext[Any]) -> ToolResult:
        """Give a whole result. Use it when asked."""
        secret = key.read(ctx)
        return ToolResult(ok=False, summary=secret, error=f"no {secret}", data={"x": secret})

    @tool(risk="read")
    def broken(ctx: RunContext[Any]) -> str:
        """Break. Use it when asked."""
        raise RuntimeError(key.read(ctx))

    @tool(risk="write", effect="once")
    def doubted(ctx: RunContext[Any], to: str = "") -> str:
        """Break in the middle. Use it when asked."""
        raise ToolError(f"401 for {key.read(ctx)}", retryable=True)

    @tool(risk="read")
    async def outer(ctx: RunContext[Any]) -> str:
        """Call another tool with the key. Use it when asked."""
        return (await doubted.run({"to": await key.get(ctx)}, ctx)).summary

    @tool(risk="read")
    def answered() -> str:
        """Be answered by a middleware. Use it when asked."""
        return ""

    @tool(risk="high", preview=lambda account: f"pays {account} with {CANARY}")
    def pay(account: Annotated[str, Id("account")], ctx: RunContext[Any]) -> str:
        """Pay somebody."""
        return f"paid with {key.read(ctx)}"

    @tool(risk="read")
    def echo(text: str) -> str:
        """Say it again. Use it when asked."""
        return text

    return [fetch, whole, broken, doubted, outer, answered, pay, echo]


def results(result: RunResult[Any]) -> list[ToolResult]:
    return [part.result for message in result.new_messages for part in message.returns]


def contents(folder: Path) -> dict[str, str]:
    """Every byte of every file below a folder."""
    return {path.name: path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()}


def lines() -> list[Any]:
    odd = ToolCall(id="", name=CANARY, args={}, raw=f"{{{CANARY}")
    reply = ModelReply(
        parts=(Text(text=f"I use {CANARY}"), Reasoning(text=CANARY, signature="s"), odd), finish="tool_calls",
        usage=None, model="m",
    )  # fmt: skip
    action = {"name": "pay", "arguments": {"account": "bank-1"}}
    return [
        [call("fetch"), call("whole"), call("broken"), call("doubted"), call("outer"), call("answered")],
        [call("echo", text=CANARY), call("echo", {CANARY: CANARY})],
        reply,
        call("propose_action", action=action, reason=f"with {CANARY}"),
        f"The key is {CANARY}.",
        "done",
    ]


async def test_a_canary_is_in_nothing_that_a_run_leaves(
    key: Credential, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / ".backstay").mkdir()
    store, cache = SQLiteStore(tmp_path / ".backstay/store.db"), DiskCache(tmp_path / "cache.db")
    agent: Agent[Any] = Agent(
        ScriptedModel(*lines()), name="desk", instructions=f"Never say {CANARY}.", tools=tools(key, cache),
        middleware=[Answering()],
    )  # fmt: skip
    heard: list[str] = []
    recorder = Recorder(store)
    off = recorder.attach(agent._emitter)
    result = await agent.run(
        f"pay bank-1, my key is {CANARY}", session="s", principal=Principal(id="ann"), store=store,
        metadata={"note": CANARY}, on=lambda event: heard.append(repr(event)),
    )  # fmt: skip
    assert {one.kind for one in result.pending} >= {"approval", "in_doubt"}, result
    action = next(one for one in result.pending if one.kind == "approval")
    decided = await agent.decide(action, approve=True, by="bo", reason=f"it is {CANARY}", store=store)
    assert decided is not None
    off()
    await recorder.close()
    await store.close()
    cache.close()

    nested = [one for one in heard if "/1'" in one]  # the program's own call, in its own process
    left = {"result": repr(result) + repr(decided), "events": "\n".join(one for one in heard if one not in nested)}
    left["logs"] = caplog.text + "".join(repr(vars(record)) for record in caplog.records)
    left |= contents(tmp_path)
    command = Command(tmp_path)  # another process, which knows of no credential: what it shows is what is stored
    for words in (("pending", "--state", "all", "--json"), ("trace", "ls", "--json"), ("trace", "show", result.run_id)):
        said = command(*words)
        assert said.code == 0, said.err
        left[" ".join(words)] = said.out + said.err
    assert left["logs"].count("[redacted:") >= 4
    assert left["store.db"].count("[redacted:") > 20
    assert {name: form for name, text in left.items() for form in FORMS if form in text} == {}


async def test_equal_secrets_leave_equal_marks_and_others_do_not(key: Credential) -> None:
    @tool(risk="read")
    def echo(text: str) -> str:
        """Say it again. Use it when asked."""
        return text

    lines = [call("echo", text=f"{CANARY}!"), call("echo", text="k-other-canary")]
    agent: Agent[Any] = Agent(ScriptedModel(lines, "done"), tools=[echo])
    redaction.register_secret("k-other-canary")
    result = await agent.run(f"say {CANARY}")
    first, second = (str(one.data) for one in results(result))
    assert first.removesuffix("!") != second
    assert first.removesuffix("!") == redaction.hide(CANARY)


async def test_a_call_that_would_wait_with_a_credential_in_it_is_refused(key: Credential) -> None:
    @tool(risk="high")
    def wire(iban: Annotated[str, Id("account")]) -> str:
        """Wire money."""
        return "sent"

    @tool(risk="read")
    async def outer(ctx: RunContext[Any]) -> str:
        """Wire with the key. Use it when asked."""
        result = await wire.run({"iban": await key.get(ctx)}, ctx)
        return f"{result.code} {result.via}"

    agent: Agent[Any] = Agent(ScriptedModel(call("outer"), "done"), tools=[wire, outer])
    result = await agent.run("go")
    assert result.pending == ()
    assert [one.data for one in results(result)] == ["credential.argument refused"]
