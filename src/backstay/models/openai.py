"""The client for OpenAI's chat completions and for every server that speaks them.

The vendor's library sends the request, with its retries off, and hands over the raw bytes; wire/openai_chat reads
them. Nothing of the library crosses this module: its errors become `ModelError`, its objects are never made.
Source: SPEC L1, L3, L5, L6; DESIGN 4.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from backstay.core.context import RunContext
from backstay.core.errors import AppError, ModelError
from backstay.core.messages import Args, Delta, Finish, ModelReply, ModelRequest, Usage
from backstay.core.redaction import redact, register_secret
from backstay.models.assembler import Assembler
from backstay.models.model import ModelProfile
from backstay.models.prices import LISTED
from backstay.models.servers import OPENAI, Server
from backstay.wire.openai_chat import Decoder, Dialect, StreamDecoder, decode_whole, encode, error_from
from backstay.wire.openai_chat.reply import REASONING

if TYPE_CHECKING:  # the optional package's own types
    import httpx2
    from openai import AsyncOpenAI

NO_NETWORK = "BACKSTAY_NO_NETWORK"
"""Set to anything but 0, it keeps every request on this machine."""
_CONNECT_SECONDS = 10.0
_CONNECTIONS = 1_000
_IDLE_CONNECTIONS = 100
_DRAIN_SECONDS = 0.25
"""How long the end of the body may take after the end of the reply, so that the connection can be used again."""
_FAMILIES = {
    "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "chatgpt": "openai", "codex": "openai",
    "qwen": "qwen", "qwq": "qwen", "deepseek": "deepseek", "llama": "llama", "codellama": "llama",
    "mistral": "mistral", "mixtral": "mistral", "ministral": "mistral", "codestral": "mistral", "magistral": "mistral",
    "devstral": "mistral", "gemma": "google", "gemini": "google", "claude": "anthropic", "grok": "xai", "phi": "phi",
    "smollm": "smollm", "glm": "glm", "kimi": "kimi", "command": "cohere", "granite": "granite",
}  # fmt: skip
"""How a model's name begins → whose it is, whoever serves it."""


