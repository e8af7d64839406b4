"""The guard of a run: the boundary's verdict, the effect's row before the effect, and the pending action.

One per drive. It is the only way from a verdict to an effect; the pipeline calls it, nobody else. Source: SPEC B2–B5.
"""

from __future__ import annotations

from collections.abc import Callable

from backstay.agents.definition import Definition
from backstay.agents.journal import Journal
from backstay.boundary.actions import PendingAction
from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import JudgeState, Presence, judge, sink_values
from backstay.core.canon import canonical, digest
from backstay.core.context import Principal, ToolFacts, Verdict
from backstay.core.messages import Json, ToolCall, ToolResult
from backstay.store.records import Asked, AuditRow


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
        self._toolset = definition.toolset
        self._agents = agents
        self._presence = presence
        self._clock = clock
        self._new_id = new_id
        self.reasons: dict[int, str] = {}
        """The model's reason for a proposed call, by slot."""
        self.decided: PendingAction | None = None
        """The approved action that is being executed now."""
        self.siblings = 0
        """Calls of this step that run at once; a single call's outcome goes out with the step's results."""
        self._rules: tuple[Constraint, ...] = definition.constraints
        self._rules_version = 0
        self.begun: dict[str, tuple[Verdict, ToolFacts]] = {}
        """Effects begun and not finished, by key: what a cancellation leaves in doubt."""

    def judge(self, call: ToolCall, tool: ToolFacts) -> Verdict:
        """Judge the call against the session as it is now."""
        state, row = self._journal.state, self._journal.row
        return judge(
            call,
            tool,
            self._policy,
            JudgeState(
                now=self._clock(),
                principal=row.principal,
                agents=self._agents,
                constraints=self.rules,
                sources=state.sources,
                done=state.done,
                label=state.label,
                refused=frozenset(state.refused) if state.refused else frozenset(),
                presence=self._presence,
                decided=self.decided,
            ),
        )

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """All rules in force: the agent's own, then the session's."""
        state = self._journal.state
        if state.rules_version != self._rules_version:
            self._rules = (*self._own_rules, *state.constraints.values())
            self._rules_version = state.rules_version
        return self._rules

    async def begin(self, verdict: Verdict, tool: ToolFacts, attempt: int) -> ToolResult | None:
        """Make the effect and its audit row durable; a result means that it must not run (again)."""
        call, key = verdict.call, self.key(verdict.call)
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
            return found
        if found == "started":
            return await self._settle_started(call, key, verdict, tool)
        self.begun[key] = (verdict, tool)
        return None

    async def finish(self, verdict: Verdict, tool: ToolFacts, result: ToolResult, attempt: int, last: bool) -> None:
        """Record the outcome of the last attempt; an effect in doubt becomes a row for a person."""
        if not last:
            return
        call = verdict.call
        self.begun.pop(self.key(call), None)
        self._close(call, verdict, tool, result)
        if self.siblings > 1:
            await self._journal.flush()

    async def hold(self, verdict: Verdict, tool: ToolFacts, preview: str, reversible: bool) -> ToolResult:
        """Queue a pending action; asking the same thing again names the one that waits already."""
        call = verdict.call
        waiting = [one for one in self._waiting() if one.run_id == self._journal.row.run_id]
        for one in waiting:
            if one.args_digest == verdict.digest and (self.decided is None or one.id != self.decided.id):
                return _waits(one)
        if len(waiting) >= self._policy.questions:
            told = f"{len(waiting)} actions wait for a person already, and no further one can. End with what you know."
            return ToolResult(ok=False, summary=told, error=told, code="action.too_many", via="refused")
        action = self._action("approval", call, verdict, tool, preview=preview, reversible=reversible)
        self.ask(action)
        return _waits(action)

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

    def key(self, call: ToolCall) -> str:
        """The effect's key: run and slot, never the arguments; a call made inside another's body adds its number."""
        inner = call.id.partition("/")[2]
        return f"{self._journal.row.run_id}:{call.slot}" + (f"/{inner}" if inner else "")

    def _waiting(self) -> list[PendingAction]:
        return [*self._journal.state.open.values(), *self._journal.queue.pending]

    async def _settle_started(self, call: ToolCall, key: str, verdict: Verdict, facts: ToolFacts) -> ToolResult:
        """An earlier process began this and did not say how it ended: ask the tool, else a person."""
        tool = self._toolset.get(call.name)
        found = await tool.reconcile(key) if tool is not None and tool.reconcile is not None else None
        result = found or _in_doubt(f"{call.name} was begun before a crash")
        self._close(call, verdict, facts, result)
        return result

    def _close(self, call: ToolCall, verdict: Verdict, facts: ToolFacts, result: ToolResult) -> None:
        queue = self._journal.queue
        queue.outcomes.append((self.key(call), result))
        outcome = digest([result.ok, result.code, result.data])
        queue.audit.append(self._audit("end", call, verdict.digest, result_digest=outcome, rules=verdict.rules))
        if result.via == "in_doubt":
            self.ask(self._action("in_doubt", call, verdict, facts, preview=result.summary, reversible=False))

    def _action(
        self, kind: str, call: ToolCall, verdict: Verdict, tool: ToolFacts, *, preview: str, reversible: bool
    ) -> PendingAction:
        row, now = self._journal.row, self._clock()
        targets = [value for _, value in sink_values(call.args, tool)]
        return PendingAction(
            id=self._new_id("a"),
            kind="in_doubt" if kind == "in_doubt" else "approval",
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
            origins=verdict.origins,
            rules=verdict.rules,
            preview=preview,
            reversible=reversible,
            question="Did it take effect?" if kind == "in_doubt" else verdict.message,
            choices=None,
            asked_at=now,
            expires_at=now + self._policy.ask_seconds,
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
            who=f"{principal.tenant}/{principal.id}",
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
