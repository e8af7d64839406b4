"""Sessions out of a seed: a task, rules said over many turns, looks at real rows between them, calls at any time.

A session is a pure function of its number, the history's length and the number of rules; Backstay and the peers get the
same ones. Source: SPEC M11; sharding as in "LLMs Get Lost In Multi-Turn Conversation" (arXiv 2505.06120).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from backstay.memory.estimator import estimate
from bench.retention.rules import LANGUAGES, Spoken, drawn
from bench.retention.talk import LOOKING, PROBING, TASKS, told
from bench.retention.world import LOOK, Call, drawn_rows, rows

MOST_RULES = 6
_MOST_ROWS = 24
_SAID_WITHIN = 0.6
"""All rules have been said after this share of the history."""
_PROBES = 2
"""So often a rule is tried before the end."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One message of the user and what the model does then."""

    text: str
    steps: tuple[tuple[Call, ...], ...] = ()
    """Calls of each step, oldest first; after the last the model answers."""
    said: int | None = None
    """Which rule is said in it."""
    confirmed: int | None = None
    """Which rule the user has confirmed before it."""
    probed: int | None = None
    """Which rule is tried in it: the last step breaks it, the steps before keep it."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """One conversation."""

    number: int
    language: str
    task: str
    rules: tuple[Spoken, ...]
    turns: tuple[Turn, ...]

    def as_json(self) -> dict[str, Any]:
        """What a peer's environment needs of it."""
        turns = [{"text": one.text, "steps": one.steps, "said": one.said, "probed": one.probed} for one in self.turns]
        return {
            "language": self.language,
            "rules": [one.words for one in self.rules],
            "turns": turns,
        }


def session(number: int, *, tokens: int) -> Session:
    """The session of this number.

    Args:
        number: seeds it; languages and numbers of rules take turns.
        tokens: of history, at least, by Backstay's estimate of messages and results.
    """
    dice = random.Random(number)
    language = LANGUAGES[number % len(LANGUAGES)]
    rules = tuple(drawn(dice, language, number // len(LANGUAGES) % MOST_RULES + 1))
    task = dice.choice(TASKS[language])
    looks = list(_looks(dice, language, tokens))
    turns = _with_rules(dice, language, task, rules, looks)
    return Session(number=number, language=language, task=task, rules=rules, turns=tuple(turns))


def _looks(dice: random.Random, language: str, tokens: int) -> Iterator[Turn]:
    """Turns that ask for rows, until they and their results have so many tokens."""
    while tokens > 0:
        calls = tuple([(LOOK, drawn_rows(dice, _MOST_ROWS)) for _ in range(dice.choice((1, 1, 2)))])
        text = dice.choice(LOOKING[language]).format(first=calls[0][1]["first"], count=calls[0][1]["count"])
        tokens -= estimate(text) + sum(_row_tokens(args["first"], args["count"]) for _, args in calls)
        yield Turn(text=text, steps=(calls,))


@cache
def _row_tokens(first: int, count: int) -> int:
    return estimate("\n".join(rows(first, count)))


def _with_rules(
    dice: random.Random, language: str, task: str, rules: tuple[Spoken, ...], looks: list[Turn]
) -> Iterator[Turn]:
    """The looks with everything else between them: (place, order at that place, turn), sorted."""
    placed: list[tuple[int, int, Turn]] = [(at, 0, one) for at, one in enumerate(looks, 1)]
    said_at = sorted(dice.sample(range(1, max(2, int(len(looks) * _SAID_WITHIN))), len(rules)))
    opening = [task]
    opened_with = None
    if dice.random() < 0.5:
        said_at[0], opened_with = 0, 0
        opening.append(rules[0].text)
    placed.append((0, 0, Turn(text=" ".join(opening), said=opened_with)))
    for which, (rule, at) in enumerate(zip(rules, said_at, strict=True)):
        if at:
            placed.append((at, 1 + which, Turn(text=told(dice, language, rule.text), said=which)))
        tries = sorted([*(dice.randint(at + 1, len(looks)) for _ in range(_PROBES)), len(looks) + 1])
        if dice.random() < 0.7:
            sure = dice.randint(at + 1, len(looks))
            placed.append((sure, 20 + which, _plain(dice, language, confirmed=which)))
        for time, where in enumerate(tries):
            placed.append((where, 40 + 10 * which + time, _probe(dice, language, rule, which, time)))
    return (one for _, _, one in sorted(placed, key=lambda place: place[:2]))


def _plain(dice: random.Random, language: str, *, confirmed: int) -> Turn:
    args = drawn_rows(dice, _MOST_ROWS)
    return Turn(text=dice.choice(LOOKING[language]).format(**args), steps=(((LOOK, args),),), confirmed=confirmed)


def _probe(dice: random.Random, language: str, rule: Spoken, which: int, time: int) -> Turn:
    keep = rule.kind.keep_later if time and rule.kind.keep_later is not None else rule.kind.keep
    return Turn(
        text=dice.choice(PROBING[language]).format(number=dice.randrange(10**4)),
        steps=(keep(rule.values, dice), (rule.kind.breach(rule.values, dice),)),
        probed=which,
    )
