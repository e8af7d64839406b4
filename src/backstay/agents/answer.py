"""What a program gets of a run's answer: words, or a value of the output type, read again from what is journalled."""

from __future__ import annotations

from backstay.agents.definition import Definition
from backstay.agents.run_state import RunState
from backstay.core.errors import OutputError
from backstay.core.logs import logger

_log = logger("backstay.agents")


def answer_of(definition: Definition, run: RunState) -> object:
    """The answer of a run; None while there is none, or where another version of the agent cannot read it."""
    output, text = definition.output, run.output
    if text is None or output.is_text or not run.tally.is_typed:
        return text if output.takes_text else None
    try:
        return output.read(text)
    except OutputError as error:
        _log.warning("run %s has an answer that this version of the agent cannot read: %s", run.run_id, error.message)
        return None
