"""What a server says when it cannot answer → `ModelError`: what went wrong, and whether asking again may help.

Source: SPEC L5; notes embedded-model 2 (`exceed_context_size_error`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from backstay.core.errors import ModelError
from backstay.core.messages import Json
from backstay.core.redaction import redact

_AGAIN = frozenset({408, 409, 429})
_MAX_SAID = 300
"""Characters that are quoted of what the server says: it may repeat the request."""
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context (?:length|window|size)|maximum context|prompt is too long"
    r"|too many (?:input )?tokens",
    re.IGNORECASE,
)
_AUTH = re.compile(r"invalid_api_key|authentication_error|permission_denied|incorrect api key", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|insufficient_balance|billing_hard_limit", re.IGNORECASE)
_REFUSED = re.compile(r"invalid_request|not_found|unsupported|content_policy", re.IGNORECASE)


def error_from(
    status: int, body: Json, *, retry_after: str | None = None, now: float = 0.0, model: str = "the model"
) -> ModelError:
    """Read the answer to a request that was refused.

    Args:
        status: of HTTP.
        body: its JSON, or its text where it was none.
        retry_after: the header of that name, seconds or a date.
        now: seconds since 1970, to which a date is compared.
        model: whom to name in the message.
    """
    said, kind = _said(body), _kind(body)
    if status in (401, 403):
        return _auth_error(model, f"HTTP {status}")
    if status in (400, 413, 422) and _TOO_LONG.search(f"{kind} {said}"):
        return _too_long(model, said)
    if status == 402 or (status == 429 and _QUOTA.search(kind)):
        return ModelError(f"{model}: no credit is left (HTTP {status}): {said}", retryable=False, code="model.quota")
    return ModelError(
        f"{model} answered HTTP {status}: {said}",
        retryable=status in _AGAIN or status >= 500,
        retry_after=_seconds(retry_after, now),
    )


def error_in_reply(body: Json, *, model: str = "the model") -> ModelError:
    """Read an error object that came where a reply was expected: in the stream, or under HTTP 200.

    A server that began to answer has taken the request, so what is not known to be the request's fault is retryable.
    """
    error = _error(body)
    given = error.get("code", error.get("status")) if isinstance(error, Mapping) else None
    status = _number(given)
    if status is not None and 400 <= status <= 599:
        return error_from(status, body, model=model)
    said, kind = _said(body), _kind(body)
    if _TOO_LONG.search(f"{kind} {said}"):
        return _too_long(model, said)
    if _AUTH.search(kind):
        return _auth_error(model, kind)
    if _QUOTA.search(kind):
        return ModelError(f"{model}: no credit is left: {said}", retryable=False, code="model.quota")
    return ModelError(f"{model} broke off with an error: {said}", retryable=not _REFUSED.search(kind))


def _auth_error(model: str, why: str) -> ModelError:
    """The server's words are left out: they tend to repeat the key."""
    return ModelError(f"{model} does not accept the key ({why}); set another", retryable=False, code="model.auth")


def _too_long(model: str, said: str) -> ModelError:
    return ModelError(f"the request is too long for {model}: {said}", retryable=False, code="model.too_long")


def _error(body: Json) -> Json:
    if isinstance(body, Mapping):
        return body.get("error") or body.get("detail") or body
    return body


def _said(body: Json) -> str:
    error = _error(body)
    if isinstance(error, Mapping):
        error = next((error[key] for key in ("message", "detail", "error", "msg") if error.get(key)), "")
    text = redact(" ".join(str(error or "").split()))
    return (text[:_MAX_SAID] + "…" if len(text) > _MAX_SAID else text) or "without a reason"


def _kind(body: Json) -> str:
    error = _error(body)
    found = [error.get("type"), error.get("code")] if isinstance(error, Mapping) else []
    return " ".join(redact(one)[:80] for one in found if isinstance(one, str))


def _number(given: Json) -> int | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    return int(given) if isinstance(given, str) and re.fullmatch(r"[0-9]{3}", given) else None


def _seconds(header: str | None, now: float) -> float | None:
    """Seconds to wait, from a number or an HTTP date; None where it is neither."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return float(text)
    try:
        when = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0.0, when.timestamp() - now)
