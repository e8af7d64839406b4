"""Starting a run: a turn becomes an input record and a row, and is driven, in its turn where the session is busy.

Source: SPEC G2, G3; DESIGN 2.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import fields
from inspect import isawaitable
from typing import Any, get_args

from backstay.agents.definition import Definition, check_limits
from backstay.agents.drive import Given, drive, drive_claimed, told
from backstay.agents.lease import LEASE_SECONDS, pulse
from backstay.agents.own_tools.plan import checked
from backstay.agents.prompts import today
from backstay.agents.result import RunResult
from backstay.agents.turn import Turn
from backstay.boundary.policy import Limits
from backstay.boundary.session_check import refusal
from backstay.core.canon import freeze
from backstay.core.context import RunContext
from backstay.core.errors import NotFoundError, SetupError
from backstay.core.events import Emitter
from backstay.core.hiding import hide_json, hide_message
from backstay.core.ids import new_id, new_trace_id
from backstay.core.messages import Args, Json, Media, Message, Text
from backstay.core.redaction import hide
from backstay.memory.estimator import estimate
from backstay.memory.history import make_valid
from backstay.memory.window import check_fixed, is_surely_within
from backstay.store.protocol import RunStore
from backstay.store.records import ENDED, Input, OnBusy, Record, RunRow
from backstay.tools.outside import outside_context

_WAYS: tuple[OnBusy, ...] = get_args(OnBusy)
_WAITS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Seconds between looks at a session that another run holds; the last goes on."""


async def start(
    turn: Turn, definition: Definition, store: RunStore, owner: str, given: Given, emit: Emitter
) -> RunResult[Any]:
    """Make the run's row with its input and drive it, inside the middleware around runs.

    Raises:
        SetupError: for an empty input, a rule list that is one text, or a limit that cannot be kept; `session.unsafe`
            for a run that nobody attends and that could do too much.
        StoreError: when the journal cannot be written.
    """

    async def rest(turn: Turn, _ctx: RunContext[Any], /) -> RunResult[Any]:
        return await _begun(turn, definition, store, owner, given, emit)

    if definition.chains.run is None:
        return await _begun(turn, definition, store, owner, given, emit)
    ctx = _before_the_run(turn, definition, given)
    ctx.emit = emit
    emit.bind(asyncio.get_running_loop())
    result: RunResult[Any] = await definition.chains.run(turn, ctx, rest)
    return result


async def _begun(
    turn: Turn, definition: Definition, store: RunStore, owner: str, given: Given, emit: Emitter
) -> RunResult[Any]:
    check_on_busy(turn.on_busy)
    _refuse_unsafe(turn, definition, given)
    body = await _input(turn, definition, given)
    _refuse_too_large(body, definition, given)
    row, first = _rows(turn, body, definition, given)
    claim = (owner, LEASE_SECONDS)
    made, fence = await store.create(row, first, dedup=turn.dedup, claim=claim, on_busy=turn.on_busy)
    if fence is None:
        if turn.on_busy == "interrupt":
            pulse.look(store, made.root_id)
        if turn.on_busy == "steer" and made.run_id != row.run_id and made.status == "running":
            return await _within(made, row.run_id, definition, store, owner, given, emit)
        return await _in_turn(made, definition, store, owner, given, emit)
    known = first if turn.session is None and made.run_id == row.run_id else None
    return await drive_claimed(made, fence, store=store, definition=definition, given=given, emit=emit, first=known)


def check_on_busy(on_busy: str) -> None:
    """Check that this is a way to treat an input for a session that is at work.

    Raises:
        SetupError: for any other word.
    """
    if on_busy not in _WAYS:
        raise SetupError(f"on_busy={on_busy!r}: expected one of {', '.join(_WAYS)}", code="setup")


def _refuse_unsafe(turn: Turn, definition: Definition, given: Given) -> None:
    label = turn.label
    for message in turn.history:
        label = label.join(message.label)
    told = refusal(definition.reach_with(label), "attended" if given.approver else turn.presence)
    if told is not None:
        raise SetupError(f"the run of agent {definition.name!r} was not started: {told}", code="session.unsafe")


