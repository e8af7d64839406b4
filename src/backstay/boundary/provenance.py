"""Where a value came from: an index of the trusted texts of a session, matched by whole tokens.

An allow-list over trusted text, never "seen in untrusted text": encoding defeats the second. What a token is errs on
the side of the longer one, since the tail of an address or a part of a number is another address and another number.
Source: SPEC B4, B11.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from backstay.core.context import Origin
from backstay.core.patterns import Pattern

_CJK = (
    "\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_QUOTES = '<>"“”„«»「」『』《》〈〉【】（），、。；：！？…—'
_BLOB = Pattern(rf"(?:[^\s{_QUOTES}]|(?<=\d)[\u00a0\u202f\u2009](?=\d))+")
"""What holds together at first sight. A no-break space between digits groups a number."""
_CHUNK = Pattern(r"(?:[^,;()\[\]{}`|]|(?<=\d),(?!(?<=\d{4},)\d{4})(?=\d))+")
"""A comma between digits belongs to the number, unless four digits on both sides make it a list of identifiers."""
_SCHEME = Pattern(r"[A-Za-z][A-Za-z0-9+.-]{0,20}$")
_BEFORE_URL = Pattern(rf"(?:|.*[(\[{{'`*|,;{_CJK}]|[A-Za-z_]{{2,}}[:=])", re.DOTALL)
"""What may stand before a URL in one blob; after anything else, such as `x.com/?to=`, it is a part of something."""
_NOT_IN_NUMBER = r"(?!(?<=\d)(?:[十百千万亿]|点\d))(?!(?<=[十百千万亿点])\d)"
_SEAM = Pattern(rf"{_NOT_IN_NUMBER}(?:(?<=[^\W_])(?<![{_CJK}])(?=[{_CJK}])|(?<=[{_CJK}])(?=[^\W_])(?![{_CJK}]))")
"""Where Chinese, Japanese or Korean meets another script: it is written without spaces. Never at an `@`, `.` or `/`."""
_LOOSE_SEAM = Pattern(
    rf"{_SEAM.pattern}|(?<=[:%*'!?])(?=[{_CJK}])|(?<=[{_CJK}])(?=[#:=$€£¥￥*'])",
)
_LABEL = Pattern(r"[A-Za-z_]{2,}[:=](?=[^\W_][^:=/\\]*$)")
_LEADING, _TRAILING = "#$€£¥￥*'‘’!?:=", ".:!?'‘’*%$€£¥￥="
_AMOUNTS = Pattern(
    r"(?P<plain>(?:0|[1-9]\d*)(?:\.\d+)?)|(?P<grouped>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?)|(?P<comma>(?:0|[1-9]\d*),\d{1,2})",
    re.ASCII,
)
_THOUSANDS = Pattern(r"\d{1,3}\.\d{3}", re.ASCII)

Place: TypeAlias = tuple[str, tuple[int, int]]
"""Message and characters of its text, end excluded."""


class _Read(NamedTuple):
    """A text that has been indexed, with the characters where tokens begin and end."""

    message_id: str
    text: str
    starts: set[int]
    ends: set[int]


class TrustedText:
    """Grows with every message that may be believed; a value is found if it stands there as a whole token.

    A token is a word, a number, an identifier, a whole address, path or URL. Identifiers, paths and URLs are compared
    as they are written; other words without regard to letter case, and numbers by what they are worth (`120` is
    `120.00`, `13` is not `0013`). A text may be in full-width letters; a value only where the text has the same.
    """

    __slots__ = ("_exact", "_folded", "_read", "_unread")

    def __init__(self) -> None:
        self._exact: dict[str, Place] = {}
        self._folded: dict[str, Place] = {}
        self._read: list[_Read] = []
        self._unread: list[tuple[str, str]] = []

    def add(self, message_id: str, text: str) -> None:
        """Take the words of a trusted message in; they are indexed when somebody first asks where a value came from."""
        self._unread.append((message_id, text))

    def origin(self, path: str, value: str, *, exact: bool) -> Origin:
        """Where the value stands first. `exact` is for identifiers: letter case and leading zeros count."""
        if self._unread:
            self._index()
        exact = exact or not unicodedata.is_normalized("NFKC", value)
        place = self._exact.get(_url(value)) or (None if exact else self._by_worth(value))
        if place is None and value and _BLOB.fullmatch(value) is None:
            place = self._phrase(value, exact)
        message_id, span = place or (None, None)
        return Origin(path=path, value=value, message_id=message_id, span=span, trusted=place is not None)

    def _by_worth(self, value: str) -> Place | None:
        return self._folded.get(_folded(value)) or self._folded.get(_amount(value) or "")

    def _phrase(self, value: str, exact: bool) -> Place | None:
        """A value of several words, from the beginning of a token to the end of one."""
        words = value.split()
        plain = value == " ".join(words)
        pattern = r"\s+".join(map(re.escape, words)) if plain else re.escape(value)
        wanted = re.compile(f"(?=({pattern}))", re.NOFLAG if exact else re.IGNORECASE)
        for read in self._read:
            for found in wanted.finditer(read.text):
                start, end = found.span(1)
                if start in read.starts and end in read.ends and _is_same(found[1], value, exact):
                    return read.message_id, (start, end)
        return None

    def _index(self) -> None:
        for message_id, text in self._unread:
            read = _Read(message_id, text, set(), set())
            for start, end in _tokens(text):
                read.starts.add(start)
                read.ends.add(end)
                self._keep(text[start:end], (message_id, (start, end)))
            self._read.append(read)
        self._unread.clear()

    def _keep(self, token: str, place: Place) -> None:
        plain = unicodedata.normalize("NFKC", token)
        self._exact.setdefault(token, place)
        self._exact.setdefault(_url(plain), place)
        if "/" in plain or "\\" in plain:
            return
        self._folded.setdefault(_folded(plain), place)
        amount = _amount(plain)
        if amount is not None:
            self._folded.setdefault(amount, place)


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of every token, each with and without what merely surrounds it."""
    for blob in _BLOB.finditer(text):
        start, end = blob.span()
        colon = text.find("://", start, end)
        scheme = _SCHEME.search(text[max(start, colon - 21) : colon]) if colon > start else None
        if scheme is None:
            yield from _chunks(text, start, end)
            continue
        url = colon - len(scheme.group())
        if _BEFORE_URL.fullmatch(text, start, url):
            yield from _chunks(text, start, url)
            yield from _pieces(text, url, _end_of_url(text, url, end), _SEAM)
        else:
            yield start, end


