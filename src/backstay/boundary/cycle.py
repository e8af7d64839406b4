"""The circles of delegation, and how often one task may be asked for. Pure: who delegates keeps the records.

A chain is the agents from the first one to the one at work, as `RunContext.agents` has it. Every delegation is an
edge of it, from the last agent to the one that is called; the second time that the same edge would be taken, the call
is refused before the other agent runs, so that A → B → A → B never completes. What does not nest (a coordinator that
calls the same worker again and again) is bounded by rounds. Source: SPEC B15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from backstay.core.canon import EMPTY, FrozenDict, digest
from backstay.core.messages import Json

MAX_TIMES = 3
"""So often the same task may be asked for in one chain; the next time it is cut."""
MAX_ROUNDS = 10
"""So often one agent may call the same other one for the same input of the user, where nothing else is said."""


def cycle(chain: Sequence[str], target: str) -> str | None:
    """The circle that calling `target` would close, in words for a person and a model; None if it closes none.

    Args:
        chain: agents from the first to the one at work, which is the one that would call.
        target: whom it would call.
    """
    taken = list(pairwise(chain))
    edge = (chain[-1], target) if chain else ("", target)
    return " → ".join([*chain[taken.index(edge) :], target]) if edge in taken else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What becomes of asking for a task."""

    kind: Literal["run", "first", "differs", "cut"]
    """`run` it; give the `first` result again; the input `differs` from the first one's, which is an error; or it is
    `cut`, since it was asked for too often."""
    message: str = ""
    """Why it does not run; empty where it runs or the first result is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A task that was asked for."""

    input_digest: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegations:
    """What was delegated so far for one input of the user. `asked` and `called` give the next one; nothing changes."""

    tasks: Mapping[str, Asked] = EMPTY
    """By task id."""
    rounds: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Caller and called → how often."""

    def answer(self, task_id: str, input: Json, *, chain: Sequence[str] = ()) -> Answer:
        """What becomes of a task that is asked for now.

        Args:
            task_id: as the caller names it.
            input: its whole input, as JSON.
            chain: who asks, for the message.
        """
        known = self.tasks.get(task_id)
        if known is None:
            return Answer(kind="run")
        if known.input_digest != digest(input):
            told = f"The task {task_id!r} was begun with another input; give the new one an id of its own."
            return Answer(kind="differs", message=told)
        if known.times >= MAX_TIMES:
            by = f" by {' → '.join(chain)}" if chain else ""
            told = f"The task {task_id!r} was asked for {known.times} times{by} and is cut: its result will not change."
            return Answer(kind="cut", message=told)
        return Answer(kind="first")

    def asked(self, task_id: str, input: Json) -> Delegations:
        """The same with one more asking for a task; its first input stays."""
        known = self.tasks.get(task_id)
        now = Asked(input_digest=digest(input), times=1) if known is None else replace(known, times=known.times + 1)
        return replace(self, tasks=FrozenDict({**self.tasks, task_id: now}))

    def called(self, caller: str, target: str) -> Delegations:
        """The same with one more call of one agent by another."""
        edge = (caller, target)
        return replace(self, rounds={**self.rounds, edge: self.rounds.get(edge, 0) + 1})

    def over(self, caller: str, target: str, *, max_rounds: int = MAX_ROUNDS) -> str | None:
        """Why `caller` may not call `target` once more; None if it may."""
        rounds = self.rounds.get((caller, target), 0)
        if rounds < max_rounds:
            return None
        return f"{caller} → {target} was called {rounds} times, allowed are {max_rounds} rounds"
