"""Everything that Backstay raises, as one tree.

    BackstayError
    ├── SetupError                 the program is put together wrongly; raised before anything runs
    │   ├── ToolDefinitionError    a function or class that cannot become a tool
    │   ├── ConstraintError        a rule that cannot be read or bound
    │   ├── MemoryConfigError      a memory that could never hold what it must
    │   ├── TemplateError          a prompt template that cannot be used, or data that does not fit it
    │   ├── RequirementError       a requirement that cannot be kept, or requirements that leave nothing to do
    │   ├── OutputError            an output type that no model can be held to, or an answer that is not of it
    │   └── AppError               an app path, an agent name, a model name that leads nowhere
    ├── ToolError                  a tool could not do it; `retryable`, `fatal`, `applied` are its own word
    │   └── ToolInputError         the arguments are wrong; the model mends them
    │       └── ArgumentsError     all problems of a call's arguments at once (core/schema)
    ├── ModelError                 a model could not answer; `retryable` says whether asking again may help
    ├── StoreError                 the store could not keep or find something
    │   ├── NotFoundError          no such run, session or action
    │   ├── CorruptError           what is stored is not what was written
    │   ├── FullError              no room on the disk; nothing of the batch was written
    │   └── FencedError            another process drives this session now
    ├── DecisionError              a decision that cannot stand: late, doubled, changed, not allowed
    └── RunError                   raised by `RunResult.raise_for_status` for a run that is not done

Every error carries a stable `code`; `backstay explain CODE` says what it means and what to do. A message says what
happened, what was expected and what to do, and never shows a secret or a whole payload.
Source: SPEC T5, C6.
"""

from __future__ import annotations


class BackstayError(Exception):
    """The root: catching it catches whatever this library raises.

    Args:
        message: what happened, what was expected, what to do.
        code: stable code, a row of `core/codes.py`; the class's own where it is left out.
    """

    default_code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code

    @property
    def is_retryable(self) -> bool:
        """Whether the same thing done again may succeed. Each class decides; there is no default."""
        raise NotImplementedError(f"{type(self).__name__} must say whether it is retryable")


class SetupError(BackstayError):
    """The program is put together wrongly. Raised where it is put together, before anything runs."""

    default_code = "setup"

    @property
    def is_retryable(self) -> bool:
        """Never: the program has to change."""
        return False


class ToolDefinitionError(SetupError):
    """A function or class that cannot become a tool; the message names the parameter."""

    default_code = "tool.definition"


class ConstraintError(SetupError):
    """A rule that cannot be read, or that names a tool or an argument nobody has."""

    default_code = "constraint.invalid"


class MemoryConfigError(SetupError):
    """A memory whose settings could never hold what it must hold."""

    default_code = "memory.config"


class TemplateError(SetupError):
    """A prompt template that cannot be used, or data that does not fit it; names template, field and type."""

    default_code = "template.invalid"


class RequirementError(SetupError):
    """A requirement that cannot be kept: an unknown target, numbers that contradict each other, a rule that raises."""

    default_code = "requirement.invalid"


class OutputError(SetupError):
    """An output type that no model can be held to, or an answer that is not of it; the model is told the latter."""

    default_code = "output.invalid"


class AppError(SetupError):
    """An app path, an agent name or a model name that leads nowhere."""

    default_code = "app.not_found"


class ToolError(BackstayError):
    """A tool could not do what it was asked. The run goes on: the model is told type and message.

    Args:
        message: what the model will read.
        retryable: whether the pipeline may try again (never for an effect that happens at most once).
        fatal: True ends the run as failed, for instance when credentials were revoked.
        applied: False is the tool's word that nothing happened outside; None that it does not know.
        retry_after: seconds the other side asked to wait.
    """

    default_code = "tool.failed"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        fatal: bool = False,
        applied: bool | None = None,
        retry_after: float | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.retryable = retryable
        self.fatal = fatal
        self.applied = applied
        self.retry_after = retry_after

    @property
    def is_retryable(self) -> bool:
        """What the tool said."""
        return self.retryable


class ToolInputError(ToolError):
    """The arguments are wrong. Never retried by the framework; the model reads the message and mends its arguments."""

    default_code = "tool.input"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message, retryable=False, applied=False, code=code)


class ModelError(BackstayError):
    """A model could not answer.

    Args:
        message: what the provider said, without secrets.
        retryable: whether asking again may help (connection errors, 408, 409, 429, 5xx).
        retry_after: seconds the provider asked to wait.
    """

    default_code = "model.failed"

    def __init__(
        self, message: str, *, retryable: bool, retry_after: float | None = None, code: str | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.retryable = retryable
        self.retry_after = retry_after

    @property
    def is_retryable(self) -> bool:
        """What the client found out about this failure."""
        return self.retryable


class StoreError(BackstayError):
    """The store could not keep or find something."""

    default_code = "store.failed"

    @property
    def is_retryable(self) -> bool:
        """Not by itself: the store has already waited for locks as long as it makes sense."""
        return False


class NotFoundError(StoreError):
    """No run, session or action of that id is in this store."""

    default_code = "store.not_found"


class CorruptError(StoreError):
    """What is stored is not what was written: a damaged file, an unknown version, a broken chain."""

    default_code = "store.corrupt"


class FullError(StoreError):
    """No room is left on the disk. Nothing of the batch was written; what was written before is intact."""

    default_code = "store.full"


class FencedError(StoreError):
    """Another process drives this session now; this one may write nothing more."""

    default_code = "store.fenced"


class DecisionError(BackstayError):
    """A decision that cannot stand: late, doubled, about changed arguments, by somebody who may not."""

    default_code = "action.refused"

    @property
    def is_retryable(self) -> bool:
        """Never: the row is as the message says."""
        return False


class RunError(BackstayError):
    """A run that did not end as done; raised by `RunResult.raise_for_status` alone."""

    default_code = "run.not_done"

    @property
    def is_retryable(self) -> bool:
        """Never: the result says what to do."""
        return False
