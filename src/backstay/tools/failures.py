"""What an error becomes: a result with type and message, and an honest word about what may have happened.

Never a traceback, a credential or a whole payload. Source: SPEC T5; DESIGN 8.7.
"""

from __future__ import annotations

from dataclasses import replace

from backstay.core.context import Effect
from backstay.core.errors import BackstayError, ToolError, ToolInputError
from backstay.core.messages import ToolResult
from backstay.core.printable import printable
from backstay.core.redaction import redact

MAX_CHARS = 4_000
"""Characters of an error or of a preview that a model or a person is shown."""


def cut(text: str) -> str:
    """The text within what a model or a person is shown of one."""
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"


def as_tool_error(error: BaseException) -> ToolError:
    """What anything that was raised is to a tool: itself, or a `ToolError` with its type and message."""
    if isinstance(error, ToolError):
        return error
    try:
        said = str(error)
    except Exception:  # an error whose text cannot be made still has a type
        said = ""
    kind = type(error).__name__
    return ToolError(f"{kind}: {said}" if said else kind, code=error.code if isinstance(error, BackstayError) else None)


def failure(error: ToolError) -> ToolResult:
    """The result that an error leads to."""
    told = cut(printable(redact(error.message)))
    return ToolResult(
        ok=False,
        summary=told,
        error=told,
        code=error.code,
        retryable=error.retryable,
        fatal=error.fatal,
        via="refused" if isinstance(error, ToolInputError) else "ran",
    )


def refused(error: Exception) -> ToolResult:
    """The result of what went wrong outside the tool's body: nothing has run."""
    return replace(failure(as_tool_error(error)), via="refused")


def failed(error: ToolError, effect: Effect) -> ToolResult:
    """The result of an error in the body, with what is known of the effect that had begun."""
    result = failure(error)
    if error.applied is False:
        return replace(result, applied=False)
    if effect == "none":
        return result
    if error.applied:
        return took_effect(result)
    if effect == "once":
        told = f"{result.summary} It is not known whether it took effect; a person will look. Do not repeat it."
        return replace(result, summary=told, code="effect.in_doubt", retryable=False, via="in_doubt")
    return replace(result, summary=f"{result.summary} It is not known whether it took effect.")


def after_effect(done: ToolResult, error: ToolError) -> ToolResult:
    """A middleware failed after the effect: the failure is told, and that what was done is done."""
    if done.via == "in_doubt":
        return done
    result = failure(error)
    return took_effect(result) if done.ok else result


def took_effect(result: ToolResult) -> ToolResult:
    """A failure whose effect has happened all the same."""
    told = f"{result.summary} It took effect all the same; do not repeat it."
    return replace(result, summary=told, retryable=False)
