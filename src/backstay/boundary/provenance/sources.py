"""`TrustedText`: the texts of a session that may be believed, as an index; a value is found only as a whole token.

An allow-list over trusted text, never "seen in untrusted text": encoding defeats the second. What the model itself has
put into arguments is not learnt from a tool that repeats it, or one look-up would launder any address.
Source: SPEC B4, B11.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from backstay.boundary.provenance.tokens import BLOB, amount_key, folded, is_same, tokens, url_key
from backstay.core.context import Origin
from backstay.core.messages import Json, Label
from backstay.core.patterns import Pattern

SHORT = 3
"""Numbers of up to so many digits stand in a text by accident (`13 May`), so the text has to say what they name."""
_BEFORE, _AFTER = 32, 8
_MARKED = Pattern(r"(?:#|№|号|編號|编号|\b(?:no|nr|id|number)s?\b\.?)\s*:?\s*$", re.IGNORECASE)
_NOT_AN_ID = Pattern(
    r"\s*(?::\d|[ap]\.?m\b|[日月年点时分天号楼%]|EUR\b|USD\b|GBP\b|€|\$|£|元|percent\b|days?\b)", re.IGNORECASE
)
_SENTENCE = Pattern(r"[.!?。！？\n]\s")

Span: TypeAlias = "tuple[int, int]"


class Place(NamedTuple):
    """Where a token stands: message, characters of its text (end excluded; None in a result), and whose word it is."""

    message_id: str
    span: Span | None
    source: str


class _Read(NamedTuple):
    """A text that has been indexed, with the characters where tokens begin and end."""

    message_id: str
    text: str
    source: str
    starts: set[int]
    ends: set[int]


class _Unread(NamedTuple):
    """A text, a result or the model's arguments that nobody has asked about yet."""

    message_id: str
    content: Json
    source: str


class _Short(NamedTuple):
    """A short token with the words around it."""

    place: Place
    before: str
    after: str


class TrustedText:
    """Grows with everything that may be believed; a value is found if it stands there as a whole token.

    A token is a word, a number, an identifier, a whole address, path or URL. Identifiers, paths and URLs are compared
    as they are written; other words without regard to letter case, and numbers by what they are worth (`120` is
    `120.00`, `13` is not `0013`). A text may be in full-width letters; a value only where the text has the same.
    """

    __slots__ = ("_claimed", "_exact", "_folded", "_read", "_short", "_unread")

    def __init__(self) -> None:
        self._exact: dict[str, Place] = {}
        self._folded: dict[str, Place] = {}
        self._short: dict[str, list[_Short]] = {}
        self._read: list[_Read] = []
        self._unread: list[_Unread] = []
        self._claimed: set[str] = set()
        """Tokens that the model has put into arguments before anybody trusted had said them."""

    def add(self, message_id: str, text: str, source: str = "user") -> None:
        """Take the words of a trusted message in; they are indexed when somebody first asks where a value came from."""
        self._unread.append(_Unread(message_id, text, source))

    def learn(self, message_id: str, data: Json, source: str) -> None:
        """Take a trusted result in, but for the words that the model has put into arguments itself."""
        if data is not None and data != "":
            self._unread.append(_Unread(message_id, {"": data}, source))

    def claim(self, args: Json) -> None:
        """Note what the model puts into arguments."""
        if args:
            self._unread.append(_Unread("", args, "model"))

    def origin(self, path: str, value: str, *, exact: bool, kind: str = "") -> Origin:
        """Where the value stands first.

        Args:
            path: the argument.
            value: its value as text.
            exact: for identifiers: letter case and leading zeros count.
            kind: what kind of thing the identifier names, such as `order`; a short one counts only where the text
                says that kind, or marks it as a number of something.
        """
        if self._unread:
            self._index()
        exact = exact or not unicodedata.is_normalized("NFKC", value)
        if kind and len(value) <= SHORT and value.isdigit():
            place = self._short_id(value, kind)
        else:
            place = self._exact.get(url_key(value)) or (None if exact else self._by_worth(value))
        if place is None and value and BLOB.fullmatch(value) is None:
            place = self._phrase(value, exact)
        message_id, span, source = place or (None, None, "")
        return Origin(
            path=path, value=value, message_id=message_id, span=span, trusted=place is not None, source=source
        )

    def _by_worth(self, value: str) -> Place | None:
        return self._folded.get(folded(value)) or self._folded.get(amount_key(value) or "")

    def _short_id(self, value: str, kind: str) -> Place | None:
        return next((one.place for one in self._short.get(value, ()) if _names(kind, one)), None)

    def _phrase(self, value: str, exact: bool) -> Place | None:
        """A value of several words, from the beginning of a token to the end of one."""
        words = value.split()
        plain = value == " ".join(words)
        pattern = r"\s+".join(map(re.escape, words)) if plain else re.escape(value)
        wanted = re.compile(f"(?=({pattern}))", re.NOFLAG if exact else re.IGNORECASE)
        for read in self._read:
            for found in wanted.finditer(read.text):
                start, end = found.span(1)
                if start in read.starts and end in read.ends and is_same(found[1], value, exact):
                    return Place(read.message_id, (start, end), read.source)
        return None

    def _index(self) -> None:
        unread, self._unread = self._unread, []
        for message_id, content, source in unread:
            if source == "model":
                self._note_claims(content)
            elif isinstance(content, str):
                self._read_text(message_id, content, source)
            else:
                for path, text in texts_in(content):
                    self._learn(message_id, path, text, source)

    def _read_text(self, message_id: str, text: str, source: str) -> None:
        read = _Read(message_id, text, source, set(), set())
        for start, end in tokens(text):
            read.starts.add(start)
            read.ends.add(end)
            place = Place(message_id, (start, end), source)
            self._keep(text[start:end], place, text[max(0, start - _BEFORE) : start], text[end : end + _AFTER])
        self._read.append(read)

    def _learn(self, message_id: str, path: str, text: str, source: str) -> None:
        place, before = Place(message_id, None, source), f"{source} {path} "
        words = {text[start:end] for start, end in tokens(text)}
        claimed = {word for word in words if self._is_claimed(word)}
        for word in words - claimed:
            self._keep(word, place, before, "")
        if text and not claimed and text not in words:
            self._keep(text, place, before, "")

    def _note_claims(self, args: Json) -> None:
        for _, text in texts_in(args):
            for word in {text, *(text[start:end] for start, end in tokens(text))}:
                plain = unicodedata.normalize("NFKC", word)
                if url_key(word) not in self._exact and self._by_worth(plain) is None:
                    self._claimed.update((url_key(plain), folded(plain), amount_key(plain) or folded(plain)))

    def _is_claimed(self, word: str) -> bool:
        plain = unicodedata.normalize("NFKC", word)
        keys = (url_key(plain), folded(plain), amount_key(plain) or folded(plain))
        return any(key in self._claimed for key in keys)

    def _keep(self, token: str, place: Place, before: str, after: str) -> None:
        plain = unicodedata.normalize("NFKC", token)
        if len(plain) <= SHORT and plain.isdigit():
            self._short.setdefault(plain, []).append(_Short(place, before, after))
        self._exact.setdefault(token, place)
        self._exact.setdefault(url_key(plain), place)
        if "/" in plain or "\\" in plain:
            return
        self._folded.setdefault(folded(plain), place)
        amount = amount_key(plain)
        if amount is not None:
            self._folded.setdefault(amount, place)


