"""Chat webhooks as rows of one table: Slack, DingTalk, Feishu, WeCom. Source: SPEC B24.

What models, tools and users wrote is plain text in them: no mention of everybody and no markup can come out of it.
"""

from __future__ import annotations

import hmac
import json
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote_plus, urlsplit

from backstay.agents.notices.note import Note, NoticeError
from backstay.agents.notices.webhook import checked_url, post
from backstay.core.errors import SetupError
from backstay.core.messages import Json


class Chat(NamedTuple):
    """How one service wants a message."""

    body: Callable[[str, str, int], Json]
    """Text, secret and seconds → what is posted."""
    is_taken: Callable[[bytes], bool]
    """Whether the answer says that the message was taken: these services answer 200 to what they refuse."""
    query: Callable[[str, int], str] = lambda _secret, _at: ""
    """Secret and seconds → what is added to the address."""


def _signed(key: str, message: str) -> str:
    return b64encode(hmac.digest(key.encode(), message.encode(), "sha256")).decode()


def _dingtalk_query(secret: str, at: int) -> str:
    if not secret:
        return ""
    return f"&timestamp={at}000&sign={quote_plus(_signed(secret, f'{at}000' + chr(10) + secret))}"


def _feishu_body(text: str, secret: str, at: int) -> Json:
    plain: dict[str, Json] = {"msg_type": "text", "content": {"text": _wide(text)}}
    return plain | {"timestamp": str(at), "sign": _signed(f"{at}\n{secret}", "")} if secret else plain


def _wide(text: str) -> str:
    """Angle brackets that no service reads as a mention or a link."""
    return text.replace("<", "\uff1c").replace(">", "\uff1e")


def _slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _says_zero(*names: str) -> Callable[[bytes], bool]:
    def is_zero(answer: bytes) -> bool:
        try:
            said = json.loads(answer)
        except ValueError:
            return False
        return isinstance(said, dict) and any(said.get(name) == 0 for name in names)

    return is_zero


CHATS: Mapping[str, Chat] = MappingProxyType({
    "slack": Chat(lambda text, _secret, _at: {"text": _slack(text), "mrkdwn": False}, lambda answer: answer == b"ok"),
    "dingtalk": Chat(
        lambda text, _secret, _at: {"msgtype": "text", "text": {"content": _wide(text)}, "at": {"isAtAll": False}},
        _says_zero("errcode"),
        _dingtalk_query,
    ),
    "feishu": Chat(_feishu_body, _says_zero("code", "StatusCode")),
    "wecom": Chat(
        lambda text, _secret, _at: {"msgtype": "text", "text": {"content": _wide(text)}}, _says_zero("errcode")
    ),
})  # fmt: skip
"""Service → how it wants a message."""


class ChatWebhook:
    """A sink that writes into a chat.

    Args:
        chat: a key of `CHATS`.
        url: the webhook's address, which is a secret.
        secret: of services that sign (DingTalk, Feishu); empty where none was set.
        seconds: how long an answer may take.
        clock: seconds since 1970.
    """

    def __init__(
        self, chat: str, url: str, *, secret: str = "", seconds: float = 10.0, clock: Callable[[], float] = time.time
    ) -> None:
        if chat not in CHATS:
            raise SetupError(f"{chat!r} is no chat; expected one of {', '.join(CHATS)}", code="notice.url")
        self._name = chat
        self._chat = CHATS[chat]
        self._url = checked_url(url)
        self._secret = secret
        self._seconds = seconds
        self._clock = clock

    def __repr__(self) -> str:
        return f"<{self._name} at {urlsplit(self._url).hostname}>"

    async def send(self, note: Note) -> None:
        """See `Sink.send`."""
        at = int(self._clock())
        added = self._chat.query(self._secret, at)
        url = self._url + (added if urlsplit(self._url).query or not added else f"?{added.removeprefix('&')}")
        answer = await post(url, self._chat.body(note.text, self._secret, at), {}, self._seconds)
        if not self._chat.is_taken(answer):
            raise NoticeError(f"{self._name} has not taken the message")
