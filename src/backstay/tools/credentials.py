"""Credentials by handle: a tool names where its key is, gets it at the call, and nothing keeps it.

`env:NAME`, `file:PATH`, or a function of the principal. Read anew at every call, so a key is rotated without a restart.
Whatever was read is registered, and redacted everywhere from then on. Source: SPEC B20.
"""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from backstay.core.context import Principal, RunContext
from backstay.core.errors import SetupError, ToolError
from backstay.core.logs import logger
from backstay.core.redaction import register_secret

_log = logger("backstay.tools")
Found: TypeAlias = "str | Credential | None"
Source: TypeAlias = Callable[[Principal], "Found | Awaitable[Found]"]
MAX_BYTES = 64 * 1024
"""A file that is larger is no credential."""
_READABLE = stat.S_IROTH | stat.S_IWOTH


class Credential:
    """Where a credential is. It holds no value: nothing of it can be printed, copied or stored.

    Ask for it before the tool does anything: where it is missing, the call says that nothing has happened.

    Args:
        handle: `env:NAME`; `file:PATH` (the trailing line end is no part of it); or a function of the principal that
            returns the value, another `Credential`, or None where there is none; it may be async.
        shared: let a file be read that every user of the machine may read too, such as a secret mounted in a container.

    Raises:
        SetupError: code `credential.handle`, for a handle of another kind.
    """

    __slots__ = ("_handle", "_shared")

    def __init__(self, handle: str | Source, *, shared: bool = False) -> None:
        if not callable(handle):
            kind, colon, name = handle.partition(":") if isinstance(handle, str) else ("", "", "")
            if kind not in _READERS or not colon or not name.strip():
                raise SetupError(
                    # What was given may be the credential itself, so it is not repeated.
                    "a credential is named by env:NAME, file:PATH or a function of the principal, never given itself",
                    code="credential.handle",
                )
        self._handle = handle
        self._shared = shared
        self._learn()

    def __repr__(self) -> str:
        return f"<credential {self.handle}>"

    @property
    def handle(self) -> str:
        """Where it is, in words: `env:NAME`, `file:PATH`, `function NAME`."""
        if isinstance(self._handle, str):
            return self._handle
        return f"function {getattr(self._handle, '__qualname__', type(self._handle).__qualname__)}"

    async def get(self, ctx: RunContext[Any]) -> str:
        """Read it now, for the principal of this run.

        Raises:
            ToolError: `credential.missing`, `credential.readable` or `credential.unusable`; names the handle, never the
                value. `applied` is False.
        """
        found = self._find(ctx.principal)
        if inspect.isawaitable(found):
            try:
                found = await found
            except Exception as error:
                raise self._failed(error) from None
        if isinstance(found, Credential):
            return await found.get(ctx)
        return self._checked(found)

    def read(self, ctx: RunContext[Any]) -> str:
        """The same for a tool that is an ordinary function; a function of the handle must not be async then."""
        found = self._find(ctx.principal)
        if inspect.isawaitable(found):
            if inspect.iscoroutine(found):
                found.close()
            raise self._error("is async; use `await credential.get(ctx)` in an async tool", "credential.unusable")
        return found.read(ctx) if isinstance(found, Credential) else self._checked(found)

    def _find(self, principal: Principal) -> Any:
        if isinstance(self._handle, str):
            kind, _, name = self._handle.partition(":")
            return _READERS[kind](self, name)
        try:
            return self._handle(principal)
        except Exception as error:
            raise self._failed(error) from None

    def _environment(self, name: str) -> str | None:
        return os.environ.get(name)

    def _file(self, name: str) -> str | None:
        path = Path(name).expanduser()
        try:
            with path.open("rb") as file:
                kept = os.fstat(file.fileno())
                if not stat.S_ISREG(kept.st_mode):
                    raise self._error("is no file", "credential.unusable")
                if kept.st_mode & _READABLE and not self._shared:
                    raise self._error(
                        "may be read or written by every user of this machine: chmod 600 it, or say shared=True",
                        "credential.readable",
                    )
                data = file.read(MAX_BYTES + 1)
        except OSError:
            return None
        if len(data) > MAX_BYTES:
            raise self._error(f"has more than {MAX_BYTES:,} bytes", "credential.unusable")
        try:
            return data.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise self._error("is no UTF-8 text", "credential.unusable") from None

    def _checked(self, value: object) -> str:
        if not value:
            raise self._error("is not there or empty", "credential.missing")
        if not isinstance(value, str):
            raise self._error(f"gave {type(value).__name__}, expected a text", "credential.unusable")
        try:
            register_secret(value)
        except ValueError:
            raise self._error("is too short to be kept out of ordinary text", "credential.unusable") from None
        return value

    def _learn(self) -> None:
        """Register what is there already, so that nothing said before the first use is kept either."""
        if isinstance(self._handle, str):
            try:
                self._checked(self._find(_NOBODY))
            except ToolError as error:  # the call that needs it will say so
                _log.debug("%s", error.message)

    def _failed(self, error: Exception) -> ToolError:
        """What a function raises may hold what it was looking for, so only its type is told."""
        if isinstance(error, ToolError) and error.code.startswith("credential."):
            return error
        return self._error(f"raised {type(error).__name__}", "credential.missing")

    def _error(self, told: str, code: str) -> ToolError:
        return ToolError(f"the credential {self.handle} {told}", code=code, applied=False)


_NOBODY = Principal(id="")
_READERS: dict[str, Callable[[Credential, str], str | None]] = {
    "env": Credential._environment,
    "file": Credential._file,
}
