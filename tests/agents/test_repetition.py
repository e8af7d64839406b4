"""A model that does the same thing again and again is told, hindered, and stopped; a resumed run knows it too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backstay import Agent, RunContext, ToolError, ToolInputError, ToolResult, tool
from backstay.agents.result import RunResult
from backstay.agents.state import SessionState
from backstay.agents.tallies.repetition import Keys, failure_of, follow, key_of, noted
from backstay.core.messages import ModelRequest, ToolReturn
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.codec import decode, encode
from backstay.store.memory import MemoryStore
from backstay.store.records import Repetition
from backstay.tools.circuit import circuits
from desk import Desk, propose


class _Orders:
    """A downstream whose answers the test sets: a value to return, an error to raise."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.calls: list[tuple[str, Any]] = []

    def _answer(self, name: str, key: Any) -> Any:
        self.calls.append((name, key))
        answer = self.answers.get(name)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def tools(self) -> list[Any]:
        orders = self

        @tool(risk="read", downstream="orders", max_attempts=1)
        async def find(number: int, detail: bool = False) -> Any:
            """Find an order. Use it when asked."""
            return orders._answer("find", number)

        @tool(risk="read", downstream="orders", max_attempts=1)
        async def count(of: str = "all") -> Any:
            """Count orders. Use it when asked."""
            return orders._answer("count", of)

        return [find, count]


async def _run(orders: _Orders, *lines: Any, **more: Any) -> tuple[RunResult[Any], list[ModelRequest]]:
    seen: list[ModelRequest] = []

    def model(request: ModelRequest, ctx: Any) -> Any:
        seen.append(request)
        return lines[min(ctx.step, len(lines)) - 1]

    agent = Agent(FunctionModel(model), tools=orders.tools(), **more)
    return await agent.run("how many orders?", session="s"), seen


def _results(result: RunResult[Any]) -> list[ToolResult]:
    return [one.result for message in result.new_messages for one in message.returns]


def _offered(request: ModelRequest) -> list[str]:
    return [spec.name for spec in request.tools]


# a failed call is not run again


async def test_a_failed_call_is_not_run_again_whatever_it_said() -> None:
    orders = _Orders(find=[RuntimeError("timeout of connection 17"), RuntimeError("timeout of connection 18")])
    result, _ = await _run(orders, call("find", number=1), call("find", number="1", detail=False), "It is down.")
    first, second = _results(result)
    assert orders.calls == [("find", 1)], "the second time it is the same call, written otherwise"
    assert (first.code, first.via) == ("tool.failed", "ran")
    assert (second.ok, second.code, second.via) == (False, "tool.repeated", "refused")
    assert second.summary.count(".") == 1
    assert result.output == "It is down."


async def test_other_arguments_run() -> None:
    orders = _Orders(find=RuntimeError("down"))
    await _run(orders, call("find", number=1), call("find", number=2), "ok")
    assert orders.calls == [("find", 1), ("find", 2)]


async def test_it_runs_again_once_the_circuit_no_longer_counts_the_fault() -> None:
    orders = _Orders(find=[RuntimeError("down"), "order 1"], count=7)
    result, _ = await _run(orders, call("find", number=1), call("count"), call("find", number=1), "ok")
    assert [one.ok for one in _results(result)] == [False, True, True]


async def test_a_circuit_that_has_seen_nothing_does_not_set_it_free() -> None:
    """A fresh process has fresh circuits; what the records say holds until an answer is seen."""
    orders = _Orders(find=[RuntimeError("down"), "order 1"])
    lines = [call("find", number=1), call("find", number=1), "ok"]

    def model(_request: ModelRequest, ctx: Any) -> Any:
        if ctx.step == 2:
            circuits.reset()
        return lines[ctx.step - 1]

    result = await Agent(FunctionModel(model), tools=orders.tools()).run("how many?")
    assert [one.code for one in _results(result)] == ["tool.failed", "tool.repeated"]


