"""Redaction: registered credentials and what looks like one, out of every row, log and error before it is stored.

Equal secrets leave equal marks within a process, so that two rows can still be compared. Source: SPEC B20, O2.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from urllib.parse import quote

from backstay.core.messages import Json

_KEY = secrets.token_bytes(16)
_NAMES = re.compile(
    r"(?i)(?:^|[_\-.])(?:password|passwd|secret|token|api[_-]?key|authorization|cookie|credential|private[_-]?key)s?$"
)
_SHAPES = re.compile(
    r"sk-[A-Za-z0-9_\-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|AKIA[0-9A-Z]{16}"
    r"|xox[abprs]-[A-Za-z0-9\-]{10,}|AIza[0-9A-Za-z_\-]{35}|eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|(?i:bearer)\s+[A-Za-z0-9._\-]{16,}"
)

_registered: dict[str, str] = {}


def register_secret(value: str) -> None:
    """Make a credential known: it and its base64, URL and JSON forms are redacted from now on. Under 6 characters: refused.

    Raises:
        ValueError: for a value so short that it would stand in ordinary text.
    """
    if len(value) < 6:
        raise ValueError("a registered secret has at least 6 characters")
    mark = _mark(value)
    encoded = base64.b64encode(value.encode()).decode().rstrip("=")
    for form in {value, encoded, quote(value, safe=""), value.replace("\\", "\\\\").replace('"', '\\"')}:
        _registered[form] = mark


def redact(text: str) -> str:
    """Return the text without registered secrets and without what has the shape of one."""
    for form, mark in _registered.items():
        if form in text:
            text = text.replace(form, mark)
    return _SHAPES.sub(lambda found: _mark(found.group()), text)


def redact_json(value: Json) -> Json:
    """Return a JSON value with every text redacted, and every field named like a credential replaced whole."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {
            key: _mark(str(item)) if item is not None and _NAMES.search(key) else redact_json(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_json(item) for item in value]
    return value


def _mark(secret: str) -> str:
    return f"[redacted:{hmac.new(_KEY, secret.encode('utf-8', 'surrogatepass'), hashlib.sha256).hexdigest()[:8]}]"
