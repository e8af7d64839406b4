"""`backstay decide`: write a person's decision, and with `--execute` drive the run that waits for it.

Deciding needs no app and no credentials of one; only a process that brings the app executes. Source: SPEC B4, B5.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any

import typer

from backstay.agents import Agent, RunResult
from backstay.agents import decide as write_decision
from backstay.boundary.actions import PendingAction
from backstay.cli.actions import Where, action_document, quotes, show_action, what
from backstay.cli.apps import App, find_app
from backstay.cli.driving import Interrupted, until_interrupted, watched
from backstay.cli.exits import DECISION, DONE, FAILED, INTERRUPTED, of_result
from backstay.cli.inbox import where_of
from backstay.cli.options import (
    DEFAULT_STORE,
    AppOption,
    JsonOption,
    StoreOption,
    StreamOption,
    absolute,
    local_user,
    opened,
    usage,
)
from backstay.cli.printing import Printer
from backstay.cli.progress import Progress
from backstay.cli.results import result_document, show_result
from backstay.core.canon import canonical, freeze
from backstay.core.context import Principal
from backstay.core.errors import DecisionError
from backstay.core.messages import Args, Json
from backstay.store.protocol import RunStore
from backstay.store.records import ENDED


def decide(
    action_ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="The actions, as `backstay pending` lists them.")
    ],
    approve: Annotated[bool, typer.Option("--approve", help="It may happen.")] = False,
    deny: Annotated[bool, typer.Option("--deny", help="It may not.")] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Kept, and told to the model.")] = "",
    edit: Annotated[
        list[str] | None,
        typer.Option("--edit", metavar="FIELD=VALUE", help="Approve with another value; or a JSON object of them."),
    ] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who decides. Default: you.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Believe its destinations for the rest of the conversation.")
    ] = False,
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="VALUE", help="To a question: JSON, else taken as text.")
    ] = None,
    role: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="A role you decide in; may be repeated.")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Drive the run now; needs the app.")] = False,
    app: AppOption = None,
    store: StoreOption = DEFAULT_STORE,
    stream: StreamOption = None,
    as_json: JsonOption = False,
) -> int:
    """Approve or refuse an action. Without --execute the decision is written and nothing runs."""
    if answer is not None:
        if approve or deny or edit or trust or len(action_ids) > 1:
            raise usage("--answer goes with one question and with neither --approve, --deny, --edit nor --trust")
        approve = True
    if approve == deny:
        raise usage("say either --approve or --deny" + (", not both" if approve else ""))
    if edit and deny:
        raise usage("--edit changes what is approved; it does not go with --deny")
    if trust and deny:
        raise usage("--trust believes what is approved; it does not go with --deny")
    if (edit or trust) and len(action_ids) > 1:
        raise usage("--edit and --trust are for one action at a time")
    found = find_app(app) if execute else None
    where = Where(app=found.path, store=absolute(store)) if found else where_of(app, store)
    said = _Said(
        approve=approve,
        by=by or local_user(),
        reason=reason,
        edit=tuple(edit or ()),
        trust=trust,
        answer=answer,
        roles=tuple(role or ()),
    )
    out = Printer(as_json=as_json)
    if len(action_ids) == 1:
        return asyncio.run(_decide(action_ids[0], said, found, where, out, stream))
    return asyncio.run(_decide_all(list(dict.fromkeys(action_ids)), said, found, where, out))


class _Said:
    """What the person said."""

    def __init__(
        self,
        *,
        approve: bool,
        by: str,
        reason: str,
        edit: Sequence[str],
        trust: bool,
        answer: str | None,
        roles: Sequence[str],
    ) -> None:
        self.approve = approve
        self.by = by
        self.reason = reason
        self.edit = edit
        self.trust = trust
        self.answer = answer
        self.roles = frozenset(roles)

    def who(self, action: PendingAction) -> Principal | str:
        """Who decides: whoever has the store in their hands says in which role."""
        if not self.roles:
            return self.by
        return Principal(id=self.by, tenant=action.principal.tenant, kind="developer", roles=self.roles)


async def _decide(action_id: str, said: _Said, app: App | None, where: Where, out: Printer, stream: bool | None) -> int:
    async with opened(where.store) as store:
        action = await store.action(action_id)
        row = await store.run(action.run_id)
        agent = app.named(row.agent, row.run_id) if app else None
        show_action(out, action, await quotes(store, action))
        action = await _written(store, action, said, where)
        if agent is None:
            return _nothing_has_run(out, action, where)
        return await _execute(store, action, agent, where, out, stream)


async def _written(store: RunStore, action: PendingAction, said: _Said, where: Where) -> PendingAction:
    args = edited(action, said.edit) if said.edit else None
    try:
        return await write_decision(
            store,
            action,
            approve=said.approve,
            by=said.who(action),
            via="cli",
            reason=said.reason,
            args=args,
            trust=said.trust,
            answer=answered(action, said.answer),
        )
    except DecisionError as error:
        if error.code == "action.decided" and action.state == "approved":
            more = f"{error.message}. It has not been executed yet: {where.resume(action.run_id)}"
            raise DecisionError(more, code=error.code) from error
        raise


def answered(action: PendingAction, text: str | None) -> Json:
    """An answer as it was typed: one of the choices as it stands there, JSON where the schema wants that, else text.

    Raises:
        SetupError: code `cli.usage`, for an action that is no question.
    """
    if text is None:
        return None
    if not action.wants_answer and action.kind != "narrowing":
        raise usage(f"{action.id} is no question; decide it with --approve or --deny")
    choices = action.choices
    if choices is None or (isinstance(choices, Mapping) and choices.get("type") == "string"):
        return text
    if not isinstance(choices, Mapping) and not isinstance(choices, str) and isinstance(choices, Sequence):
        same = [one for one in choices if one == text or (not isinstance(one, str) and canonical(one) == text)]
        return same[0] if same else text
    try:
        found: Json = freeze(json.loads(text))
    except ValueError:
        return text
    return found


async def _decide_all(action_ids: Sequence[str], said: _Said, app: App | None, where: Where, out: Printer) -> int:
    """Decide several, each by itself: what is wrong with one is said, and the others go on."""
    documents: list[dict[str, Any]] = []
    worst = DONE
    async with opened(where.store) as store:
        actions = [await store.action(one) for one in action_ids]
        for action in actions:
            show_action(out, action, await quotes(store, action))
            out.line()
        for line in totals(actions):
            out.line(line, "bold")
        for action in actions:
            try:
                after = await _written(store, action, said, where)
                row = await store.run(action.run_id)
                if app is not None:
                    await until_interrupted(app.named(row.agent, row.run_id).resume(row.run_id, store=store), out)
                    after = await store.action(action.id)
                out.line(f"{after.id} is {after.state}")
                documents.append({"action": action_document(after, where), "executed": app is not None})
            except DecisionError as error:
                out.note(f"error: {error.message}\ncode: {error.code}; backstay explain {error.code}", "red")
                documents.append({"id": action.id, "error": {"code": error.code, "message": error.message}})
                worst = DECISION
    out.document({"decisions": documents, "totals": totals(actions), "exit_code": worst})
    return worst


def totals(actions: Sequence[PendingAction]) -> list[str]:
    """One line for each tool: how many calls, and how much money of each currency."""
    counts: dict[str, int] = {}
    sums: dict[tuple[str, str], Decimal] = {}
    for action in actions:
        name = action.call.name if action.call else action.kind
        counts[name] = counts.get(name, 0) + 1
        for currency, amount in action.money:
            sums[name, currency] = sums.get((name, currency), Decimal(0)) + amount
    return [
        f"total: {count} of {name}"
        + "".join(f", {amount} {currency}".rstrip() for (tool, currency), amount in sums.items() if tool == name)
        for name, count in counts.items()
    ]


def edited(action: PendingAction, given: Sequence[str]) -> Args:
    """The action's arguments with other values.

    A `FIELD=VALUE` keeps the kind of the value that stands there: what is text stays text, anything else is read as
    JSON. One JSON object may change several fields at once.

    Raises:
        SetupError: code `cli.usage`, for a field that the call does not have.
    """
    if action.call is None:
        raise usage(f"{action.id} is a question and has no arguments to edit")
    args: dict[str, Json] = dict(action.call.args)
    for text in given:
        for name, value in _pairs(text, args):
            if name not in args:
                raise usage(
                    f"--edit {name}: {action.call.name} has no such argument; it has {', '.join(args) or 'none'}"
                )
            args[name] = value
    return args


def _pairs(text: str, args: Mapping[str, Json]) -> list[tuple[str, Json]]:
    if text.lstrip().startswith("{"):
        try:
            return list(json.loads(text).items())
        except ValueError as error:
            raise usage(f"--edit: not a JSON object ({error})") from error
    name, equals, value = text.partition("=")
    if not equals:
        raise usage(f"--edit {text!r}: expected FIELD=VALUE or a JSON object")
    if isinstance(args.get(name), str):
        return [(name, value)]
    try:
        return [(name, json.loads(value))]
    except ValueError:
        return [(name, value)]


def _nothing_has_run(out: Printer, action: PendingAction, where: Where) -> int:
    out.line()
    if action.state == "approved":
        out.line(f"{action.id} is approved. NOTHING HAS RUN: whoever brings the app executes it:", "bold")
    elif action.state == "open":
        more = action.needs.quorum - len(action.votes)
        out.line(f"{action.id} has {len(action.votes)} approval(s) and needs {more} more. NOTHING HAS RUN.", "bold")
    else:
        out.line(f"{action.id} is refused. The agent is told when its run is driven:", "bold")
    out.line(f"  {where.resume(action.run_id)}")
    out.document({"action": action_document(action, where), "executed": False, "exit_code": DONE})
    return DONE


async def _execute(
    store: RunStore, action: PendingAction, agent: Agent[Any], where: Where, out: Printer, stream: bool | None
) -> int:
    out.line()
    async with watched(store, out, stream=stream) as progress:
        try:
            result = await until_interrupted(agent.resume(action.run_id, store=store), out)
        except Interrupted:
            out.note(f"interrupted; the decision is written. Go on with: {where.resume(action.run_id)}")
            return INTERRUPTED
        if result is None:
            return await _not_ours(store, action, where, out)
        return await _tell(store, action, result, where, out, progress)


async def _not_ours(store: RunStore, action: PendingAction, where: Where, out: Printer) -> int:
    row = await store.run(action.run_id)
    if row.status in ENDED:
        told = f"the decision is written; run {row.run_id} has ended ({row.status}), so there is nothing to execute"
    else:
        told = "the decision is written; another process drives its session now and will see it"
    out.line(told)
    out.document({"action": action_document(action, where), "executed": False, "told": told, "exit_code": DONE})
    return DONE


async def _tell(
    store: RunStore, before: PendingAction, result: RunResult[Any], where: Where, out: Printer, progress: Progress
) -> int:
    """Print the outcome; what became of the action itself counts before how its run stands."""
    action = await store.action(before.id)
    code, problem, why = _verdict(action, result, progress)
    if out.as_json:
        document = result_document(result, where, progress)
        out.document({"action": action_document(action, where), "executed": True, **document, "exit_code": code})
    else:
        await show_result(out, store, result, where, progress)
    if problem:
        out.note(f"error: {why}\ncode: {problem}; backstay explain {problem}", "red")
    return code


def _verdict(action: PendingAction, result: RunResult[Any], progress: Progress) -> tuple[int, str, str]:
    """Exit code, code and words for what became of a decided action."""
    if action.state == "stale":
        return DECISION, "action.stale", f"{action.id} was approved and not executed: {what(action)}"
    outcome = progress.outcomes.get((action.run_id, action.call.slot)) if action.call else None
    if action.state == "done" and outcome is not None and not outcome.ok and outcome.via == "ran":
        return FAILED, "action.failed", f"{action.id} was approved and failed: {outcome.summary}"
    return of_result(result), "", ""
