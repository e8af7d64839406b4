"""What a run gives back. Source: SPEC G2."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, Literal, TypeAlias, TypeVar

from backstay.boundary.actions import PendingAction
from backstay.core.canon import canonical
from backstay.core.errors import RunError
from backstay.core.messages import Artifact, Json, Label, Message, ModelUse, Usage
from backstay.core.schema import dump_result

Out = TypeVar("Out", covariant=True)
ResultStatus: TypeAlias = Literal["done", "waiting", "needs_narrowing", "stopped", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(Generic[Out]):
    """How a run stands. Everything but a programming error is a status, never an exception."""

    status: ResultStatus
    code: str
    """Stable code of the status: empty for `done`, such as `limit.steps` for `stopped`."""
    reason: str
    """The same in words."""
    output: Out | None
    """The answer; for a run that waits, what the model has said so far."""
    run_id: str
    session_id: str
    trace_id: str
    label: Label
    """How far the answer may be believed: the join of all that was read."""
    steps: int
    """Model requests of this run."""
    new_messages: tuple[Message, ...]
    """What this drive added to the conversation, oldest first."""
    usage: Usage
    cost_usd: Decimal | None
    """None where a price or a usage is unknown."""
    models: tuple[ModelUse, ...] = ()
    """The same for each model that has answered."""
    pending: tuple[PendingAction, ...] = ()
    """What waits for a person, and rules read from chat that want to be confirmed."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that its tools have made, oldest first. `agent.artifact(one, session=result.session_id)` reads one."""

    @property
    def output_json(self) -> Json:
        """The answer as JSON, for programs that do not have its type."""
        return dump_result(self.output, None)

    @property
    def output_text(self) -> str:
        """The answer as words, or as JSON text where it is of another type; empty while there is none."""
        if self.output is None:
            return ""
        return self.output if isinstance(self.output, str) else canonical(self.output_json)

    def raise_for_status(self) -> RunResult[Out]:
        """Return the result if the run is done.

        Raises:
            RunError: with the run's code and reason for any other status.
        """
        if self.status == "done":
            return self
        raise RunError(f"run {self.run_id} is {self.status}: {self.reason}", code=self.code or "run.not_done")
