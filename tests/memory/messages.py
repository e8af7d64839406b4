"""Messages of a conversation, short to write."""

from __future__ import annotations

from itertools import count

from hypothesis import strategies as st

from backstay.core.canon import freeze
from backstay.core.messages import Message, Text, ToolCall, ToolResult, ToolReturn

_numbers = count(1)


def said(text: str, role: str = "user") -> Message:
    return Message(id=f"m{next(_numbers)}", role=role, parts=(Text(text=text),))  # type: ignore[arg-type]


def called(*ids: str, args: object = None) -> Message:
    calls = tuple(ToolCall(id=one, name="find", args=freeze(args or {"of": one})) for one in ids)
    return Message(id=f"m{next(_numbers)}", role="assistant", parts=calls)


def gave(*ids: str, text: str = "found") -> Message:
    returns = tuple(ToolReturn(call_id=one, name="find", result=ToolResult(ok=True, summary=text)) for one in ids)
    return Message(id=f"m{next(_numbers)}", role="tool", parts=returns)


def conversation(draw: st.DrawFn) -> list[Message]:
    """Turns of every kind: words, calls with all, some or none of their results, and stray results."""
    made: list[Message] = []
    for turn in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "assistant", "call", "call", "half", "stray", "system"]))
        words = draw(st.sampled_from(["yes", "a longer text with words", "只要近30天", "x" * 60]))
        ids = [f"c{turn}-{n}" for n in range(draw(st.integers(1, 3)))]
        if kind in ("user", "assistant", "system"):
            made.append(said(words, kind))
        elif kind == "stray":
            made.append(gave(f"c{turn}-stray"))
        else:
            made.append(called(*ids))
            answered = ids if kind == "call" else ids[:-1]
            if draw(st.booleans()) and answered:
                made.append(gave(*answered, text=words))
            else:
                made += [gave(one, text=words) for one in answered]
    return made


conversations = st.composite(conversation)


def is_paired(messages: tuple[Message, ...]) -> bool:
    """Whether no result stands without its call before it."""
    known: set[str] = set()
    for message in messages:
        known.update(call.id for call in message.calls)
        if any(one.call_id not in known for one in message.returns):
            return False
    return True
