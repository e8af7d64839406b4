"""The marks by which a request tells the framework's words from everybody else's; nobody else can write them.

Source: SPEC M6, M11 ("a summariser that echoes delimiters").
"""

from __future__ import annotations

import re

from backstay.core.patterns import Pattern

_MARK = Pattern(r"<(?=\s*/?\s*(?:rules|notice|summary|memory)\b)", re.IGNORECASE)


def escaped(text: str) -> str:
    """The text with every such mark made plain words; once is enough."""
    return _MARK.sub("&lt;", text) if "<" in text else text
