"""What a docstring says of a tool, its parameters and its result, in Google, NumPy or Sphinx form.

Source: SPEC T9; cases C05 (`*args`, `**kwargs`), C09 (types inside the docstring).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from docstring_parser import Docstring, DocstringStyle, ParseError, parse

_STYLES = (DocstringStyle.GOOGLE, DocstringStyle.NUMPYDOC, DocstringStyle.REST)
_BULLET = re.compile(r"([-*•]|\d+[.)])\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docs:
    """A docstring taken apart."""

    description: str = ""
    """Summary and body, without the sections on arguments, result and errors."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Parameter, without its stars → its description."""
    returns: str = ""
    """What is said of the result, without its type."""


def read(text: str | None, parameters: Collection[str]) -> Docs:
    """Take a docstring apart.

    Args:
        text: the docstring, indented as it stands in the source; None gives empty docs.
        parameters: names of the function's parameters; the style that documents most of them is the docstring's.
    """
    if not text or not text.strip():
        return Docs()
    known = set(parameters)
    readings = [reading for style in _STYLES if (reading := _parse(text, style)) is not None]
    if not readings:
        return Docs(description=inspect.cleandoc(text))
    best = max(readings, key=lambda reading: (len(known & _described(reading).keys()), len(reading.meta)))
    return Docs(
        description=_description(best),
        parameters={name: said for name, said in _described(best).items() if said},
        returns=_joined(best.returns.description or "") if best.returns else "",
    )


def _parse(text: str, style: DocstringStyle) -> Docstring | None:
    try:
        return parse(text, style)
    except ParseError:
        return None


def _description(docstring: Docstring) -> str:
    parts = [docstring.short_description, docstring.long_description]
    gap = "\n\n" if docstring.blank_after_short_description else "\n"
    return gap.join(part.strip() for part in parts if part)


def _described(docstring: Docstring) -> dict[str, str]:
    """Map each documented name to its text; `x, y : int` documents two."""
    return {
        name.strip().lstrip("\\*"): _joined(param.description or "")
        for param in docstring.params
        for name in param.arg_name.split(",")
    }


def _joined(text: str) -> str:
    """Undo the line breaks an editor made; keep those before a blank line or a list item."""
    out = ""
    for line in (line.strip() for line in text.strip().splitlines()):
        if not out or not line or out.endswith("\n") or _BULLET.match(line):
            out += line if not out or out.endswith("\n") else "\n" + line
        else:
            out += " " + line
    return out
