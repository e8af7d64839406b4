"""Sums and counts hold for a whole session, or a day over all sessions, whatever runs at once and whatever crashes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from backstay import Agent, Boundary, Constraint, Money, Principal, tool
from backstay.agents import decide
from backstay.agents.guard import RunGuard
from backstay.agents.journal import Journal
from backstay.agents.judging.ledger import Ledger
from backstay.agents.state import SessionState
from backstay.boundary import checks
from backstay.core.context import Reserve, Verdict
from backstay.core.errors import ToolError
from backstay.core.messages import Message, ModelReply, Text, ToolCall, ToolResult, ToolReturn
from backstay.models import ScriptedModel, call
from backstay.store.memory import MemoryStore
from backstay.store.protocol import RunStore
from backstay.store.records import Input, Record, Reply, Results, RunRow

NOON = 1_781_524_800.0
"""15 June 2026, 12:00 UTC."""
Euro = Annotated[Decimal, Money("EUR")]


class Bank:
    """What was paid, and how the next payments go."""

    def __init__(self, *, fails: dict[str, Exception] | None = None) -> None:
        self.paid: list[tuple[str, Decimal]] = []
        self.looked: list[str] = []
        self.fails = fails or {}

    def agent(self, *lines: Any, rules: tuple[Constraint, ...], **more: Any) -> Agent[Any]:
        bank = self

        @tool(risk="write", effect="once")
        async def pay(to: str, amount: Euro) -> str:
            """Send money. Use it when the user asks for it."""
            await asyncio.sleep(0)
            if to in bank.fails:
                raise bank.fails[to]
            bank.paid.append((to, amount))
            return "sent"

        @tool(risk="read")
        async def look(word: str) -> str:
            """Look something up. Use it when the user asks."""
            bank.looked.append(word)
            return word

        boundary = Boundary(constraints=rules, provenance="off")
        return Agent(ScriptedModel(*lines), name="bank", tools=[pay, look], boundary=boundary, **more)

    @property
    def total(self) -> Decimal:
        return sum((amount for _, amount in self.paid), Decimal(0))


def spend(most: int, per: Any = "session", **more: Any) -> Constraint:
    given: Any = {"meaning": "money", "id": "cap", **more}
    return Constraint.of(f"at most {most} EUR", checks.total(most, "EUR", per=per), **given)


def looks(most: int, per: Any = "session") -> Constraint:
    return Constraint.of(f"at most {most} looks", checks.calls(most, per=per), tools=["look"], id="few")


def codes(result: Any) -> list[str | None]:
    return [one.result.code for message in result.new_messages for one in message.returns]


async def test_calls_at_once_cannot_spend_the_same_money(store: RunStore) -> None:
    bank = Bank()
    pays = [call("pay", to=name, amount="200") for name in "abc"]
    result = await bank.agent(pays, "done", rules=(spend(300),)).run("pay", session="s", store=store)
    assert bank.total == 200
    assert codes(result) == [None, "constraint.broken", "constraint.broken"]
    assert "200 of it are used up" in result.new_messages[2].returns[1].result.summary


async def test_a_session_remembers_over_runs_and_processes(store: RunStore) -> None:
    bank = Bank()
    for amount in ("200", "50", "60", "50"):
        agent = bank.agent(call("pay", to="a", amount=amount), "done", rules=(spend(300),))
        await agent.run("pay", session="s", store=store)
    assert bank.total == 300
    other = bank.agent(call("pay", to="a", amount="300"), "done", rules=(spend(300),))
    await other.run("pay", session="t", store=store)
    assert bank.total == 600


async def test_what_surely_did_not_happen_is_given_back_and_a_doubt_is_not(store: RunStore) -> None:
    bank = Bank(fails={"no": ToolError("no such account", applied=False), "?": ToolError("500")})
    lines = [call("pay", to=to, amount="200") for to in ("no", "?", "a")]
    result = await bank.agent(*lines, "done", rules=(spend(300),)).run("pay", session="s", store=store)
    assert codes(result) == ["tool.failed", "effect.in_doubt", "constraint.broken"]


@pytest.mark.parametrize("happened", [True, False])
async def test_a_doubt_that_is_settled_counts_as_what_it_was(store: RunStore, happened: bool) -> None:
    bank = Bank(fails={"?": ToolError("500")})
    agent = bank.agent(call("pay", to="?", amount="200"), "hm", "ok", rules=(spend(300),))
    waiting = await agent.run("pay", session="s", store=store)
    await decide(store, waiting.pending[0], approve=happened, by="bo", via="cli")
    await agent.resume(waiting.run_id, store=store)
    again = bank.agent(call("pay", to="a", amount="200"), "done", rules=(spend(300),))
    await again.run("pay", session="s", store=store)
    assert bank.total == (0 if happened else 200)


async def test_a_held_action_reserves_nothing_until_it_runs_and_is_then_judged_afresh(store: RunStore) -> None:
    bank = Bank()
    ask = Constraint.of("ask about c", checks.none_of("c"), argument="to", severity="confirm", id="ask")
    rules = (spend(300), ask)
    agent = bank.agent([call("pay", to="c", amount="200"), call("pay", to="a", amount="200")], "ok", "so", rules=rules)
    waiting = await agent.run("pay", session="s", store=store)
    assert [to for to, _ in bank.paid] == ["a"]
    await decide(store, waiting.pending[0], approve=True, by="bo", via="cli")
    done = await agent.resume(waiting.run_id, store=store)
    assert done is not None
    assert [to for to, _ in bank.paid] == ["a"]
    assert "is refused now" in done.new_messages[0].text
    lower = bank.agent(call("pay", to="c", amount="100"), "ok", "so", rules=rules)
    waiting = await lower.run("pay", session="s", store=store)
    await decide(store, waiting.pending[0], approve=True, by="bo", via="cli")
    await lower.resume(waiting.run_id, store=store)
    assert bank.total == 300
    full = bank.agent(call("pay", to="a", amount="0.01"), "done", rules=rules)
    assert codes(await full.run("pay", session="s", store=store)) == ["constraint.broken"]


async def test_a_day_counts_over_all_sessions_of_a_person(store: RunStore) -> None:
    bank = Bank()
    for session, who in (("s", "ann"), ("t", "ann"), ("u", "bob")):
        agent = bank.agent(call("pay", to=session, amount="200"), "done", rules=(spend(300, "day"),))
        await agent.run("pay", session=session, principal=Principal(id=who), store=store)
    assert [to for to, _ in bank.paid] == ["s", "u"]


async def test_sessions_at_work_at_once_cannot_spend_the_same_day(store: RunStore) -> None:
    bank = Bank()
    agents = [bank.agent(call("pay", to=str(n), amount="100"), "done", rules=(spend(300, "day"),)) for n in range(8)]
    runs = [agent.run("pay", session=f"s{n}", store=store) for n, agent in enumerate(agents)]
    results = await asyncio.gather(*runs)
    assert bank.total == 300
    assert sorted(str(codes(one)[0]) for one in results) == ["None"] * 3 + ["constraint.broken"] * 5


@pytest.mark.parametrize("per", ["session", "day"])
async def test_reads_are_counted_too(store: RunStore, per: str) -> None:
    bank = Bank()
    for words in (["a", "b"], ["c", "d"], ["e"]):
        agent = bank.agent([call("look", word=word) for word in words], "done", rules=(looks(3, per),))
        await agent.run("look", session="s" if per == "session" else words[0], store=store)
    assert bank.looked == ["a", "b", "c"]


async def test_what_is_only_observed_is_counted_and_stops_nothing(store: RunStore) -> None:
    bank = Bank()
    watched = (spend(300, "day", mode="observe"), replace(looks(1), severity="warn"))
    lines = [[call("pay", to="a", amount="200"), call("look", word="x")] for _ in range(3)]
    await bank.agent(*lines, "done", rules=watched).run("pay", session="s", store=store)
    assert (bank.total, len(bank.looked)) == (600, 3)


async def test_something_has_to_have_succeeded_before() -> None:
    bank = Bank(fails={"no": ToolError("no", applied=False)})
    first = Constraint.of("look before you pay", checks.after("look"), tools=["pay"], id="first")
    lines = [[call("pay", to="a", amount="1"), call("look", word="x")], call("pay", to="b", amount="1"), "done"]
    await bank.agent(*lines, rules=(first,)).run("pay", session="s")
    assert [to for to, _ in bank.paid] == ["b"]
    paid = Constraint.of("pay before you look", checks.after("pay"), tools=["look"], id="paid")
    failing = bank.agent(call("pay", to="no", amount="1"), call("look", word="y"), "done", rules=(paid,))
    await failing.run("pay", session="t")
    assert bank.looked == ["x"]


class Session:
    """One session of the machine below, as one process after the other sees it."""

    def __init__(self, name: str, store: MemoryStore, agent: Agent[Any], now: list[float]) -> None:
        self.name, self.store, self.agent, self.now = name, store, agent, now
        self.slot, self.epoch = 0, 0
        self.open: dict[int, Decimal] = {}
        self.verdicts: dict[int, Verdict] = {}
        self.begun: set[int] = set()
        self.results: dict[int, ToolResult] = {}

    async def wake(self) -> None:
        """A new process takes the session over and folds what the one before has written."""
        self.epoch += 1
        claimed = await self.store.claim(self.name, owner=f"w{self.epoch}", ttl=30.0)
        assert claimed is not None
        fence, row = claimed
        state = SessionState(self.name)
        state.load(await self.store.load(self.name))
        self.journal = Journal(self.store, fence, row, state, lambda: self.now[0])
        self.guard = RunGuard(
            self.journal,
            self.agent.definition,
            agents=("bank",),
            presence="inbox",
            clock=lambda: self.now[0],
            new_id=lambda prefix: f"{prefix}-{self.name}-{self.epoch}-{self.slot}-{len(self.journal.queue.pending)}",
        )
        self.verdicts, self.begun, self.results = {}, set(), {}
        await self.guard.open_ledger([self.call(slot) for slot in self.open])

    def call(self, slot: int) -> ToolCall:
        return ToolCall(id=f"c{slot}", name="pay", args={"to": "a", "amount": str(self.open[slot])}, slot=slot)


class SpendingMachine(RuleBasedStateMachine):
    """Two sessions of one person pay at once, crash, fail and doubt; no more is paid than the rules allow."""

    SESSION, DAY = Decimal(300), Decimal(400)

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.now = [NOON]
        self.store = MemoryStore(clock=lambda: self.now[0])
        rules = (spend(300), spend(400, "day", id="day"))
        self.agent = Bank().agent("x", rules=rules)
        self.facts = next(one for one in self.agent.definition.toolset if one.name == "pay").facts(None)
        self.sessions = [Session(name, self.store, self.agent, self.now) for name in ("s", "t")]
        self.moved: dict[tuple[str, int], Decimal] = {}
        for one in self.sessions:
            self.runner.run(self._create(one))

    async def _create(self, one: Session) -> None:
        message = Message(id="m", role="user", parts=(Text(text="pay"),))
        row = RunRow(
            run_id=one.name,
            session_id=one.name,
            root_id=one.name,
            parent_id=None,
            agent="bank",
            agent_digest="",
            principal=Principal(id="ann"),
            trace_id="t",
            status="running",
        )
        body = Input(message=message, instructions="")
        first = Record(session_id=one.name, seq=0, run_id=one.name, kind="input", at=NOON, body=body)
        await self.store.create(row, first)
        await one.wake()

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.close()

    @rule(which=st.integers(0, 1), amounts=st.lists(st.integers(1, 250), min_size=1, max_size=3))
    def ask(self, which: int, amounts: list[int]) -> None:
        one = self.sessions[which]
        if one.open:
            return
        for amount in amounts:
            one.slot += 1
            one.open[one.slot] = Decimal(amount)
        calls = tuple(one.call(slot) for slot in one.open)
        reply = ModelReply(parts=calls, finish="tool_calls", usage=None, model="m")
        self.runner.run(one.journal.write(("reply", Reply(reply=reply))))
        self.runner.run(one.guard.open_ledger(calls))

    @rule(which=st.integers(0, 1), pick=st.integers(0, 2))
    def judge(self, which: int, pick: int) -> None:
        one = self.sessions[which]
        waiting = [slot for slot in one.open if slot not in one.begun and slot not in one.results]
        if not waiting:
            return
        slot = waiting[pick % len(waiting)]
        verdict = one.guard.judge(one.call(slot), self.facts)
        if verdict.outcome == "allow":
            one.verdicts[slot] = verdict
        elif slot not in one.verdicts:
            told = verdict.message
            one.results[slot] = ToolResult(ok=False, summary=told, code=verdict.code, via="refused")
            one.guard.ledger.give_back(one.guard.key(one.call(slot)), one.results[slot])

    @rule(which=st.integers(0, 1), pick=st.integers(0, 2))
    def start(self, which: int, pick: int) -> None:
        one = self.sessions[which]
        ready = [slot for slot in one.verdicts if slot not in one.begun and slot not in one.results]
        if not ready:
            return
        slot = ready[pick % len(ready)]
        found = self.runner.run(one.guard.begin(one.verdicts[slot], self.facts, 1))
        if found is not None:
            one.results[slot] = found
        else:
            one.begun.add(slot)

    @rule(
        which=st.integers(0, 1),
        pick=st.integers(0, 2),
        outcome=st.sampled_from(["paid", "failed", "doubt", "paid in doubt", "crash"]),
    )
    def act(self, which: int, pick: int, outcome: str) -> None:
        one = self.sessions[which]
        ready = [slot for slot in one.begun if slot not in one.results]
        if not ready:
            return
        slot = ready[pick % len(ready)]
        if outcome in ("paid", "paid in doubt", "crash"):
            assert (one.name, slot) not in self.moved, "an effect happens once"
            self.moved[one.name, slot] = one.open[slot]
        if outcome == "crash":
            self.crash(which)
            return
        result = {
            "paid": ToolResult(ok=True, summary="sent"),
            "failed": ToolResult(ok=False, summary="no", applied=False),
        }.get(outcome, ToolResult(ok=False, summary="?", via="in_doubt"))
        self.runner.run(one.guard.finish(one.verdicts[slot], self.facts, result, 1, True))
        self.runner.run(one.journal.flush())
        one.results[slot] = result

    @rule(which=st.integers(0, 1))
    def crash(self, which: int) -> None:
        self.now[0] += 31.0
        self.runner.run(self.sessions[which].wake())

    @precondition(lambda self: any(one.open and set(one.results) == set(one.open) for one in self.sessions))
    @rule()
    def close(self) -> None:
        for one in self.sessions:
            if not one.open or set(one.results) != set(one.open):
                continue
            calls = [one.call(slot) for slot in one.open]
            returns = [ToolReturn(call_id=c.id, name=c.name, result=one.results[c.slot]) for c in calls]
            spent = [item for c in calls for item in one.guard.close_ledger(c, one.results[c.slot])]
            body = Results(returns=tuple(returns), spent=tuple(spent))
            self.runner.run(one.journal.write(("results", body)))
            one.open, one.verdicts, one.begun, one.results = {}, {}, set(), {}

    @invariant()
    def nobody_has_spent_too_much(self) -> None:
        if not hasattr(self, "moved"):
            return
        for one in self.sessions:
            assert sum(amount for (name, _), amount in self.moved.items() if name == one.name) <= self.SESSION
        assert sum(self.moved.values()) <= self.DAY


TestSpending = SpendingMachine.TestCase
TestSpending.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_snapshot_keeps_what_is_spent() -> None:
    state = SessionState("s")
    for seq, amount in enumerate((100, 50, -30), 1):
        body = Results(returns=(), spent=(("session:cap", Decimal(amount)),))
        state.fold(Record(session_id="s", seq=seq, run_id="r", kind="results", at=0.0, body=body))
    again = SessionState("s")
    record = Record(session_id="s", seq=4, run_id="r", kind="snapshot", at=0.0, body=state.snapshot())
    again.load([record])
    assert again.spent == state.spent == {"session:cap": Decimal(120)}


FAILED = ToolResult(ok=False, summary="500")
VOID = ToolResult(ok=False, summary="no", applied=False)
REFUSED = ToolResult(ok=False, summary="no", via="refused")


def reserve(amount: int, key: str = "session:cap") -> Reserve:
    return Reserve(key, Decimal(amount))


def test_a_call_sees_what_all_others_hold_and_never_itself() -> None:
    ledger = Ledger()
    ledger.reserve("r:1", [reserve(200)])
    assert ledger.spent({"session:cap": Decimal(50)}, "r:2") == {"session:cap": Decimal(250)}
    assert ledger.spent({"session:cap": Decimal(50)}, "r:1") == {"session:cap": Decimal(50)}
    ledger.reserve("r:1", [reserve(10)])
    assert ledger.spent({}, "r:2") == {"session:cap": Decimal(200)}
    assert ledger.close("r:1") == (("session:cap", Decimal(200)),)
    assert ledger.spent({}, "r:2") == {}


def test_what_an_earlier_process_has_begun_is_held_until_its_outcome_is_known() -> None:
    ledger = Ledger()
    ledger.load({"r:1": [("session:cap", Decimal(200)), ("day:x", Decimal(200))]}, {"day:x": Decimal(350)})
    assert ledger.spent({}, "r:2") == {"session:cap": Decimal(200), "day:x": Decimal(350)}
    assert ledger.spent({}, "r:1") == {"day:x": Decimal(150)}
    ledger.give_back("r:1", REFUSED)
    assert ledger.spent({}, "r:2")["session:cap"] == 200
    ledger.settle("r:1", VOID)
    assert ledger.spent({}, "r:2") == {"day:x": Decimal(150)}


def test_only_what_is_sure_not_to_have_happened_is_given_back() -> None:
    for result, held in ((FAILED, 5), (VOID, 0), (REFUSED, 0), (ToolResult(ok=True, summary=""), 5)):
        ledger = Ledger()
        ledger.reserve("r:1", [reserve(5)])
        ledger.begin("r:1")
        ledger.settle("r:1", result)
        assert sum(ledger.spent({}, "r:2").values()) == held


def test_what_the_calls_of_a_body_spend_is_closed_with_it() -> None:
    ledger = Ledger()
    for name in ("r:1", "r:1/1", "r:1/2", "r:10"):
        ledger.reserve(name, [reserve(5)])
    assert ledger.close("r:1") == (("session:cap", Decimal(15)),)
    assert ledger.spent({}, "r:2") == {"session:cap": Decimal(5)}
