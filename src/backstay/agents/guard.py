"""The guard of a run: the boundary's verdict, the effect's row before the effect, and the pending action.

One per drive. It is the only way from a verdict to an effect; the pipeline calls it, nobody else. Source: SPEC B2–B5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from backstay.agents.deciding.inbox import asked
from backstay.agents.deciding.watcher import Watcher
from backstay.agents.definition import Definition
from backstay.agents.journal import Journal
from backstay.agents.judging.judge_state import judge_state, rules_in_force, say_rules
from backstay.agents.judging.ledger import Amounts, Ledger
from backstay.agents.judging.path_labels import PathLabels
from backstay.agents.judging.recollect import recollect
from backstay.agents.judging.reconcile import reconciled
from backstay.agents.tallies.repetition import Watch
from backstay.boundary.actions import ActionKind, PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.deciding import money_of, needs_of
from backstay.boundary.differences import difference
from backstay.boundary.judge import Presence, judge
from backstay.boundary.predicates import is_total
from backstay.boundary.provenance import sink_values
from backstay.boundary.rules import account
from backstay.core.canon import EMPTY, FrozenDict, canonical, digest
from backstay.core.context import Principal, ToolFacts, Verdict, is_shared
from backstay.core.errors import NotFoundError, ToolError
from backstay.core.hiding import hide_call, hide_result
from backstay.core.messages import Json, ToolCall, ToolResult
from backstay.core.redaction import hide
from backstay.store.records import Asked, AuditRow
from backstay.tools.circuit import circuits


class RunGuard:
    """Judges the calls of one run and keeps the books of their effects.

    Args:
        journal: where effects, audit rows and pending actions are written.
        definition: the agent, with its boundary and its tools.
        agents: the chain of delegation.
        presence: whether a person is there now, will look later, or never.
    """

    def __init__(
        self,
        journal: Journal,
        definition: Definition,
        *,
        agents: tuple[str, ...],
        presence: Presence,
        clock: Callable[[], float],
        new_id: Callable[[str], str],
    ) -> None:
        self._journal = journal
        self._policy = definition.boundary
        self._policy_digest = definition.policy_digest
        self._own_rules = definition.constraints
        say_rules(journal.state, definition.constraints)
        self._toolset = definition.toolset
        self._is_exposed = bool(definition.reach.untrusted)
        self._agents = agents
        self._presence = presence
        self._clock = clock
        self._new_id = new_id
        self.watcher = Watcher(journal, agents)
        """Halts and standing grants, as they are now."""
        self.reasons: dict[int, str] = {}
        """The model's reason for a proposed call, by slot."""
        self.decided: PendingAction | None = None
        """The approved action that is being executed now."""
        self.asks: frozenset[str] = frozenset()
        """Tools for which a requirement wants a person asked in this step."""
        self.siblings = 0
        """Calls of this step that run at once; a single call's outcome goes out with the step's results."""
        self._rules: tuple[Constraint, ...] = definition.constraints
        self._rules_version = 0
        self._planned: dict[str, int] = {}
        """Calls of the step at work → the steps of the plan that they are."""
        self._paths = PathLabels(journal)
        self.ledger = Ledger()
        """What calls under way hold of sums and counts."""
        self._counted: tuple[Sequence[Constraint], Sequence[Constraint]] = ((), ())
        self.watch = Watch()
        """The calls of the step at work, and what of them has just failed."""
        self.begun: dict[str, tuple[Verdict, ToolFacts]] = {}
        """Effects begun and not finished, by key: what a cancellation leaves in doubt."""

    def judge(self, call: ToolCall, tool: ToolFacts) -> Verdict:
        """Judge the call against the session as it is now, and reserve what it may spend."""
        state, row, key = self._journal.state, self._journal.row, self.key(call)
        verdict = judge(
            call,
            tool,
            self._policy,
            judge_state(
                state,
                principal=row.principal,
                agents=self._agents,
                rules=self.rules,
                spent=self.ledger.spent(state.spent, key),
                presence=self._presence,
                now=self._clock(),
                key=key,
                planned=self._planned,
                ask=self.asks,
                grants=self.watcher.grants,
                decided=self.decided,
                is_exposed=self._is_exposed,
            ),
        )
        verdict = self._watched(verdict)
        if verdict.plan and verdict.outcome != "deny" and "/" not in key:
            self._planned[key] = verdict.plan
        if verdict.reserve and verdict.outcome == "allow":
            self.ledger.reserve(key, verdict.reserve)
        return verdict

    def _watched(self, verdict: Verdict) -> Verdict:
        """The verdict, or a refusal of what the model repeats; neither a person's decision nor a tool's own call is."""
        call = verdict.call
        if self.decided is not None or "/" in call.id:
            return verdict
        run, tool = self._journal.state.run(self._journal.row.run_id), self._toolset.get(call.name)
        circuit = circuits.of((tool.downstream if tool else None) or call.name)
        told = self.watch.refusal(run.repetition, run.step, verdict, is_counted=circuit.counts_fault)
        if told is None:
            return verdict
        return replace(verdict, outcome="deny", code=told.code, message=told.message, rules=("repetition",), reserve=())

    async def open_ledger(self, calls: Sequence[ToolCall]) -> None:
        """Before calls are judged, learn what other sessions have spent and what an earlier drive has begun.

        Whoever calls it has looked for halts and grants just before.
        """
        state, store, own = self._journal.state, self._journal.store, self._own_rules
        await recollect(
            state,
            store,
            calls,
            toolset=self._toolset,
            own=own,
            rules=self.rules,
            policy_digest=self._policy_digest,
        )
        totals = [*self._totals(), *self._capped()] if self.watcher.grants else self._totals()
        if not totals:
            return
        row, now = self._journal.row, self._clock()
        shared = [key for rule in totals if is_shared(key := account(rule, row.principal, now))]
        keys = [self.key(call) for call in calls]
        self.ledger.load(await store.reserved(row.root_id, keys), await store.spent(shared) if shared else EMPTY)

    def _capped(self) -> Sequence[Constraint]:
        return [one for grant in self.watcher.grants for one in grant.rules if one.check and is_total(one.check)]

    def _totals(self) -> Sequence[Constraint]:
        rules = self.rules
        if self._counted[0] is not rules:
            self._counted = (rules, [one for one in rules if one.is_active and one.check and is_total(one.check)])
        return self._counted[1]

    def close_ledger(self, call: ToolCall, result: ToolResult) -> Amounts:
        """What the call has spent of the session's own keys; to be journalled with its result."""
        key = self.key(call)
        self.ledger.give_back(key, result)
        return self.ledger.close(key)

    def close_plan(self, call: ToolCall, result: ToolResult) -> int:
        """The step of the plan that a call has used; 0 if it was none, or has surely not happened."""
        step = self._planned.pop(self.key(call), 0)
        return step if result.via == "held" or not result.is_void else 0

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """All rules in force: the agent's own, then the session's."""
        state = self._journal.state
        if state.rules_version != self._rules_version:
            self._rules = rules_in_force(self._own_rules, state)
            self._rules_version = state.rules_version
        return self._rules

    async def begin(self, verdict: Verdict, tool: ToolFacts, attempt: int) -> ToolResult | None:
        """Make the effect and its audit row durable; a result means that it must not run (again)."""
        call, key = verdict.call, self.key(verdict.call)
        if any(one == key and (done.ok or tool.effect == "once") for one, done in self._journal.queue.outcomes):
            await self._journal.flush()  # a body that is tried again repeats it; the store will say that it is done
        await self._paths.write(call.args, tool)
        found = await self._journal.store.begin_effect(
            self._journal.fence,
            key,
            tool.effect,
            verdict.digest,
            attempt,
            verdict.reserve,
            self._audit("begin", call, verdict.digest, rules=verdict.rules),
        )
        if isinstance(found, ToolResult):
            if found.code == "action.deferred":
                await self._still_waits(found, verdict, tool)
            self.ledger.settle(key, found)
            return found
        self.ledger.begin(key)
        if found == "started":
            settled = await self._settle_started(call, key, verdict, tool)
            if settled is not None:
                return settled
        self.begun[key] = (verdict, tool)
        return None

    async def halted(self, tool: str = "") -> ToolResult | None:
        """What becomes of a call, or of another attempt at one, that a halt stops; None if it may begin."""
        return await self.watcher.refusal(tool)

    async def finish(self, verdict: Verdict, tool: ToolFacts, result: ToolResult, attempt: int, last: bool) -> None:
        """Record the outcome of the last attempt; an effect in doubt becomes a row for a person."""
        if not last:
            return
        call = verdict.call
        self.begun.pop(self.key(call), None)
        self._close(call, verdict, tool, result)
        if self.siblings > 1:
            await self._journal.flush()

    async def labelled(self, call: ToolCall | None, result: ToolResult) -> ToolResult:
        """The result with the labels of the files that its call has named."""
        tool = self._toolset.get(call.name) if call is not None else None
        return result if call is None or tool is None else await self._paths.read(call.args, tool.facts(None), result)

    async def hold(self, verdict: Verdict, tool: ToolFacts, preview: str, reversible: bool) -> ToolResult:
        """Queue a pending action; asking the same thing again names the one that waits already."""
        call = verdict.call
        waiting = [one for one in self._waiting() if one.run_id == self._journal.row.run_id]
        for one in waiting:
            if one.args_digest == verdict.digest and (self.decided is None or one.id != self.decided.id):
                return _waits(one)
        number = asked(self._journal.state.run(self._journal.row.run_id), self._journal.queue.pending)
        if number >= self._policy.questions:
            told = f"{number} questions were put to people already, and no further one can be. End with what you know."
            return ToolResult(ok=False, summary=told, error=told, code="action.too_many", via="refused")
        action = self._action("approval", call, verdict, tool, preview=preview, reversible=reversible)
        before = self.decided
        if before is not None and before.call is not None and before.call.id == call.id:
            action = replace(action, question=f"{difference(before, action)} {action.question}")
        self.ask(action)
        return _waits(action)

    async def defer(self, verdict: Verdict, tool: ToolFacts, action_id: str, expires_at: float) -> ToolResult:
        """Queue the row that waits for what comes of a call that was handed on.

        Raises:
            ToolError: code `deferred.token`, for a token that was used before.
        """
        if any(one.id == action_id for one in self._waiting()) or await self._is_known(action_id):
            raise ToolError("this token was used before; a call is deferred under a new one", code="deferred.token")
        row = self._action("deferred", verdict.call, verdict, tool, preview="", reversible=False)
        self.ask(replace(row, id=action_id, question="", expires_at=expires_at))
        told = f"{describe(row.call or verdict.call)} was handed on. Its result comes as a notice: {action_id}."
        data = FrozenDict(action=action_id, expires=expires_at)
        return ToolResult(ok=True, summary=told, data=data, code="action.deferred", via="held")

    async def _still_waits(self, found: ToolResult, verdict: Verdict, tool: ToolFacts) -> None:
        """After a crash before its step's results were written, queue the row of a deferred call again."""
        data = found.data if isinstance(found.data, Mapping) else EMPTY
        action_id, expires_at = str(data.get("action")), data.get("expires")
        if isinstance(expires_at, int | float) and not await self._is_known(action_id):
            row = self._action("deferred", verdict.call, verdict, tool, preview="", reversible=False)
            self.ask(replace(row, id=action_id, question="", expires_at=float(expires_at)))

    async def _is_known(self, action_id: str) -> bool:
        try:
            await self._journal.store.action(action_id)
        except NotFoundError:
            return False
        return True

    def ask(self, action: PendingAction) -> None:
        """Queue an action and its record for the next write."""
        self._journal.queue.pending.append(action)
        self._journal.queue.records.append(("asked", Asked(action=action)))

    def doubt(self, slot: int) -> ToolResult | None:
        """The result of a call that was cut off after an effect had begun: nobody knows, a person will look.

        Effects that its body had begun through other tools are closed in the same way; None if there was none.
        """
        found: ToolResult | None = None
        for key, (verdict, facts) in list(self.begun.items()):
            if verdict.call.slot == slot:
                del self.begun[key]
                result = _in_doubt(f"{verdict.call.name} was cut off") if facts.effect == "once" else _CUT_OFF
                self._close(verdict.call, verdict, facts, result)
                found = result if found is None or result.via == "in_doubt" else found
        return found

    def key(self, call: ToolCall, run_id: str = "") -> str:
        """The effect's key: run (by default this one) and slot, never the arguments; a call made inside another's body
        adds its number.
        """
        inner = call.id.partition("/")[2]
        return f"{run_id or self._journal.row.run_id}:{call.slot}" + (f"/{inner}" if inner else "")

    def _waiting(self) -> list[PendingAction]:
        return [*self._journal.state.open.values(), *self._journal.queue.pending]

    async def _settle_started(self, call: ToolCall, key: str, verdict: Verdict, facts: ToolFacts) -> ToolResult | None:
        """An earlier process began this and did not say how it ended: ask the tool, else a person.

        None where the tool says that nothing has happened: it may run, under the same key.
        """
        found = await reconciled(self._toolset.get(call.name), key)
        if found is not None and not found.ok and found.applied is False:
            return None
        result = hide_result(found or _in_doubt(f"{call.name} was begun before a crash"))
        self._close(call, verdict, facts, result)
        return result

    def _close(self, call: ToolCall, verdict: Verdict, facts: ToolFacts, result: ToolResult) -> None:
        queue = self._journal.queue
        self.ledger.settle(self.key(call), result)
        queue.outcomes.append((self.key(call), result))
        outcome = digest([result.ok, result.code, result.data])
        queue.audit.append(self._audit("end", call, verdict.digest, result_digest=outcome, rules=verdict.rules))
        if result.via == "in_doubt":
            self.ask(self._action("in_doubt", call, verdict, facts, preview=result.summary, reversible=False))

    def _action(
        self, kind: ActionKind, call: ToolCall, verdict: Verdict, tool: ToolFacts, *, preview: str, reversible: bool
    ) -> PendingAction:
        row, now, call = self._journal.row, self._clock(), hide_call(call)
        targets = [value for _, value in sink_values(call.args, tool)]
        return PendingAction(
            id=self._new_id("a"),
            kind=kind,
            version=1,
            state="open",
            run_id=row.run_id,
            session_id=row.session_id,
            trace_id=row.trace_id,
            principal=row.principal,
            agents=self._agents,
            call=call,
            reason=self.reasons.get(call.slot, ""),
            args_digest=verdict.digest,
            tool_digest=tool.digest,
            policy_digest=self._policy_digest,
            targets=tuple(targets),
            origins=tuple([replace(one, value=hide(one.value)) for one in verdict.origins]),
            rules=verdict.rules,
            preview=preview,
            reversible=reversible,
            question="Did it take effect?" if kind == "in_doubt" else hide(verdict.message),
            choices=None,
            asked_at=now,
            expires_at=now + self._policy.ask_seconds,
            needs=needs_of(self._policy.deciders, call, tool),
            money=money_of(call, tool),
        )

    def _audit(
        self, kind: str, call: ToolCall, args_digest: str, *, result_digest: str = "", rules: tuple[str, ...] = ()
    ) -> AuditRow:
        principal: Principal = self._journal.row.principal
        return AuditRow(
            run_id=self._journal.row.run_id,
            slot=call.slot,
            kind="begin" if kind == "begin" else "end",
            tool=call.name,
            args_digest=args_digest,
            result_digest=result_digest,
            rules=rules,
            who=principal.key,
            at=self._clock(),
        )


_CUT_OFF = ToolResult(ok=False, summary="It was cut off.", error="it was cut off", code="run.cancelled")


def describe(call: ToolCall) -> str:
    """A call on one line, for a person or a model: `refund(order_id=1001, amount=120.00)`."""
    return f"{call.name}({', '.join(f'{key}={_plain(value)}' for key, value in call.args.items())})"


def _plain(value: Json) -> str:
    return value if isinstance(value, str) and value and not set(value) & set(" ,=()") else canonical(value)


def _waits(action: PendingAction) -> ToolResult:
    assert action.call is not None
    told = f"Waiting for a person: {action.id} {describe(action.call)}. It has not happened; do not repeat it."
    return ToolResult(ok=True, summary=told, data={"action": action.id}, code="action.waiting", via="held")


def _in_doubt(what: str) -> ToolResult:
    told = f"{what}. It is not known whether it took effect; a person will look. Do not repeat it."
    return ToolResult(ok=False, summary=told, error=told, code="effect.in_doubt", via="in_doubt")