def _refuse_too_large(body: Input, definition: Definition, given: Given) -> None:
    """Refuse what could never fit: instructions, rules and tools that take more than half of the model's window."""
    window, tools = (given.model or definition.model).profile.window, definition.tool_tokens
    if is_surely_within(len(body.instructions) + len(definition.rules_text), window // 2 - tools):
        return
    system, rules = estimate(body.instructions), estimate(definition.rules_text)
    told = check_fixed(window, system=system, rules=rules, tools=tools)
    if told:
        raise SetupError(f"the run of agent {definition.name!r} was not started: {told}", code="window.fixed")


async def _input(turn: Turn, definition: Definition, given: Given) -> Input:
    if turn.limits is not None or given.model is not None:
        limits = turn.limits or definition.boundary.limits
        check_limits(limits, given.model or definition.model, definition.boundary.budgets)
    parts = (Text(text=turn.input),) if isinstance(turn.input, str) else tuple(turn.input)
    if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
        raise SetupError("the input is empty: give the user's words", code="input.empty")
    return Input(
        message=hide_message(Message(id=new_id("m"), role="user", parts=parts, label=turn.label)),
        instructions=hide(_system_text(await _render(turn, definition, given), turn, definition, given)),
        task=hide(definition.prompts.task_text(_words(parts), turn.metadata)),
        history=tuple(map(hide_message, make_valid(turn.history))),
        limits=_changed(turn.limits, definition.boundary.limits),
        presence=turn.presence,
        metadata=_args(hide_json(turn.metadata)),
        rules=tuple(map(hide, _stated(turn.rules))),
        plan=checked(turn.plan, definition.toolset, definition.boundary.plan),
        has_deps=given.deps is not None,
    )


def _words(parts: Sequence[Text | Media]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def _system_text(instructions: str, turn: Turn, definition: Definition, given: Given) -> str:
    day = today(given.clock(), turn.principal.zone)
    return definition.prompts.system_text(definition.role, instructions, definition.notes, day)


async def _render(turn: Turn, definition: Definition, given: Given) -> str:
    instructions = definition.instructions
    if isinstance(instructions, str):
        return instructions
    said = instructions(_before_the_run(turn, definition, given))
    return await said if isawaitable(said) else said


def _before_the_run(turn: Turn, definition: Definition, given: Given) -> RunContext[Any]:
    """A context while there is no run yet: nothing can be recalled, asked or kept in it."""
    ctx: RunContext[Any] = outside_context(definition.name, {})
    ctx.deps, ctx.principal, ctx.clock, ctx.sleep = given.deps, turn.principal, given.clock, given.sleep
    ctx.agents, ctx.call = (definition.name,), None
    return ctx


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
) -> RunResult[Any]:
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
                return await told(store, row, definition)
            await given.sleep(_WAITS[min(looks, len(_WAITS) - 1)])
            looks += 1
    except asyncio.CancelledError:
        await store.cancel(row.run_id, "the task that waited for its turn was cancelled")
        raise


async def _within(
    at_work: RunRow, run_id: str, definition: Definition, store: RunStore, owner: str, given: Given, emit: Emitter
) -> RunResult[Any]:
    """Wait for a run that an input steers. If the run has ended before it took it in, `run_id` is the input's own.

    If the run's driver dies, whoever waits goes on with it. A cancelled wait takes nothing back that was said.
    """
    looks = 0
    while True:
        row = await store.run(at_work.run_id)
        if row.status in ENDED:
            own = await _run_if_there(store, run_id)
            if own is None:
                return await told(store, row, definition)
            return await _in_turn(own, definition, store, owner, given, emit)
        if row.status == "running" or await store.arrived(row.run_id):
            agents = {definition.name: definition}
            result = await drive(row.run_id, store=store, agents=agents, given=given, emit=emit, owner=owner)
            if result is not None and result.status not in ENDED:
                return result
        else:
            return await told(store, row, definition)
        await given.sleep(_WAITS[min(looks, len(_WAITS) - 1)])
        looks += 1


async def _run_if_there(store: RunStore, run_id: str) -> RunRow | None:
    try:
        return await store.run(run_id)
    except NotFoundError:
        return None


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
    return _args(freeze(values))


def _args(value: Json) -> Args | None:
    return value if isinstance(value, Mapping) else None
