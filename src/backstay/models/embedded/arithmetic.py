"""Arithmetic in a request, taken as it stands: literal expressions, and the few words that mean an operator."""

from __future__ import annotations

import re

from backstay.models.embedded.words import Place

_WORDS = (
    (re.compile(r"(?:multiplied|times|乘以|乘)(?: by)?", re.I), "*"),
    (re.compile(r"divided by|除以", re.I), "/"),
    (re.compile(r"\bplus\b|加上|加", re.I), "+"),
    (re.compile(r"\bminus\b|减去|减", re.I), "-"),
    (re.compile("[×x✕]"), "*"),
    (re.compile("÷"), "/"),
)
_OPERATOR = (
    r"(?:multiplied by|times|divided by|plus|minus|乘以|乘|除以|加上|加|减去|减|\*\*|[-+*/×÷^]|(?<=[\d )])x(?=[\d (]))"
)
_NUMBER = r"\d+(?:[.,]\d+)*"
_LITERAL = re.compile(rf"[-+]?[( ]*{_NUMBER}[) ]*(?:\s*{_OPERATOR}\s*[-+]?[( ]*{_NUMBER}[) ]*)+", re.IGNORECASE)
_PERCENT = re.compile(
    rf"({_NUMBER})\s*(?:%|percent) (?:of )?({_NUMBER})|({_NUMBER})\s*的\s*({_NUMBER})\s*%", re.IGNORECASE
)
_SEPARATOR = re.compile(r"(?<=\d),(?=\d{3})")


def expression_of(text: str) -> tuple[str, Place] | None:
    """The first expression of the text in the signs + - * / ( ), and where it stands; None if there is none."""
    if percent := _PERCENT.search(text):
        rate, base = percent[1] or percent[4], percent[2] or percent[3]
        return f"{base} * {rate} / 100", percent.span()
    literal = _LITERAL.search(text)
    if literal is None:
        return None
    said = _balanced(_SEPARATOR.sub("", literal.group()).strip())
    for pattern, sign in _WORDS:
        said = pattern.sub(sign, said)
    return re.sub(r"\s*([-+*/^])\s*", r" \1 ", said).replace("*  *", "**").strip(), literal.span()


def _balanced(text: str) -> str:
    """Without a bracket at an end that has no partner: the sentence's own."""
    while text.startswith("(") and text.count("(") > text.count(")"):
        text = text[1:].strip()
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].strip()
    return text
