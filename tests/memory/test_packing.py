"""The window: a pure function with a fixed order."""

from __future__ import annotations

from backstay.core.messages import Message, Text
from backstay.memory.window import pack

HISTORY = (
    Message(id="1", role="user", parts=(Text(text="hi"),)),
    Message(id="2", role="assistant", parts=(Text(text="yes"),)),
)


def test_system_rules_history_warning() -> None:
    packed = pack("Be brief.", "<rules>\n</rules>", HISTORY, "Nearly used up.")
    assert [one.role for one in packed] == ["system", "user", "assistant", "notice"]
    assert packed[0].text.startswith("Be brief.\n\n<rules>\n</rules>\n\n")
    assert packed[1:3] == HISTORY
    assert packed[-1].text == "Nearly used up."


def test_the_same_session_gives_the_same_request() -> None:
    assert pack("a", "b", HISTORY) == pack("a", "b", list(HISTORY))
    assert [one.role for one in pack("", "", ())] == ["system"]
    assert not pack("", "", ())[0].text.startswith("\n")


def test_a_longer_history_keeps_the_prefix() -> None:
    shorter, longer = pack("a", "b", HISTORY[:1]), pack("a", "b", HISTORY)
    assert longer[: len(shorter)] == shorter
