"""`Deferred`: what a tool returns whose result comes later, from somebody else. Source: SPEC T15."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from backstay.core.errors import ToolError


@dataclass(frozen=True, slots=True)
class Deferred:
    """The call was handed to another system, which will say under this token what came of it.

    The body gives the other side the token and `ctx.host.sign(token)`; both come back with the result, through
    `agent.deliver`.
    """

    token: str
    """Names the call; new for every one, such as the other side's job number."""
    expires: float
    """Seconds since 1970 by `ctx.clock` at which nobody waits any more."""

    def __post_init__(self) -> None:
        if not isinstance(self.token, str) or not self.token:
            raise ToolError("Deferred needs a token: a text that names the call", code="deferred.token")


def deferred_id(token: str) -> str:
    """Id of the row that waits for a token."""
    return f"d-{sha256(token.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