def _names(kind: str, short: _Short) -> bool:
    """Whether the words around a short token say that it is an identifier of this kind."""
    if not short.before.strip() and not short.after.strip(" .!?。！？"):  # the whole message answers "which one?"
        return True
    before = _SENTENCE.split(short.before)[-1].lower()
    if _NOT_AN_ID.match(short.after) and not _MARKED.search(before):
        return False
    return bool(_MARKED.search(before)) or kind.lower() in before or not before[-1:].isascii()


def texts_in(value: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text and number inside a JSON value, with its dotted path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts_in(item, f"{path}.{key}" if path else key)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            yield from texts_in(item, f"{path}.{index}" if path else str(index))
    elif value is not None and not isinstance(value, bool):
        yield path, str(value)


def without(data: Json, paths: Iterable[str]) -> Json:
    """The data without what stands at the named fields, in lists too: what is left of a partly untrusted result."""
    for path in paths:
        data = _dropped(data, path.split("."))
    return data


def _dropped(data: Json, keys: Sequence[str]) -> Json:
    if isinstance(data, Mapping):
        first, rest = keys[0], keys[1:]
        if first not in data:
            return data
        kept = {key: value for key, value in data.items() if key != first}
        return kept | {first: _dropped(data[first], rest)} if rest else kept
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_dropped(item, keys) for item in data]
    return None


class SessionSources:
    """What has been said in a session: what may be believed, and what is no secret."""

    __slots__ = ("_public", "_said", "trusted")

    def __init__(self) -> None:
        self.trusted = TrustedText()
        self._said = TrustedText()
        self._public = TrustedText()

    def origin(self, path: str, value: str, *, exact: bool, kind: str = "") -> Origin:
        """Where a value of the arguments stands in trusted text; `trusted` is False if nowhere."""
        return self.trusted.origin(path, value, exact=exact, kind=kind)

    def is_public(self, value: str) -> bool:
        """Whether the value stands in something that is no secret, trusted or not."""
        return self._public.origin("", value, exact=False).trusted

    def is_said(self, value: str, *, exact: bool, kind: str = "") -> bool:
        """Whether the value stands in a message of the user, whoever else may have said it too."""
        return self._said.origin("", value, exact=exact, kind=kind).trusted

    def say(self, message_id: str, text: str, label: Label, source: str) -> None:
        """Take the words of a message in, as far as its label lets them count."""
        if label.trusted:
            self.trusted.add(message_id, text, source)
            if source == "user":
                self._said.add(message_id, text, source)
        if label.secrecy != "secret":
            self._public.add(message_id, text, source)

    def claim(self, args: Json) -> None:
        """Note what the model puts into arguments: a tool that repeats it proves nothing."""
        self.trusted.claim(args)

    def learn(self, message_id: str, data: Json, label: Label, source: str, fields: Mapping[str, Label]) -> None:
        """Take a result in, each field as far as its label lets it count.

        Args:
            message_id: of the message that carries the result.
            data: its JSON.
            label: of the whole, the join over its fields.
            source: `tool:NAME`.
            fields: labels of single fields, dotted; where there are none, `label` is every field's.
        """
        if fields:
            believed = without(data, [path for path, one in fields.items() if not one.trusted])
            shown = without(data, [path for path, one in fields.items() if one.secrecy == "secret"])
        else:
            believed = data if label.trusted else None
            shown = data if label.secrecy != "secret" else None
        self.trusted.learn(message_id, believed, source)
        self._public.learn(message_id, shown, source)
