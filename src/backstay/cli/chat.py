"""`backstay chat`: a conversation in a terminal, with the boundary in sight.

Tool calls are shown as they happen, decisions are asked for inline with everything a person needs to decide, and an
idle chat carries out what was decided elsewhere. Source: SPEC C2, B4; DESIGN 8.1.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

import typer

from backstay.agents import Agent, RunResult
from backstay.agents.state import SessionState
from backstay.boundary.actions import Decision, PendingAction
from backstay.boundary.answers import answer_problems
from backstay.boundary.constraints import Constraint
from backstay.cli.actions import Where, quotes, show_action
from backstay.cli.apps import find_app
from backstay.cli.decide import answered
from backstay.cli.driving import Interrupted, until_interrupted, watched
from backstay.cli.exits import DONE, INTERRUPTED, is_interrupted
from backstay.cli.options import (
    DEFAULT_STORE,
    AddressOption,
    ModelOption,
    StoreOption,
    absolute,
    local_user,
    model_of,
    opened,
    principal_of,
)
from backstay.cli.printing import Printer, money, one_line, tokens
from backstay.cli.progress import Progress
from backstay.cli.results import notices
from backstay.core.context import Principal
from backstay.core.ids import new_id
from backstay.core.messages import Usage
from backstay.models.model import ChatModel
from backstay.store.protocol import RunStore
from backstay.tools.threads import run_in_thread

_IDLE_SECONDS = 2.0
"""How often an idle chat looks whether something of its session was decided elsewhere."""
_HELP = (
    ("/constraint TEXT", "a rule for this conversation, in force from your next message on; without TEXT: all rules"),
    ("/memory", "what the next request would hold"),
    ("/trace", "the command that shows the last run"),
    ("/cost", "what this chat has cost"),
    ("/quit", "leave; the conversation can be gone on with"),
)


def chat(
    app: Annotated[str | None, typer.Argument(metavar="APP", help="The app; may stand in BACKSTAY_APP.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="A conversation to go on with.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    who: Annotated[str | None, typer.Option("--as", metavar="ID[:KIND]", help="Who is speaking.")] = None,
    model: ModelOption = None,
    base_url: AddressOption = None,
) -> int:
    """Talk with an agent; decisions are asked for inline. /help lists what else can be said."""
    principal = principal_of(who)
    found = find_app(app)
    where = Where(app=found.path, store=absolute(store))
    return asyncio.run(_chat(found.one(), where, session or new_id("chat"), principal, model_of(model, base_url)))


async def _chat(agent: Agent[Any], where: Where, session: str, principal: Principal, model: ChatModel | None) -> int:
    out = Printer()
    async with opened(where.store, must_exist=False) as store, watched(store, out, stream=True) as progress:
        talk = _Talk(agent, store, where, session, principal, model, out, progress)
        return await talk.until_left()


@dataclass(slots=True)
class _Talk:
    """One conversation at one terminal."""

    agent: Agent[Any]
    store: RunStore
    where: Where
    session: str
    principal: Principal
    model: ChatModel | None
    out: Printer
    progress: Progress
    rules: list[str] = field(default_factory=list)
    """Rules stated since the last message; they go with the next one."""
    last: RunResult[Any] | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = field(default_factory=lambda: Decimal(0))
    counted: dict[str, tuple[Usage, Decimal | None]] = field(default_factory=dict)
    """What has been counted of each run already; a run may answer several messages."""

    async def until_left(self) -> int:
        """Read and answer until the end of the input, /quit, or Ctrl-C at the prompt."""
        self.out.line(
            f"{self.agent.name} on {(self.model or self.agent.definition.model).name} · session {self.session}", "dim"
        )
        self.out.line("/help for commands, /quit to leave", "dim")
        while (text := await self._read()) is not None:
            if not text.strip():
                continue
            if text.startswith("/"):
                if await self._command(text.strip()):
                    break
                continue
            code = await self._answer(text)
            if code is not None:
                return code
        self.out.line(f"go on with: backstay chat {self.where.app} --session {self.session}", "dim")
        return DONE

    async def _answer(self, text: str) -> int | None:
        rules, self.rules = tuple(self.rules), []
        run = self.agent.run(
            text,
            session=self.session,
            store=self.store,
            principal=self.principal,
            rules=rules,
            model=self.model,
            approver=self._ask if sys.stdin.isatty() else None,
        )
        try:
            return self._show(await until_interrupted(run, self.out))
        except Interrupted:
            self.out.note("interrupted; the message is withdrawn")
            return INTERRUPTED

    def _show(self, result: RunResult[Any]) -> int | None:
        self.last = result
        self._count(result)
        self.progress.end_line()
        output = result.output_text
        if output and self.progress.streamed != output:
            self.out.line(output)
        if is_interrupted(result):
            self.out.line(f"stopped; go on with: {self.where.resume(result.run_id)}", "yellow")
            return INTERRUPTED
        if result.status not in ("done", "waiting"):
            self.out.line(f"{result.status} [{result.code}]: {result.reason}", "red")
        for action in result.pending:
            if action.holds_run:
                self.out.line(f"waiting for a person: {action.id}; decide with: {self.where.decide(action)}", "yellow")
        return None

    def _count(self, result: RunResult[Any]) -> None:
        before, cost = self.counted.get(result.run_id, (Usage(), Decimal(0)))
        self.counted[result.run_id] = (result.usage, result.cost_usd)
        self.usage += Usage(
            input_tokens=result.usage.input_tokens - before.input_tokens,
            output_tokens=result.usage.output_tokens - before.output_tokens,
        )
        known = self.cost_usd is not None and result.cost_usd is not None and cost is not None
        self.cost_usd = self.cost_usd + result.cost_usd - cost if known else None  # type: ignore[operator]  # all known

    async def _ask(self, action: PendingAction) -> Decision | None:
        """Put an action to the person at the terminal, between two steps."""
        if action.call is None and action.kind == "question" and not action.wants_answer:
            return None
        if action.kind == "deferred":
            return None
        self.progress.end_line()
        self.out.line()
        if action.wants_answer:
            return await self._answer_question(action)
        show_action(self.out, action, await quotes(self.store, action))
        said = (await _read_line("approve? [y]es / [n]o / [l]ater: ") or "l").strip().lower()
        if said[:1] not in ("y", "n"):
            self.out.line("left in the inbox", "dim")
            return None
        reason = "" if said[:1] == "y" else (await _read_line("why (may be empty): ") or "").strip()
        return Decision(
            approve=said[:1] == "y",
            by=local_user(),
            via="terminal",
            at=time.time(),
            args_digest=action.args_digest,
            reason=reason,
        )

    async def _answer_question(self, action: PendingAction) -> Decision | None:
        """Put a question of the model to the person; an answer that does not fit is asked for again."""
        show_action(self.out, action, {})
        while True:
            said = await _read_line("answer (nothing: later): ")
            if not said:
                self.out.line("left in the inbox", "dim")
                return None
            value = answered(action, said)
            wrong = answer_problems(action.choices, value)
            if not wrong:
                break
            self.out.line("; ".join(wrong), "red")
        return Decision(
            approve=True,
            by=self.principal.id,
            via="terminal",
            at=time.time(),
            args_digest=action.args_digest,
            answer=value,
        )

    async def _read(self) -> str | None:
        """The next line; what was decided elsewhere is carried out while nobody types."""
        self.out.line()
        reading = asyncio.ensure_future(_read_line("> "))
        while not reading.done():
            await asyncio.wait([reading], timeout=_IDLE_SECONDS)
            if not reading.done():
                await self._carry_out()
        return reading.result()

    async def _carry_out(self) -> None:
        for run_id in await self.store.due(time.time(), 20):
            row = await self.store.run(run_id)
            if row.session_id != self.session:
                continue
            result = await self.agent.resume(run_id, store=self.store)
            if result is not None:
                for notice in notices(result):
                    self.out.line(f"  {notice['text']}")
                self._show(result)

    async def _command(self, text: str) -> bool:
        """Do what a line that begins with a slash says; True: leave."""
        name, _, rest = text.partition(" ")
        if name in ("/quit", "/exit"):
            return True
        commands: dict[str, Callable[[str], Any]] = {
            "/constraint": self._constraint,
            "/memory": self._memory,
            "/trace": self._trace,
            "/cost": self._cost,
            "/help": self._help,
        }
        command = commands.get(name, self._unknown)
        said = command(rest.strip() if name in commands else name)
        if asyncio.iscoroutine(said):
            await said
        return False

    async def _constraint(self, text: str) -> None:
        if text:
            self.rules.append(text)
            self.out.line("goes with your next message; /constraint then says how it was understood", "dim")
            return
        state = await self._state()
        rules = [*self.agent.definition.constraints, *state.constraints.values()]
        for rule in rules:
            self.out.line(f"- {rule.id} ({rule.author}, {rule.status}): {one_line(rule.text)} → {_understood(rule)}")
        for text in self.rules:
            self.out.line(f"- with your next message: {one_line(text)}")
        if not rules and not self.rules:
            self.out.line("no rules")

    async def _memory(self, _text: str) -> None:
        state = await self._state()
        counts: dict[str, int] = {}
        for message in state.messages:
            counts[message.role] = counts.get(message.role, 0) + 1
        said = ", ".join(f"{count} {role}" for role, count in counts.items()) or "nothing yet"
        self.out.line(f"{len(state.messages)} messages: {said}")
        log, memory = state.log, state.memory
        if log.at.folded:
            self.out.line(f"summary of {log.at.folded} earlier parts: {one_line(log.notes)}", "dim")
        if memory is None:
            return
        self.out.line(f"working memory, by {memory.by}:", "dim")
        if memory.goal:
            self.out.line(f"- goal: {one_line(memory.goal)}")
        for item in memory.todo:
            self.out.line(f"- to do {item.id}: {one_line(item.text)}")
        for fact in memory.facts:
            self.out.line(f"- fact ({fact.source}): {one_line(fact.text)}")

    def _trace(self, _text: str) -> None:
        if self.last is None:
            self.out.line("no run yet")
            return
        self.out.line(f"backstay trace show {self.last.run_id} --store {self.where.store}")

    def _cost(self, _text: str) -> None:
        self.out.line(f"{tokens(self.usage)} · {money(self.cost_usd)}")

    def _help(self, _text: str) -> None:
        self.out.fields(_HELP)

    def _unknown(self, name: str) -> None:
        self.out.line(f"there is no command {name}; /help lists them")

    async def _state(self) -> SessionState:
        state = SessionState(self.session)
        state.load(await self.store.load(self.session))
        return state


def _understood(rule: Constraint) -> str:
    return one_line(rule.render) if rule.check is not None else "advisory: shown to the model, cannot be enforced"


async def _read_line(prompt: str) -> str | None:
    """A line from standard input, read in a daemon thread, so that Ctrl-C need not wait for it; None at its end."""

    def read() -> str | None:
        try:
            return input(prompt)
        except EOFError:
            return None

    line: str | None = await run_in_thread(read, "standard input")
    return line
