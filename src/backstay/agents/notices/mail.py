"""Notes by mail, through an SMTP server, in a thread. Source: SPEC B24."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Literal

from backstay.agents.notices.note import Note, NoticeError
from backstay.agents.notices.offline import check_network
from backstay.core.errors import SetupError
from backstay.tools.threads import run_in_thread


class Mail:
    """A sink that sends mails.

    Args:
        host: of the SMTP server.
        sender: the address it is from.
        to: addresses it goes to.
        port: 587 where it is left out.
        security: `starttls` (encrypted before anything is said), `tls` from the first byte, or `none`, which is for a
            server on this machine and takes no password.
        user: name at the server; empty: none is needed.
        password: its password.
        seconds: how long the server may take for each answer.
    """

    def __init__(
        self,
        host: str,
        sender: str,
        to: Sequence[str],
        *,
        port: int = 587,
        security: Literal["starttls", "tls", "none"] = "starttls",
        user: str = "",
        password: str = "",
        seconds: float = 10.0,
    ) -> None:
        if isinstance(to, str) or not to:
            raise SetupError(f"Mail(to={to!r}): expected a list of addresses", code="notice.url")
        if security == "none" and password:
            raise SetupError("a password is not sent over a connection that is not encrypted", code="notice.url")
        self._server = (host, port)
        self._sender = sender
        self._to = tuple(to)
        self._security = security
        self._login = (user, password)
        self._seconds = seconds

    def __repr__(self) -> str:
        return f"<mail through {self._server[0]}>"

    async def send(self, note: Note) -> None:
        """See `Sink.send`."""
        check_network(self._server[0])
        mail = EmailMessage()
        mail["From"], mail["To"] = self._sender, ", ".join(self._to)
        mail["Subject"] = " ".join(note.title.split())
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(note.text)
        try:
            await run_in_thread(lambda: self._send(mail), f"mail through {self._server[0]}")
        except (OSError, smtplib.SMTPException, ValueError) as error:
            told = f"the mail server {self._server[0]} did not take it ({type(error).__name__})"
            raise NoticeError(told) from None

    def _send(self, mail: EmailMessage) -> None:
        host, port = self._server
        if self._security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                host, port, timeout=self._seconds, context=ssl.create_default_context()
            )
        else:
            server = smtplib.SMTP(host, port, timeout=self._seconds)
        with server:
            if self._security == "starttls":
                server.starttls(context=ssl.create_default_context())
            user, password = self._login
            if user:
                server.login(user, password)
            server.send_message(mail)
