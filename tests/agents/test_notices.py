"""Notices to people, against real receivers on this machine."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from backstay.agents.notices import SIGNATURE, ChatWebhook, Mail, Note, Notifier, Sink, Webhook, signature_of
from backstay.agents.notices.note import NoticeError
from backstay.core.errors import SetupError
from backstay.store.memory import MemoryStore
from desk import Desk, propose


@dataclass
class Receiver:
    """A local HTTP server that keeps what was posted and answers as it is told."""

    url: str = ""
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    always: tuple[int, bytes] = (200, b"{}")

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, _, body in self.got]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.got.append((self.path, dict(self.headers), body))
            status, answer = kept.answers.pop(0) if kept.answers else kept.always
            self.send_response(status)
            if status == 302:
                self.send_header("Location", kept.url)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield kept
    server.shutdown()
    thread.join()
    server.server_close()


class List:
    """A sink of the program's own."""

    def __init__(self) -> None:
        self.notes: list[Note] = []

    async def send(self, note: Note) -> None:
        self.notes.append(note)

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(note.kind, note.action.state) for note in self.notes]


async def at_once(_seconds: float) -> None:
    return None


async def asked(notifier: Notifier) -> Desk:
    desk = Desk()
    agent = desk.agent(propose(reason="<!channel> it never came"), "wait")
    async with notifier.listening(agent):
        await agent.run("Refund 120 EUR for order 1001", session="s")
    return desk


async def test_a_signed_webhook_says_what_waits_and_where_it_is_decided(receiver: Receiver) -> None:
    sink = Webhook(receiver.url, "s3cret", clock=lambda: 1_700_000_000.5)
    await asked(Notifier([sink], link="https://desk.example/actions/{id}"))
    ((_, headers, body),) = receiver.got
    document = json.loads(body)
    assert document["kind"] == "asked"
    assert document["link"] == f"https://desk.example/actions/{document['action']}"
    assert "refund(order_id=1001, amount=120.00)" in document["text"]
    assert headers[SIGNATURE] == signature_of("s3cret", 1_700_000_000, body)
    mac = hmac.new(b"s3cret", b"1700000000." + body, "sha256").hexdigest()
    assert headers[SIGNATURE] == f"t=1700000000,v1={mac}"


async def test_what_did_not_arrive_is_tried_again_and_then_given_up(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answers = [(503, b""), (302, b"")]
    await asked(Notifier([Webhook(receiver.url, "s")], sleep=at_once))
    assert len(receiver.got) == 3
    receiver.always = (500, b"")
    await asked(Notifier([Webhook(receiver.url, "s")], sleep=at_once))
    assert len(receiver.got) == 6
    assert "did not arrive" in caplog.text
    assert "/hook" not in caplog.text


@pytest.mark.parametrize(
    ("chat", "good", "bad"),
    [
        ("slack", b"ok", b"invalid_token"),
        ("dingtalk", b'{"errcode":0}', b'{"errcode":310000}'),
        ("feishu", b'{"code":0}', b'{"code":19021}'),
        ("wecom", b'{"errcode":0}', b"not json"),
    ],
)
async def test_chats_take_plain_text_in_which_nothing_mentions_everybody(
    receiver: Receiver, chat: str, good: bytes, bad: bytes
) -> None:
    receiver.always = (200, good)
    desk = Desk()
    agent = desk.agent(propose(order_id='<at user_id="all">x</at>'), "wait")
    sink = ChatWebhook(chat, f"{receiver.url}?access_token=k", secret="s3cret", clock=lambda: 1_700_000_000.0)
    async with Notifier([sink]).listening(agent):
        await agent.run("Refund", session="s")
    ((path, _, body),) = receiver.got
    assert b"refund" in body
    assert b"<at" not in body
    assert "access_token=k" in path
    assert ("sign=" in path) == (chat == "dingtalk")
    assert ("sign" in json.loads(body)) == (chat == "feishu")
    receiver.always = (200, bad)
    with pytest.raises(NoticeError):
        await sink.send(Note(kind="asked", action=(await agent.store.pending())[0]))


@asynccontextmanager
async def smtp() -> AsyncIterator[tuple[int, list[str]]]:
    """An SMTP server of a few lines."""
    mails: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := (await reader.readline()).decode().strip():
            if line.upper() == "DATA":
                writer.write(b"354 go on\r\n")
                mails.append((await reader.readuntil(b"\r\n.\r\n")).decode())
            writer.write(b"221 bye\r\n" if line.upper() == "QUIT" else b"250 ok\r\n")
            if line.upper() == "QUIT":
                break
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], mails


