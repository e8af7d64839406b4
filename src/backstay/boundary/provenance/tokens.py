"""What holds together in running text: words, numbers, identifiers, whole addresses, paths and URLs.

What a token is errs on the side of the longer one, since the tail of an address or a part of a number is another
address and another number. Source: SPEC B4, B11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from backstay.core.patterns import Pattern

_CJK = (
    "\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_QUOTES = '<>"“”„«»「」『』《》〈〉【】（），、。；：！？…—'
BLOB = Pattern(rf"(?:[^\s{_QUOTES}]++|(?<=\d)[\u00a0\u202f\u2009](?=\d))+")
"""What holds together at first sight. A no-break space between digits groups a number."""
_CHUNK = Pattern(r"(?:[^,;()\[\]{}`|]++|(?<=\d),(?!(?<=\d{4},)\d{4})(?=\d))+")
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
_LABEL = Pattern(r"[A-Za-z_]{2,}+[:=](?=[^\W_][^:=/\\]*$)")
_LEADING, _TRAILING = "#$€£¥￥*'‘’!?:=", ".:!?'‘’*%$€£¥￥="
_STOPS = ".,:;!?"
_AMOUNTS = Pattern(
    r"(?P<plain>(?:0|[1-9]\d*)(?:\.\d+)?)|(?P<grouped>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?)|(?P<comma>(?:0|[1-9]\d*),\d{1,2})",
    re.ASCII,
)
_THOUSANDS = Pattern(r"\d{1,3}\.\d{3}", re.ASCII)
_ADDRESS = Pattern(r"://|.@.|^www\.", re.IGNORECASE)


def addresses(text: str) -> list[str]:
    """Every URL and mail address in running text: what text could send a reader, or a renderer, to."""
    if "@" not in text and "://" not in text and "www." not in text.lower():
        return []
    found = {span for span in tokens(text) if _ADDRESS.search(text[slice(*span)])}
    inner = [(s, e) for s, e in found if not any((s, e) != (a, b) and s <= a and b <= e for a, b in found)]
    return [text[start:end] for start, end in sorted(inner)]


def tokens(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of every token, each with and without what merely surrounds it."""
    for blob in BLOB.finditer(text):
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
    if text[start:end].isascii():  # one script has no seam, and an argument may have ten million letters
        return
    cuts = [cut.start() for cut in seam.finditer(text, start, end) if start < cut.start() < end]
    if cuts:
        yield from zip([start, *cuts], [*cuts, end], strict=True)


def _undressed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A token as it stands; without marks around it; without the label before it or an English 's after it."""
    yield start, end
    if text[start] == "@" and end - start > 1:
        yield start + 1, end
    bare = text[start:end].lstrip(_LEADING)
    start = end - len(bare)
    quoted = bare.rstrip(_STOPS)
    inside = quoted.rstrip("'’")
    if inside != quoted and inside.endswith((".", "!", "?")):  # the sentence's own mark, inside the quotation
        yield start, start + len(inside)
    bare = bare.rstrip(_TRAILING)
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


def url_key(text: str) -> str:
    """A URL with scheme and host in lower case and a path, since `https://A.com` is `https://a.com/`."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    size = len(re.split(r"[/?#]", rest, maxsplit=1)[0])
    user, at, host = rest[:size].rpartition("@")
    return f"{scheme.lower()}://{user}{at}{host.lower()}{rest[size:] or '/'}"


def folded(text: str) -> str:
    """The text without regard to letter case."""
    # Not casefold, which makes `faß.de` and `fass.de` one: two hosts of two owners.
    return text.lower()


def amount_key(text: str) -> str | None:
    """What a number is worth, as a key; None for what is no number or may be read in two ways (`1.200`)."""
    found = _AMOUNTS.fullmatch(text) if len(text) <= 40 else None
    if found is None or _THOUSANDS.fullmatch(text):
        return None
    plain = text.replace(",", "." if found.lastgroup == "comma" else "")
    # No arithmetic: it would round, and take two account numbers of thirty digits for one.
    return f"\0{plain.rstrip('0').rstrip('.') if '.' in plain else plain}"


def is_same(found: str, value: str, exact: bool) -> bool:
    """Whether two texts are equal but for spaces: letters that only a pattern takes for equal are not."""
    one, other = " ".join(found.split()), " ".join(value.split())
    return one == other if exact else folded(one) == folded(other)