async def test_arguments_that_a_tool_refused_are_answered_without_running() -> None:
    wrong = ToolInputError("number: there is no order 1", code="orders.none")
    orders = _Orders(find=wrong, count=RuntimeError("down"))
    find = call("find", number=1)
    result, _ = await _run(orders, find, find, call("count"), find, "ok")
    assert orders.calls == [("find", 1), ("count", "all")]
    codes = [one.code for one in _results(result)]
    assert codes == ["orders.none", "tool.repeated", "tool.failed", "tool.repeated"]
    assert circuits.of("orders").faults == 1, "wrong arguments are no fault of the downstream"


async def test_refused_arguments_are_tried_again_after_something_else_has_succeeded() -> None:
    orders = _Orders(find=[ToolInputError("no order 1"), "order 1"], count=7)
    result, _ = await _run(orders, call("find", number=1), call("count"), call("find", number=1), "ok")
    assert [one.ok for one in _results(result)] == [False, True, True]


async def test_a_failure_that_is_a_tools_own_answer_may_be_asked_again() -> None:
    orders = _Orders(find=[ToolResult(ok=False, summary="not packed yet"), "order 1"])
    result, _ = await _run(orders, call("find", number=1), call("find", number=1), "ok")
    assert [one.ok for one in _results(result)] == [False, True]


async def test_the_second_of_two_equal_calls_in_order_knows_that_the_first_failed() -> None:
    ran: list[int] = []

    @tool(risk="read", sequential=True, max_attempts=1)
    async def look(number: int) -> None:
        """Look. Use it when asked."""
        ran.append(number)
        raise RuntimeError("down")

    lines = [[call("look", number=1), call("look", number=1)], "ok"]
    result = await Agent(ScriptedModel(*lines), tools=[look]).run("look")
    assert ran == [1]
    assert [one.code for one in _results(result)] == ["tool.failed", "tool.repeated"]


async def test_a_new_input_is_a_new_chance() -> None:
    orders = _Orders(find=[RuntimeError("down"), "order 1"])
    agent = Agent(
        FunctionModel(lambda _r, ctx: call("find", number=1) if ctx.step == 1 else "ok"), tools=orders.tools()
    )
    await agent.run("find it", session="s")
    await agent.run("try again", session="s")
    assert orders.calls == [("find", 1)] * 2


async def test_an_effect_in_doubt_is_not_repeated_until_a_person_says_that_it_did_not_happen() -> None:
    sent: list[int] = []

    @tool(risk="write", effect="once")
    async def send(copies: int) -> str:
        """Send copies. Use it when asked."""
        sent.append(copies)
        if len(sent) == 1:
            raise RuntimeError("the connection broke")
        return "sent"

    lines = [call("send", copies=2), call("send", copies=2), "I do not know.", call("send", copies=2), "Now it is."]
    agent = Agent(ScriptedModel(*lines), tools=[send], name="a")
    doubt = await agent.run("send 2 copies", session="s")
    assert [one.code for one in _results(doubt)] == ["effect.in_doubt", "tool.repeated"]
    assert sent == [2]
    (action,) = doubt.pending
    resumed = await agent.decide(action, approve=False, by="bo")
    assert resumed is not None
    assert (resumed.output, sent) == ("Now it is.", [2, 2])


# the same step three times in a row


async def test_three_times_the_same_is_told_then_hindered_then_stopped() -> None:
    orders = _Orders(count=7)
    result, seen = await _run(orders, call("count"))
    assert [_offered(request) == ["find", "count"] for request in seen] == [True, True, True, False, True]
    assert _offered(seen[3]) == ["find"]
    results = _results(result)
    assert [one.data for one in results[:3]] == [7, 7, 7]
    assert results[0].summary == results[1].summary == "7"
    assert results[2].summary.startswith("7\nNote: the same call gave the same result 3 times in a row.")
    assert (results[3].code, results[3].via) == ("tool.withheld", "refused")
    assert len(orders.calls) == 4, "once more after it was withheld: the answer might be another one now"
    assert (result.status, result.code, result.steps) == ("stopped", "run.repeating", 5)
    assert "count" in result.reason


