"""Planted canaries: in no encoding does one come through, and ordinary text stays as it is."""

from __future__ import annotations

import base64
import html
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.core import redaction
from backstay.core.redaction import redact, redact_json, register_secret

CANARY = 'c4n+ry/"qu\\o&te"=ü word'


@pytest.fixture(autouse=True)
def _only_mine() -> Iterator[None]:
    before = dict(redaction._registered)
    redaction._registered.clear()
    register_secret(CANARY)
    yield
    redaction._registered.clear()
    redaction._registered.update(before)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS: list[Any] = [
    CANARY,
    quote(CANARY, safe=""),
    quote(CANARY),
    quote_plus(CANARY),
    quote(CANARY, safe="").lower().replace("c4n", "c4n"),
    urlencode({"key": CANARY}),
    json.dumps({"key": CANARY}),
    json.dumps({"key": CANARY}, ensure_ascii=False),
    repr({"key": CANARY}),
    html.escape(CANARY),
    CANARY.encode().hex(),
    CANARY.encode().hex().upper(),
    b64(CANARY),
    base64.urlsafe_b64encode(CANARY.encode()).decode(),
    *(f"Basic {b64('u' * n + ':' + CANARY + 'x' * m)}" for n in range(4) for m in range(3)),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_canary_comes_through_in_no_encoding(form: str) -> None:
    text = redact(f"before {form} after")
    assert "[redacted:" in text
    assert text.startswith("before ")
    assert text.endswith(" after")
    for left in ("c4n", "qu\\o", "word", b64(CANARY)[4:-6], CANARY.encode().hex()[4:-4]):
        assert left not in text


@given(st.binary(min_size=6, max_size=40), st.binary(max_size=9), st.binary(max_size=9))
def test_base64_is_found_wherever_it_stands(secret: bytes, before: bytes, after: bytes) -> None:
    whole = base64.b64encode(before + secret + after).decode()
    core, _ = redaction._base64(secret, len(before) % 3)
    assert core in whole
    assert len(core) >= len(secret) * 4 // 3 - 2


def test_equal_secrets_leave_equal_marks_and_others_other_ones() -> None:
    register_secret("another-canary")
    one, two, other = redact(CANARY), redact(json.dumps(CANARY)[1:-1]), redact("another-canary")
    assert one == two != other
    assert redact(one) == one


def test_a_secret_inside_another_leaves_nothing_of_either() -> None:
    register_secret("abcdef")
    register_secret("abcdefghijkl")
    assert "ghijkl" not in redact("x abcdefghijkl y")


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="6"):
        register_secret("12345")


@pytest.mark.parametrize(
    "shape",
    [
        "sk-proj-abcdefghijklmnop1234", "sk_live_abcdefghij1234567890", "ghp_" + "a" * 36, "github_pat_" + "a" * 30,
        "glpat-abcdefghij1234567890", "AKIAABCDEFGHIJKLMNOP", "ASIAABCDEFGHIJKLMNOP", "xoxb-123456789012-abcdef",
        "AIza" + "a" * 35, "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "hf_" + "a" * 30, "Bearer abc/def+ghi=jklmnop~qrs",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE",
    ],
)  # fmt: skip
def test_the_shape_of_a_credential_is_enough(shape: str) -> None:
    assert shape not in redact(f"key: {shape} ")
    assert "[redacted:" in redact(f"({shape})")


def test_a_password_in_a_url_goes_and_the_host_stays() -> None:
    assert "hunter2" not in (text := redact("could not connect to postgresql://ann:hunter2@db.example:5432/orders"))
    assert "@db.example:5432/orders" in text


@pytest.mark.parametrize(
    "text",
    [
        "risk-assessment-of-the-second-quarter", "task-force-recommendations-2024", "https://example.com:8080/a:b@c",
        "the bearer of this letter", "mailto:ann@example.com", "a secret is a secret", "order 1001 costs 120.00 EUR",
    ],
)  # fmt: skip
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "key",
    [
        "password", "userPassword", "api_key", "apiKey", "x-api-key", "accessToken", "client_secret", "Authorization",
        "set-cookie", "privateKey", "aws_secret_access_key", "passphrase", "db.pwd", "credentials",
    ],
)  # fmt: skip
def test_a_field_named_like_a_credential_is_replaced_whole(key: str) -> None:
    for value in ("x", ["x", "y"], {"a": "x"}, 12345678 if "oken" not in key else "x"):
        redacted: Any = redact_json({"outer": [{key: value}]})
        assert str(redacted["outer"][0][key]).startswith("[redacted:")
    assert redact_json({key: None}) == {key: None}


def test_counts_and_ordinary_fields_stay() -> None:
    value = {"max_tokens": 4096, "input_tokens": 3.5, "has_secret": True, "keyboard": "x", "rows": [1, None, "a"]}
    assert redact_json(value) == value


def test_a_canary_in_a_key_goes_too() -> None:
    assert CANARY not in json.dumps(redact_json({CANARY: [CANARY, {"a": CANARY}]}), ensure_ascii=False)


@pytest.mark.parametrize(
    "text",
    [
        "eyJ" * 30_000,
        "eyJaaaaaaaa." * 9_000,
        "-----BEGIN " + "A " * 40_000,
        "bearer " * 15_000,
        "://" * 30_000,
        "://a:" * 20_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    redact(text)
    assert time.process_time() - began < 0.5