class OpenAIChatModel:
    """A model behind chat completions.

    Args:
        name: as the server knows it: `gpt-5-mini`, `llama3.2`, `vendor/model`.
        base_url: address up to and with `/v1`; the server's own where it is left out, or what `OPENAI_BASE_URL` says
            for OpenAI.
        api_key: the key; else the environment variable of the server's row is read at every request. A server at an
            address of your own may have none.
        server: a row of `models.servers.SERVERS`: address, key and quirks.
        profile: fields of `ModelProfile` to set, such as `{"window": 8_192}`.
        headers: sent with every request.
        extra_body: fields of every request's body; settings of the agent win over them.
        timeout: seconds without a sign of life after which a request is given up.

    Raises:
        AppError: `model.extra`, without the `openai` package; `model.base_url`, for an address that is none.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        server: Server = OPENAI,
        profile: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        extra_body: Args | None = None,
        timeout: float = 300.0,
    ) -> None:
        if find_spec("openai") is None:
            raise AppError(
                f"{server.provider}:{name} speaks through the package openai, which is not installed: "
                'pip install "backstay[openai]"',
                code="model.extra",
            )
        self._model, self._server = name, server
        self._base_url = (base_url or _given_url(server)).rstrip("/")
        self._host, self._is_loopback = _host(self._base_url)
        self._is_own = self._base_url == server.base_url
        self._api_key, self._headers, self._extra, self._timeout = api_key, dict(headers or {}), extra_body, timeout
        self._profile = replace(self._known(), **(profile or {}))
        self._dialect = replace(
            server.dialect, choices=self._profile.choices, reasoning_mark=f"{server.provider}:reasoning_content"
        )

    @property
    def profile(self) -> ModelProfile:
        """What it is and can do, as far as is known; see `profile=`."""
        return self._profile

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self._server.provider}:{self._model}"

    async def request(
        self,
        request: ModelRequest,
        ctx: RunContext[Any],
        on_delta: Callable[[Delta], None] | None = None,
    ) -> ModelReply:
        """Ask once, streaming if somebody listens. Cancelling closes the connection, so that the server can stop.

        Raises:
            ModelError: connection errors, 408, 409, 429 and 5xx are retryable; `model.too_long`, `model.auth`,
                `model.quota`, `model.no_network` are not; `model.incomplete` is a reply that broke off.
        """
        if os.environ.get(NO_NETWORK, "0") not in ("", "0") and not self._is_loopback:
            told = f"{NO_NETWORK} is set, so nothing was sent to {self._host}; only this machine may be asked"
            raise ModelError(told, retryable=False, code="model.no_network")
        headers = {"Authorization": f"Bearer {self._key()}", "Content-Type": "application/json", **self._headers}
        stream = on_delta is not None
        body = encode(request, model=self._model, stream=stream, dialect=self._dialect, extra=self._extra)
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        client = await _client_for(self._base_url, self._timeout, self._is_loopback, self._server is OPENAI)
        response = await self._send(client, content, headers, ctx.clock())
        try:
            return await self._read(response, on_delta)
        except client.errors as error:
            told = f"{self.name}: the connection to {self._host} broke off ({type(error).__name__})"
            raise ModelError(told, retryable=True, code="model.incomplete") from None
        finally:
            await response.aclose()

    def _known(self) -> ModelProfile:
        """What can be said of the model without asking: facts of the vendor's own models only at its own address."""
        server = self._server
        listed = LISTED.get(self._model) if self._is_own and server is OPENAI else None
        return ModelProfile(
            family=_family(self._model, server.provider),
            window=listed.window if listed else server.window,
            choices=server.dialect.choices,
            schema_output=server.dialect.output == "json_schema",
            media=server.media,
            price=listed.price if listed else None,
        )

    def _key(self) -> str:
        env = self._server.key_env
        key = (self._api_key or (os.environ.get(env) if env else None) or "").strip()
        if not key and (not env or not self._is_own):
            return "none"
        if not key or not key.isascii() or not key.isprintable():
            told = "holds characters that no key has" if key else "is not set"
            raise ModelError(
                f"{self.name} needs a key: {env} {told}; set it or pass api_key=", retryable=False, code="model.auth"
            )
        with suppress(ValueError):  # too short to be told from ordinary text
            register_secret(key)
        return key

    async def _send(self, client: _Client, content: bytes, headers: Mapping[str, str], now: float) -> httpx2.Response:
        sdk = client.library.sdk
        try:
            response: httpx2.Response = await client.sdk.post(
                "/chat/completions",
                cast_to=client.library.http.Response,
                content=content,
                options={"headers": headers},
                stream=True,  # the body is read here in any case, so that a broken one is told from no answer
            )
            return response
        except sdk.APIStatusError as error:
            body = error.body if error.body is not None else error.response.text
            after = error.response.headers.get("retry-after")
            raise error_from(error.status_code, body, retry_after=after, now=now, model=self.name) from None
        except sdk.APIConnectionError as error:
            why = type(error.__cause__ or error).__name__
            raise ModelError(f"{self.name}: no answer from {self._host} ({why})", retryable=True) from None
        except sdk.OpenAIError as error:
            raise ModelError(f"{self.name}: {redact(str(error))[:300]}", retryable=False) from None

    async def _read(self, response: httpx2.Response, on_delta: Callable[[Delta], None] | None) -> ModelReply:
        """Read a reply as what it is: some servers stream unasked, some do not stream when they are asked."""
        kind = response.headers.get("content-type", "")
        if "event-stream" in kind or (on_delta is not None and "json" not in kind):
            return await self._read_stream(response, on_delta)
        decoder = Decoder(model=self.name)
        try:
            body = json.loads(await response.aread())
        except (ValueError, RecursionError):
            told = f"{self.name}: the answer of {self._host} is no JSON"
            raise ModelError(told, retryable=True, code="model.incomplete") from None
        said = _Said(self._dialect, on_delta)
        said.take(decode_whole(body, decoder))
        return said.reply(decoder.finish, decoder.usage, self._served_by(decoder.served_by))

    async def _read_stream(self, response: httpx2.Response, on_delta: Callable[[Delta], None] | None) -> ModelReply:
        decoder, said = StreamDecoder(model=self.name), _Said(self._dialect, on_delta)
        async with aclosing(_pieces(response)) as pieces:
            async for piece in pieces:
                said.take(decoder.feed(piece))
                if decoder.is_done:
                    break
            said.take(decoder.close())
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    async for _ in pieces:
                        pass
        return said.reply(decoder.finish, decoder.usage, self._served_by(decoder.served_by))

    def _served_by(self, said: str) -> str:
        return f"{self._server.provider}:{said or self._model}"