async def test_a_model_that_listens_goes_on() -> None:
    orders = _Orders(count=7)
    result, _ = await _run(orders, call("count"), call("count"), call("count"), "Seven.")
    assert (result.status, result.output) == ("done", "Seven.")


@pytest.mark.parametrize(
    "between", [call("count", of="open"), call("find", number=1)], ids=["other arguments", "another tool"]
)
async def test_something_else_in_between_begins_a_new_row(between: Any) -> None:
    orders = _Orders(count=7, find="order")
    lines = [call("count"), call("count"), between] * 4
    result, seen = await _run(orders, *lines, "ok")
    assert result.status == "done"
    assert all(_offered(request) == ["find", "count"] for request in seen)


async def test_another_result_begins_a_new_row() -> None:
    """Polling, as long as something moves."""
    orders = _Orders(count=[1, 1, 2, 2, 3, 3, 4, 4])
    result, _ = await _run(orders, *[call("count")] * 8, "ok")
    assert result.status == "done"


async def test_a_poll_that_changes_after_it_was_hindered_goes_on() -> None:
    orders = _Orders(count=["pending", "pending", "pending", "ready"])
    result, _ = await _run(orders, *[call("count")] * 5, "Ready.")
    assert (result.status, result.output) == ("done", "Ready.")
    assert _results(result)[-1].data == "ready"


async def test_a_second_row_of_the_same_ends_the_run() -> None:
    orders = _Orders(count=7, find="order")
    line = [call("count")] * 3
    result, _ = await _run(orders, *line, call("find", number=1), *line, "never")
    assert (result.status, result.code, result.steps) == ("stopped", "run.repeating", 7)


async def test_a_batch_that_comes_again_and_again_is_a_row_too() -> None:
    orders = _Orders(count=7, find="order")
    result, seen = await _run(orders, [call("count"), call("find", number=1)])
    assert (result.status, result.code, result.steps) == ("stopped", "run.repeating", 5)
    assert _offered(seen[3]) == []


async def test_a_call_that_comes_beside_others_that_differ_is_no_row() -> None:
    orders = _Orders(count=7, find="order")
    result, _ = await _run(orders, *[[call("count"), call("find", number=n)] for n in range(8)], "ok")
    assert result.status == "done"


async def test_equal_calls_beside_each_other_count_once() -> None:
    orders = _Orders(count=7)
    result, _ = await _run(orders, [call("count")] * 6, "ok")
    assert result.status == "done"
    assert "Note" not in _results(result)[-1].summary


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("fails", [False, True])
async def test_equal_calls_beside_each_other_that_change_something_run_once(sequential: bool, fails: bool) -> None:
    added: list[tuple[str, int]] = []

    @tool(risk="write", sequential=sequential)
    async def add_note(text: str, copies: int = 1) -> str:
        """Add a note. Use it when asked."""
        added.append((text, copies))
        if fails:
            raise ToolError("the store is down", applied=False)
        return "added"

    twins = [call("add_note", text="a"), call("add_note", copies=1, text="a"), call("add_note", text="b")]
    model = ScriptedModel(twins, [call("add_note", text="a")], "ok")
    result = await Agent(model, tools=[add_note]).run("note a twice and b")
    first, second, third, again = _results(result)
    assert (second.code, second.via, second.applied) == ("tool.twin", "refused", None)
    assert "call it again in the next step" in second.summary
    assert sorted(added[:2]) == [("a", 1), ("b", 1)], "once each, whatever the defaults"
    assert first.ok is third.ok is not fails
    assert again.ok is not fails, "the next step may do it again, unless it failed"
    assert len(added) == (2 if fails else 3)


