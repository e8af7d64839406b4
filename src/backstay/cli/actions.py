"""A pending action on the screen: what it would do, to whom, where each value came from, and how to decide it.

Source: SPEC B4 ("each destination on the screen shows where it came from"), B3.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backstay.agents.guard import describe
from backstay.boundary.actions import PendingAction
from backstay.cli.printing import Printer, away, one_line, when
from backstay.cli.progress import shown
from backstay.core.canon import canonical, thaw
from backstay.core.context import Origin
from backstay.store.protocol import RunStore
from backstay.store.records import Input

_AROUND = 40
"""Characters of a message shown on each side of a quoted value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """How an action is decided and executed from here."""

    app: str
    """The app path, or the placeholder `APP` where nobody has named one."""
    store: str

    def decide(self, action: PendingAction) -> str:
        """The command that approves and executes."""
        return f"backstay decide {action.id} --approve --execute {self._place()}"

    def answer(self, action: PendingAction) -> str:
        """The command that answers a question."""
        return f"backstay decide {action.id} --answer VALUE --execute {self._place()}"

    def deny(self, action: PendingAction) -> str:
        """The command that refuses."""
        return f"backstay decide {action.id} --deny --reason TEXT --execute {self._place()}"

    def resume(self, run_id: str) -> str:
        """The command that drives a run on."""
        return f"backstay resume {run_id} {self._place()}"

    def _place(self) -> str:
        return f"--app {shlex.quote(self.app)} --store {shlex.quote(self.store)}"


_WHOSE = {
    "user": "the user's words",
    "developer": "the agent's instructions",
    "rule": "a rule of the boundary",
    "schema": "a choice that the tool itself offers",
    "person": "a person who decided",
    "memory": "what long-term memory holds of the user or the program",
}


async def quotes(store: RunStore, action: PendingAction) -> Mapping[str, str]:
    """Message id → text, for the messages that the action's values were found in."""
    wanted = {one.message_id for one in action.origins if one.message_id}
    found: dict[str, str] = {}
    after = 0
    while wanted - found.keys() and (page := await store.read(action.session_id, after=after, limit=500)):
        for record in page:
            if isinstance(record.body, Input) and record.body.message.id in wanted:
                found[record.body.message.id] = record.body.message.text
        after = page[-1].seq
    return found


def came_from(origin: Origin, texts: Mapping[str, str]) -> str:
    """Where a value came from, with the words around it."""
    value = f"{origin.path} = {one_line(origin.value)}"
    if not origin.trusted:
        return f"{value}: NAMED BY NOBODY who may be believed: from untrusted text or the model itself"
    if origin.source.startswith("tool:"):
        return f"{value}: the result of {origin.source.removeprefix('tool:')} (message {origin.message_id})"
    said = f"{value}: {_WHOSE.get(origin.source, one_line(origin.source))}"
    if origin.message_id is None:
        return said
    text = texts.get(origin.message_id)
    if text is not None and origin.span is not None:
        said += f" {_quoted(text, origin.span)}"
    return f"{said} (message {origin.message_id})"


def _quoted(text: str, span: tuple[int, int]) -> str:
    start, end = span
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    left = "…" if start > _AROUND else ""
    right = "…" if end + _AROUND < len(text) else ""
    return f'"{left}{one_line(before)}{" " if before[-1:].isspace() else ""}[{one_line(text[start:end])}]' + (
        f'{" " if after[:1].isspace() else ""}{one_line(after)}{right}"'
    )


def what(action: PendingAction) -> str:
    """The action on one line, with the arguments that were decided if those are others."""
    if action.call is None:
        return one_line(action.question)
    edited = action.decision.args if action.decision else None
    return shown(action.call if edited is None else replace(action.call, args=edited))


def show_action(out: Printer, action: PendingAction, texts: Mapping[str, str], where: Where | None = None) -> None:
    """Print everything a person needs to decide, and with `where` the commands that do it."""
    now = time.time()
    title = (
        ("A question" if action.wants_answer else _TITLES.get(action.kind, action.kind))
        if action.state == "open"
        else f"Already {action.state}"
    )
    out.line(f"{title}: {action.id}", "bold yellow")
    rows = [("action", shown(action.call) if action.call else one_line(action.question))]
    if action.call is not None:
        rows.append(("targets", ", ".join(one_line(one) for one in action.targets) or "none"))
        rows += [("came from", came_from(one, texts)) for one in action.origins]
        asked = (
            f"{', '.join(action.rules)}: {one_line(action.question)}" if action.question else ", ".join(action.rules)
        )
        rows += [("asked by", asked), ("preview", action.preview)]
        rows.append(("model says", one_line(action.reason)))
        rows.append(("undo", "can be undone" if action.reversible else "cannot be undone"))
    elif action.preview:
        rows.append(("means", action.preview))
    if action.kind == "in_doubt":
        rows.append(("question", f"{action.question} --approve: it did; --deny: it did not"))
    if action.wants_answer and action.choices is not None:
        rows.append(("choices", one_line(canonical(action.choices))))
    if action.needs.roles or action.needs.quorum > 1:
        rows.append(("decided by", _deciders(action)))
    rows += [
        ("for", _who(action)),
        ("state", action.state),
        ("expires", f"{when(action.expires_at)} ({away(action.expires_at - now)})"),
    ]
    if action.decision is not None:
        rows.append(("decided", _decided(action)))
    rows += _command_rows(action, where) if where else []
    out.fields([(name, value) for name, value in rows if value])


