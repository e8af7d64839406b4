"""One run from input to answer."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from backstay import Agent, BackstayError, Boundary, Limits, ToolError, tool
from backstay.core.errors import ModelError, SetupError
from backstay.core.messages import ModelReply, ModelRequest, Text, ToolCall, Usage
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.models.model import ModelProfile
from desk import Desk, propose


async def test_a_run_answers_with_what_the_tool_found() -> None:
    desk = Desk()
    result = await desk.agent(call("find_order", order_id="1001"), "It is lost.").run("Where is order 1001?")
    assert (result.status, result.output, result.steps) == ("done", "It is lost.", 2)
    assert [message.role for message in result.new_messages] == ["user", "assistant", "tool", "assistant"]
    returned = result.new_messages[2].returns[0].result
    assert returned.data == {"id": "1001", "status": "lost"}
    assert result.cost_usd == Decimal(0)
    assert result.raise_for_status() is result


async def test_no_request_ever_contains_a_high_tool() -> None:
    desk, seen = Desk(), list[ModelRequest]()

    def watch(request: ModelRequest, ctx: Any) -> Any:
        seen.append(request)
        return (
            [call("refund", order_id="1001", amount="1"), call("find_order", order_id="1001")]
            if ctx.step == 1
            else "ok"
        )

    agent = Agent(FunctionModel(watch), tools=desk.tools())
    result = await agent.run("refund 1001")
    assert desk.calls["refund"] == 0
    refused = result.new_messages[2].returns[0].result
    assert (refused.ok, refused.code, refused.via) == (False, "tool.high", "refused")
    assert result.new_messages[2].returns[1].result.ok
    for request in seen:
        assert "refund" not in [spec.name for spec in request.tools]
        assert "propose_action" in [spec.name for spec in request.tools]


async def test_results_keep_the_order_of_the_calls_and_one_failure_leaves_its_siblings_alone() -> None:
    @tool(risk="read")
    async def slow(n: int) -> int:
        """Wait. Use it when asked."""
        await asyncio.sleep(0.02 * n)
        return n

    @tool(risk="read")
    async def broken() -> None:
        """Fail. Use it when asked."""
        raise RuntimeError("no such table")

    agent = Agent(ScriptedModel([call("slow", n=3), call("broken"), call("slow", n=1)], "done"), tools=[slow, broken])
    result = await agent.run("go")
    returns = result.new_messages[2].returns
    assert [one.result.ok for one in returns] == [True, False, True]
    assert [one.result.data for one in returns] == [3, None, 1]
    assert returns[1].result.summary == "RuntimeError: no such table"
    assert result.status == "done"


async def test_sequential_tools_run_in_order() -> None:
    order: list[int] = []

    @tool(risk="write", sequential=True, effect="keyed")
    async def step(n: int) -> None:
        """Do a step. Use it when asked."""
        await asyncio.sleep(0.01 / n)
        order.append(n)

    await Agent(ScriptedModel([call("step", n=1), call("step", n=2), call("step", n=3)], "ok"), tools=[step]).run("go")
    assert order == [1, 2, 3]


async def test_a_fatal_tool_error_ends_the_run_failed_with_a_valid_history() -> None:
    @tool(risk="read")
    async def locked() -> None:
        """Look. Use it when asked."""
        raise ToolError("the credentials were revoked", fatal=True, code="tool.failed")

    result = await Agent(ScriptedModel(call("locked"), "never"), tools=[locked]).run("go")
    assert (result.status, result.reason) == ("failed", "the credentials were revoked")
    assert result.new_messages[-1].role == "tool"
    with pytest.raises(BackstayError, match="credentials"):
        result.raise_for_status()


async def test_wrong_arguments_are_told_by_name_and_the_model_mends_them() -> None:
    desk = Desk()
    result = await desk.agent(
        call("list_orders", days="many", colour="red"), call("list_orders", days=3), "Three."
    ).run("list")
    first, second = (message.returns[0].result for message in result.new_messages if message.role == "tool")
    assert first.code == "tool.input"
    assert "days" in first.summary
    assert "colour" in first.summary
    assert second.data == ("order 0", "order 1", "order 2")
    assert desk.calls["list_orders"] == 1


async def test_calls_of_a_reply_cut_at_the_token_limit_never_run() -> None:
    desk = Desk()
    cut = ModelReply(
        parts=(ToolCall(id="x", name="find_order", args={"order_id": "1001"}),), finish="length", usage=None, model="m"
    )
    result = await desk.agent(cut, "sorry").run("go")
    assert desk.calls["find_order"] == 0
    assert result.new_messages[2].returns[0].result.code == "model.cut_off"
    assert result.output == "sorry"


async def test_doubled_and_missing_call_ids_become_unique() -> None:
    desk = Desk()
    two = ModelReply(
        parts=(
            ToolCall(id="same", name="find_order", args={"order_id": "1"}),
            ToolCall(id="same", name="find_order", args={"order_id": "2"}),
            ToolCall(id="", name="find_order", args={"order_id": "3"}),
        ),
        finish="tool_calls",
        usage=Usage(),
        model="m",
    )
    result = await desk.agent(two, "ok").run("go")
    calls = result.new_messages[1].calls
    assert len({one.id for one in calls}) == 3
    assert [one.call_id for one in result.new_messages[2].returns] == [one.id for one in calls]
    assert [one.slot for one in calls] == [1, 2, 3]
    assert [one.result.data["id"] for one in result.new_messages[2].returns] == ["1", "2", "3"]  # type: ignore[index,call-overload]


async def test_an_empty_reply_is_asked_again_once() -> None:
    empty = ModelReply(parts=(), finish="stop", usage=None, model="m")
    assert (await Desk().agent(empty, "there").run("go")).output == "there"
    twice = await Desk().agent(empty, empty, "never").run("go")
    assert (twice.status, twice.code) == ("failed", "model.empty")


async def test_an_unknown_price_stays_unknown() -> None:
    profile = ModelProfile(family="x", window=16_000)
    result = await Agent(ScriptedModel("hi", profile=profile)).run("go")
    assert result.cost_usd is None
    with pytest.raises(SetupError, match="price"):
        Agent(ScriptedModel("hi", profile=profile), boundary=Boundary(limits=Limits(usd=1)))


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(steps=3), "limit.steps"),
        (Limits(calls=2), "limit.calls"),
        (Limits(tokens=200), "limit.tokens"),
        (Limits(usd=0.0001), "limit.usd"),
    ],
)
async def test_a_limit_ends_the_run_stopped_with_a_valid_history(limits: Limits, code: str) -> None:
    desk = Desk()
    profile = ModelProfile(family="x", window=16_000, price={"input": "10", "output": "10"})
    model = ScriptedModel(*[call("list_orders", days=1)] * 40, profile=profile)
    agent = Agent(model, tools=desk.tools(), boundary=Boundary(limits=limits))
    result = await agent.run("go")
    assert (result.status, result.code) == ("stopped", code)
    assert desk.calls["list_orders"] < 10
    for message, after in zip(result.new_messages, result.new_messages[1:], strict=False):
        if message.calls:
            assert [one.call_id for one in after.returns] == [one.id for one in message.calls]


async def test_a_batch_that_would_pass_the_limit_is_refused_before_any_of_it_runs() -> None:
    desk = Desk()
    result = await desk.agent([call("list_orders", days=n) for n in range(1, 6)], limits=Limits(calls=4)).run("go")
    assert (result.status, result.code, desk.calls["list_orders"]) == ("stopped", "limit.calls", 0)
    assert {one.result.code for one in result.new_messages[-1].returns} == {"limit.calls"}


async def test_the_model_is_warned_when_a_limit_is_near() -> None:
    seen: list[str] = []

    def watch(request: ModelRequest, ctx: Any) -> Any:
        last = request.messages[-1]
        seen.append(last.text if last.id == "warning" else "")
        return call("list_orders", days=1) if ctx.step < 5 else "done"

    await Agent(FunctionModel(watch), tools=Desk().tools(), boundary=Boundary(limits=Limits(steps=5))).run("go")
    assert seen[:4] == ["", "", "", ""]
    assert "4 of 5 steps" in seen[4]


async def test_a_transient_model_error_is_retried_by_one_owner_and_a_lasting_one_is_not() -> None:
    asked = 0

    async def flaky(_request: ModelRequest, _ctx: Any) -> Any:
        nonlocal asked
        asked += 1
        return ModelError("busy", retryable=True, retry_after=0.0) if asked < 3 else "there"

    async def at_once(_seconds: float) -> None:
        return None

    agent = Agent(FunctionModel(flaky))
    with agent.override(sleep=at_once):
        assert (await agent.run("go")).output == "there"
    assert asked == 3
    lasting = await Agent(ScriptedModel(ModelError("no such key", retryable=False, code="model.auth"))).run("go")
    assert (lasting.status, lasting.code) == ("failed", "model.auth")


async def test_a_failed_run_keeps_the_users_turn() -> None:
    store_agent = Agent(ScriptedModel(ModelError("down", retryable=False), "there"))
    first = await store_agent.run("first question", session="s")
    assert first.status == "failed"
    seen: list[ModelRequest] = []

    def watch(request: ModelRequest, _ctx: Any) -> Any:
        seen.append(request)
        return "ok"

    await store_agent.run("second", session="s", model=FunctionModel(watch))
    assert [message.text for message in seen[0].messages[1:]] == ["first question", "second"]


async def test_five_runs_at_once_on_one_session_are_five_turns_in_order() -> None:
    async def slowly(request: ModelRequest, _ctx: Any) -> Any:
        await asyncio.sleep(0.01)
        return f"answer to {request.messages[-1].text}"

    agent = Agent(FunctionModel(slowly))
    results = await asyncio.gather(*(agent.run(f"q{n}", session="s") for n in range(5)))
    assert [one.output for one in results] == [f"answer to q{n}" for n in range(5)]
    records = await agent.store.read("s", limit=100)
    kinds = [one.kind for one in records if one.kind in ("input", "reply")]
    assert kinds == ["input", "reply"] * 5


async def test_history_from_outside_is_made_valid() -> None:
    from backstay.core.messages import Message

    seen: list[ModelRequest] = []

    def watch(request: ModelRequest, _ctx: Any) -> Any:
        seen.append(request)
        return "ok"

    lost = Message(id="a", role="assistant", parts=(ToolCall(id="c1", name="find_order", args={}),))
    await Agent(FunctionModel(watch)).run("now", history=[lost], session="s")
    roles = [message.role for message in seen[0].messages]
    assert roles == ["system", "assistant", "tool", "user"]


@pytest.mark.parametrize("words", ["", "   ", "\n"])
async def test_an_empty_input_is_refused_before_anything_runs(words: str) -> None:
    with pytest.raises(SetupError) as caught:
        await Agent(ScriptedModel("never")).run(words)
    assert caught.value.code == "input.empty"


async def test_run_sync_works_from_a_thread_and_says_where_it_cannot() -> None:
    agent = Agent(ScriptedModel("hello"))
    assert (await asyncio.to_thread(lambda: agent.run_sync("go"))).output == "hello"
    with pytest.raises(SetupError) as caught:
        agent.run_sync("go")
    assert caught.value.code == "run.sync"


async def test_an_agent_refuses_what_could_not_work() -> None:
    desk = Desk()
    with pytest.raises(SetupError, match="two tools named"):
        Agent(ScriptedModel("x"), tools=[*desk.tools(), *desk.tools()])
    with pytest.raises(SetupError) as unknown:
        Agent("nosuch:model")
    assert unknown.value.code == "model.unknown"
    assert Agent().definition.model.name == "embedded:smollm2-135m"
    with pytest.raises(SetupError, match="one text"):
        Boundary(constraints="only the last 30 days")


async def test_a_tool_that_speaks_of_deletion_must_say_its_risk() -> None:
    @tool
    def delete_document(document_id: str) -> None:
        """Remove a document. Use it when asked."""

    @tool
    def shanchu(name: str) -> None:
        """删除一个文件。"""

    for bare in (delete_document, shanchu):
        with pytest.raises(SetupError, match="risk='high'") as caught:
            Agent(ScriptedModel("x"), tools=[bare])
        assert caught.value.code == "tool.risk_undeclared"


async def test_instructions_may_be_a_function_of_the_context_and_are_journalled() -> None:
    seen: list[str] = []

    def watch(request: ModelRequest, _ctx: Any) -> Any:
        seen.append(request.messages[0].text)
        return "ok"

    agent: Agent[dict[str, str]] = Agent(
        FunctionModel(watch), instructions=lambda ctx: f"You serve {ctx.deps['shop']} for {ctx.principal.id}."
    )
    await agent.run("go", deps={"shop": "Tea"})
    assert seen[0].startswith("You serve Tea for local.")


async def test_a_text_beside_calls_is_not_the_output() -> None:
    desk = Desk()
    result = await desk.agent(["I look it up.", call("find_order", order_id="1")], "It is lost.").run("go")
    assert result.output == "It is lost."
    assert isinstance(result.new_messages[1].parts[0], Text)


async def test_proposing_is_not_doing() -> None:
    desk = Desk()
    result = await desk.agent(propose(), "A person has to decide.").run("refund 1001", session="s")
    assert (result.status, result.code) == ("waiting", "action.waiting")
    assert desk.calls["refund"] == 0
    held = result.new_messages[2].returns[0]
    assert (held.name, held.result.ok, held.result.via, held.result.code) == (
        "propose_action",
        True,
        "held",
        "action.waiting",
    )
    assert "It has not happened" in held.result.summary
