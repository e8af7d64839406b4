"""Exit codes: what a script can tell without reading a word. Source: SPEC C1."""

from __future__ import annotations

from typing import Any

from backstay.agents import RunResult
from backstay.core.errors import BackstayError, DecisionError, NotFoundError, SetupError, StoreError

DONE = 0
FAILED = 1
USAGE = 2
WAITING = 3
DECISION = 4
STORE = 5
INTERRUPTED = 130

EPILOG = "\n".join(
    [
        "\b",
        "Exit codes:",
        "  0    done",
        "  1    the run failed, stopped or was cancelled; boundary replay found differences",
        "  2    usage or set-up: a bad app path, an unknown option, model or id",
        "  3    waiting for a person",
        "  4    a decision that cannot stand: decided already, expired, changed, tampered with",
        "  5    the store: corrupt, full, a broken audit chain",
        "  130  Ctrl-C; the run can be resumed",
    ]
)
_OF_STATUS = {"done": DONE, "waiting": WAITING, "needs_narrowing": WAITING}
_NO_FAULT_OF_THE_STORE = frozenset({"store.url", "store.missing", "store.id", "session.owner"})


def of_result(result: RunResult[Any]) -> int:
    """The exit code of a run that stands so."""
    return INTERRUPTED if is_interrupted(result) else _OF_STATUS.get(result.status, FAILED)


def is_interrupted(result: RunResult[Any]) -> bool:
    """Whether Ctrl-C left the run where it is."""
    return result.code == "run.interrupted"


def of_error(error: BackstayError) -> int:
    """The exit code of an error that ended a command."""
    match error:
        case SetupError() | NotFoundError():
            return USAGE
        case DecisionError():
            return DECISION
        case StoreError():
            return USAGE if error.code in _NO_FAULT_OF_THE_STORE else STORE
        case _:
            return USAGE if error.code in ("cli.usage", "code.unknown") else FAILED