async def test_a_failing_call_burns_five_steps_and_not_thirty() -> None:
    orders = _Orders(find=RuntimeError("down"))
    result, _ = await _run(orders, call("find", number=1))
    assert (result.status, result.code, result.steps, len(orders.calls)) == ("stopped", "run.repeating", 5, 1)
    assert [one.code for one in _results(result)][:2] == ["tool.failed", "tool.repeated"]


async def test_a_call_that_is_refused_is_not_made_thirty_times() -> None:
    desk = Desk()
    result = await desk.agent(*[call("refund", order_id="1001", amount="1")] * 30).run("refund order 1001")
    assert (result.status, result.code, result.steps) == ("stopped", "run.repeating", 5)
    assert _results(result)[0].code == "tool.high"
    assert desk.calls["refund"] == 0


async def test_the_same_proposal_again_and_again_ends_the_run_and_is_one_question() -> None:
    desk = Desk()
    result = await desk.agent(*[propose()] * 30).run("refund order 1001, 120.00 EUR")
    assert (result.status, result.code) == ("stopped", "run.repeating")
    assert len(result.pending) == 1


# arguments that are wrong again and again


async def test_three_argument_errors_of_one_tool_in_a_row_are_told_hindered_and_stopped() -> None:
    orders = _Orders(find="order", count=7)
    lines = [call("find", number=f"no {n}") for n in range(9)]
    result, seen = await _run(orders, *lines)
    results = _results(result)
    assert "wrong 3 times in a row" in results[2].summary
    assert "number" in results[2].summary, "it still says what is wrong"
    assert _offered(seen[3]) == ["count"]
    assert (result.status, result.code, result.steps) == ("stopped", "run.repeating", 5)
    assert "find" in result.reason
    assert orders.calls == []


async def test_an_unknown_tool_under_changing_arguments_is_stopped_too() -> None:
    orders = _Orders()
    result, _ = await _run(orders, *[call("fnid", number=n) for n in range(9)])
    assert (result.status, result.code, result.steps) == ("stopped", "run.repeating", 5)


@pytest.mark.parametrize("between", [call("find", number=5), call("count")], ids=["a good call", "another tool"])
async def test_a_call_that_is_right_begins_a_new_row_of_errors(between: Any) -> None:
    orders = _Orders(find="order", count=7)
    lines = [call("find", number="no"), call("find", number="nope"), between] * 3
    result, _ = await _run(orders, *lines, "ok")
    assert result.status == "done"


@pytest.mark.parametrize("name", ["find", "count"])
async def test_a_good_call_beside_a_wrong_one_is_no_row_of_errors(name: str) -> None:
    orders = _Orders(find="order", count=7)
    good = {"find": lambda n: call("find", number=n), "count": lambda n: call("count", of=str(n))}[name]
    lines = [[good(n), call("find", number="no" * n)] for n in range(1, 7)]
    result, _ = await _run(orders, *lines, "ok")
    assert result.status == "done"


async def test_errors_of_two_tools_at_once_are_two_rows() -> None:
    orders = _Orders()
    lines = [[call("find", number="no" * n), call("count", of=[n])] for n in range(1, 9)]
    result, seen = await _run(orders, *lines)
    assert _offered(seen[3]) == []
    assert (result.status, result.steps) == ("stopped", 5)


# the records tell it


