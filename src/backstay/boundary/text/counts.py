"""Counts and totals: what a limit counts over several calls, and which action it counts."""

from __future__ import annotations

import re
from typing import Literal

from backstay.boundary.text.drafts import Act
from backstay.boundary.text.english import stripped
from backstay.boundary.text.lexicon import ANYTHING, HAN_THINGS, HAN_VERBS, families
from backstay.boundary.text.words import set_of
from backstay.core.canon import FrozenDict
from backstay.core.messages import Args
from backstay.core.patterns import Pattern

Per = Literal["session", "day", ""]

_IN_ALL = Pattern(
    r"(?<![a-z])(?:in total|in all|altogether|overall|all together|together|combined|taken together|total)(?![a-z])"
    r"|总共|总计|总额|一共|合计|累计|加起来|全部加|共计"
)
_DAILY = Pattern(r"(?<![a-z])(?:(?:per|a|each|every) day|daily)(?![a-z])|每[天日]|一天|单日")
_OTHER_TIME = Pattern(
    r"(?<![a-z])(?:(?:per|a|each|every) (?:week|month|year|hour|minute|quarter)|weekly|monthly|yearly|hourly)(?![a-z])"
    r"|每(?:个)?(?:周|星期|礼拜|月|年|小时|分钟|季度)|一(?:周|个?月|年)(?:最多|不)"
)
_HAN = Pattern(r"[\u3400-\u9fff]")
_HAN_VERB = Pattern("|".join(HAN_VERBS))
_HAN_THING = Pattern("|".join(HAN_THINGS))
_NOUN = Pattern(r"([a-z-]+)\W*\Z")
_NO_ACTION = frozenset({"any", "look", "give"})


def span_of(words: str, *, today: bool) -> tuple[Per, bool]:
    """Over what a limit is counted, and whether its words say that it is a total at all.

    Args:
        words: the clause, normalised.
        today: whether it holds for today alone, so that its total is one of the day.
    """
    if _DAILY.search(words):
        return "day", True
    if _OTHER_TIME.search(words):
        return "", True
    return ("day" if today else "session"), _IN_ALL.search(words) is not None


def total_of(check: Args, per: Per) -> Args | None:
    """The sum that a limit on one amount becomes where it was meant as a total; None where no ledger keeps that."""
    if not per or "money" not in check or check["op"] not in ("le", "lt"):
        return None
    return FrozenDict({"op": "sum", "max": check["money"], "money": check["currency"], "per": per})


def counted_acts(clause: str, counted: str, verbs: frozenset[str] = frozenset()) -> tuple[Act, ...]:
    """The action of which calls are counted; empty where the words name none, or more than an action.

    Args:
        clause: the clause, normalised.
        counted: what the limit counts, as it was written: `5 emails`, `三次`.
        verbs: actions beside those of the table, see `acts.vocabulary`.
    """
    return _chinese(clause) if _HAN.search(clause) else _english(clause, counted, verbs)


def action_words(clause: str, verbs: frozenset[str]) -> tuple[str, ...]:
    """The words of a clause that name an action which no scope word names, in their order."""
    if _HAN.search(clause):
        return tuple(dict.fromkeys(one for one in _HAN_VERB.findall(clause) if families(one) - _SAYS_LITTLE))
    found = (word for word in re.findall(r"[a-z]+", clause) if word not in _AROUND)
    return tuple(dict.fromkeys(word for word in found if families(word, verbs) - _SAYS_LITTLE))


def thing_words(clause: str) -> tuple[str, ...]:
    """The words of a clause that may name what it is about, and no action: `bonuses`, `奖金`."""
    if _HAN.search(clause):
        return tuple(dict.fromkeys(one for one in _HAN_THING.findall(clause) if one not in _NO_THING))
    found = (word for word in re.findall(r"[a-z]{3,}", clause) if word not in _AROUND | _NO_THING)
    return tuple(dict.fromkeys(word for word in found if not families(word)))


_NO_THING = ANYTHING | set_of(
    "money amount price cost total budget fee sum usd eur gbp cny euros dollars pounds 钱 资金 价格"
)


_SAYS_LITTLE = frozenset({"any", "look", "give", "pay", "send", "write", "stop", "move", "run"})
"""Families that a limit on an amount is not about: `keep it under`, `give at most`."""


_AROUND = set_of(
    "never no not more than at most up to max maximum only over above exceed exceeding do don t must may can should"
    " will you we i want need a an the of any in all total make sure please limit kee"
    "p is are be allowed the very yourself to it number limited amount just fewer les"
    "s under below do"
)
_AFTER = Pattern(
    r"(?: (?:per|a|each|every) (?:day|session|conversation|run|chat)| daily| in (?:total|all)| altogether| overall"
    r"| please"
    r"| thanks| at (?:the )?(?:very )?most"
    r"| max(?:imum)?| tops| or (?:less|fewer)| today| only| each)*[.!]*\Z"
)


def _english(clause: str, counted: str, verbs: frozenset[str]) -> tuple[Act, ...]:
    last = _NOUN.search(counted)
    noun = last[1] if last and last[1] not in _CALLS else ""
    before, _, after = clause.partition(counted)
    if not _AFTER.match(after):
        return ()
    head = [word for word in re.findall(r"[a-z]+", stripped(before)) if word not in _AROUND]
    if not head:
        is_action = families(noun, verbs) - _NO_ACTION and not noun.startswith("order")
        return (Act(verb=noun),) if is_action else ()
    if head[:2] in (["top", "up"], ["pay", "back"], ["roll", "out"]):
        head = ["".join(head[:2]), *head[2:]]
    verb, things = head[0], (*head[1:], *filter(None, [noun]))
    return (Act(verb=verb, things=things),) if families(verb, verbs) - {"any"} and len(things) <= 2 else ()


_CALLS = frozenset({"times", "time", "calls", "call"})


def _chinese(clause: str) -> tuple[Act, ...]:
    things = tuple(dict.fromkeys(_HAN_THING.findall(clause)))
    verbs = dict.fromkeys(_HAN_VERB.findall(clause))
    for verb in verbs:
        known = families(verb) - _NO_ACTION
        if known:
            about = tuple(one for one in things if not families(one) & known)
            return (Act(verb=verb, things=about),)
    return ()
