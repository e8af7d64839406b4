"""`backstay boundary rules`: the rules of a session as they hold now, whose they are and how long they last.

Without the app there are the users' own rules, which the session keeps; with it the agent's stand before them, and what
applies is what both leave in force. Source: SPEC B7, B17.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from backstay.agents.judging.judge_state import rules_in_force
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.cli.actions import Where
from backstay.cli.apps import ENV, App, find_app
from backstay.cli.exits import DONE
from backstay.cli.inbox import where_of
from backstay.cli.options import (
    DEFAULT_STORE,
    AppOption,
    AsOption,
    JsonOption,
    StoreOption,
    absolute,
    opened,
    principal_asked,
)
from backstay.cli.printing import Printer, one_line
from backstay.cli.sessions import folded
from backstay.core.canon import digest
from backstay.core.context import Principal
from backstay.memory.block import constraint_block
from backstay.store import codec


def rules(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Its id; of a run without one, the run's id.")],
    app: AppOption = None,
    as_: AsOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """List the rules of a session in force: author, words, how they were understood, how long they last, digest."""
    found = find_app(app) if app or os.environ.get(ENV) else None
    where = Where(app=found.path, store=absolute(store)) if found else where_of(None, store)
    return asyncio.run(_rules(session, found, where, principal_asked(as_), Printer(as_json=as_json)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A rule in force, and the question that is open about it."""

    rule: Constraint
    question: PendingAction | None
    """As the inbox has it: it may be decided already; the session learns that with its next message."""

    @property
    def digest(self) -> str:
        """SHA-256 of the rule's record."""
        return digest(codec.dump(self.rule))

    @property
    def lifetime(self) -> str:
        """How long it lasts, unless it is taken back before."""
        if self.rule.author != "user" and self.rule.until is None:
            return "as long as the app has it"
        return {None: "the session", "run": "the run"}.get(self.rule.until, f"until {self.rule.until}")


async def _rules(session: str, app: App | None, where: Where, who: Principal | None, out: Printer) -> int:
    async with opened(where.store) as store:
        state, row = await folded(store, session, who)
        questions = [one for one in state.open.values() if one.kind == "question" and one.rules]
        asked = {one.rules[0]: await store.action(one.id) for one in questions}
    own = app.named(row.agent, row.run_id).definition.constraints if app else ()
    everything = rules_in_force(own, state)
    now, zone = time.time(), row.principal.zone
    held = [
        _Held(rule=one, question=asked.get(one.id))
        for one in everything
        if one.is_active and not one.is_over(now, zone)
    ]
    block = digest(constraint_block(everything)) if app else None
    documents = [_document(one, where) for one in held]
    out.document({"session": session, "agent": row.agent, "rules": documents, "block": block, "exit_code": DONE})
    _tell(out, held, where)
    if app is None:
        out.line("" if held else "no rules of users")
        out.line(f"--app APP shows the rules of the agent {row.agent!r} too")
    else:
        out.line(f"\nthe block of rules in its requests: {block}" if held else "no rules")
    return DONE


def _tell(out: Printer, held: Sequence[_Held], where: Where) -> None:
    if not held:
        return
    head = ["RULE", "AUTHOR", "STATUS", "SAID", "MEANS", "LASTS", "DIGEST"]
    out.table(
        head,
        [
            [
                one.rule.id,
                one.rule.author,
                one.rule.status,
                one_line(one.rule.text),
                one_line(one.rule.render) if one.rule.check is not None else "advisory: shown, not enforced",
                one.lifetime,
                one.digest[:12],
            ]
            for one in held
        ],
    )
    for one in held:
        commands = _commands(one.question, where)
        if commands:
            out.line(f"\n{one.rule.id} is not confirmed yet:")
            out.fields(list(commands.items()))
        elif one.question is not None and one.question.state in _COMING:
            out.line(f"\n{one.rule.id} is {_COMING[one.question.state]} with the session's next message")


_COMING = {"approved": "confirmed", "refused": "withdrawn"}


def _commands(question: PendingAction | None, where: Where) -> dict[str, str]:
    if question is None or question.state != "open":
        return {}
    return {"confirm": where.decide(question), "withdraw": where.deny(question)}


def _document(held: _Held, where: Where) -> dict[str, Any]:
    rule = held.rule
    return {
        "id": rule.id,
        "author": rule.author,
        "status": rule.status,
        "text": rule.text,
        "render": rule.render,
        "severity": rule.severity,
        "tools": list(rule.tools),
        "agents": list(rule.agents),
        "message_id": rule.message_id,
        "span": list(rule.span) if rule.span else None,
        "until": rule.until,
        "lasts": held.lifetime,
        "advisory": rule.check is None,
        "digest": held.digest,
        "next": _COMING.get(held.question.state) if held.question is not None else None,
        "commands": _commands(held.question, where),
    }
