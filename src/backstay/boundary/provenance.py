"""Where a value came from: an index of the trusted texts of a session, matched by whole tokens.

An allow-list over trusted text, never "seen in untrusted text": encoding defeats the second. Source: SPEC B4, B11.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation

from backstay.core.context import Origin

_TOKEN = re.compile(r"[^\s,;:!?()\[\]{}<>\"'“”‘’，。；：！？、（）【】《》]+|[一-鿿]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class TrustedText:
    """Grows with every message that may be believed; a value is found if it stands there as a whole token."""

    __slots__ = ("_indexed", "_texts", "_tokens")

    def __init__(self) -> None:
        self._tokens: dict[str, tuple[str, tuple[int, int]]] = {}
        self._texts: list[tuple[str, str]] = []
        self._indexed = 0

    def add(self, message_id: str, text: str) -> None:
        """Take the words of a trusted message in; they are indexed when somebody first asks where a value came from."""
        self._texts.append((message_id, text))

    def _index(self, message_id: str, text: str) -> None:
        for found in (*_TOKEN.finditer(text), *_NUMBER.finditer(text)):
            token = found.group().rstrip(".")
            start = found.start()
            if found.re is _NUMBER and not _stands_alone(text, start, found.end()):
                continue
            self._tokens.setdefault(_key(token), (message_id, (start, start + len(token))))

    def origin(self, path: str, value: str, *, exact: bool) -> Origin:
        """Where the value stands. `exact` matches letter case as well, for identifiers."""
        for message_id, text in self._texts[self._indexed :]:
            self._index(message_id, text)
        self._indexed = len(self._texts)
        place = self._tokens.get(_key(value)) or self._phrase(value)
        if place is not None and exact and value not in self._at(place):
            place = None
        if place is None:
            return Origin(path=path, value=value, message_id=None, span=None, trusted=False)
        return Origin(path=path, value=value, message_id=place[0], span=place[1], trusted=True)

    def _phrase(self, value: str) -> tuple[str, tuple[int, int]] | None:
        if " " not in value.strip():
            return None
        for message_id, text in self._texts:
            start = text.find(value)
            if start >= 0 and _stands_alone(text, start, start + len(value)):
                return message_id, (start, start + len(value))
        return None

    def _at(self, place: tuple[str, tuple[int, int]]) -> str:
        return next(text[place[1][0] : place[1][1]] for message_id, text in self._texts if message_id == place[0])


def _stands_alone(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return (
        not _is_wordlike(before)
        and not _is_wordlike(after)
        and not (after == "." and text[end + 1 : end + 2].isalnum())
    )


def _is_wordlike(char: str) -> bool:
    return bool(char) and (char in "@_-/+" or (char.isascii() and char.isalnum()))


def _key(value: str) -> str:
    folded = unicodedata.normalize("NFKC", value).casefold()
    try:
        return str(Decimal(folded).normalize()) if folded[:1].isdigit() else folded
    except InvalidOperation:
        return folded
