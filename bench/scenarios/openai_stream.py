"""A streamed reply through the OpenAI client, from a real server in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from bench.measure import ROOT, Spread, cpu_side_by_side
from bench.table import Row

CHUNKS = (2_000, 8_000)
"""The budget is for the first; four times as many may cost four times as much."""
_WAYS = {
    "batched": (50, "sent as fast as they can be read, each a frame of HTTP, many in one read of the socket"),
    "single": (None, "0.2 ms apart: each wakes the event loop, nearly all of it the vendor's HTTP stack; no budget"),
}
"""How the server sends → budget in ms, and what that means."""


def openai_stream() -> list[Row]:
    """2,000 chunks: the process's CPU, HTTP, event loop, decoding and deltas included; a first reply warms it up."""
    if find_spec("openai") is None:
        return [Row(scenario="openai_stream", what="2,000 streamed chunks, CPU", note="backstay[openai] is missing")]
    with _serving() as url:
        found = asyncio.run(_measure(url))
    few, many = CHUNKS
    rows = [
        Row(
            scenario="openai_stream",
            what=f"{few:,} streamed chunks, {way}, CPU",
            unit="ms",
            budget=budget,
            note=about,
            **found[f"{way}-{few}"].times(1e3).as_dict(),
        )
        for way, (budget, about) in _WAYS.items()
    ]
    factor = found[f"batched-{many}"].median / found[f"batched-{few}"].median
    return [*rows, Row(scenario="openai_stream", what=f"{many:,} chunks ÷ {few:,} chunks", measured=factor, budget=5)]


async def _measure(url: str) -> dict[str, Spread]:
    from backstay.core.events import Emitter
    from backstay.core.messages import Delta, Message, ModelRequest, Text
    from backstay.models.openai import OpenAIChatModel

    request = ModelRequest(messages=(Message(id="m", role="user", parts=(Text(text="go on"),)),))
    ctx = _context(Emitter())

    def once(name: str, count: int):
        model = OpenAIChatModel(name, base_url=url)

        async def run() -> None:
            deltas: list[Delta] = []
            reply = await model.request(request, ctx, deltas.append)
            if len(deltas) != count or not reply.text or reply.usage is None:
                raise AssertionError(f"{len(deltas)} of {count} chunks came through")

        return run

    few, many = CHUNKS
    sizes = {f"batched-{few}": few, f"batched-{many}": many, f"single-{few}": few}
    return await cpu_side_by_side({name: (once(name, count), 1) for name, count in sizes.items()})


def _context(emit):
    import logging
    from types import SimpleNamespace

    return SimpleNamespace(clock=lambda: 0.0, emit=emit, logger=logging.getLogger("bench"))


@contextmanager
def _serving() -> Iterator[str]:
    command = [sys.executable, "-m", "bench.scenarios.openai_stream"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        finally:
            server.kill()


async def _serve() -> None:
    listener = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await listener.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await _head(reader):
        (length,) = (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: "))
        body = json.loads(await reader.readexactly(int(length.split()[1])))
        way, _, count = body["model"].partition("-")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(int(count)):
            _piece(writer, _chunk({"content": f"word {number} "}))
            if way == "single":
                await writer.drain()
                await asyncio.sleep(0.000_2)
        usage = {"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": int(count), "total_tokens": 8}}
        _piece(writer, _chunk({}, "stop") + _data(usage) + b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def _piece(writer: asyncio.StreamWriter, raw: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(raw), raw))


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1_769_000_000, "model": "m"}
    return _data({**head, "system_fingerprint": "fp_0", "choices": [choice], "usage": None})


def _data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


if __name__ == "__main__":
    asyncio.run(_serve())
