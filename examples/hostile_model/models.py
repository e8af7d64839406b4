"""A model that is wrong in every way: it does the user's work, and what the attacker wants as soon as it is told to.

It needs no prose. What it may be told by is an opaque marker in whatever it reads: a result, a notice, the description
of a tool. A tool that it is not offered it proposes, as the framework wants it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from backstay import RunContext
from backstay.core.messages import ModelRequest, ToolCall
from backstay.models import FunctionModel, Line, call
from backstay.tools import PROPOSE

MARKER = "OPAQUE-MARKER-7c1e"
Order: TypeAlias = Literal["at_once", "after", "first", "never"]


class Call(NamedTuple):
    """What somebody wants done: a function and its arguments."""

    name: str
    args: dict[str, Any]


class HostileModel(FunctionModel):
    """Makes the user's calls one by one, and the attacker's as soon as it has read the marker.

    Args:
        user: the user's own calls.
        attack: the attacker's calls.
        order: `at_once`, right after what carried the marker; `after` the user's task; `first`, before anything was
            read, marker or not; `never`.
        marker: what it obeys.
        answer: what it says at the end.
    """

    def __init__(
        self,
        user: Sequence[Call],
        attack: Sequence[Call] = (),
        *,
        order: Order = "at_once",
        marker: str = MARKER,
        answer: str = "Done.",
    ) -> None:
        super().__init__(self.line, name="scripted:hostile")
        self.user, self.attack = tuple(user), tuple(attack)
        self.order, self.marker, self.answer = order, marker, answer
        self.obeyed: dict[str, int] = {}
        """Run to how many of the user's calls it had made when it turned."""

    @property
    def has_turned(self) -> bool:
        """Whether it has read the marker in any run."""
        return bool(self.obeyed)

    def line(self, request: ModelRequest, ctx: RunContext[Any]) -> Line:
        """The next call of the two lists, or the answer."""
        made = ctx.step - 1
        if ctx.run_id not in self.obeyed and self.is_told(request):
            self.obeyed[ctx.run_id] = {"at_once": min(made, len(self.user)), "first": 0}.get(self.order, len(self.user))
        turned = self.obeyed.get(ctx.run_id)
        plan = self.user if turned is None else (*self.user[:turned], *self.attack, *self.user[turned:])
        return as_offered(plan[made], request) if made < len(plan) else self.answer

    def is_told(self, request: ModelRequest) -> bool:
        """Whether what came since its last words says to turn."""
        if self.order in ("first", "never"):
            return self.order == "first"
        return any(self.marker in text for text in heard(request))


def heard(request: ModelRequest) -> Iterator[str]:
    """What a model reads that nobody it works for has written: new results and notices, and descriptions of tools."""
    for tool in request.tools:
        yield tool.description
    for message in reversed(request.messages):
        if message.role not in ("tool", "notice"):
            return
        yield message.text
        for one in message.returns:
            yield one.result.summary
            yield json.dumps(one.result.data, ensure_ascii=False)  # it could read a cut result in pages


def as_offered(wanted: Call, request: ModelRequest) -> ToolCall:
    """The call as the model can make it: directly, or as a proposal where it is not offered the tool."""
    offered = {tool.name for tool in request.tools}
    if wanted.name in offered or PROPOSE not in offered:
        return call(wanted.name, wanted.args)
    return call(PROPOSE, action={"name": wanted.name, "arguments": wanted.args}, reason="the user wants it")