def _chunks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for chunk in _CHUNK.finditer(text, start, end):
        for first, last in _pieces(text, *chunk.span(), _LOOSE_SEAM):
            yield from _undressed(text, first, last)


def _pieces(text: str, start: int, end: int, seam: Pattern) -> Iterator[tuple[int, int]]:
    """The whole, and what lies between the seams of two scripts."""
    yield start, end
    cuts = [cut.start() for cut in seam.finditer(text, start, end) if start < cut.start() < end]
    if cuts:
        yield from zip([start, *cuts], [*cuts, end], strict=True)


def _undressed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A token as it stands; without marks around it; without the label before it or an English 's after it."""
    yield start, end
    if text[start] == "@" and end - start > 1:
        yield start + 1, end
    bare = text[start:end].lstrip(_LEADING)
    start, bare = end - len(bare), bare.rstrip(_TRAILING)
    end = start + len(bare)
    if not bare:
        return
    yield start, end
    label = _LABEL.match(bare)
    if label is not None:
        yield start + label.end(), end
    if bare[:-2] and bare.endswith(("'s", "’s")):
        yield start, end - 2


def _end_of_url(text: str, start: int, end: int) -> int:
    """Where a URL ends in running text: before the sentence's own marks and a bracket that was opened outside."""
    while end > start:
        last = text[end - 1]
        opening = {")": "(", "]": "[", "}": "{"}.get(last)
        if opening is not None and text.count(opening, start, end) >= text.count(last, start, end):
            return end
        if opening is None and last not in ".,:;!?'‘’*`|":
            return end
        end -= 1
    return end


def _url(text: str) -> str:
    """A URL with scheme and host in lower case and a path, since `https://A.com` is `https://a.com/`."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    size = len(re.split(r"[/?#]", rest, maxsplit=1)[0])
    user, at, host = rest[:size].rpartition("@")
    return f"{scheme.lower()}://{user}{at}{host.lower()}{rest[size:] or '/'}"


def _folded(text: str) -> str:
    # Not casefold, which makes `faß.de` and `fass.de` one: two hosts of two owners.
    return text.lower()


def _amount(text: str) -> str | None:
    """What a number is worth, as a key; None for what is no number or may be read in two ways (`1.200`)."""
    found = _AMOUNTS.fullmatch(text) if len(text) <= 40 else None
    if found is None or _THOUSANDS.fullmatch(text):
        return None
    plain = text.replace(",", "." if found.lastgroup == "comma" else "")
    return f"\0{Decimal(plain).normalize():f}"


def _is_same(found: str, value: str, exact: bool) -> bool:
    """Whether two texts are equal but for spaces: letters that only a pattern takes for equal are not."""
    one, other = " ".join(found.split()), " ".join(value.split())
    return one == other if exact else _folded(one) == _folded(other)
