"""The tags of a Mustache text, and its lines without those that hold nothing but a tag.

The library that renders looks at what stands between two tags alone. So it takes the break after `{{a}}{{#b}}` away as
if nothing stood before the section, and leaves the line of an indented tag below another one. Here the lines are
settled by the specification first, and the library is told to keep all that is left. Source: SPEC P1; the Mustache
specification, "standalone lines".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from backstay.core.errors import TemplateError

_CLOSING = {"{": "}", "=": "="}
"""What stands before the closing delimiter of such a tag."""
_LONE = frozenset("#^/!=")
"""Kinds of tags that take their line with them where nothing else stands on it."""
_REST = re.compile(r"[^\S\r\n]*(?:\r\n?|\n|\Z)")


class Tag(NamedTuple):
    """One tag. `kind` is its first sign, or empty for a plain name; `start` and `end` are places in the text."""

    kind: str
    name: str
    start: int
    end: int


def tags(template: str) -> Iterator[Tag]:
    """Yield the tags in their order, also after a change of the delimiters.

    Raises:
        TemplateError: for a tag that is not closed, and for delimiters that are not two.
    """
    opening, closing, at = "{{", "}}", 0
    while (start := template.find(opening, at)) != -1:
        first = start + len(opening)
        kind = template[first] if template[first : first + 1] in {*"#^/!=>&{"} else ""
        last = _CLOSING.get(kind, "") + closing
        stop = template.find(last, first + len(kind))
        if stop == -1:
            raise TemplateError(f"a tag is opened with {opening} and not closed")
        at = stop + len(last)
        name = template[first + len(kind) : stop].strip()
        if kind == "=":
            told = name.split()
            if len(told) != 2:
                raise TemplateError(f"{template[start:at]} names {len(told)} delimiters, expected two")
            opening, closing = told
        yield Tag(kind, name, start, at)


def without_lone_lines(template: str) -> str:
    """Return the text without the blanks and the line break around each tag that stands on a line by itself.

    Raises:
        TemplateError: as `tags` does.
    """
    kept, at, before = list[str](), 0, 0
    for tag in tags(template):
        between = template[before : tag.start]
        head = between[max(between.rfind("\n"), between.rfind("\r")) + 1 :]
        is_first = not before or len(head) < len(between)
        rest = _REST.match(template, tag.end)
        if tag.kind in _LONE and is_first and not head.strip() and rest is not None:
            kept += template[at : tag.start - len(head)], template[tag.start : tag.end]
            at = rest.end()
        before = tag.end
    return "".join((*kept, template[at:]))
