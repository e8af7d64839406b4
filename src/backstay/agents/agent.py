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
from typing import Any

from typing_extensions import TypeVar

from backstay.agents.definition import Definition, Instructions, check_limits, compile_rules
from backstay.agents.drive import Approver, Given
from backstay.agents.existing import D, ExistingRuns, Out
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
from backstay.agents.start import check_on_busy, start
from backstay.agents.stream import RunStream
from backstay.agents.turn import Turn
from backstay.boundary.judge import Presence
from backstay.boundary.plan import PlanStep
from backstay.boundary.policy import Boundary, Limits
from backstay.core.context import Principal
from backstay.core.errors import SetupError
from backstay.core.events import Listener
from backstay.core.messages import PLAIN, Args, Label, Media, Message, Text
from backstay.memory.longterm.entry import LongTermMemory
from backstay.memory.longterm.remembering import REMEMBERING, Remembering
from backstay.memory.template import Template, policy_of
from backstay.memory.window import SHARES, Shares
from backstay.models.model import ChatModel
from backstay.models.names import resolve
from backstay.store.protocol import RunStore
from backstay.store.records import OnBusy
from backstay.tools.outside import LOCAL
from backstay.tools.tool import Tool
from backstay.tools.toolset import Toolset

T = TypeVar("T")


class Agent(ExistingRuns[D, Out]):
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
        memory: how much of a session its requests show, inside the model's window: `SlidingMemory(max_units=20)` or
            another memory as a template, which holds nothing itself. All that fits where it is left out.
        long_term: what outlives its sessions, for each principal; gives it the tools `remember` and `search_memory`.
        remembering: what it looks up there for every input, and what it keeps there after a run.
        shares: who may have how much of the model's window: system text, memory, history, results, reply.
        summariser: sums up what leaves the window; the agent's own model where it is left out.
        memory_model: proposes the working memory at the end of a run; the agent's own model where it is left out and
            has structured output. Where there is none, rules write it.
        settings: temperature and the like, passed on to the model.
        concurrency: calls of one step that run at once.
        version: a label of this definition; part of its digest.
        ask_user: whether the model may ask the user a question (`ask_user`) where somebody can answer.
        on_busy: what becomes of an input for a session on which another run is at work; see `run`.

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
        memory: Template | None = None,
        long_term: LongTermMemory | None = None,
        remembering: Remembering = REMEMBERING,
        shares: Shares = SHARES,
        summariser: str | ChatModel | None = None,
        memory_model: str | ChatModel | None = None,
        settings: Args | None = None,
        concurrency: int = 8,
        version: str = "",
        ask_user: bool = False,
        on_busy: OnBusy = "queue",
    ) -> None:
        if not name:
            raise SetupError("an agent needs a name: runs and approvals find it by it", code="agent.name")
        resolved, policy = resolve(model), boundary or Boundary()
        given, output = list(tools), OutputType(output_type)
        toolset = Toolset([*given, *_own_tools(given, output, policy, long_term, ask_user=ask_user)])
        check_limits(policy.limits, resolved, policy.budgets)
        rules, reports = compile_rules(policy, toolset)
        definition = Definition(
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
            policy=policy_of(memory),
            long_term=long_term,
            remembering=remembering,
            shares=shares,
            summariser=None if summariser is None else resolve(summariser),
            memory_model=None if memory_model is None else resolve(memory_model),
            settings=settings,
            concurrency=concurrency,
            version=version,
            reports=reports,
        )
        check_on_busy(on_busy)
        self.on_busy: OnBusy = on_busy
        super().__init__(definition, approver)

    def __repr__(self) -> str:
        return f"<agent {self.name}>"

    @property
    def templates(self) -> Prompts:
        """Its own four templates: system, task, tool error, tool no result."""
        return self.definition.prompts

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
        on_busy: OnBusy | None = None,
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
            on_busy: what happens if another run is at work on the session; the agent's where it is left out. `queue`:
                this one waits for its turn. `steer`: the input enters the run at work before its next request, and
                that run's result is returned. `reject`: `session.busy`. `interrupt`: the run at work is cancelled.

        Returns:
            How the run stands; see `RunResult.status`.

        Raises:
            SetupError: for what could not work; nothing has run then.
            StoreError: when the journal cannot be written; `session.owner` when the session is somebody else's;
                `session.busy`, for `reject`.
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
            on_busy=on_busy or self.on_busy,
        )
        return await start(turn, self.definition, store or self.store, self._owner, given, self._listened(on))

    def run_stream(self, input: str | Sequence[Text | Media], **options: Any) -> RunStream:
        """Answer one input as a stream: `async with agent.run_stream(...) as stream: async for event in stream`.

        Takes what `run` takes. `await stream.result()` gives the result; leaving the block cancels what still runs.
        """
        on = options.pop("on", None)
        store = options.get("store") or self.store
        return RunStream(lambda listener: self.run(input, on=_both(on, listener), **options), self.definition, store)

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
