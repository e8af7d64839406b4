"""`Agent`: the front of a definition. It keeps no conversation; any number of runs may use it at once.

Source: SPEC G1, G2, G3, G9, G10; DESIGN 5, 8.9, 8.12.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Any, Generic

from typing_extensions import TypeVar

from backstay import store as stores
from backstay.agents.deciding.decide import decide
from backstay.agents.deciding.deferred import deliver
from backstay.agents.definition import Definition, Instructions, check_limits, compile_rules
from backstay.agents.drive import Approver, Given, drive, live
from backstay.agents.granting import make_grant
from backstay.agents.middleware import Chains, Middleware
from backstay.agents.output import FINAL, FinalAnswerTool, OutputType
from backstay.agents.own_tools.catalogue import RecallTool
from backstay.agents.own_tools.memory import RememberTool, SearchMemoryTool
from backstay.agents.own_tools.plan import FixPlanTool
from backstay.agents.own_tools.questions import AskUserTool
from backstay.agents.prompts import Prompts, Templates
from backstay.agents.requirements import Requirement, bind_all
from backstay.agents.result import RunResult
from backstay.agents.stand_ins import with_stand_ins
from backstay.agents.start import start
from backstay.agents.stream import RunStream
from backstay.agents.turn import Turn
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.grants import Grant
from backstay.boundary.judge import Presence
from backstay.boundary.plan import PlanStep
from backstay.boundary.policy import Boundary, Limits
from backstay.core.context import Principal
from backstay.core.errors import SetupError
from backstay.core.events import Emitter, Listener, Matcher, events
from backstay.core.files import File
from backstay.core.messages import PLAIN, Args, Artifact, Json, Label, Media, Message, Text, ToolResult
from backstay.memory.longterm.entry import LongTermMemory
from backstay.memory.window import SHARES, Shares
from backstay.models.model import ChatModel
from backstay.models.names import resolve
from backstay.store.owners import new_owner
from backstay.store.protocol import RunStore
from backstay.tools.outside import LOCAL
from backstay.tools.tool import Tool
from backstay.tools.toolset import Toolset

D = TypeVar("D", default=Any)
Out = TypeVar("Out", default=str)
_WAITS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Seconds between looks at a session that another run holds; the last goes on."""


