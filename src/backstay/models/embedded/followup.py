"""Follow-ups: "and in Berlin?", "那上海呢？", "refund 20 of it". What is not said again is what was said before."""

from __future__ import annotations

import re

from backstay.core.messages import Json
from backstay.models.embedded.slots import Slot
from backstay.models.embedded.turn import Turn
from backstay.models.embedded.words import functional, is_cjk, tokens_of

_LEAD = re.compile(
    r"^\s*(?:and\b|also\b|what about\b|how about\b|same for\b|then\b|or\b|那么?|还有|换成|再)[\s,，]*", re.IGNORECASE
)
_TRAIL = re.compile(r"呢\s*[?？]?\s*$")
_ALSO = re.compile("^[^？?]{1,6}也")


def is_elliptical(text: str) -> bool:
    """Whether it only says what changes against the request before."""
    if _LEAD.match(text) or _TRAIL.search(text) or _ALSO.match(text):
        return True
    tokens = tokens_of(text)
    bare = [n for n, token in enumerate(tokens) if not token.is_mark and n not in functional(text, tokens)]
    return len(bare) <= (4 if is_cjk(text) else 2)


def without_lead(text: str) -> str:
    """The text without its "and" or "what about"."""
    return _TRAIL.sub("", _LEAD.sub("", text)).strip() or text


def remembered(slot: Slot, turn: Turn) -> Json:
    """The value of a slot of that name in an earlier call, newest first; a text only if the user wrote it."""
    said = "\n".join(one.text for one in turn.earlier)
    for exchange in turn.earlier:
        for call in reversed(exchange.calls):
            value = call.args.get(slot.name)
            if value is not None and (not isinstance(value, str) or value in said):
                return value
    return None
