"""A signed webhook, and posting JSON by the standard library: no client package is needed to tell somebody something.

The signature is `t=SECONDS,v1=HEX`, an HMAC-SHA256 of `SECONDS.BODY`: a receiver refuses what is old or altered.
Redirects are not followed, since a note goes where it was meant to go or nowhere. Source: SPEC B24.
"""

from __future__ import annotations

import hmac
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import IO, Any
from urllib.parse import urlsplit

from backstay.agents.notices.note import Note, NoticeError
from backstay.agents.notices.offline import check_network
from backstay.core.canon import canonical
from backstay.core.errors import SetupError
from backstay.core.messages import Json
from backstay.tools.threads import run_in_thread

SIGNATURE = "Backstay-Signature"
_MOST_BYTES = 64 * 1024


class _Straight(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


def checked_url(url: str) -> str:
    """The address of a webhook.

    Raises:
        SetupError: code `notice.url`.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError("a webhook needs an address such as https://HOST/PATH", code="notice.url")
    return url


async def post(url: str, body: Json, headers: Mapping[str, str], seconds: float) -> bytes:
    """Post JSON and return what was answered, at most 64 KiB of it.

    Raises:
        NoticeError: for anything but an answer of 2xx in time. Only the host is named: paths of webhooks are secrets.
            `notice.no_network`: another machine may not be told.
    """
    data = canonical(body).encode()
    return await post_bytes(url, data, headers, seconds)


async def post_bytes(url: str, data: bytes, headers: Mapping[str, str], seconds: float) -> bytes:
    """As `post`, of bytes that were signed."""
    host = urlsplit(url).hostname or ""
    check_network(host)
    request = urllib.request.Request(  # the scheme was checked when the sink was made
        url, data=data, method="POST", headers={"Content-Type": "application/json", **headers}
    )

    def send() -> bytes:
        opener = urllib.request.build_opener(_Straight)
        with opener.open(request, timeout=seconds) as answer:
            read: bytes = answer.read(_MOST_BYTES)
            return read

    try:
        found: bytes = await run_in_thread(send, f"notice to {host}")
    except urllib.error.HTTPError as error:
        error.close()
        raise NoticeError(f"{host} answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise NoticeError(f"{host} cannot be reached ({type(error).__name__})") from None
    return found


def signature_of(secret: str, at: int, body: bytes) -> str:
    """The header by which a receiver knows who has sent a body, and when."""
    return f"t={at},v1={hmac.digest(secret.encode(), f'{at}.'.encode() + body, 'sha256').hex()}"


class Webhook:
    """A sink that posts `Note.document`, signed.

    Args:
        url: where to.
        secret: shared with the receiver, who computes the signature of what arrives again.
        seconds: how long an answer may take.
        clock: seconds since 1970.
    """

    def __init__(self, url: str, secret: str, *, seconds: float = 10.0, clock: Callable[[], float] = time.time) -> None:
        if not secret:
            raise SetupError("a webhook needs a secret that its receiver knows", code="notice.url")
        self._url = checked_url(url)
        self._secret = secret
        self._seconds = seconds
        self._clock = clock

    def __repr__(self) -> str:
        return f"<webhook at {urlsplit(self._url).hostname}>"

    async def send(self, note: Note) -> None:
        """See `Sink.send`."""
        body = canonical(note.document).encode()
        signed = signature_of(self._secret, int(self._clock()), body)
        await post_bytes(self._url, body, {SIGNATURE: signed}, self._seconds)
