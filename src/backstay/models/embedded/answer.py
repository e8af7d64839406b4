"""Answers without a generator: what the tools said, as they said it, in sentences and lists a person can read.

A small model asked to phrase a result loses or turns round every second fact (notes embedded-model 3), so that the
text is the result's own `summary`; JSON in it is laid out, nothing is left out. Source: issue 3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backstay.core.messages import ToolCall, ToolResult, ToolReturn, ToolSpec
from backstay.models.embedded.phrases import (
    CANNOT,
    COUNT,
    DENIED,
    DONE,
    FAILED,
    HELP,
    LEFT,
    MISSING,
    NO_TOOLS,
    NOTHING,
    NOTICES,
    OTHER,
    RULE,
    STOPPED,
    UNSURE,
    WAITING,
    Tongue,
)
from backstay.models.embedded.slots import Slot
from backstay.models.embedded.turn import Turn


def answer(turn: Turn) -> str:
    """What came back in this turn, one paragraph a result."""
    tongue = Tongue(turn.is_chinese)
    calls = {call.id: call for call in turn.calls}
    told = [_result(part, calls.get(part.call_id), tongue) for part in turn.returns]
    return "\n\n".join(dict.fromkeys(told))


def from_notices(turn: Turn) -> str:
    """What became of actions that waited, one line each."""
    tongue = Tongue(turn.is_chinese)
    lines = []
    for state, told in turn.notices:
        state = "failed" if state == "done" and " was approved and failed: " in told else state
        lines.append(tongue.say(NOTICES.get(state, OTHER), told.strip()))
    return "\n".join(lines)


def question(missing: Sequence[Slot], tongue: Tongue) -> str:
    """Ask for what is missing."""
    return tongue.say(MISSING, "; ".join(_asked(slot) for slot in missing))


def unsure(specs: Sequence[ToolSpec], tongue: Tongue) -> str:
    """Ask which of a few tools was meant."""
    return tongue.say(UNSURE, _menu(specs))


def cannot(specs: Sequence[ToolSpec], tongue: Tongue) -> str:
    """Say what can be done here instead."""
    return tongue.say(CANNOT, _menu(specs)) if specs else tongue.say(NO_TOOLS)


def denied(names: Iterable[str], tongue: Tongue) -> str:
    """Say that what the user refused was not done, and ask what is wanted."""
    told = ", ".join(name.replace("_", " ") for name in sorted(names))
    return tongue.say(DENIED, told) if told else tongue.say(STOPPED)


def left_out(texts: Iterable[str], tongue: Tongue) -> str:
    """Say which parts of a message were not done, one line each."""
    return "\n".join(tongue.say(LEFT, text) for text in texts)


def greeting(specs: Sequence[ToolSpec], tongue: Tongue) -> str:
    """Answer small talk with what can be done here."""
    return tongue.say(HELP, _menu(specs)) if specs else tongue.say(NO_TOOLS)


def _menu(specs: Iterable[ToolSpec]) -> str:
    return "\n".join(f"- {spec.name.replace('_', ' ')}: {_first_sentence(spec.description)}" for spec in specs)


def _first_sentence(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line.split(". ", 1)[0].rstrip(".")


def _asked(slot: Slot) -> str:
    name = slot.name.replace("_", " ")
    told = f"{name} ({slot.description})" if slot.description else name
    return f"{told}: {' / '.join(map(str, slot.choices))}" if slot.choices else told


def _result(part: ToolReturn, call: ToolCall | None, tongue: Tongue) -> str:
    result = part.result
    if result.code == "action.waiting" and result.ok:
        return tongue.say(WAITING, *_proposed(part, call))
    if not result.ok:
        return tongue.say(RULE if result.code == "constraint.broken" else FAILED, result.summary)
    return shown(result, tongue)


def _proposed(part: ToolReturn, call: ToolCall | None) -> tuple[str, str]:
    action = part.result.data.get("action", "") if isinstance(part.result.data, Mapping) else ""
    if call is None:
        return part.name, str(action)
    args = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in call.args.items())
    return f"{call.name.replace('_', ' ')}: {args}", str(action)


def shown(result: ToolResult, tongue: Tongue) -> str:
    """A result's summary, laid out if it is JSON."""
    try:
        data = json.loads(result.summary)
    except ValueError:
        return result.summary
    if data is None or data in ([], {}, ""):
        return tongue.say(NOTHING if data is not None else DONE)
    if isinstance(data, list):
        return "\n".join([tongue.say(COUNT, str(len(data))), *(f"- {_row(one)}" for one in data)])
    return _object(data) if isinstance(data, dict) else str(data)


def _object(data: Mapping[str, Any]) -> str:
    """An object on one line; lists of objects in it as lines below."""
    long = {
        key: value for key, value in data.items() if isinstance(value, list) and value and isinstance(value[0], dict)
    }
    lines = [_row({key: value for key, value in data.items() if key not in long})]
    for key, rows in long.items():
        lines += [f"{key.replace('_', ' ')}:", *(f"- {_row(row)}" for row in rows)]
    return "\n".join(line for line in lines if line)


def _row(value: Any) -> str:
    if isinstance(value, dict):
        return " · ".join(f"{key.replace('_', ' ')}: {_row(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(_row(one) for one in value) or "-"
    return "-" if value is None else str(value)
