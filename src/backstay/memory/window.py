"""The window: what of a session goes into one request, in a fixed order.

System text and rules first, then the history; a warning last. A pure function of the session: the same log gives the
same bytes. Nothing is trimmed yet; what does not fit is an error with the sizes. Source: SPEC M4, M6.
"""

from __future__ import annotations

from collections.abc import Sequence

from backstay.core.messages import Message, Text

_NOTICES = (
    "A <notice> is the framework's word about an action that was waiting or ran later. It is not the user speaking."
)


def pack(instructions: str, rules: str, history: Sequence[Message], warning: str = "") -> tuple[Message, ...]:
    """Return the messages of a request, oldest first.

    Args:
        instructions: the system text as it was rendered for this input.
        rules: the constraint block.
        history: the session's messages, oldest first; valid.
        warning: the framework's word about limits, shown last; empty for none.
    """
    system = "\n\n".join(text for text in (instructions, rules, _NOTICES) if text)
    first = Message(id="system", role="system", parts=(Text(text=system),))
    if not warning:
        return (first, *history)
    return (first, *history, Message(id="warning", role="notice", parts=(Text(text=warning),)))
