"""The OpenAI client against a real local HTTP server that speaks the real format, and says no in all its ways."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra backstay[openai] is not installed")

from backstay import Agent, tool
from backstay.core.errors import AppError, ModelError
from backstay.core.events import ModelDelta, ModelRetry
from backstay.core.messages import (
    Delta,
    Media,
    Message,
    ModelReply,
    ModelRequest,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolReturn,
    ToolSpec,
    Usage,
)
from backstay.core.redaction import redact
from backstay.core.retry import RetryPolicy
from backstay.models import names, openai, resolve
from backstay.models.model import Price
from backstay.models.openai import OpenAIChatModel
from backstay.models.prices import LISTED, READ_ON
from backstay.models.servers import OPENAI, SERVERS
from backstay.store.memory import MemoryStore
from workbench import Bench

KEY = "sk-test-0123456789abcdef"
JSON_TYPE, SSE_TYPE = "application/json", "text/event-stream; charset=utf-8"


@dataclass
class Asked:
    """One request as the server got it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Answer:
    """What the server may do with one request."""

    def __init__(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        self._writer, self._reader = writer, reader

    async def head(self, status: int = 200, kind: str = SSE_TYPE, length: int | None = None, **more: str) -> None:
        size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in more.items())
        self._writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{size}\r\n{extra}\r\n".encode())
        await self._writer.drain()

    async def piece(self, raw: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def whole(self, body: Any, status: int = 200, kind: str = JSON_TYPE, **more: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        await self.head(status, kind, len(raw), **more)
        self._writer.write(raw)
        await self._writer.drain()

    async def stream(self, raw: bytes, size: int = 5) -> None:
        await self.head()
        for start in range(0, len(raw), size):
            await self.piece(raw[start : start + size])
        await self.end()

    def drop(self) -> None:
        transport = self._writer.transport
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()

    async def gone(self) -> bool:
        """Wait until the client has closed the connection."""
        return await self._reader.read(1) == b""


Handler = Callable[[Answer, Asked], Awaitable[None]]


@dataclass
class Server:
    """What was asked, and where."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0


@asynccontextmanager
async def serving(*handlers: Handler) -> AsyncIterator[Server]:
    """A server whose n-th request is answered by the n-th handler, later ones by the last."""
    server = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
                raw = await reader.readexactly(int(headers.get("content-length", "0")))
                server.asked.append(Asked(first.split()[1], headers, json.loads(raw)))
                handler = handlers[min(len(server.asked), len(handlers)) - 1]
                await handler(Answer(writer, reader), server.asked[-1])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(connected(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def sse(*chunks: Any, done: bool = True) -> bytes:
    lines = [json.dumps(one, ensure_ascii=False) for one in chunks] + (["[DONE]"] if done else [])
    return "".join(f"data: {line}\r\n\r\n" for line in lines).encode()


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m-2026", "choices": [choice], "usage": None}


COUNTED = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 5},
}
COUNT_CHUNK = {"id": "c", "object": "chat.completion.chunk", "model": "m-2026", "choices": [], "usage": COUNTED}
GREETING = sse(
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Grüße, "}),
    chunk({"content": "世界 🌍"}),
    chunk({}, "stop"),
    COUNT_CHUNK,
)
USAGE = Usage(input_tokens=20, output_tokens=9, cached_tokens=5)


def completion(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "model": "m-2026", "choices": [choice], "usage": COUNTED}


def asks(text: str = "hi", **more: Any) -> ModelRequest:
    return ModelRequest(messages=(Message(id="m", role="user", parts=(Text(text=text),)),), **more)


async def say(answer: Answer, asked: Asked) -> None:
    """Greet, in pieces or at once, as it is asked."""
    if asked.body.get("stream"):
        await answer.stream(GREETING)
    else:
        await answer.whole(completion({"content": "Grüße, 世界 🌍"}))


def saying(body: Any, status: int = 200, kind: str = JSON_TYPE, **more: str) -> Handler:
    async def handler(answer: Answer, asked: Asked) -> None:
        await answer.whole(body, status, kind, **more)

    return handler


async def ask(
    model: OpenAIChatModel, request: ModelRequest | None = None, *, stream: bool = True, **context: Any
) -> tuple[ModelReply, list[Delta]]:
    deltas: list[Delta] = []
    reply = await model.request(request or asks(), Bench().context(**context), deltas.append if stream else None)
    return reply, deltas


@pytest.mark.parametrize("stream", [True, False])
async def test_a_reply_streamed_or_whole(stream: bool) -> None:
    async with serving(say) as server:
        model = OpenAIChatModel("m", base_url=server.url, api_key=KEY)
        reply, deltas = await ask(model, stream=stream)
        assert reply == ModelReply(
            parts=(Text(text="Grüße, 世界 🌍"),), finish="stop", usage=USAGE, model="openai:m-2026"
        )
        assert [delta.text for delta in deltas] == (["Grüße, ", "世界 🌍"] if stream else [])
        (asked,) = server.asked
        assert asked.path == "/v1/chat/completions"
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert asked.headers["content-type"] == "application/json"
        told = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        assert asked.body == told | more


async def test_the_library_never_retries() -> None:
    async with serving(saying({"error": {"message": "oops"}}, 500)) as server:
        with pytest.raises(ModelError, match="oops"):
            await ask(OpenAIChatModel("m", base_url=server.url))
        assert len(server.asked) == 1


async def test_headers_body_and_settings_go_out() -> None:
    async with serving(say) as server:
        model = OpenAIChatModel(
            "m", base_url=server.url, headers={"X-Tenant": "acme"}, extra_body={"service_tier": "flex", "seed": 1}
        )
        await ask(model, asks(settings={"seed": 2, "effort": "low"}))
        (asked,) = server.asked
        assert asked.headers["x-tenant"] == "acme"
        assert (asked.body["service_tier"], asked.body["seed"], asked.body["reasoning_effort"]) == ("flex", 2, "low")


async def test_a_picture_given_to_an_agent_reaches_the_server_turn_after_turn() -> None:
    async with serving(say) as server:
        agent = Agent(OpenAIChatModel("m", base_url=server.url))
        store = MemoryStore()
        picture = Media(mime="image/png", data=b"png")
        first = await agent.run([Text(text="what is it?"), picture], session="s", store=store)
        second = await agent.run("and its colour?", session="s", store=store)
        assert (first.status, second.status) == ("done", "done")
        shown = [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
        ]
        turns = [asked for asked in server.asked if "response_format" not in asked.body]  # the rest are for the memory
        assert len(turns) == 2
        for asked in turns:
            assert shown in [message["content"] for message in asked.body["messages"]]


async def test_half_characters_and_other_alphabets_can_be_sent() -> None:
    async with serving(say) as server:
        await ask(OpenAIChatModel("m", base_url=server.url), asks("世界 \ud83d"))
        assert server.asked[0].body["messages"][0]["content"] == "世界 ?"


async def test_a_server_that_does_not_stream_and_one_that_always_does() -> None:
    async def contrary(answer: Answer, asked: Asked) -> None:
        if asked.body.get("stream"):
            await answer.whole(completion({"content": "whole"}))
        else:
            await answer.stream(sse(chunk({"content": "str"}), chunk({"content": "eamed"}, "stop")))

    async with serving(contrary) as server:
        model = OpenAIChatModel("m", base_url=server.url)
        reply, deltas = await ask(model)
        assert (reply.text, [delta.text for delta in deltas]) == ("whole", ["whole"])
        reply, deltas = await ask(model, stream=False)
        assert (reply.text, deltas) == ("streamed", [])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "model.failed", False),
        (401, "model.auth", False),
        (403, "model.auth", False),
        (404, "model.failed", False),
        (408, "model.failed", True),
        (409, "model.failed", True),
        (429, "model.failed", True),
        (500, "model.failed", True),
        (503, "model.failed", True),
    ],
)
async def test_statuses(status: int, code: str, retryable: bool, stream: bool) -> None:
    error = {"error": {"message": f"about {KEY}", "type": "t", "param": None, "code": None}}
    async with serving(saying(error, status, Retry_After="7")) as server:
        with pytest.raises(ModelError) as raised:
            await ask(OpenAIChatModel("m", base_url=server.url, api_key=KEY), stream=stream)
    assert (raised.value.code, raised.value.retryable) == (code, retryable)
    assert raised.value.retry_after == (7.0 if code == "model.failed" else None)
    assert KEY not in raised.value.message
    assert raised.value.__cause__ is None


async def test_a_date_to_wait_for_is_read_against_the_runs_clock() -> None:
    async with serving(saying({}, 429, Retry_After="Thu, 01 Jan 1970 00:16:45 GMT")) as server:
        with pytest.raises(ModelError) as raised:
            await ask(OpenAIChatModel("m", base_url=server.url))
    assert raised.value.retry_after == 5.0


async def test_a_request_that_is_too_long_says_so() -> None:
    error = {"error": {"code": 400, "message": "the request exceeds the available context size (2048 tokens)",
                       "type": "exceed_context_size_error"}}  # fmt: skip
    async with serving(saying(error, 400)) as server:
        with pytest.raises(ModelError, match="2048 tokens") as raised:
            await ask(OpenAIChatModel("m", base_url=server.url))
    assert raised.value.code == "model.too_long"


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"<html>login</html>", "text/html"), (b'{"choices": [', JSON_TYPE), (b"[]", JSON_TYPE), (b"", JSON_TYPE)],
)
async def test_what_is_no_reply_under_status_200(body: bytes, kind: str) -> None:
    for stream in (True, False):
        async with serving(saying(body, 200, kind)) as server:
            with pytest.raises(ModelError) as raised:
                await ask(OpenAIChatModel("m", base_url=server.url), stream=stream)
        assert (raised.value.code, raised.value.retryable) == ("model.incomplete", True)


async def test_an_error_in_the_stream_is_the_servers_word() -> None:
    gone = asyncio.Event()

    async def failing(answer: Answer, asked: Asked) -> None:
        await answer.head()
        await answer.piece(sse(chunk({"content": "a"}), {"error": {"message": "overloaded", "code": 503}}, done=False))
        if await answer.gone():
            gone.set()

    async with serving(failing) as server:
        with pytest.raises(ModelError, match="overloaded") as raised:
            await ask(OpenAIChatModel("m", base_url=server.url))
        await asyncio.wait_for(gone.wait(), 5)
    assert raised.value.retryable


@pytest.mark.parametrize("how", ["dropped", "ended early"])
async def test_a_stream_that_breaks_off(how: str) -> None:
    async def breaking(answer: Answer, asked: Asked) -> None:
        await answer.head()
        await answer.piece(sse(chunk({"content": "half"}), done=False))
        if how == "dropped":
            answer.drop()
        else:
            await answer.end()

    async with serving(breaking) as server:
        with pytest.raises(ModelError) as raised:
            await ask(OpenAIChatModel("m", base_url=server.url))
    assert (raised.value.code, raised.value.retryable) == ("model.incomplete", True)


async def test_a_whole_reply_that_breaks_off() -> None:
    async def breaking(answer: Answer, asked: Asked) -> None:
        await answer.head(200, JSON_TYPE, 10_000)
        answer.drop()

    async with serving(breaking) as server:
        with pytest.raises(ModelError) as raised:
            await ask(OpenAIChatModel("m", base_url=server.url), stream=False)
    assert (raised.value.code, raised.value.retryable) == ("model.incomplete", True)


async def test_nobody_there_can_be_asked_again() -> None:
    async with serving(say) as server:
        pass
    with pytest.raises(ModelError, match=r"no answer from 127\.0\.0\.1") as raised:
        await ask(OpenAIChatModel("m", base_url=server.url.replace("://", "://user:hidden@"), api_key=KEY))
    assert raised.value.retryable
    assert "hidden" not in raised.value.message


async def test_a_silent_server_is_given_up() -> None:
    async def silent(answer: Answer, asked: Asked) -> None:
        await answer.gone()

    async with serving(silent) as server:
        with pytest.raises(ModelError, match="Timeout") as raised:
            await ask(OpenAIChatModel("m", base_url=server.url, timeout=0.1))
    assert raised.value.retryable


async def test_a_redirect_is_not_followed() -> None:
    async with serving(say) as elsewhere, serving(saying({}, 307, Location=f"{elsewhere.url}/chat")) as server:
        with pytest.raises(ModelError, match="307") as raised:
            await ask(OpenAIChatModel("m", base_url=server.url))
        assert elsewhere.asked == []
    assert not raised.value.retryable


@pytest.mark.parametrize("stream", [True, False])
async def test_cancelling_closes_the_connection(stream: bool) -> None:
    seen, gone = asyncio.Event(), asyncio.Event()

    async def slow(answer: Answer, asked: Asked) -> None:
        await answer.head(200, SSE_TYPE if stream else JSON_TYPE)
        await answer.piece(sse(chunk({"content": "slow"}), done=False) if stream else b'{"choices": ')
        seen.set()
        if await answer.gone():
            gone.set()

    async with serving(slow, say) as server:
        model = OpenAIChatModel("m", base_url=server.url)
        task = asyncio.ensure_future(ask(model, stream=stream))
        await asyncio.wait_for(seen.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(gone.wait(), 5)
        reply, _ = await ask(model, stream=stream)
        assert reply.text == "Grüße, 世界 🌍"


async def test_a_connection_that_stays_open_after_the_reply_holds_nobody_up() -> None:
    async def lingering(answer: Answer, asked: Asked) -> None:
        await answer.head()
        await answer.piece(GREETING)
        await answer.gone()

    async with serving(lingering) as server:
        reply, _ = await asyncio.wait_for(ask(OpenAIChatModel("m", base_url=server.url)), 5)
        assert reply.usage == USAGE


async def test_models_share_a_client_and_nothing_else() -> None:
    async with serving(say) as server:
        for n in range(3):
            await ask(OpenAIChatModel("m", base_url=server.url, api_key=f"key-{n}-0123", headers={"X-N": str(n)}))
        assert len([key for key in openai._clients if key[1] == server.url]) == 1
        assert [asked.headers["authorization"] for asked in server.asked] == [f"Bearer key-{n}-0123" for n in range(3)]
        assert [asked.headers["x-n"] for asked in server.asked] == ["0", "1", "2"]


async def test_a_server_that_closes_connections_it_promised_to_keep_loses_no_request() -> None:
    async def closing(answer: Answer, asked: Asked) -> None:
        await say(answer, asked)
        answer.drop()

    async with serving(closing) as server:
        model = OpenAIChatModel("m", base_url=server.url)
        for n in range(10):
            await ask(model, stream=n % 2 == 0)
        assert server.connections == 10
    assert openai._kept("https://api.openai.com/v1") > 0


def test_every_event_loop_has_connections_of_its_own() -> None:
    """What `run_sync` needs: it opens a loop for each run, and no socket may stay behind."""

    async def once(model: OpenAIChatModel) -> str:
        async with serving(say) as server:
            model._base_url = server.url
            reply, _ = await ask(model)
            return reply.text

    model = OpenAIChatModel("m", base_url="http://127.0.0.1:1/v1")
    assert [asyncio.run(once(model)) for _ in range(2)] == ["Grüße, 世界 🌍"] * 2
    assert openai._clients == {}


# Keys, addresses, network


async def test_without_a_key_only_ones_own_address_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set") as raised:
        await ask(OpenAIChatModel("gpt-5-mini"))
    assert (raised.value.code, raised.value.retryable) == ("model.auth", False)
    async with serving(say) as server:
        await ask(OpenAIChatModel("m", base_url=server.url))
        assert server.asked[0].headers["authorization"] == "Bearer none"


async def test_the_key_is_read_when_it_is_needed_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(say) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        model = OpenAIChatModel("m")
        monkeypatch.setenv("OPENAI_API_KEY", " my-own-key-42\n")
        await ask(model)
        assert server.asked[0].headers["authorization"] == "Bearer my-own-key-42"
        assert "my-own-key-42" not in redact("the key my-own-key-42 leaked")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-ключ-0123456789")
        with pytest.raises(ModelError, match="characters that no key has") as raised:
            await ask(model)
        assert "ключ" not in raised.value.message


async def test_other_providers_get_their_own_key_and_nothing_of_openais(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "ds-0123456789abcdef")
    async with serving(say) as server:
        model = resolve("deepseek:deepseek-chat", base_url=server.url)
        await ask(model)  # type: ignore[arg-type]
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        await ask(OpenAIChatModel("m"))
        other, own = server.asked
    assert other.headers["authorization"] == "Bearer ds-0123456789abcdef"
    assert "openai-organization" not in other.headers
    assert "openai-project" not in other.headers
    assert own.headers["openai-organization"] == "org-mine"


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://127.0.0.1:1/v1", True), ("http://127.9.9.9/v1", True), ("http://[::1]:8080/v1", True),
        ("http://localhost:11434/v1", True), ("http://a.localhost/v1", True),
        ("https://api.openai.com/v1", False), ("http://localhost.evil.example/v1", False),
        ("http://127.0.0.1.evil.example/v1", False), ("http://10.0.0.1/v1", False), ("http://0.0.0.0/v1", False),
        ("http://localhost@evil.example/v1", False),
    ],
)  # fmt: skip
async def test_no_network_means_this_machine_alone(url: str, is_here: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKSTAY_NO_NETWORK", "1")
    assert openai._host(url)[1] is is_here
    if not is_here:
        with pytest.raises(ModelError, match="nothing was sent") as raised:
            await ask(OpenAIChatModel("m", base_url=url, api_key=KEY))
        assert (raised.value.code, raised.value.retryable) == ("model.no_network", False)


async def test_no_proxy_stands_before_ones_own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKSTAY_NO_NETWORK", "1")
    async with serving(saying({}, 500)) as proxy, serving(say) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        await ask(OpenAIChatModel("m", base_url=server.url))
        assert proxy.asked == []


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://a/v1", "http://", "http://a:b/v1", "http://[::1/v1"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(AppError) as raised:
        OpenAIChatModel("m", base_url=url)
    assert raised.value.code == "model.base_url"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "find_spec", lambda _name: None)
    with pytest.raises(AppError, match=r"backstay\[openai\]") as raised:
        resolve("groq:llama-3.3-70b")
    assert raised.value.code == "model.extra"


def test_making_a_model_loads_neither_the_library_nor_http() -> None:
    code = "import sys; from backstay.models import resolve; resolve('openai:m'); print('openai' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == "False"


# Names, profiles, prices


def test_every_provider_has_a_row() -> None:
    assert {*SERVERS} == {*names._COMPATIBLE}
    for provider in SERVERS:
        model = resolve(f"{provider}:some/model:tag")
        assert model.name == f"{provider}:some/model:tag"
        assert model.profile.price is None
    assert resolve(model) is model
    with pytest.raises(AppError) as raised:
        resolve(model, base_url="http://127.0.0.1:1/v1")
    assert raised.value.code == "model.base_url"


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai:gpt-5-mini", "openai"), ("ollama:qwen2.5:7b", "qwen"), ("openrouter:anthropic/claude-x", "anthropic"),
        ("vllm:meta-llama/Llama-3.3-70B", "llama"), ("groq:openai/gpt-oss-20b", "openai"), ("vllm:my-own", "vllm"),
    ],
)  # fmt: skip
def test_the_family_is_the_models_and_not_the_servers(name: str, family: str) -> None:
    assert resolve(name).profile.family == family


def test_the_profile_can_be_set() -> None:
    model = OpenAIChatModel("m", profile={"window": 8_192, "price": {"input": "1", "output": "2"}, "parallel": False})
    assert (model.profile.window, model.profile.parallel) == (8_192, False)
    assert Price(model.profile.price).cost_usd(Usage(input_tokens=1_000_000)) == Decimal(1)


def test_a_price_is_the_vendors_at_the_vendors_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    known = OpenAIChatModel("gpt-5-mini").profile
    assert (known.window, known.price) == (400_000, {"input": "0.25", "cached": "0.025", "output": "2"})
    assert OpenAIChatModel("gpt-unheard-of").profile.price is None
    assert OpenAIChatModel("gpt-5-mini", base_url="https://gateway.example/v1").profile.price is None
    assert OpenAIChatModel("gpt-5-mini", server=SERVERS["openrouter"]).profile.price is None
    assert READ_ON.startswith("20")
    for listed in LISTED.values():
        assert Price(listed.price).cost_usd(Usage(input_tokens=1, output_tokens=1)) is not None
        assert listed.page.startswith("https://")
    assert OPENAI.media == {"image"}


async def test_own_reasoning_goes_back_where_it_is_wanted() -> None:
    async def thinking(answer: Answer, asked: Asked) -> None:
        call = {"index": 0, "id": "a", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
        await answer.stream(sse(chunk({"reasoning_content": "hm"}), chunk({"tool_calls": [call]}, "tool_calls")))

    async with serving(thinking, say) as server:
        deepseek = OpenAIChatModel("r", base_url=server.url, server=SERVERS["deepseek"])
        reply, _ = await ask(deepseek)
        assert isinstance(reply.parts[0], Reasoning)
        history = Message(id="a", role="assistant", parts=reply.parts)
        await ask(deepseek, ModelRequest(messages=(history,)))
        await ask(OpenAIChatModel("m", base_url=server.url), ModelRequest(messages=(history,)))
        back, foreign = (asked.body["messages"][0] for asked in server.asked[1:])
        assert back["reasoning_content"] == "hm"
        assert "reasoning_content" not in foreign


# A whole run


@tool(risk="read")
async def weather(city: str) -> dict[str, Any]:
    """The weather of a city. Use it when the user asks for it."""
    return {"city": city, "degrees": 3}


async def desk(answer: Answer, asked: Asked) -> None:
    """A model that looks up the weather of two cities, then says what it read in the results."""
    results = [one["content"] for one in asked.body["messages"] if one["role"] == "tool"]
    is_stream = asked.body.get("stream", False)
    if not results:
        made = [(f"call_{city}", json.dumps({"city": city}, ensure_ascii=False)) for city in ("Köln", "北京")]
        if is_stream:
            pieces = [
                chunk({"role": "assistant", "reasoning_content": "two cities"}),
                chunk({"content": "Let me see."}),
            ]
            for index, (id_, args) in enumerate(made):
                name = {"name": "weather", "arguments": ""}
                pieces.append(
                    chunk({"tool_calls": [{"index": index, "id": id_, "type": "function", "function": name}]})
                )
                pieces += [chunk({"tool_calls": [{"index": index, "function": {"arguments": one}}]}) for one in args]
            await answer.stream(sse(*pieces, chunk({}, "tool_calls"), COUNT_CHUNK), 3)
            return
        calls = [{"id": i, "type": "function", "function": {"name": "weather", "arguments": args}} for i, args in made]
        message = {"content": "Let me see.", "reasoning_content": "two cities", "tool_calls": calls}
        await answer.whole(completion(message, "tool_calls"))
        return
    said = f"I read {' and '.join(results)} 🌧"
    if is_stream:
        await answer.stream(sse(*(chunk({"content": one}) for one in said), chunk({}, "stop"), COUNT_CHUNK), 7)
    else:
        await answer.whole(completion({"content": said}))


def told(messages: tuple[Message, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    return [(message.role, message.parts) for message in messages]


async def test_an_agent_streamed_and_whole_gives_the_same_messages() -> None:
    async with serving(desk) as server:
        model = OpenAIChatModel("m", base_url=server.url, profile={"price": {"input": "1", "output": "2"}})
        agent = Agent(model, tools=[weather])
        whole = await agent.run("weather in Köln and 北京?")
        async with agent.run_stream("weather in Köln and 北京?") as stream:
            deltas = [event.delta async for event in stream if isinstance(event, ModelDelta)]
            streamed = await stream.result()
    assert streamed.status == whole.status == "done"
    assert told(streamed.new_messages) == told(whole.new_messages)
    assert streamed.output == whole.output == 'I read {"city":"Köln","degrees":3} and {"city":"北京","degrees":3} 🌧'
    assert streamed.usage == whole.usage == USAGE + USAGE
    assert streamed.cost_usd == whole.cost_usd == Decimal("0.000076")
    assert [call.args for call in whole.new_messages[1].calls] == [{"city": "Köln"}, {"city": "北京"}]
    assert "".join(delta.text for delta in deltas if delta.kind == "text").startswith("Let me see.I read")
    assert [asked.body.get("stream", False) for asked in server.asked] == [False, False, True, True]


async def test_a_run_asks_again_after_a_busy_server_and_a_broken_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backstay.agents.ask.MODEL_RETRY", RetryPolicy(max_attempts=3, waits=()))

    async def cut(answer: Answer, asked: Asked) -> None:
        await answer.stream(sse(chunk({"content": "half an ans"}), done=False))

    busy = saying({"error": {"message": "slow down"}}, 429, Retry_After="0")
    async with serving(busy, cut, say) as server:
        agent = Agent(OpenAIChatModel("m", base_url=server.url))
        async with agent.run_stream("hi") as stream:
            codes = [event.code async for event in stream if isinstance(event, ModelRetry)]
            result = await stream.result()
    assert codes == ["model.failed", "model.incomplete"]
    assert (result.status, result.output) == ("done", "Grüße, 世界 🌍")


async def test_a_cut_call_does_not_run() -> None:
    async def cut(answer: Answer, asked: Asked) -> None:
        call = {"index": 0, "id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "K'}}
        await answer.stream(sse(chunk({"tool_calls": [call]}), chunk({}, "length"), COUNT_CHUNK))

    async with serving(cut, say) as server:
        agent = Agent(OpenAIChatModel("m", base_url=server.url), tools=[weather])
        async with agent.run_stream("hi") as stream:
            result = await stream.result()
    (returned,) = result.new_messages[2].returns
    assert (returned.result.ok, returned.result.code) == (False, "model.cut_off")
    assert result.status == "done"


# A server that is not ours


def gguf() -> Path | None:
    """Weights on this machine, if there are any; nothing is downloaded for a test."""
    given = os.environ.get("BACKSTAY_TEST_GGUF")
    cached = Path("~/.cache/backstay/models").expanduser()
    found = [Path(given)] if given else sorted(cached.glob("*.gguf")) if cached.is_dir() else []
    return next((one for one in found if one.is_file()), None)


@pytest.fixture(scope="module")
def listener() -> Any:
    """The HTTP listener of the embedded runtime: llama.cpp's own server, in this process."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="the embedded runtime is not installed")
    weights = gguf()
    if weights is None:
        pytest.skip("no weights in the cache: backstay model pull, or set BACKSTAY_TEST_GGUF")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_parallel = 512, 128, 128, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity, params.warmup, params.cache_ram_mib = -1, False, 0
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


def at(listener: str) -> str:
    return f"{listener.rstrip('/')}/v1"


async def test_the_embedded_runtimes_listener(listener: str) -> None:
    model = resolve("llamacpp:smollm2", base_url=at(listener))
    assert isinstance(model, OpenAIChatModel)
    request = asks("Say hello.", settings={"temperature": 0, "seed": 1, "max_tokens": 12})
    streamed, deltas = await ask(model, request)
    whole, _ = await ask(model, request, stream=False)
    assert streamed.text
    assert streamed.text == whole.text == "".join(delta.text for delta in deltas)
    assert streamed.finish == whole.finish
    assert streamed.usage is not None
    assert whole.usage is not None
    assert streamed.usage.output_tokens == whole.usage.output_tokens > 0
    assert len(deltas) > 1


async def test_the_embedded_runtimes_listener_holds_to_a_schema_and_refuses_what_is_too_long(listener: str) -> None:
    model = OpenAIChatModel("smollm2", base_url=at(listener), server=SERVERS["llamacpp"])
    schema = {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"]}
    request = asks("Which colour is the sky?", output_schema=schema, settings={"temperature": 0, "max_tokens": 32})
    reply, _ = await ask(model, request)
    assert json.loads(reply.text)["colour"] in ("red", "blue")
    with pytest.raises(ModelError) as raised:
        await ask(model, asks("word " * 2_000))
    assert (raised.value.code, raised.value.retryable) == ("model.too_long", False)


async def test_tools_and_a_whole_run_at_the_embedded_runtimes_listener(listener: str) -> None:
    model = OpenAIChatModel("smollm2", base_url=at(listener), server=SERVERS["llamacpp"])
    spec = ToolSpec(name="weather", description="The weather.", schema={"type": "object", "properties": {}})
    history = (
        *asks("How is the weather?").messages,
        Message(id="a", role="assistant", parts=(ToolCall(id="c", name="weather", args={}),)),
        Message(
            id="t",
            role="tool",
            parts=(ToolReturn(call_id="c", name="weather", result=ToolResult(ok=True, summary="rain")),),
        ),
    )
    reply, _ = await ask(model, ModelRequest(messages=history, tools=(spec,), settings={"max_tokens": 4}))
    assert reply.finish in ("length", "stop", "tool_calls")
    result = await Agent(model, settings={"max_tokens": 8, "temperature": 0}).run("Say hello.")
    assert result.status == "done"