async def test_a_mail_is_sent_through_a_real_server() -> None:
    async with smtp() as (port, mails):
        await asked(Notifier([Mail("127.0.0.1", "desk@shop.example", ["bo@shop.example"], port=port, security="none")]))
    (mail,) = mails
    assert "Subject: A person has to decide: refund(order_id=3D1001" in mail.replace("\r\n ", " ") or "refund" in mail
    assert "To: bo@shop.example" in mail


async def test_reminders_and_escalations_come_once_each_and_stop_when_it_is_decided() -> None:
    now = [1_800_000_000.0]
    store, deciders, others = MemoryStore(), List(), List()
    notifier = Notifier([deciders], remind_seconds=60, escalate_seconds=120, escalate_to=[others], clock=lambda: now[0])
    agent = Desk().agent(propose(), "wait", "paid")
    async with notifier.listening(agent):
        with agent.override(clock=lambda: now[0]):
            waiting = await agent.run("Refund 120 EUR for order 1001", session="s", store=store)
            assert await notifier.remind(store) == 0
            now[0] += 61
            assert [await notifier.remind(store), await notifier.remind(store)] == [1, 0]
            now[0] += 60
            assert await notifier.remind(store) == 1
            await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
            now[0] += 1_000
            assert await notifier.remind(store) == 0
    assert deciders.told == [("asked", "open"), ("reminder", "open")]
    assert others.told == [("escalation", "open")]


async def test_the_requester_is_told_that_nobody_answered_and_never_that_it_was_denied() -> None:
    now = [1_800_000_000.0]
    store, deciders, requester = MemoryStore(), List(), List()
    agent = Desk().agent(propose(), "wait", "nobody came")
    async with Notifier([deciders], requester=lambda _who: requester).listening(agent):
        with agent.override(clock=lambda: now[0]):
            waiting = await agent.run("Refund 120 EUR for order 1001", session="s", store=store)
            now[0] += 86_401
            await agent.resume(waiting.run_id, store=store)
    assert requester.told == [("closed", "expired")]
    assert "nobody answered in time" in requester.notes[0].title
    assert "refus" not in requester.notes[0].text.casefold()
    assert deciders.told == [("asked", "open"), ("closed", "expired")]


async def test_a_sink_that_breaks_stops_no_run_and_no_other_sink() -> None:
    class Broken:
        async def send(self, note: Note) -> None:
            raise RuntimeError("no")

    kept = List()
    await asked(Notifier([Broken(), kept]))
    assert kept.told == [("asked", "open")]


def test_sinks_that_could_not_work_are_a_set_up_error() -> None:
    for make in (
        lambda: Webhook("ftp://x/y", "s"),
        lambda: Webhook("https://x/y", ""),
        lambda: ChatWebhook("icq", "https://x/y"),
        lambda: Mail("h", "a@b", "c@d"),
        lambda: Mail("h", "a@b", ["c@d"], security="none", password="p"),
    ):
        with pytest.raises(SetupError) as error:
            make()
        assert error.value.code == "notice.url"


async def test_without_a_network_nothing_is_sent_to_another_machine_and_nothing_is_tried_again(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("BACKSTAY_NO_NETWORK", "1")
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    far: list[Sink] = [
        Webhook("https://desk.example/hook", "s"),
        ChatWebhook("slack", "https://hooks.example/x"),
        Mail("smtp.example", "a@shop.example", ["b@shop.example"]),
    ]
    await asked(Notifier([*far, Webhook(receiver.url, "s")], sleep=sleep))
    assert len(receiver.got) == 1, "this machine may be told"
    assert slept == []
    assert caplog.text.count("BACKSTAY_NO_NETWORK is set") == 3
    for sink in far:
        with pytest.raises(NoticeError) as caught:
            await sink.send(Note(kind="asked", action=(await waiting_actions())[0]))
        assert (caught.value.code, caught.value.is_retryable) == ("notice.no_network", False)


async def waiting_actions() -> list[Any]:
    agent = Desk().agent(propose(), "wait")
    await agent.run("Refund 120 EUR for order 1001", session="s")
    return list(await agent.store.pending())
