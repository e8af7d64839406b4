"""Starting a run: a turn becomes an input record and a row, and is driven, in its turn where the session is busy.

Source: SPEC G2, G3; DESIGN 2.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, fields
from inspect import isawaitable
from typing import Any

from backstay.agents.definition import Definition, check_limits
from backstay.agents.drive import Given, drive, drive_claimed, told
from backstay.agents.lease import LEASE_SECONDS
from backstay.agents.result import RunResult
from backstay.boundary.judge import Presence
from backstay.boundary.policy import Limits
from backstay.core.canon import freeze
from backstay.core.context import Principal, RunContext
from backstay.core.errors import SetupError
from backstay.core.events import Emitter
from backstay.core.ids import new_id, new_trace_id
from backstay.core.messages import Args, Json, Label, Media, Message, Text
from backstay.memory.history import make_valid
from backstay.store.protocol import RunStore
from backstay.store.records import ENDED, Input, Record, RunRow
from backstay.tools.outside import outside_context

_WAITS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Seconds between looks at a session that another run holds; the last goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What `Agent.run` was asked; its parameters are explained there."""

    input: str | Sequence[Text | Media]
    session: str | None
    principal: Principal
    limits: Limits | None
    rules: Sequence[str]
    history: Sequence[Message]
    label: Label
    metadata: Args | None
    presence: Presence
    dedup: str | None


async def start(
    turn: Turn, definition: Definition, store: RunStore, owner: str, given: Given, emit: Emitter
) -> RunResult[str]:
    """Make the run's row with its input and drive it.

    Raises:
        SetupError: for an empty input, a rule list that is one text, or a limit that cannot be kept.
        StoreError: when the journal cannot be written.
    """
    body = await _input(turn, definition, given)
    row, first = _rows(turn, body, definition, given)
    made, fence = await store.create(row, first, dedup=turn.dedup, claim=(owner, LEASE_SECONDS))
    if fence is None:
        return await _in_turn(made, definition, store, owner, given, emit)
    known = first if turn.session is None and made.run_id == row.run_id else None
    return await drive_claimed(made, fence, store=store, definition=definition, given=given, emit=emit, first=known)


async def _input(turn: Turn, definition: Definition, given: Given) -> Input:
    if turn.limits is not None:
        check_limits(turn.limits, given.model or definition.model)
    parts = (Text(text=turn.input),) if isinstance(turn.input, str) else tuple(turn.input)
    if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
        raise SetupError("the input is empty: give the user's words", code="input.empty")
    return Input(
        message=Message(id=new_id("m"), role="user", parts=parts, label=turn.label),
        instructions=await _render(turn, definition, given),
        history=make_valid(turn.history),
        limits=_changed(turn.limits, definition.boundary.limits),
        presence=turn.presence,
        metadata=turn.metadata,
        rules=_stated(turn.rules),
        has_deps=given.deps is not None,
    )


async def _render(turn: Turn, definition: Definition, given: Given) -> str:
    instructions = definition.instructions
    if isinstance(instructions, str):
        return instructions
    ctx: RunContext[Any] = outside_context(definition.name, {})
    ctx.deps, ctx.principal = given.deps, turn.principal
    said = instructions(ctx)
    return await said if isawaitable(said) else said


def _rows(turn: Turn, body: Input, definition: Definition, given: Given) -> tuple[RunRow, Record]:
    run_id = new_id("r")
    row = RunRow(
        run_id=run_id,
        session_id=turn.session or run_id,
        root_id=turn.session or run_id,
        parent_id=None,
        agent=definition.name,
        agent_digest=definition.digest,
        principal=turn.principal,
        trace_id=new_trace_id(),
        status="running",
        created_at=given.clock(),
    )
    first = Record(
        session_id=row.session_id,
        seq=1 if turn.session is None else 0,
        run_id=run_id,
        kind="input",
        at=row.created_at,
        body=body,
        trace_id=row.trace_id,
    )
    return row, first


async def _in_turn(
    row: RunRow, definition: Definition, store: RunStore, owner: str, given: Given, emit: Emitter
) -> RunResult[str]:
    looks = 0
    try:
        while True:
            result = await drive(
                row.run_id, store=store, agents={definition.name: definition}, given=given, emit=emit, owner=owner
            )
            if result is not None:
                return result
            row = await store.run(row.run_id)
            if row.status in ENDED:
                return await told(store, row)
            await given.sleep(_WAITS[min(looks, len(_WAITS) - 1)])
            looks += 1
    except asyncio.CancelledError:
        await store.cancel(row.run_id, "the task that waited for its turn was cancelled")
        raise


def _stated(rules: Sequence[str]) -> tuple[str, ...]:
    if isinstance(rules, str):
        raise SetupError(f"rules={rules!r}: expected a list of rules, got one text", code="constraint.invalid")
    return tuple(rules)


def _changed(limits: Limits | None, base: Limits) -> Args | None:
    if limits is None:
        return None
    values: dict[str, Json] = {}
    for one in fields(limits):
        value = getattr(limits, one.name)
        if value != getattr(base, one.name):
            values[one.name] = str(value) if one.name == "usd" and value is not None else value
    frozen = freeze(values)
    return frozen if isinstance(frozen, dict) else None
