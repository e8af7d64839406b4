"""What an agent does with runs that are there: people decide, others deliver, somebody resumes, cancels, reads.

Source: SPEC B4, B12, B22, G3, G9, G11, T15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from typing_extensions import TypeVar

from backstay import store as stores
from backstay.agents.deciding.decide import decide
from backstay.agents.deciding.deferred import deliver
from backstay.agents.definition import Definition
from backstay.agents.drive import Approver, Given, drive, live
from backstay.agents.granting import make_grant
from backstay.agents.result import RunResult
from backstay.agents.session_memory import memory_of
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.grants import Grant
from backstay.core.context import Principal
from backstay.core.events import Emitter, Listener, Matcher, events
from backstay.core.files import File
from backstay.core.messages import Args, Artifact, Json, ToolResult
from backstay.memory.buffers import ReadOnlyMemory
from backstay.models.model import ChatModel
from backstay.models.names import resolve
from backstay.store.owners import new_owner
from backstay.store.protocol import RunStore

D = TypeVar("D", default=Any)
Out = TypeVar("Out", default=str)


class ExistingRuns(Generic[D, Out]):
    """What `Agent` does with runs that are there.

    Args:
        definition: of the agent.
        approver: asked about pending actions between steps.
    """

    def __init__(self, definition: Definition, approver: Approver | None) -> None:
        self.definition = definition
        self.approver = approver
        self._emitter = Emitter(events)
        self._store: RunStore | None = None
        self._owner = new_owner()
        self._overridden = Given()

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    @property
    def store(self) -> RunStore:
        """The store of runs that name no other: in memory, made at first use."""
        if self._store is None:
            self._store = stores.MemoryStore()
        return self._store

    def on(self, matcher: Matcher, listener: Listener | None = None, *, once: bool = False) -> Any:
        """Listen to every run of this agent; see `Emitter.on`."""
        return self._emitter.on(matcher, listener, once=once)

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
        principal: Principal | None = None,
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
            principal: for whom; only what they may see is found. None: the program's own look.
            store: where the action is.
            deps: as for `run`.
            on: a listener of the run's events.

        Returns:
            How the run stands now; None if somebody else is driving its session, who will see the decision.

        Raises:
            NotFoundError: when there is no such action, or it is nothing that `principal` may see.
            DecisionError: when the decision cannot stand: decided already, expired, changed, tampered with.
        """
        where = store or self.store
        row = await where.action(action, principal=principal) if isinstance(action, str) else action
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
            principal=principal,
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
        principal: Principal | None = None,
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[Out] | None:
        """Answer a question of the model, then drive its run. `False`, `0` and an empty text are answers.

        Raises:
            DecisionError: `answer.invalid`, where the value is none of the choices or does not fit the schema, and what
                `decide` raises.
        """
        return await self.decide(
            action, approve=True, by=by, via=via, answer=value, principal=principal, store=store, deps=deps, on=on
        )

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
        principal: Principal | None = None,
        store: RunStore | None = None,
        deps: D | None = None,
        on: Listener | None = None,
    ) -> RunResult[Out] | None:
        """Drive a run that is due: after a decision, a crash, a wake-up. None if it is not ours to drive.

        Raises:
            NotFoundError: when there is no such run, or it is nothing that `principal` may see. None: the program's
                own look.
        """
        where = store or self.store
        if principal is not None:
            await where.run(run_id, principal=principal)
        return await drive(
            run_id,
            store=where,
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

    async def memory(
        self, session: str, *, principal: Principal | None = None, store: RunStore | None = None
    ) -> ReadOnlyMemory:
        """A session as its last request showed it, with what has come since. It cannot be written to.

        Summary, history and working memory, oldest first.

        Args:
            session: the conversation.
            principal: for whom; only what they may see is found. None: the program's own look.
            store: where it is.

        Raises:
            NotFoundError: when there is no such session, or it is somebody else's.
        """
        return await memory_of(store or self.store, session, principal)

    async def cancel(
        self,
        run_id: str,
        reason: str = "cancelled",
        *,
        principal: Principal | None = None,
        store: RunStore | None = None,
    ) -> None:
        """Stop a run: at once if this process drives it, else as soon as its driver notices.

        Raises:
            NotFoundError: when there is no such run, or it is nothing that `principal` may see. None: the program's
                own look, which stops a run of this process wherever it is journalled.
        """
        where = store or self.store
        if principal is not None:
            await where.run(run_id, principal=principal)
        if not live.cancel(run_id, reason):
            await where.cancel(run_id, reason)

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
