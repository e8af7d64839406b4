"""The words of a text as they are looked for: folded, stems in English, pairs of characters in Chinese and the like.

Chinese has no spaces, and SQLite's own trigrams cannot find a word of two characters; pairs can. An identifier is found
whole and by its parts. Source: SPEC M3; notes embedded-model 5.
"""

from __future__ import annotations

import re
import unicodedata

_PAIRED = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\u1100-\u11ff\uac00-\ud7af\U00020000-\U0003ffff"
_WORD = re.compile(
    r"(?P<id>[a-z0-9]+(?:[-_./@:][a-z0-9]+)+)"
    rf"|(?P<pairs>[{_PAIRED}]+)"
    rf"|(?P<word>[^\W_{_PAIRED}]+)"
)
_STOP = frozenset(
    re.split(
        r"\s+",
        "a about all also am an and any are as at be been but by can could did do does for from had has have he her his"
        " how i if in into is it its just like me my no not of on or our she should so some than that the their"
        " them then there they this to too up us was we were what when where which who whom whose why will with would"
        " you your im ive dont",
    )
)
_STOP_PAIRS = frozenset(
    re.split(
        r"\s+",
        "我的 你的 他的 什么 是什 么时 时候 怎么 哪里 哪个 多少 一下 请问 可以 了吗 是不 不是 有没 没有 我们 告诉 诉我",
    )
)


def terms(text: str) -> list[str]:
    """The terms of a text in their order, none that stands in every text."""
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")):
        word = match[0]
        if match["pairs"]:
            pairs = [word] if len(word) == 1 else [word[n : n + 2] for n in range(len(word) - 1)]
            found += [pair for pair in pairs if pair not in _STOP_PAIRS]
        elif match["id"]:
            found.append(re.sub(r"[-_./@:]", "", word))
            found += [stem(part) for part in re.split(r"[-_./@:]", word) if part not in _STOP]
        elif word not in _STOP:
            found.append(stem(word))
    return found


def stem(word: str) -> str:
    """The word without the commonest English endings; anything else as it is."""
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return word
    for ending, least, instead in (("ies", 5, "y"), ("ing", 6, ""), ("ed", 5, ""), ("es", 5, "e"), ("s", 4, "")):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) >= 4 else word
