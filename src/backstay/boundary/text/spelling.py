"""Spelling: how people type when they are in a hurry, put right: `dont`, `more then`, `pls`, `w/o`. Source: SPEC B8."""

from __future__ import annotations

import re

from backstay.core.patterns import Pattern

_RIGHT = {
    word: right
    for right, words in {
        "don't": "dont do'nt don;t dnt donot",
        "doesn't": "doesnt",
        "didn't": "didnt",
        "can't": "cant",
        "won't": "wont",
        "mustn't": "mustnt",
        "shouldn't": "shouldnt shoudn't shoudnt",
        "wouldn't": "wouldnt",
        "isn't": "isnt",
        "aren't": "arent",
        "i'm": "im",
        "i've": "ive",
        "you're": "youre",
        "you've": "youve",
        "let's": "lets",
        "please": "pls plz pleas plese pelase",
        "thanks": "thx tnx thanx",
        "without": "w/o witout wihtout withot",
        "before": "b4 befor bevore befroe",
        "until": "untill til 'til untl",
        "because": "bc cuz",
        "only": "olny onyl onely",
        "never": "nevr neevr neber",
        "nothing": "nothin nuthing nothng",
        "anything": "anythin anyting anyhting",
        "delete": "delte deleet dellete",
        "deleting": "deleteing delting",
        "refund": "refudn reufnd",
        "refunds": "refudns reufnds",
        "transfer": "tranfer transfere trasfer tranfser",
        "transfers": "tranfers trasfers",
        "email": "emial eamil",
        "emails": "emials eamils",
        "exceed": "excede exeed",
        "maximum": "maxium maximun maximim",
        "budget": "buget budgit",
        "approval": "aproval approvel",
        "permission": "permision",
        "touch": "tuch toutch",
        "folder": "foldr",
        "euros": "euroes",
        "dollars": "dolars dollers",
        "you": "u",
        "anyone": "any1",
        "someone": "some1",
        "no one": "noone no-one",
    }.items()
    for word in words.split()
}
_WORD = Pattern(
    rf"(?<![a-z0-9_./@*'-])(?:{'|'.join(map(re.escape, sorted(_RIGHT, key=len, reverse=True)))}"
    r")(?![a-z0-9_/@*'-]|\.[a-z0-9])"
)
_THEN = Pattern(r"(?<![a-z])(more|less|fewer|older|later|earlier|further|farther|higher|lower|longer|other) then(?= )")


def respelled(text: str) -> str:
    """Return the text, normalised already, with frequent slips of the pen put right; names and paths stay."""
    return _THEN.sub(lambda found: f"{found[1]} than", _WORD.sub(lambda found: _RIGHT[found[0]], text))
