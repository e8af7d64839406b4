"""Segments: a message cut into sentences and clauses, with what is not the author's own word blanked out.

Everything here works on the original text, so that spans need no translation; clauses are normalised afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from unicodedata import normalize

from backstay.boundary.text.spelling import respelled
from backstay.core.patterns import Pattern

BLANK = "\ufffc"
"""Stands for every character of code, quotations and pasted mail."""

_LONGEST_CLAUSE = 600
# Each alternative stops at the next delimiter of its own kind: the time stays linear whatever the text.
_NOT_OWN = Pattern(
    r"```.*?(?:```|\Z)"
    r"|~~~.*?(?:~~~|\Z)"
    r"|`[^`\n]*`"
    r"|^[ \t]*>[^\n]*"
    # A mail that was pasted or forwarded goes on to the end of the message.
    r"|^[ \t]*-{2,}[ \t]*(?:Original Message|Forwarded message|Original Mail|原始邮件|转发的?邮件|转发邮件信息).*"
    r"|^[ \t]*(?:From|Von|De|发件人)[ \t]*[:：][^\n]*\n(?=[ \t]*(?:Sent|To|Cc|Date|Subject|Reply-To|发送时间|收件人"
    r"|抄送|日期|时间|主题)[ \t]*[:：]).*"
    r"|^[ \t]*(?:On [^\n]{6,120} wrote|在?[^\n]{6,80}写道)[ \t]*[:：][ \t]*\n.*"
    r"|(?<![0-9])\"[^\"\n]*\""
    r"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」|『[^『』]*』"
    r"|(?<![^\s(:：,，])[‘'](?=\S)[^‘’'\n]*(?:(?<=[A-Za-z])['’](?=[a-z])[^‘’'\n]*)*['’](?![A-Za-z])",
    re.DOTALL | re.MULTILINE,
)
_SENTENCE_END = Pattern(r"[。！？!?；;\n\r…]+[\"”』」)）]*|(?<!\.)\.++(?=[\"”)]*+(?:\s|\Z))[\"”)]*")
_ABBREVIATION = Pattern(
    r"(?:\b(?:max|min|approx|e\.g|i\.e|vs|mr|mrs|ms|dr|st|incl|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec))\Z", re.I
)
_CLAUSE_END = Pattern(r"(?<![0-9])[,，、]|(?<=[0-9])[,，、](?!\s?[0-9])|(?<=[0-9])[，、]|\s[–—-]\s|—+")
_BULLET = Pattern(r"(?:[-*•·–]|\(?[0-9]{1,2}[.)、])\s+|[•·]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence, where it stands, and its own words in clauses."""

    start: int
    end: int
    words: str
    """As they were written, quotations blanked, without a bullet and the mark at the end."""
    clauses: tuple[str, ...]
    """Normalised (NFKC, lower case, plain apostrophes), quotations blanked."""
    asks: bool
    """Whether it ends with a question mark."""


def own_words(text: str) -> str:
    """Return the text, as long as it was, with code, quoted lines and quotations blanked."""
    return _NOT_OWN.sub(lambda found: re.sub(r"[^\n]", BLANK, found[0]), text)


def plain(text: str) -> str:
    """Return the text as the patterns expect it: NFKC, lower case, one kind of apostrophe and blank."""
    folded = normalize("NFKC", text.replace("’", "'")).lower().replace("⟦", "(").replace("⟧", ")")
    return re.sub(r"\s+", " ", folded).strip()


def clauses(words: str) -> tuple[str, ...]:
    """Return the clauses of a sentence, normalised; those of over 600 characters are no sentence a person says."""
    return tuple(respelled(plain(one)) for one in _CLAUSE_END.split(words) if 0 < len(one) <= _LONGEST_CLAUSE)


def pieces(normal: str) -> tuple[str, ...]:
    """Return the clauses of a sentence that is normalised already and may hold marks."""
    return tuple(one.strip() for one in _CLAUSE_END.split(normal) if 0 < len(one.strip()) <= _LONGEST_CLAUSE)


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text that hold words of its author. Clauses of over 600 characters are left out."""
    own = own_words(text)
    start = 0
    for stop, end in _ends(own):
        mark = own[stop:end]
        if sentence := _sentence(own, start, stop, end, "?" in mark or "？" in mark):
            yield sentence
        start = end


def _ends(own: str) -> Iterator[tuple[int, int]]:
    for found in _SENTENCE_END.finditer(own):
        if found[0][0] != "." or not _ABBREVIATION.search(own, max(0, found.start() - 8), found.start()):
            yield found.start(), found.end()
    yield len(own), len(own)


def _sentence(own: str, start: int, stop: int, end: int, asks: bool) -> Sentence | None:
    body = own[start:end]
    start += len(body) - len(body.lstrip())
    if bullet := _BULLET.match(own, start, stop):
        start = bullet.end()
    words = own[start:stop]
    if not words.strip().strip(BLANK):
        return None
    return Sentence(
        start=start, end=start + len(own[start:end].rstrip()), words=words, clauses=clauses(words), asks=asks
    )
