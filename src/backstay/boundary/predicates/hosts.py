"""Hosts: of a URL, a mail address or by itself; equal to a listed one or a subdomain of it.

A host that may be read in two ways (userinfo, an odd port, look-alike letters, a number that is an address) is a doubt,
so that neither a list of what is allowed nor one of what is refused can be talked around.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address
from unicodedata import category, name, normalize

from backstay.boundary.predicates.language import (
    MAX_VALUE,
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    doubt,
    each,
    keys,
    left_out,
    listed,
    shown,
)
from backstay.core.patterns import Pattern

_PORTS: Mapping[str, str] = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
"""The schemes that are read, with the one port each may name."""
_LABEL = Pattern(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_MAIL = Pattern(r"[a-z0-9.!#$&'*+=?^_`{|}~-]+")
_STRUCTURE = "/?#@:\\%[]"
_LATIN_LOOKS = frozenset("асԁеһіјӏорԛѕԝхуүʏвмнтгкпвɑοαερνικυτωχϲϳ")
"""Letters of other scripts that are drawn like Latin ones."""
_DEVIATING = frozenset("ßς\u200c\u200d")
"""Letters that two versions of the standard for host names take for different ones."""


class HostDoubt(ValueError):
    """A text whose host cannot be told for sure; the message is the reason."""


@lru_cache(maxsize=512)
def host_of(text: str) -> str:
    """The host of a URL, of a mail address or of a bare host: lower case, labels in ASCII, no dot at the end.

    Raises:
        HostDoubt: with the reason, for what may be read in more than one way.
    """
    if not text or len(text) > MAX_VALUE:
        raise HostDoubt("it is empty" if not text else "it is too long")
    if "\\" in text or any(char.isspace() or category(char)[0] == "C" for char in text):
        raise HostDoubt("it holds a blank, a backslash or an invisible character")
    folded = normalize("NFKC", text).lower()
    if any(folded.count(mark) != text.count(mark) for mark in _STRUCTURE):
        raise HostDoubt("it holds a character that looks like one of an address")
    return _host(_bare(folded))


def _bare(text: str) -> str:
    scheme, is_url, rest = text.partition("://")
    if is_url:
        return _of_url(scheme, rest)
    text = text.removeprefix("mailto:")
    local, is_mail, host = text.rpartition("@")
    if is_mail and not _MAIL.fullmatch(local):
        raise HostDoubt("what stands before the '@' is no plain mail address")
    if any(mark in host for mark in _STRUCTURE):
        raise HostDoubt("it is neither a URL with its scheme, nor a mail address, nor a host")
    return host


def _of_url(scheme: str, rest: str) -> str:
    if scheme not in _PORTS:
        raise HostDoubt(f"the scheme {shown(scheme)!r} is not known")
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    if "@" in rest:
        raise HostDoubt("it names a user before the host")
    host, has_port, port = rest.partition(":")
    if has_port and port != _PORTS[scheme]:
        raise HostDoubt("it names an odd port")
    return host


def _host(host: str) -> str:
    labels = host.removesuffix(".").split(".")
    if _is_number(labels[-1]):
        return _address(host)
    plain = [_label(one) for one in labels]
    if len(".".join(plain)) > 253:
        raise HostDoubt("it is too long")
    return ".".join(plain)


def _is_number(label: str) -> bool:
    return label.isdigit() or label.startswith("0x")


def _address(host: str) -> str:
    try:
        address = IPv4Address(host)
    except AddressValueError:
        raise HostDoubt("it is a number that may be read as an address") from None
    return str(address)


def _label(label: str) -> str:
    text = label
    if label.startswith("xn--"):
        try:
            text = label[4:].encode("ascii").decode("punycode")
        except UnicodeError:
            raise HostDoubt("it holds a name that cannot be decoded") from None
        if normalize("NFKC", text).lower() != text or text.isascii():
            raise HostDoubt("it holds a name that is written in an odd way")
    if not text.isascii():
        _unmistakable(text)
        return f"xn--{text.encode('punycode').decode('ascii')}"
    if not _LABEL.fullmatch(text):
        raise HostDoubt(f"{shown(label)!r} is no part of a host")
    return text


def _unmistakable(label: str) -> None:
    """Refuse a name in which a letter may be taken for another one."""
    if any(char in _DEVIATING for char in label):
        raise HostDoubt("it holds a letter that is read in two ways")
    if not all(char.isalnum() or char == "-" or category(char)[0] == "M" for char in label):
        raise HostDoubt(f"{shown(label)!r} is no part of a host")
    letters = [char for char in label if char.isalpha()]
    scripts = {name(char, "?").partition(" ")[0] for char in letters} - {"CJK", "HIRAGANA", "KATAKANA", "HANGUL"}
    if len(scripts) > 1 or (letters and all(char in _LATIN_LOOKS for char in letters)):
        raise HostDoubt("it holds letters that look like others")


def _ready(check: Check) -> Test:
    text = _text(check)
    hosts = tuple(host_of(one) for one in check["in"])
    names = tuple(f".{one}" for one in hosts if not one.rpartition(".")[2].isdigit())

    def judge(one: Bound, _scene: Scene) -> Breach | None:
        if not isinstance(one.value, str):
            return doubt(one, f"{text}; the value is no host")
        try:
            host = host_of(one.value)
        except HostDoubt as reason:
            return doubt(one, f"{text}; the host is not clear: {reason}")
        if host in hosts or (names and host.endswith(names)):
            return None
        if names and host.rpartition(".")[2].isdigit():
            return doubt(one, f"{text}; whose the address is cannot be told")
        return Breach(one.path, shown(one.value), text)

    return each(check, text, judge)


def _is_host(text: object) -> bool:
    try:
        return "@" not in str(text) and "/" not in str(text) and bool(host_of(str(text)))
    except HostDoubt:
        return False


def _problems(check: Check, _depth: int) -> list[str]:
    return keys(check, {"in"}) + listed(check, "in", _is_host, "host")


def _text(check: Check) -> str:
    return f"only at {', '.join(map(shown, check['in']))}"


HOSTS: Mapping[str, Op] = {"host": Op(_ready, left_out, _problems, _text)}
