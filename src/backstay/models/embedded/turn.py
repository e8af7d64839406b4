"""What a request means to the embedded model: who said what last, what was called, what came back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from backstay.core.messages import Message, ToolCall, ToolReturn
from backstay.models.embedded.proposals import PROPOSE, unwrap
from backstay.models.embedded.words import is_chinese

MEMORY = "memory"
"""Id of the message that shows the working memory."""
ASK = "ask_user"
ASIDE = frozenset(["think", ASK, "recall"])
"""The framework's own tools: never an answer to what the user wants, so never chosen by meaning."""
_NOTICE = re.compile(r'<notice[^>]*\bstate="(\w+)"[^>]*>(.*?)</notice>', re.DOTALL)
_GOAL = re.compile(r"^Goal, in the user's words: \"(.*?)\"$", re.MULTILINE | re.DOTALL)
_FACT = re.compile(r"^Fact \([^)]*\): (.*)$", re.MULTILINE)
_REMEMBERED = 4
"""Earlier turns that references are looked up in."""
_WORD = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One earlier turn: what the user said and what was called for it, proposals unwrapped."""

    text: str
    calls: tuple[ToolCall, ...]
    has_question: bool
    """Whether the answer asked the user something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The turn at hand."""

    text: str
    """What the user said last, and what they answered when asked since."""
    calls: tuple[ToolCall, ...]
    """Calls since then, proposals unwrapped."""
    returns: tuple[ToolReturn, ...]
    """Their results, but for the framework's own tools."""
    notices: tuple[tuple[str, str], ...]
    """State and words of each notice that no answer has followed yet."""
    earlier: tuple[Exchange, ...]
    """Newest first."""
    kept: tuple[str, ...] = ()
    """What the working memory keeps of the user's own words, newest first; the goal last."""

    @property
    def is_chinese(self) -> bool:
        """Language of the answer: that of the last message with any words in it."""
        texts = (self.text, *(one.text for one in self.earlier))
        return is_chinese(next((text for text in texts if _WORD.search(text)), ""))


def read_turn(messages: Sequence[Message]) -> Turn:
    """Split the conversation into turns, each beginning with a message of the user."""
    starts = [n for n, one in enumerate(messages) if one.role == "user"]
    if not starts:
        return Turn(text="", calls=(), returns=(), notices=_open_notices(messages), earlier=())
    since = messages[starts[-1] + 1 :]
    returns = [part for one in since for part in one.returns]
    answers = [part.result.summary for part in returns if part.name == ASK and part.result.ok]
    return Turn(
        text="\n".join([messages[starts[-1]].text, *answers]).strip(),
        calls=_calls(since),
        returns=tuple(part for part in returns if part.name not in ASIDE),
        notices=_open_notices(since),
        earlier=tuple(_exchange(messages[start:end]) for start, end in list(pairwise(starts))[: -_REMEMBERED - 1 : -1]),
        kept=_kept(messages),
    )


def _exchange(messages: Sequence[Message]) -> Exchange:
    said = next((one.text for one in reversed(messages) if one.role == "assistant" and one.text), "")
    return Exchange(text=messages[0].text, calls=_calls(messages), has_question="?" in said or "？" in said)


def _kept(messages: Sequence[Message]) -> tuple[str, ...]:
    shown = (one for one in messages if one.id == MEMORY and one.role == "notice" and one.label.trusted)
    text = next((one.text for one in shown), "")
    goal = _GOAL.search(text)
    facts = [fact for fact in _FACT.findall(text) if not fact.endswith("?")]
    return (*reversed(facts), *([goal[1]] if goal else []))


def _calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    return tuple(_unwrapped(call) for one in messages for call in one.calls if call.name not in ASIDE)


def _unwrapped(call: ToolCall) -> ToolCall:
    inner = unwrap(call.args) if call.name == PROPOSE else None
    return ToolCall(id=call.id, name=inner[0], args=inner[1], proposed=True) if inner else call


def _open_notices(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    waiting: list[tuple[str, str]] = []
    for message in messages:
        if message.role == "assistant" and message.text:
            waiting.clear()
        elif message.role == "notice":
            waiting += [(state, told) for state, told in _NOTICE.findall(message.text)]
    return tuple(waiting)
