"""Documents in pieces: cut at headings and paragraphs, then at sentences, each piece small enough to be shown whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from backstay.core.errors import SetupError

MOST = 1_200
"""Characters of a piece."""
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=#{1,6} )")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


def pieces(text: str, most: int = MOST) -> list[str]:
    """Cut a text into pieces of at most `most` characters, none empty; a heading goes with what follows it."""
    made: list[str] = []
    for part in _parts(text, most):
        room = most - len(made[-1]) - 2 if made else 0
        is_heading = bool(made) and made[-1].startswith("#") and "\n" not in made[-1]
        if made and len(part) <= room and (is_heading or len(text) > most) and not part.startswith("#"):
            made[-1] = f"{made[-1]}\n\n{part}"
        else:
            made.append(part)
    return made


def _parts(text: str, most: int) -> Iterator[str]:
    if len(text.strip()) <= most:
        yield from [text.strip()] if text.strip() else []
        return
    for paragraph in _PARAGRAPH.split(text):
        if len(paragraph.strip()) <= most:
            yield from [paragraph.strip()] if paragraph.strip() else []
        else:
            yield from _sentences(paragraph, most)


def _sentences(text: str, most: int) -> Iterator[str]:
    piece = ""
    for sentence in _SENTENCE.split(text):
        for at in range(0, len(sentence), most):
            part = sentence[at : at + most].strip()
            if piece and part and len(piece) + len(part) + 1 > most:
                yield piece
                piece = part
            elif part:
                piece = f"{piece} {part}".strip()
    if piece:
        yield piece


def text_of(what: str | Path) -> str:
    """The words to be kept: a text, or what a file holds.

    Raises:
        SetupError: code `memory.empty`, where there are none, or the file cannot be read as UTF-8.
    """
    if isinstance(what, Path):
        try:
            text = what.read_text("utf-8")
        except (OSError, UnicodeError) as error:
            raise SetupError(f"{what} cannot be read as UTF-8 text ({error})", code="memory.empty") from error
    else:
        text = what.encode("utf-8", "replace").decode("utf-8")
    if not text.strip():
        raise SetupError("there are no words to keep; give a text or a file that has some", code="memory.empty")
    return text.replace("\x00", "")
