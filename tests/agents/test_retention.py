"""Rules said in a chat many windows ago: twenty sessions of `bench/retention`, and that each of its checks can fail."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from bench.retention import ours
from bench.retention.ours import WINDOW, played
from bench.retention.peers.summarisers import SUMMARISERS, summed_up
from bench.retention.peers.watching import Watched
from bench.retention.rules import KINDS, LANGUAGES
from bench.retention.sessions import MOST_RULES, session
from bench.retention.talk import everything
from bench.retention.world import rows

from backstay import Boundary
from backstay.agents.step import request
from backstay.boundary.text import parse
from backstay.memory.estimator import estimate
from backstay.memory.window import pack

NOW = 1_781_524_800.0
WINDOWS = 4


@pytest.mark.parametrize("number", range(20))
def test_every_rule_stands_and_holds_in_a_session_many_windows_long(number: int) -> None:
    outcome = played(number, WINDOWS)
    assert outcome.wrong == ()
    counts = outcome.counts
    assert counts["breaks"] == 3 * outcome.rules == counts["refused"] + counts["held"]
    assert counts["carried_out"] == 0 < counts["allowed"] == counts["done"]
    assert counts["at_end"] == counts["always"] == outcome.rules


def _without_rules(instructions: str, rules: str, *more: Any, **named: Any) -> Any:
    shortened = rules.replace(next((line for line in rules.split("\n") if line.startswith("- u")), "-"), "")
    return pack(instructions, shortened, *more, **named)


async def _nothing_leaves(*_args: Any, **_named: Any) -> None:
    return None


GUARDS: list[tuple[str, Any, str, Any]] = [
    ("break", ours, "Boundary", partial(Boundary, mode="observe")),
    ("block", request, "pack", _without_rules),
    ("goal", request, "memory_message", lambda *_: None),
    ("window", request, "fit", _nothing_leaves),
]


@pytest.mark.parametrize(("kind", "where", "name", "stand_in"), GUARDS, ids=[kind for kind, *_ in GUARDS])
def test_a_guard_that_is_taken_away_is_missed(
    kind: str, where: Any, name: str, stand_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, stand_in)
    outcome = played(4, WINDOWS)
    assert outcome.counts[kind] > 0
    assert outcome.wrong


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_a_rule_and_nothing_else_that_is_said_is_one(language: str) -> None:
    dice = random.Random(1)
    for kind in KINDS:
        for sentence in kind.say[language]:
            text = sentence.format(**kind.fill(dice, language))
            (draft,) = parse(text, locale=language, now=NOW)
            assert draft.check is not None, text
    for text in everything(language):
        assert list(parse(text, locale=language, now=NOW)) == [], text


def test_a_session_is_the_same_for_the_same_number_and_as_long_as_it_says() -> None:
    for number in (0, 7):
        one = session(number, tokens=3 * WINDOW)
        assert one == session(number, tokens=3 * WINDOW)
        shown = [
            rows(**args) for turn in one.turns for step in turn.steps for name, args in step if name == "show_rows"
        ]
        assert sum(estimate("\n".join(some)) for some in shown) > 2.5 * WINDOW
    kinds = {(one.language, len(one.rules)) for one in (session(n, tokens=3 * WINDOW) for n in range(2 * MOST_RULES))}
    assert len(kinds) == 2 * MOST_RULES


@pytest.mark.parametrize("name", SUMMARISERS)
def test_a_scripted_summariser_keeps_its_notes_of_before(name: str) -> None:
    first = summed_up(name, [("user", "Only the last 30 days, please. It is late."), ("tool", "1001 | Ann Berg")])
    second = summed_up(name, [("user", first), ("user", "And now order 1002.")])
    assert "Only the last 30 days, please." in first
    assert "Only the last 30 days, please." in second
    assert "And now order 1002." in second
    assert second.count("Notes so far:") == 1


def test_what_a_peer_has_lost_and_done_is_counted() -> None:
    turns = [
        {"text": "No emails.", "steps": [], "said": 0, "probed": None},
        {"text": "Go on.", "steps": [[("send_email", {"to": "a"})]], "said": None, "probed": 0},
    ]
    watched = Watched({"language": "en", "rules": ["No emails"], "turns": turns})
    watched.next_calls([watched.begin(turns[0])])
    watched.end()
    ((name, args),) = watched.next_calls([watched.begin(turns[1]), "a summary of something else"])
    watched.tools()[name](**args)
    assert watched.next_calls(["No emails."]) == []
    watched.end()
    found = watched.outcome()
    assert (found["at_end"], found["always"], found["breaks"], found["carried_out"]) == (1, 0, 1, 1)