class _Said:
    """What has come in of a reply so far, passed on piece by piece."""

    def __init__(self, dialect: Dialect, on_delta: Callable[[Delta], None] | None) -> None:
        self._assembler = Assembler()
        self._on_delta = on_delta
        self._mark = dialect.reasoning_mark if dialect.returns_reasoning else None

    def take(self, deltas: list[Delta]) -> None:
        for delta in deltas:
            self._assembler.add(delta)
            if self._on_delta is not None:
                self._on_delta(delta)
            if delta.kind == "reasoning" and self._mark is not None:
                self._assembler.sign(REASONING, self._mark)

    def reply(self, finish: Finish, usage: Usage | None, model: str) -> ModelReply:
        return self._assembler.reply(finish=finish, usage=usage, model=model)


class _Library(NamedTuple):
    """The optional packages, once they are imported."""

    sdk: Any
    http: Any


class _Client(NamedTuple):
    library: _Library
    sdk: AsyncOpenAI
    errors: tuple[type[Exception], ...]
    """What reading a body may raise."""
    closing: AsyncGenerator[None, None]


def _library() -> _Library:
    """Import the vendor's library, which takes about a second: in a thread, and when the first request is made."""
    import httpx2
    import openai

    return _Library(openai, httpx2)


_Key: TypeAlias = "tuple[asyncio.AbstractEventLoop, str, float, bool]"

_clients: dict[_Key, _Client] = {}
"""By loop, address, timeout and whether it is OpenAI: models share connections, which belong to the loop they opened
in. Headers and keys go with each request, so that nothing of one model reaches another's."""


async def _client_for(base_url: str, timeout: float, is_loopback: bool, is_openai: bool) -> _Client:
    key = (asyncio.get_running_loop(), base_url, timeout, is_openai)
    if key not in _clients:
        library = await asyncio.to_thread(_library)
        for old in [one for one in _clients if one[0].is_closed()]:
            del _clients[old]
        if key not in _clients:
            await _open(key, library, is_loopback)
    return _clients[key]


async def _open(key: _Key, library: _Library, is_loopback: bool) -> None:
    _, base_url, seconds, is_openai = key
    timeout = library.http.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds))
    http = library.sdk.DefaultAsyncHttpxClient(
        trust_env=not is_loopback,  # a proxy is no way to one's own machine
        limits=library.http.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_kept(base_url)),
        follow_redirects=False,  # a prompt goes where the address says and nowhere else
        timeout=timeout,
    )
    sdk = library.sdk.AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0, timeout=timeout, http_client=http)
    if not is_openai:
        sdk.organization = sdk.project = None  # the library reads OpenAI's from the environment for everybody
    closing = _until_closed(sdk, key)
    _clients[key] = _Client(library, sdk, (library.http.RequestError, library.http.StreamError), closing)
    await anext(closing)


def _kept(base_url: str) -> int:
    """How many connections may wait for another request: none without TLS, where a new one costs next to nothing.

    llama.cpp promises to keep its connections and closes them after a stream, so that every few requests would meet a
    closed one.
    """
    return _IDLE_CONNECTIONS if base_url.startswith("https:") else 0


async def _until_closed(sdk: AsyncOpenAI, key: _Key) -> AsyncGenerator[None, None]:
    """Close the connections with the loop: `asyncio.run` finishes open generators before it closes its loop."""
    try:
        yield
    finally:
        _clients.pop(key, None)
        await sdk.close()


def _pieces(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The body as it comes in; the layer that unpacks it only where it is packed."""
    is_packed = "content-encoding" in response.headers
    pieces: Any = response.aiter_bytes() if is_packed else response.aiter_raw()
    return pieces  # type: ignore[no-any-return]  # declared as iterators, which cannot be closed


def _given_url(server: Server) -> str:
    return (os.environ.get("OPENAI_BASE_URL") if server is OPENAI else None) or server.base_url


def _host(base_url: str) -> tuple[str, bool]:
    """The host to name in messages, without the user and password that an address may hold; and whether it is here.

    Raises:
        AppError: code `model.base_url`.
    """
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if not host or parts.scheme not in ("http", "https"):
        raise AppError("base_url is no address: write http://HOST:PORT/v1 or https://HOST/v1", code="model.base_url")
    try:
        is_loopback = ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost" or host.endswith(".localhost")
    return (f"{host}:{port}" if port else host), is_loopback


def _family(model: str, provider: str) -> str:
    name = model.rpartition("/")[2].casefold()
    found = [begin for begin in _FAMILIES if name.startswith(begin)]
    return _FAMILIES[max(found, key=len)] if found else provider