class Agent(Generic[D, Out]):
    """An agent: a model, what it is told, what it can do, and the boundary around it.

    Args:
        model: `"provider:model"` or a model object; the embedded model where it is left out.
        name: names it in traces, approvals and runs; a resuming process finds it by this name.
        description: what it is good for, in one line.
        role: who it is, in a few words; stands first in the system text.
        instructions: the system text, or a function of the run's context that returns it.
        notes: what it should bear in mind, each on a line of its own.
        tools: what it can do; high ones are proposed to a person, never shown to the model.
        boundary: rules and limits.
        requirements: which tools each step offers, forces or asks about, and when the run may end.
        output_type: what it answers with: text where it is left out, else a pydantic model, a dataclass, a TypedDict, a
            list or a union of such. The model fills it; `RunResult.output` is validated and of that type.
        middleware: outermost first.
        deps_for: makes what a run needs from principal and run id, when a process resumes a run it did not start.
        approver: asked about pending actions between steps; without one they wait in the inbox.
        templates: other texts for `system`, `task`, `tool_error` or `tool_no_result`; copies are made.
        long_term: what outlives its sessions, for each principal; gives it the tools `remember` and `search_memory`.
        shares: who may have how much of the model's window: system text, memory, history, results, reply.
        summariser: sums up what leaves the window; the agent's own model where it is left out.
        memory_model: proposes the working memory at the end of a run; the agent's own model where it is left out and
            has structured output. Where there is none, rules write it.
        settings: temperature and the like, passed on to the model.
        concurrency: calls of one step that run at once.
        version: a label of this definition; part of its digest.
        ask_user: whether the model may ask the user a question (`ask_user`) where somebody can answer.

    Raises:
        SetupError: for anything that could not work at run time: two tools of one name, a tool of unknown risk, a rule
            about an argument nobody has, a cost limit on a model without a price, a requirement about a tool that
            is not there, an output type without a schema, a template that cannot be filled.
    """

    def __init__(
        self,
        model: str | ChatModel | None = None,
        *,
        name: str = "agent",
        description: str = "",
        role: str = "",
        instructions: Instructions = "",
        notes: str | Sequence[str] = (),
        tools: Iterable[Tool] = (),
        boundary: Boundary | None = None,
        requirements: Iterable[Requirement] = (),
        output_type: type[Out] | UnionType | None = None,
        middleware: Sequence[Middleware] = (),
        deps_for: Callable[[Principal, str], object] | None = None,
        approver: Approver | None = None,
        templates: Templates | None = None,
        long_term: LongTermMemory | None = None,
        shares: Shares = SHARES,
        summariser: str | ChatModel | None = None,
        memory_model: str | ChatModel | None = None,
        settings: Args | None = None,
        concurrency: int = 8,
        version: str = "",
        ask_user: bool = False,
    ) -> None:
        if not name:
            raise SetupError("an agent needs a name: runs and approvals find it by it", code="agent.name")
        resolved, policy = resolve(model), boundary or Boundary()
        given, output = list(tools), OutputType(output_type)
        toolset = Toolset([*given, *_own_tools(given, output, policy, long_term, ask_user=ask_user)])
        check_limits(policy.limits, resolved, policy.budgets)
        rules, reports = compile_rules(policy, toolset)
        self.definition = Definition(
            name=name,
            description=description,
            instructions=instructions,
            model=resolved,
            toolset=toolset,
            boundary=policy,
            constraints=rules,
            role=role,
            notes=(notes,) if isinstance(notes, str) else tuple(notes),
            requirements=bind_all(requirements, [tool for tool in toolset if tool.name != FINAL]),
            output=output,
            prompts=Prompts(templates),
            chains=Chains(middleware),
            deps_for=deps_for,
            long_term=long_term,
            shares=shares,
            summariser=None if summariser is None else resolve(summariser),
            memory_model=None if memory_model is None else resolve(memory_model),
            settings=settings,
            concurrency=concurrency,
            version=version,
            reports=reports,
        )
        self.approver = approver
        self._emitter = Emitter(events)
        self._store: RunStore | None = None
        self._owner = new_owner()
        self._overridden = Given()

    def __repr__(self) -> str:
        return f"<agent {self.name}>"

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    @property
    def templates(self) -> Prompts:
        """Its own four templates: system, task, tool error, tool no result."""
        return self.definition.prompts

    @property
    def store(self) -> RunStore:
        """The store of runs that name no other: in memory, made at first use."""
        if self._store is None:
            self._store = stores.MemoryStore()
        return self._store

    def on(self, matcher: Matcher, listener: Listener | None = None, *, once: bool = False) -> Any:
        """Listen to every run of this agent; see `Emitter.on`."""
        return self._emitter.on(matcher, listener, once=once)

    async def run(
        self,
        input: str | Sequence[Text | Media],
        *,
        session: str | None = None,
        principal: Principal = LOCAL,
        deps: D | None = None,
        model: str | ChatModel | None = None,
        limits: Limits | None = None,
        rules: Sequence[str] = (),
        plan: Sequence[PlanStep] = (),
        history: Sequence[Message] = (),
        label: Label = PLAIN,
        metadata: Args | None = None,
        store: RunStore | None = None,
        presence: Presence = "inbox",
        approver: Approver | None = None,
        on: Listener | None = None,
        dedup: str | None = None,
    ) -> RunResult[Out]:
        """Answer one input.

        Args:
            input: the user's turn, as text or as parts.
            session: id of a conversation, made at its first use. None: a conversation of this one run. It belongs to
                the principal of its first run; operators and developers of the same tenant may speak in it too.
            principal: who it is for; by default this program itself, as a developer.
            deps: what tools get as `ctx.deps`; never stored, never shown.
            model: another model for this run.
            limits: other limits for this input.
            rules: the user's rules for the session, stated as such: `["only the last 30 days"]`. In force at once.
            plan: what the agent is going to do, fixed by the program; see `Boundary(plan=)`.
            history: earlier messages from outside, for the first run of a session; made valid.
            label: how far the input may be believed.
            metadata: kept with the input.
            store: where it is journalled; by default the agent's own memory store.
            presence: `inbox` (questions wait), `unattended` (whatever would ask is refused).
            approver: asked between steps, in place of the agent's.
            on: a listener of this run's events.
            dedup: a key that starts at most one run; a second call returns the first one's state.

        Returns:
            How the run stands; see `RunResult.status`. If the session is at work, the turn waits for it.

        Raises:
            SetupError: for what could not work; nothing has run then.
            StoreError: when the journal cannot be written; `session.owner` when the session is somebody else's.
        """
        given = self._given(deps, model, approver)
        turn = Turn(
            input=input,
            session=session,
            principal=principal,
            limits=limits,
            rules=rules,
            plan=plan,
            history=history,
            label=label,
            metadata=metadata,
            presence=presence,
            dedup=dedup,
        )
        return await start(turn, self.definition, store or self.store, self._owner, given, self._listened(on))

    def run_stream(self, input: str | Sequence[Text | Media], **options: Any) -> RunStream:
        """Answer one input as a stream: `async with agent.run_stream(...) as stream: async for event in stream`.

        Takes what `run` takes. `await stream.result()` gives the result; leaving the block cancels what still runs.
        """
        on = options.pop("on", None)
        return RunStream(lambda listener: self.run(input, on=_both(on, listener), **options))

    def run_sync(self, input: str | Sequence[Text | Media], **options: Any) -> RunResult[Out]:
        """Answer one input from code without an event loop: a script, a thread, a notebook. Takes what `run` takes.

        Raises:
            SetupError: code `run.sync`, inside a running event loop, where `await agent.run(...)` is the way.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run(input, **options))
        if "ipykernel" not in sys.modules:
            raise SetupError(
                "run_sync was called inside a running event loop, which it would block: use await agent.run(...)",
                code="run.sync",
            )
        return _in_thread(lambda: asyncio.run(self.run(input, **options)))

    async def decide(
        self,
        action: PendingAction | str,
        *,
        approve: bool,
        by: Principal | str,
        via: str = "api",
        reason: str = "",
        args: Args | None = None,
        trust: bool = False,
        answer: Json = None,
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[Out] | None:
        """Decide a pending action, then drive its run: an approved action is executed here, at most once.

        Args:
            action: the row as it was seen, or its id.
            approve: whether it may happen.
            by: who decides: a principal that a door has authenticated, or a name where this program is the door.
            via: through what.
            reason: told to the model and kept.
            args: other arguments for the call; judged anew before anything runs.
            trust: with an approval, whether its destinations may be believed for the rest of the session.
            answer: to a question; see `answer`.
            store: where the action is.
            deps: as for `run`.
            on: a listener of the run's events.

        Returns:
            How the run stands now; None if somebody else is driving its session, who will see the decision.

        Raises:
            DecisionError: when the decision cannot stand: decided already, expired, changed, tampered with.
        """
        where = store or self.store
        row = await where.action(action) if isinstance(action, str) else action
        now = self._overridden.clock()
        await decide(
            where,
            row,
            approve=approve,
            by=by,
            via=via,
            reason=reason,
            args=args,
            trust=trust,
            answer=answer,
            at=now,
        )
        return await self.resume(row.run_id, store=where, deps=deps, on=on)

    async def answer(
        self,
        action: PendingAction | str,
        value: Json,
        *,
        by: Principal | str,
        via: str = "api",
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[Out] | None:
        """Answer a question of the model, then drive its run. `False`, `0` and an empty text are answers.

        Raises:
            DecisionError: `answer.invalid`, where the value is none of the choices or does not fit the schema, and what
                `decide` raises.
        """
        return await self.decide(action, approve=True, by=by, via=via, answer=value, store=store, deps=deps, on=on)

    async def deliver(
        self,
        token: str,
        result: Json | ToolResult,
        signature: str,
        *,
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[Out] | None:
        """Deliver what came of a deferred call, once, then drive its run.

        Args:
            token: as the tool gave it in `Deferred(token, expires)`.
            result: JSON, or a `ToolResult` for what has failed.
            signature: what `ctx.host.sign(token)` gave the tool.
            store: where the run is.
            deps: as for `run`.
            on: a listener of the run's events.

        Raises:
            NotFoundError: nobody waits for this token.
            DecisionError: `deferred.signature`, `deferred.duplicate`, `deferred.late`: recorded, not applied.
        """
        where = store or self.store
        row = await deliver(where, token, result, signature, at=self._overridden.clock())
        return await self.resume(row.run_id, store=where, deps=deps, on=on)

    async def grant(
        self,
        tool: str,
        rules: Sequence[str | Constraint],
        *,
        by: Principal | str,
        until: float,
        principal: Principal | None = None,
        tenant: str = "",
        store: RunStore | None = None,
    ) -> Grant:
        """Let an action run without being asked, within rules and caps, until a day.

        Block constraints, earlier refusals, requirements and provenance are judged as ever: what would ask for another
        reason than its tier asks.

        Args:
            tool: the action.
            rules: what a call must be like; at least one caps a sum or a count: `["at most 200 EUR of refunds a day"]`.
                A cap "a day" is counted per principal, over all sessions of the store.
            by: who grants.
            until: seconds since 1970.
            principal: for whose runs; None: for everybody's of the tenant.
            tenant: where no principal is named.
            store: where the runs are.

        Raises:
            SetupError: code `grant.unbound`, for a grant that could never hold.
            DecisionError: for somebody who could not decide such actions.
        """
        now = self._overridden.clock()
        made = make_grant(self.definition, tool, rules, by=by, until=until, principal=principal, tenant=tenant, now=now)
        await (store or self.store).standing.grant(made)
        return made

    async def revoke(self, grant: Grant | str, *, by: Principal | str, store: RunStore | None = None) -> bool:
        """Take a grant back, at once for every process; False if there is none of that id."""
        grant_id, who = grant if isinstance(grant, str) else grant.id, by if isinstance(by, str) else by.id
        return await (store or self.store).standing.revoke(grant_id, by=who, at=self._overridden.clock())

    async def resume(
        self,
        run_id: str,
        *,
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[Out] | None:
        """Drive a run that is due: after a decision, a crash, a wake-up. None if it is not ours to drive."""
        return await drive(
            run_id,
            store=store or self.store,
            agents={self.name: self.definition},
            given=self._given(deps, None, None),
            emit=self._listened(on),
            owner=self._owner,
        )

    async def artifact(
        self,
        artifact: Artifact | str,
        *,
        session: str,
        principal: Principal | None = None,
        store: RunStore | None = None,
    ) -> File:
        """Read a file that a tool has made.

        Args:
            artifact: one of `RunResult.artifacts`, or its handle.
            session: the conversation it belongs to: `result.session_id`.
            principal: for whom; only what they may see is found. None: the program's own look.
            store: where it is.

        Raises:
            NotFoundError: when that session has no such file, or is somebody else's.
        """
        ref = artifact if isinstance(artifact, str) else artifact.ref
        return File.of(*await (store or self.store).artifact(session, ref, principal=principal))

    async def cancel(self, run_id: str, reason: str = "cancelled", *, store: RunStore | None = None) -> None:
        """Stop a run: at once if this process drives it, else as soon as its driver notices."""
        if not live.cancel(run_id, reason):
            await (store or self.store).cancel(run_id, reason)

    @contextmanager
    def override(
        self,
        *,
        model: str | ChatModel | None = None,
        tools: Iterable[Tool] = (),
        deps: D | None = None,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> Iterator[Agent[D, Out]]:
        """Put other things in place for the runs started inside the block, for tests.

        Args:
            model: in place of the agent's; what a run names itself still wins.
            tools: each in place of the agent's tool of the same name.
            deps: for runs that name none.
            clock: seconds since 1970.
            sleep: waits so many seconds; between attempts and while a session is busy.
        """
        before, definition = self._overridden, self.definition
        self.definition = with_stand_ins(definition, tools) if tools else definition
        self._overridden = Given(
            deps=deps if deps is not None else before.deps,
            model=resolve(model) if model is not None else before.model,
            clock=clock or before.clock,
            sleep=sleep or before.sleep,
        )
        try:
            yield self
        finally:
            self._overridden, self.definition = before, definition

    def _given(self, deps: object, model: str | ChatModel | None, approver: Approver | None) -> Given:
        base = self._overridden
        return Given(
            deps=deps if deps is not None else base.deps,
            model=resolve(model) if model is not None else base.model,
            approver=approver or self.approver,
            clock=base.clock,
            sleep=base.sleep,
        )

    def _listened(self, on: Listener | None) -> Emitter:
        emitter = Emitter(self._emitter)
        if on is not None:
            emitter.on("**", on)
        return emitter


def _own_tools(
    given: Sequence[Tool], output: OutputType, policy: Boundary, long_term: LongTermMemory | None, *, ask_user: bool
) -> Iterator[Tool]:
    """The framework's own tools, each offered only while it can do something."""
    if any(tool.name == FINAL for tool in given if isinstance(tool, Tool)):
        raise SetupError(f"a tool is named {FINAL!r}, which is the framework's; rename it with name=", code="setup")
    yield RecallTool()
    if ask_user:
        yield AskUserTool()
    if long_term is not None:
        yield RememberTool()
        yield SearchMemoryTool(long_term)
    if policy.plan != "off":
        yield FixPlanTool(given)
    if not output.is_text:
        yield FinalAnswerTool(output)


def _both(first: Listener | None, second: Listener) -> Listener:
    if first is None:
        return second

    def both(event: Any) -> None:
        try:
            first(event)
        finally:
            second(event)

    return both


T = TypeVar("T")


def _in_thread(function: Callable[[], T]) -> T:
    """Run a function in a thread of its own and return what it returns."""
    box: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            box.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="backstay-run-sync")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return box[0]
