"""Redaction: registered credentials and what looks like one, out of every row, log and error before it is stored.

Equal secrets leave equal marks within a process, so that two rows can still be compared. Source: SPEC B20, O2.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from html import escape
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from backstay.core.messages import Json

_KEY = secrets.token_bytes(16)
_NAMES = (
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|authorization"
    r"|cookie|credential)s?$"
)
_COUNTS = r"(?i)tokens?$"
_SHAPES = (
    r"(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_\-]{16,}|[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_\-]{16,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abeprs]-[A-Za-z0-9\-]{10,}|xapp-[A-Za-z0-9\-]{10,}|AIza[0-9A-Za-z_\-]{35}"
    r"|ya29\.[A-Za-z0-9_\-]{16,}|eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+"
    r"|(?i:bearer)\s+[A-Za-z0-9._~+/=\-]{16,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|(?<=://)[^\s/:@]{0,256}:[^\s/@]{1,256}(?=@)"
)
"""Shapes of credentials. Each begins at a border: `risk-assessment-of-x` holds none, and no text takes long to scan."""

_registered: dict[str, str] = {}
"""Form → mark, longest form first: one secret may stand inside another. Replaced, never changed: threads read it."""
_MIN_CHARS = 6
_MANY = 1_000
"""Forms from which on a text is not searched for each of them, but for how any of them begins."""
_heads: dict[str, list[str]] = {}
"""The first characters of forms → the forms; only used where there are many."""


def register_secret(value: str) -> None:
    """Make a credential known: as it is, and as base64, hexadecimal, URL and JSON text, it is redacted from now on.

    Args:
        value: the credential. In base64 it is found inside a longer text too, such as `user:secret`.

    Raises:
        ValueError: for a value under 6 characters, which would stand in ordinary text.
    """
    global _registered, _heads
    if len(value) < _MIN_CHARS:
        raise ValueError(f"a registered secret has at least {_MIN_CHARS} characters")
    if value in _registered:
        return
    known = _registered | dict.fromkeys(_forms(value), _mark(value))
    _registered = dict(sorted(known.items(), key=lambda item: -len(item[0])))
    _heads = _by_head(_registered) if len(_registered) > _MANY else {}


def _by_head(forms: Iterable[str]) -> dict[str, list[str]]:
    heads: dict[str, list[str]] = {}
    for form in forms:
        heads.setdefault(form[:_MIN_CHARS], []).append(form)
    return heads


def has_secrets() -> bool:
    """Whether any credential is registered: if not, there is nothing to look for."""
    return bool(_registered)


def hide(text: str) -> str:
    """Return the text without registered secrets; what only looks like a secret stays.

    For what programs work with: the words of users and models, and what tools return.
    """
    known = _registered
    for form in known if len(known) <= _MANY else _candidates(text):
        if form in text:
            text = text.replace(form, known[form])
    return text


def _candidates(text: str) -> list[str]:
    """The forms that begin like some place of the text, longest first."""
    heads = _heads
    starts = {text[at : at + _MIN_CHARS] for at in range(len(text) - _MIN_CHARS + 1)}
    return sorted((form for start in starts & heads.keys() for form in heads[start]), key=lambda form: -len(form))


def _forms(value: str) -> set[str]:
    raw = value.encode("utf-8", "surrogatepass")
    quoted = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    written = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1], escape(value)}
    lower = {re.sub("%..", lambda found: found.group().lower(), one) for one in quoted}
    hexed = {raw.hex(), raw.hex().upper()}
    return {value} | quoted | lower | written | hexed | {one for shift in range(3) for one in _base64(raw, shift)}


def _base64(raw: bytes, shift: int) -> tuple[str, str]:
    """The characters of base64 that the bytes alone decide when `shift` other bytes stand before them."""
    whole = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
    own = whole[(0, 2, 3)[shift] : len(whole) - (1 if (shift + len(raw)) % 3 else 0)]
    return own, own.translate(str.maketrans("+/", "-_"))


def redact(text: str) -> str:
    """Return the text without registered secrets and without what has the shape of one."""
    return re.sub(_SHAPES, lambda found: _mark(found.group()), hide(text))


def redact_json(value: Json) -> Json:
    """Return a JSON value with every text and key redacted, and fields named like a credential replaced whole.

    Counts of tokens stay: `max_tokens: 4096` is no credential.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key): _field(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(item) for item in value]
    return value


def _field(key: str, item: Json) -> Json:
    if item is None or isinstance(item, bool) or not re.search(_NAMES, key):
        return redact_json(item)
    if isinstance(item, int | float) and re.search(_COUNTS, key):
        return item
    return _mark(str(item))


def _mark(secret: str) -> str:
    return f"[redacted:{hmac.new(_KEY, secret.encode('utf-8', 'surrogatepass'), hashlib.sha256).hexdigest()[:8]}]"


def held_back(text: str) -> int:
    """How many characters at the end of a text may be the beginning of a registered secret that goes on."""
    begins = _beginnings()
    for at in range(max(0, len(text) - begins.longest), len(text)):
        if text[at] in begins.first and text[at:] in begins.all:
            return len(text) - at
    return 0


class _Beginnings(NamedTuple):
    forms: dict[str, str]
    """What it was made of."""
    first: frozenset[str]
    all: frozenset[str]
    longest: int


_begun = _Beginnings({}, frozenset(), frozenset(), 0)


def _beginnings() -> _Beginnings:
    """Every proper beginning of a form; made when a text is streamed after another secret was registered."""
    global _begun
    if _begun.forms is not _registered:
        known = _registered
        begins = frozenset(form[:end] for form in known for end in range(1, len(form)))
        _begun = _Beginnings(known, frozenset(form[0] for form in known), begins, max(map(len, known), default=1) - 1)
    return _begun
