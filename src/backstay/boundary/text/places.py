"""Places: paths, hosts, addresses, file patterns, tool names and names of people in a sentence, replaced by marks.

`Don't mail Bob or Eve at example.com` becomes `don't mail ⟦na⟧ at ⟦hb⟧`, so that the patterns of both languages see the
same marks. Several of a kind in a row are one mark. Marks: p path, h host, a address or account, g file pattern,
t tool, n name. They are found in the text as it was written, for their case counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from backstay.boundary.text.segments import plain
from backstay.boundary.text.spelling import respelled
from backstay.boundary.text.words import set_of
from backstay.core.patterns import Pattern

_MOST = 20
_OPEN, _SHUT = "\ue000", "\ue001"
_CHARS = r"[A-Za-z0-9._@+%=-]"
_TOP = (
    "com|org|net|io|dev|app|ai|edu|gov|mil|int|info|biz|co|me|cn|de|uk|eu|fr|it|es|nl|ch|at|be|us|ca|au|jp|kr|in|br"
    "|ru|se|no"
    "|dk|fi|pl|cz|sg|hk|tw|nz|ie|pt|example|test|local|internal|localhost|invalid"
)
_EXTENSIONS = "pdf|csv|json|ya?ml|xml|docx?|xlsx?|pptx?|png|jpe?g|gif|exe|zip|md|txt|html|sql"
"""Endings that stand for a pattern where `files` follows: `only pdf files`."""
_PLACE = Pattern(
    rf"(?P<a>(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{{2,}}"
    rf"|(?<![A-Za-z0-9])[A-Z]{{2}}[0-9]{{2}}[A-Z0-9]{{11,30}}(?![A-Za-z0-9]))"
    rf"|(?P<g>(?<![A-Za-z0-9*])[A-Za-z0-9._/~-]*\*[A-Za-z0-9._/*-]*[A-Za-z0-9*])"
    rf"|(?P<h>(?<![A-Za-z0-9.@/_-])(?:https?://"
    rf"|@)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:{_TOP})(?![A-Za-z0-9_.-]*[A-Za-z0-9_@])"
    rf"(?:/{_CHARS}*)*)"
    rf"|(?P<p>(?<![A-Za-z0-9._~/⟧>)-])(?:~|\.\.?)?/{_CHARS}+(?:/{_CHARS}+)*/?"
    rf"|(?<![A-Za-z0-9])[A-Z]:\\[A-Za-z0-9._\\ -]*[A-Za-z0-9._-])"
    rf"|(?P<e>(?<![A-Za-z0-9_./*~-])\.[A-Za-z0-9]{{1,5}}(?=[ -]?(?:files?(?![a-z])|文件|s(?![a-z])))"
    r"|(?<=ending in )\.[A-Za-z0-9]{1,5}(?![A-Za-z0-9.])|(?<![A-Za-z0-9_./*~-])"
    rf"(?:{_EXTENSIONS})(?=[ -]?(?:files?(?![a-z])|文件)))"
    rf"|(?P<t>(?<![A-Za-z0-9_])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![A-Za-z0-9_]))"
    rf"|(?P<n>(?<=[a-z,] )(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*(?![A-Za-z]))"
)
_NO_NAME = set_of(
    "January February March April May June July August September October November December Monday Tuesday"
    " Wednesday Thursday Friday Saturday Sunday Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec English Chinese"
    " German French Spanish Please Thanks Thank Never Only Euro Euros Internet Google Excel Windows Linux Python"
)
_MARK = r"⟦{kind}[a-z]⟧"
_BETWEEN = r"(?:,? (?:and|or|nor|& )(?: (?:to|from|at|in|under|with))? |, ?| ?[、,] ?| ?(?:和|与|或者?|以及|及|跟) ?)"
_RUNS = {kind: Pattern(rf"⟦{kind}([a-z])⟧{_BETWEEN}⟦{kind}([a-z])⟧") for kind in "ahpgtn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """A sentence with marks in it, and the values they stand for."""

    text: str
    """Normalised as `segments.plain` does, with marks."""
    values: Mapping[str, tuple[str, ...]]
    """Letter of a mark → the values, as they were written."""
    verbs: frozenset[str] = frozenset()
    """Stems that are actions here beside those of the table, see `acts.vocabulary`."""

    def bare(self) -> str:
        """The text without marks, normalised."""
        return re.sub(r"⟦[a-z]([a-z])⟧", lambda found: " and ".join(map(plain, self.values[found[1]])), self.text)


def mark_places(words: str, verbs: frozenset[str] = frozenset()) -> Places:
    """Return the words of a sentence with every place replaced by a mark."""
    found: dict[str, tuple[str, ...]] = {}

    def put(match: re.Match[str]) -> str:
        kind, value = match.lastgroup or "", match[0]
        if len(found) >= _MOST or (kind == "n" and _is_no_name(value)) or (kind == "h" and _is_page(value)):
            return value
        if kind == "e":
            kind, value = "g", f"*.{value.lstrip('.')}"
        stripped = value if kind == "g" else value.rstrip(".")
        letter = chr(ord("a") + len(found))
        found[letter] = (_value(kind, stripped),)
        return f"{_OPEN}{kind}{letter}{_SHUT}{value[len(stripped) :]}"

    marked = _PLACE.sub(put, words.replace(_OPEN, " ").replace(_SHUT, " "))
    text = respelled(plain(marked)).replace(_OPEN, "⟦").replace(_SHUT, "⟧")
    for kind, run in _RUNS.items():
        while match := run.search(text):
            found[match[1]] += found.pop(match[2])
            text = f"{text[: match.start()]}⟦{kind}{match[1]}⟧{text[match.end() :]}"
    return Places(text=text, values=MappingProxyType(found), verbs=verbs)


def _is_no_name(value: str) -> bool:
    return any(word in _NO_NAME for word in re.split(r"[ -]", value))


def _is_page(value: str) -> bool:
    """Whether it is one page of a host: a rule about the whole host would say something else."""
    return bool(re.sub(r"\A(?:https?://|@)", "", value).rstrip("./").partition("/")[2])


def _value(kind: str, value: str) -> str:
    if kind == "h":
        return re.sub(r"\A(?:https?://|@)", "", value).partition("/")[0].lower()
    return value.rstrip("/") or "/" if kind == "p" else value
