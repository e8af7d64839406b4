"""`Agent`: the front of a definition. It keeps no conversation; any number of runs may use it at once.

Source: SPEC G1, G2, G3, G9, G10; DESIGN 5, 8.9, 8.12.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from backstay.agents.decide import decide
from backstay.agents.definition import Definition, Instructions, check_limits, compile_rules
from backstay.agents.drive import Approver, Given, drive, live
from backstay.agents.middleware import Chains, Middleware
from backstay.agents.own_tools import RecallTool
from backstay.agents.result import RunResult
from backstay.agents.start import Turn, start
from backstay.agents.stream import RunStream
from backstay.boundary.actions import PendingAction
from backstay.boundary.judge import Presence
from backstay.boundary.policy import Boundary, Limits
from backstay.core.context import Principal
from backstay.core.errors import SetupError
from backstay.core.events import Emitter, Listener, Matcher, events
from backstay.core.messages import PLAIN, Args, Label, Media, Message, Text
from backstay.models.model import ChatModel
from backstay.models.names import resolve
from backstay.store.memory import MemoryStore
from backstay.store.owners import new_owner
from backstay.store.protocol import RunStore
from backstay.tools.outside import LOCAL
from backstay.tools.tool import Tool
from backstay.tools.toolset import Toolset

D = TypeVar("D")
_WAITS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Seconds between looks at a session that another run holds; the last goes on."""


class Agent(Generic[D]):
    """An agent: a model, what it is told, what it can do, and the boundary around it.

    Args:
        model: `"provider:model"` or a model object; the embedded model where it is left out.
        name: names it in traces, approvals and runs; a resuming process finds it by this name.
        description: what it is good for, in one line.
        instructions: the system text, or a function of the run's context that returns it.
        tools: what it can do; high ones are proposed to a person, never shown to the model.
        boundary: rules and limits.
        middleware: outermost first.
        deps_for: makes what a run needs from principal and run id, when a process resumes a run it did not start.
        approver: asked about pending actions between steps; without one they wait in the inbox.
        settings: temperature and the like, passed on to the model.
        concurrency: calls of one step that run at once.
        version: a label of this definition; part of its digest.

    Raises:
        SetupError: for anything that could not work at run time: two tools of one name, a tool of unknown risk, a rule
            about an argument nobody has, a cost limit on a model without a price.
    """

    def __init__(
        self,
        model: str | ChatModel | None = None,
        *,
        name: str = "agent",
        description: str = "",
        instructions: Instructions = "",
        tools: Iterable[Tool] = (),
        boundary: Boundary | None = None,
        middleware: Sequence[Middleware] = (),
        deps_for: Callable[[Principal, str], object] | None = None,
        approver: Approver | None = None,
        settings: Args | None = None,
        concurrency: int = 8,
        version: str = "",
    ) -> None:
        if not name:
            raise SetupError("an agent needs a name: runs and approvals find it by it", code="agent.name")
        resolved, policy = resolve(model), boundary or Boundary()
        toolset = Toolset([*tools, RecallTool()])
        check_limits(policy.limits, resolved)
        rules, reports = compile_rules(policy, toolset)
        self.definition = Definition(
            name=name,
            description=description,
            instructions=instructions,
            model=resolved,
            toolset=toolset,
            boundary=policy,
            constraints=rules,
            chains=Chains(middleware),
            deps_for=deps_for,
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
    def store(self) -> RunStore:
        """The store of runs that name no other: in memory, made at first use."""
        if self._store is None:
            self._store = MemoryStore()
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
        history: Sequence[Message] = (),
        label: Label = PLAIN,
        metadata: Args | None = None,
        store: RunStore | None = None,
        presence: Presence = "inbox",
        approver: Approver | None = None,
        on: Listener | None = None,
        dedup: str | None = None,
    ) -> RunResult[str]:
        """Answer one input.

        Args:
            input: the user's turn, as text or as parts.
            session: id of a conversation, made at its first use. None: a conversation of this one run.
            principal: who it is for; by default this program itself, as a developer.
            deps: what tools get as `ctx.deps`; never stored, never shown.
            model: another model for this run.
            limits: other limits for this input.
            rules: the user's rules for the session, stated as such: `["only the last 30 days"]`. In force at once.
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
            StoreError: when the journal cannot be written.
        """
        given = self._given(deps, model, approver)
        turn = Turn(
            input=input,
            session=session,
            principal=principal,
            limits=limits,
            rules=rules,
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

    def run_sync(self, input: str | Sequence[Text | Media], **options: Any) -> RunResult[str]:
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
        by: str,
        via: str = "api",
        reason: str = "",
        args: Args | None = None,
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[str] | None:
        """Decide a pending action, then drive its run: an approved action is executed here, at most once.

        Args:
            action: the row as it was seen, or its id.
            approve: whether it may happen.
            by: who decides.
            via: through what.
            reason: told to the model and kept.
            args: other arguments for the call; judged anew before anything runs.
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
        await decide(where, row, approve=approve, by=by, via=via, reason=reason, args=args, at=now)
        return await self.resume(row.run_id, store=where, deps=deps, on=on)

    async def resume(
        self,
        run_id: str,
        *,
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[str] | None:
        """Drive a run that is due: after a decision, a crash, a wake-up. None if it is not ours to drive."""
        return await drive(
            run_id,
            store=store or self.store,
            agents={self.name: self.definition},
            given=self._given(deps, None, None),
            emit=self._listened(on),
            owner=self._owner,
        )

    async def cancel(self, run_id: str, reason: str = "cancelled", *, store: RunStore | None = None) -> None:
        """Stop a run: at once if this process drives it, else as soon as its driver notices."""
        if not live.cancel(run_id, reason):
            await (store or self.store).cancel(run_id, reason)

    @contextmanager
    def override(
        self,
        *,
        model: str | ChatModel | None = None,
        deps: D | None = None,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> Iterator[Agent[D]]:
        """Put other things in place for the runs started inside the block, for tests.

        Args:
            model: in place of the agent's; what a run names itself still wins.
            deps: for runs that name none.
            clock: seconds since 1970.
            sleep: waits so many seconds; between attempts and while a session is busy.
        """
        before = self._overridden
        self._overridden = Given(
            deps=deps if deps is not None else before.deps,
            model=resolve(model) if model is not None else before.model,
            clock=clock or before.clock,
            sleep=sleep or before.sleep,
        )
        try:
            yield self
        finally:
            self._overridden = before

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