async def test_the_records_alone_tell_a_resumed_run_what_came_before() -> None:
    orders, store = _Orders(count=7, find=RuntimeError("down")), MemoryStore()

    def model(_request: ModelRequest, ctx: Any) -> Any:
        return call("find", number=1) if ctx.step == 1 else call("count") if ctx.step < 5 else "ok"

    agent = Agent(FunctionModel(model), tools=orders.tools(), name="a")
    result = await agent.run("count", session="s", store=store)
    records = await store.read("s", limit=100)
    state = SessionState("s")
    for record in records:
        if record.kind == "results":
            state.fold(record)
            before = state.run(result.run_id).repetition
        elif record.kind != "status":
            state.fold(record)
    assert (before.same, before.withheld, before.withheld_step) == (3, ("count",), 5)
    assert list(before.failed.values()) == ["fault"]
    snapshot = state.snapshot()
    again = SessionState("s")
    again._restore(_record(records[-1], snapshot))
    assert again.run(result.run_id).repetition == before
    state.fold(replace(records[0], seq=state.seq + 1))
    assert state.run(result.run_id).repetition == Repetition(), "a new input begins anew"


def _record(like: Any, body: Any) -> Any:
    return decode(encode(replace(like, kind="snapshot", body=body)))


def _step(*calls: tuple[str, str, ToolResult]) -> tuple[tuple[ToolReturn, ...], Keys]:
    returns = tuple(ToolReturn(call_id=str(n), name=name, result=result) for n, (name, _, result) in enumerate(calls))
    return returns, tuple(key_of(digest, result) for _, digest, result in calls)


def test_one_step_withheld_and_no_more() -> None:
    step = _step(("t", "d", ToolResult(ok=True, summary="x")))
    state = Repetition()
    for number in range(1, 4):
        state = follow(state, number, *step)
    assert (state.withheld, state.withheld_step, state.over) == (("t",), 4, "")
    other = follow(state, 4, *_step(("u", "e", ToolResult(ok=True, summary="y"))))
    assert (other.withheld, other.withheld_step, other.same, other.over) == ((), 0, 1, "")
    empty_reply_between = follow(state, 5, *step)
    assert empty_reply_between.over


def test_the_note_changes_what_the_model_reads_and_not_what_programs_get() -> None:
    returns, keys = _step(("t", "d", ToolResult(ok=True, summary="x")))
    state = Repetition()
    for number in (1, 2):
        assert noted(state, number, returns, keys) == returns
        state = follow(state, number, returns, keys)
    (told,) = noted(state, 3, returns, keys)
    assert told.result.summary != "x"
    assert told.result.data is None
    assert follow(state, 3, (told,), keys) == follow(state, 3, returns, keys)


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (ToolResult(ok=True, summary=""), None),
        (ToolResult(ok=False, summary="", code="tool.failed"), "fault"),
        (ToolResult(ok=False, summary="", code="tool.timeout", retryable=True), "fault"),
        (ToolResult(ok=False, summary="not yet"), None),
        (ToolResult(ok=False, summary="", code="effect.in_doubt", via="in_doubt"), "doubt"),
        (ToolResult(ok=False, summary="", code="tool.input", via="refused"), "input"),
        (ToolResult(ok=False, summary="", code="shop.none", via="refused"), "input"),
        (ToolResult(ok=False, summary="", code="rate.limited", via="refused", retryable=True), None),
        (ToolResult(ok=False, summary="", code="tool.circuit_open", via="refused"), None),
        (ToolResult(ok=False, summary="", code="constraint.broken", via="refused"), None),
        (ToolResult(ok=False, summary="", code="x", via="short_circuited"), None),
    ],
)
def test_what_is_not_run_again(result: ToolResult, kind: str | None) -> None:
    assert failure_of(result) == kind


async def test_what_a_tools_body_calls_is_no_repetition_of_the_model() -> None:
    ran: list[int] = []

    @tool(risk="read", max_attempts=1)
    async def inner(number: int) -> int:
        """Inner. Use it when asked."""
        ran.append(number)
        raise ToolError("down")

    @tool(risk="read", max_attempts=1)
    async def outer(ctx: RunContext[None]) -> int:
        """Outer. Use it when asked."""
        for _ in range(4):
            await inner.run({"number": 1}, ctx)
        return len(ran)

    result = await Agent(ScriptedModel(call("outer"), "ok"), tools=[inner, outer]).run("go")
    assert _results(result)[0].data == 4
