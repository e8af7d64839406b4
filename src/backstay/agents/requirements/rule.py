"""What a requirement says and what it may look at. Pure on both sides. Source: SPEC G5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from backstay.core.canon import EMPTY
from backstay.core.messages import PLAIN, Label
from backstay.tools.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One requirement's word about one tool in the next step."""

    target: str
    """Name of the tool; of a rule that only says whether the run may end it may be empty."""
    allowed: bool = True
    hidden: bool = False
    """Not allowed, and not spoken of either."""
    forced: bool = False
    """Has to be called in this step, alone, and before the run may end."""
    prevent_stop: bool = False
    ask: bool = False
    """A person is asked before a call runs."""
    most: int | None = None
    """Calls of it in this one step; None: any number."""
    reason: str = ""
    """Told to the model where this rule refuses or holds something up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """What a run has done since its last input, as counters; nothing is read again to make it."""

    step: int = 1
    """The step that is decided about, from 1."""
    calls: Mapping[str, int] = EMPTY
    """Tool → calls, those that a requirement refused excepted. An action behind `propose_action` counts for both."""
    ok: Mapping[str, int] = EMPTY
    """Tool → calls that succeeded. One that waits for a person or was denied has not; one that was approved and done
    has."""
    last: tuple[str, ...] = ()
    """Tools called in the last step that had calls."""
    last_ok: tuple[str, ...] = ()
    """Tools that succeeded in the last step in which something succeeded or was put to a person."""
    done: int = 0
    """Steps in which something succeeded or was put to a person."""
    label: Label = PLAIN
    """Of the conversation: whether somebody else's text was read."""


class Requirement(Protocol):
    """Decides at each step what the next request offers. Most are a `ConditionalRequirement`."""

    @property
    def name(self) -> str:
        """As errors list it."""
        ...

    @property
    def priority(self) -> int:
        """The higher one's reason and the higher one's forcing win."""
        ...

    def bind(self, tools: Sequence[Tool]) -> Requirement:
        """Return a copy for one agent, its targets found among the tools; the original stays as it is.

        Raises:
            RequirementError: for a target that is not there.
        """
        ...

    def rules(self, view: StepView) -> Sequence[Rule]:
        """The rules of the next step. Pure: the same view gives the same rules, in a resumed run too."""
        ...