_TITLES = {
    "approval": "Waiting for a person",
    "question": "A rule to confirm",
    "in_doubt": "In doubt",
    "decision": "A decision",
    "narrowing": "A question",
    "deferred": "Waiting for the other side",
}


def _who(action: PendingAction) -> str:
    who = action.principal
    return one_line(f"{who.tenant}/{who.id}" if who.tenant else who.id) + f" ({who.kind}), run {action.run_id}"


def _deciders(action: PendingAction) -> str:
    needs = action.needs
    who = " or ".join(sorted(needs.roles)) or "anybody who may decide"
    if needs.quorum == 1:
        return who
    return (
        f"{needs.quorum} people, each {who}; approved so far by {', '.join(one.by for one in action.votes) or 'none'}"
    )


def _decided(action: PendingAction) -> str:
    decision = action.decision
    assert decision is not None
    how = "approved" if decision.approve else "refused"
    why = f": {one_line(decision.reason)}" if decision.reason else ""
    edited = (
        ""
        if decision.args is None or action.call is None
        else f"; with other arguments {one_line(str(thaw(decision.args)))}"
    )
    return f"{how} by {one_line(decision.by)} through {decision.via} at {when(decision.at)}{why}{edited}"


def _command_rows(action: PendingAction, where: Where) -> list[tuple[str, str]]:
    """The exact commands that decide an open action, or that execute a decided one."""
    if action.state == "open" and action.wants_answer:
        return [("answer", where.answer(action)), ("refuse", where.deny(action))]
    if action.state == "open":
        return [("approve", where.decide(action)), ("refuse", where.deny(action))]
    return [("execute", where.resume(action.run_id))] if action.state in ("approved", "refused") else []


def action_document(action: PendingAction, where: Where) -> dict[str, Any]:
    """An action as JSON."""
    decision = action.decision
    return {
        "id": action.id,
        "kind": action.kind,
        "state": action.state,
        "run_id": action.run_id,
        "session_id": action.session_id,
        "trace_id": action.trace_id,
        "principal": {"id": action.principal.id, "tenant": action.principal.tenant, "kind": action.principal.kind},
        "agents": list(action.agents),
        "action": describe(action.call) if action.call else None,
        "tool": action.call.name if action.call else None,
        "args": thaw(action.call.args) if action.call else None,
        "targets": list(action.targets),
        "origins": [_origin_document(one) for one in action.origins],
        "rules": list(action.rules),
        "reason": action.reason,
        "question": action.question,
        "choices": thaw(action.choices),
        "needs": {"roles": sorted(action.needs.roles), "quorum": action.needs.quorum, "own": action.needs.own},
        "votes": [one.by for one in action.votes],
        "preview": action.preview,
        "reversible": action.reversible,
        "asked_at": action.asked_at,
        "expires_at": action.expires_at,
        "decision": None
        if decision is None
        else {
            "approve": decision.approve,
            "by": decision.by,
            "via": decision.via,
            "at": decision.at,
            "reason": decision.reason,
            "args": thaw(decision.args) if decision.args is not None else None,
        },
        "commands": _commands(action, where),
    }


def _origin_document(origin: Origin) -> dict[str, Any]:
    return {
        "path": origin.path,
        "value": origin.value,
        "message_id": origin.message_id,
        "span": list(origin.span) if origin.span else None,
        "trusted": origin.trusted,
        "source": origin.source,
    }


def _commands(action: PendingAction, where: Where) -> dict[str, str]:
    if action.state == "open" and action.wants_answer:
        return {"answer": where.answer(action), "deny": where.deny(action)}
    if action.state == "open":
        return {"approve": where.decide(action), "deny": where.deny(action)}
    return {"execute": where.resume(action.run_id)} if action.state in ("approved", "refused") else {}


async def show_actions(out: Printer, store: RunStore, actions: Sequence[PendingAction], where: Where) -> None:
    """Print several actions with their commands."""
    for action in actions:
        out.line()
        show_action(out, action, await quotes(store, action), where)
