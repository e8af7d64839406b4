"""Patterns with stars, matched in time linear in the value: `*` and `?` stop at a `/`, `**` does not.

`**/` may stand for no folder. Texts are compared NFKC and case-folded, a pattern with the whole value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from unicodedata import category, normalize

from backstay.boundary.predicates.language import (
    MAX_VALUE,
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    doubt,
    each,
    keys,
    left_out,
    listed,
    shown,
)

_LONGEST = 256


def _folded(text: str) -> str:
    return text.casefold() if text.isascii() else normalize("NFKC", normalize("NFKC", text).casefold())


def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a folded text matches.

    All places of the pattern that the text may have come to are the bits of one number, so that every character costs
    the same, whatever the pattern.
    """
    steps = _steps(_folded(pattern))
    final = 1 << len(steps)
    letters: dict[str, int] = {}
    any_but_slash = far = near = 0
    for place, step in enumerate(steps):
        bit = 1 << place
        if step == "**":
            far |= bit
        elif step == "*":
            near |= bit
        elif step == "?":
            any_but_slash |= bit
        else:
            letters[step] = letters.get(step, 0) | bit
    stars = far | near
    folders = _whole_folders(steps)
    first = _past_stars(1 | ((1 & folders) << 2), stars)

    def matches(text: str) -> bool:
        at = first
        for char in text:
            stay, free = (far, 0) if char == "/" else (stars, any_but_slash)
            moved = (at & (letters.get(char, 0) | free)) << 1
            at = _past_stars((at & stay) | moved | ((moved & folders) << 2), stars)
            if not at:
                return False
        return bool(at & final)

    return matches


def _steps(pattern: str) -> list[str]:
    """The pattern, star by star and letter by letter; more than two stars in a row are two."""
    steps: list[str] = []
    for char in pattern:
        if char == "*" and steps and steps[-1] in ("*", "**"):
            steps[-1] = "**"
        else:
            steps.append(char)
    return steps


def _whole_folders(steps: Sequence[str]) -> int:
    """Where a `**/` begins that may stand for no folder at all."""
    return sum(
        1 << place
        for place, step in enumerate(steps[:-1])
        if step == "**" and steps[place + 1] == "/" and (place == 0 or steps[place - 1] == "/")
    )


def _past_stars(at: int, stars: int) -> int:
    """A star may stand for nothing: where one is reached, so is what follows it. No two stars follow each other."""
    return at | ((at & stars) << 1)


def _ready(check: Check) -> Test:
    text = _text(check)
    patterns = [(matcher(one), "/" in one or "**" in one) for one in check["like"]]

    def judge(one: Bound, _scene: Scene) -> Breach | None:
        if not isinstance(one.value, str) or len(one.value) > MAX_VALUE:
            return doubt(one, f"{text}; the value is no text that can be compared")
        if any(category(char) in ("Cc", "Cf", "Cs") for char in one.value):
            return doubt(one, f"{text}; the value holds an invisible character")
        value = _folded(one.value)
        parts = value.split("/")
        if ".." in parts or "\\" in value:
            return doubt(one, f"{text}; the value leads somewhere else ('..' or a backslash)")
        if any(matches(value) for matches, _ in patterns):
            return None
        if len(parts) > 1 and any(matches(parts[-1]) for matches, is_path in patterns if not is_path):
            return doubt(one, f"{text}; only its last part is like that")
        return Breach(one.path, shown(one.value), text)

    return each(check, text, judge)


def _problems(check: Check, _depth: int) -> list[str]:
    return keys(check, {"like"}) + listed(check, "like", lambda one: len(str(one)) <= _LONGEST, "pattern")


def _text(check: Check) -> str:
    return f"only like {', '.join(map(shown, check['like']))}"


GLOBS: Mapping[str, Op] = {"glob": Op(_ready, left_out, _problems, _text)}
