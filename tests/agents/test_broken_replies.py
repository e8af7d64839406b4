"""What models really send: each kind of broken reply has one bounded outcome, streamed or not, and none raises."""

from __future__ import annotations

from typing import Any

import pytest

from backstay import Agent, ConditionalRequirement
from backstay.core.errors import ModelError
from backstay.core.events import ModelDelta
from backstay.core.messages import Finish, ModelReply, Reasoning, Text, ToolCall, ToolResult, Usage
from backstay.models import FunctionModel, ModelProfile, ScriptedModel, call
from backstay.store import open_store
from desk import Desk, propose

ANSWER = "done"


def said(*parts: Any, finish: Finish = "tool_calls") -> ModelReply:
    return ModelReply(parts=parts, finish=finish, usage=Usage(input_tokens=1, output_tokens=1), model="m")


def raw(text: str, name: str = "find_order", id_: str = "c1") -> ToolCall:
    """A call whose arguments a model has written as this text."""
    return ToolCall(id=id_, name=name, args={}, raw=text)


def find(order: str = "1001", id_: str = "c1") -> ToolCall:
    return ToolCall(id=id_, name="find_order", args={"order_id": order})


async def outcome(desk: Desk, *lines: Any, streamed: bool, **more: Any) -> Any:
    """The result of one run."""
    agent = desk.agent(*lines, **more)
    if not streamed:
        return await agent.run("go")
    async with agent.run_stream("go") as stream:
        async for _ in stream:
            pass
        return await stream.result()


def results(result: Any) -> list[ToolResult]:
    return [part.result for message in result.new_messages for part in message.returns]


# kind → reply, code of its result ("" where it ran), orders that were looked up, what the model reads
CASES: dict[str, tuple[ModelReply, str, int, str]] = {
    "fenced JSON is read": (said(raw('```json\n{"order_id": "1001"}\n```')), "", 1, "1001"),
    "single quotes are mended": (said(raw("{'order_id': '1001'}")), "", 1, "1001"),
    "a trailing comma is mended": (said(raw('{"order_id": "1001",}')), "", 1, "1001"),
    "names without quotes are mended": (said(raw('{order_id: "1001"}')), "", 1, "1001"),
    "an object inside a text is read": (said(raw('"{\\"order_id\\": \\"1001\\"}"')), "", 1, "1001"),
    "arguments that break off never run": (said(raw('{"order_id": "1001"')), "tool.input", 0, "not a JSON object"),
    "quotes inside quotes are no guess": (said(raw('{"order_id": "10"01"}')), "tool.input", 0, "not a JSON object"),
    "words around an object never run": (said(raw('Sure: {"order_id": "1"}')), "tool.input", 0, "not a JSON object"),
    "a list is no object": (said(raw('["1001"]')), "tool.input", 0, "not a JSON object"),
    "a text is no object": (said(raw('"1001"')), "tool.input", 0, "not a JSON object"),
    "a number is no object": (said(raw("1001")), "tool.input", 0, "not a JSON object"),
    "null is no arguments": (said(raw("null")), "tool.input", 0, "order_id"),
    "nothing is no arguments": (said(raw("")), "tool.input", 0, "order_id"),
    "a number without end is no number": (said(raw('{"order_id": NaN}')), "tool.input", 0, "not a JSON object"),
    "nesting without end": (said(raw('{"order_id":' * 5_000)), "tool.input", 0, "not a JSON object"),
    "ten million characters": (said(raw('{"order_id": "' + "9" * 10_000_000 + '"}')), "tool.input", 0, "10,000,0"),
    "half of an emoji": (said(raw('{"order_id": "1\\ud83d"}')), "", 1, "1"),
    "a null character": (said(raw('{"order_id": "1\\u0000"}')), "", 1, "1"),
    "a name that nobody has": (said(raw("{}", name="find_ordr")), "tool.unknown", 0, "The nearest is 'find_order'"),
    "a name without end": (said(raw("{}", name="x" * 100_000)), "tool.unknown", 0, "There is no tool"),
    "no name": (said(raw("{}", name="")), "tool.unknown", 0, "There is no tool ''"),
    "a call that was cut off": (said(find(), finish="length"), "model.cut_off", 0, "cut off"),
    "no id": (said(find(id_="")), "", 1, "1001"),
    "a call although it finished": (said(find(), finish="stop"), "", 1, "1001"),
    "words beside a call": (said(Text(text="Let me look."), find()), "", 1, "1001"),
    "thoughts beside a call": (said(Reasoning(text="hm"), find()), "", 1, "1001"),
    "an action that nobody has": (
        said(call("propose_action", action={"name": "find_order", "arguments": {}}, reason="r")), "tool.input", 0,
        "is no action",
    ),
    "an action that is a text": (said(call("propose_action", action="refund", reason="r")), "tool.input", 0, "object"),
    "arguments of an action that are a list": (
        said(call("propose_action", action={"name": "refund", "arguments": ["1001"]}, reason="r")), "tool.input", 0,
        "must be an object",
    ),
    "a high tool called by its name": (said(raw('{"order_id": "1"}', name="refund")), "tool.high", 0, "Propose it"),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", CASES)
async def test_a_broken_call_has_one_outcome_and_the_run_goes_on(kind: str, streamed: bool) -> None:
    reply, code, runs, told = CASES[kind]
    desk = Desk()
    result = await outcome(desk, reply, ANSWER, streamed=streamed)
    assert (result.status, result.output, result.steps) == ("done", ANSWER, 2)
    (one,) = results(result)
    assert (one.code or "", desk.calls["find_order"], desk.calls["refund"]) == (code, runs, 0)
    assert told in one.summary
    assert len(one.summary) < 2_000
    assert sum(len(part.raw or "") for message in result.new_messages for part in message.calls) < 100_000


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_what_was_mended_says_so_and_shows_what_the_model_wrote(streamed: bool) -> None:
    result = await outcome(Desk(), said(raw("{'order_id': '1001'}")), ANSWER, streamed=streamed)
    (made,) = result.new_messages[1].calls
    assert (made.args, made.raw, made.mended) == ({"order_id": "1001"}, None, "{'order_id': '1001'}")


async def test_a_mended_call_is_the_same_after_a_restart(tmp_path: Any) -> None:
    store = open_store(tmp_path / "runs.db")
    await Desk().agent(said(raw("{'order_id': '1\\ud83d'}")), ANSWER).run("go", store=store, session="s")
    await store.close()
    heard: list[Any] = []

    def brain(request: Any, _ctx: Any) -> str:
        heard.extend(one for message in request.messages for one in message.calls)
        return "ok"

    store = open_store(tmp_path / "runs.db")
    again = Agent(FunctionModel(brain), name="desk", tools=Desk().tools())
    assert (await again.run("and?", store=store, session="s")).status == "done"
    await store.close()
    assert [one.mended for one in heard] == ["{'order_id': '1\\ud83d'}"]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_refusal_is_no_answer(streamed: bool) -> None:
    desk = Desk()
    result = await outcome(desk, said(Text(text="I cannot help with that."), finish="refusal"), streamed=streamed)
    assert (result.status, result.code, result.output) == ("failed", "model.refused", None)
    assert "I cannot help with that." in result.reason
    assert result.new_messages[-1].text == "I cannot help with that."


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_filter_of_the_provider_that_leaves_nothing_is_a_refusal_and_not_asked_again(streamed: bool) -> None:
    result = await outcome(Desk(), said(finish="refusal"), "never", streamed=streamed)
    assert (result.status, result.code, result.steps) == ("failed", "model.refused", 1)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_calls_of_a_refused_reply_never_run(streamed: bool) -> None:
    desk = Desk()
    result = await outcome(desk, said(find(), finish="refusal"), "never", streamed=streamed)
    assert (result.status, result.code, desk.calls["find_order"]) == ("failed", "model.refused", 0)
    assert [one.code for one in results(result)] == ["model.refused"]


async def test_the_session_goes_on_after_a_refusal() -> None:
    def brain(_request: Any, ctx: Any) -> Any:
        return said(Text(text="No."), finish="refusal") if not seen.append(ctx.step) and len(seen) == 1 else "Yes."

    seen: list[int] = []
    agent = Agent(FunctionModel(brain))
    assert (await agent.run("a", session="s")).status == "failed"
    assert (await agent.run("b", session="s")).output == "Yes."


async def test_two_calls_where_one_is_wished_run_one() -> None:
    desk = Desk()
    two = said(find("1", "a"), find("2", "b"))
    result = await desk.agent(two, ANSWER, settings={"parallel": False}).run("go")
    assert [one.code for one in results(result)] == [None, "model.one_call"]
    assert (result.status, desk.calls["find_order"]) == ("done", 1)
    assert (await desk.agent(two, ANSWER).run("go")).status == "done"
    assert desk.calls["find_order"] == 3


async def test_doubled_ids_are_two_calls_with_two_results() -> None:
    desk = Desk()
    result = await desk.agent(said(find("1"), find("2")), ANSWER).run("go")
    ids = [part.call_id for message in result.new_messages for part in message.returns]
    assert (len(set(ids)), desk.calls["find_order"]) == (2, 2)


async def test_unknown_names_use_up_nothing_but_their_own_calls() -> None:
    desk = Desk()
    lines = [call(f"tool_{number}") for number in range(6)]
    result = await desk.agent(
        *[[line, call("find_order", order_id=str(n))] for n, line in enumerate(lines)], ANSWER
    ).run("go")
    assert (result.status, desk.calls["find_order"]) == ("done", 6)
    codes = [one.code for one in results(result)]
    assert codes == ["tool.unknown", None] * 6


async def test_an_empty_reply_is_asked_again_once() -> None:
    empty = said(finish="stop")
    assert (await Desk().agent(empty, ANSWER).run("go")).status == "done"
    assert (await Desk().agent(empty, empty, ANSWER).run("go")).code == "model.empty"


@pytest.mark.parametrize("args", [["1001"], "1001", 1001, None, {"order_id": object()}, {"order_id": float("nan")}])
async def test_a_model_of_ones_own_that_gives_no_object_is_told_like_any_other(args: Any) -> None:
    desk = Desk()
    result = await desk.agent(said(ToolCall(id="c", name="find_order", args=args)), ANSWER).run("go")
    assert (result.status, results(result)[0].code, desk.calls["find_order"]) == ("done", "tool.input", 0)


async def test_a_mended_proposal_still_waits_for_a_person() -> None:
    desk = Desk()
    text = "{'action': {'name': 'refund', 'arguments': {'order_id': '1001', 'amount': '5.00',}}, 'reason': 'r'}"
    result = await desk.agent(said(raw(text, name="propose_action")), "waiting").run("go")
    assert (result.status, desk.refunds) == ("waiting", [])
    assert (await desk.agent(propose(), "waiting").run("go")).status == "waiting"


async def test_an_error_of_the_model_is_a_status() -> None:
    result = await Agent(ScriptedModel(ModelError("bad request", retryable=False))).run("go")
    assert (result.status, result.code) == ("failed", "model.failed")


async def test_a_forced_tool_reaches_a_model_that_knows_no_tool_choice() -> None:
    asked: list[Any] = []

    def brain(request: Any, _ctx: Any) -> str:
        asked.append(request)
        return '{"call": {"name": "find_order", "arguments": {"order_id": "1001"}}}' if len(asked) == 1 else ANSWER

    desk = Desk()
    profile = ModelProfile(family="f", window=10_000, choices=frozenset({"auto"}))
    first = ConditionalRequirement("find_order", force_at_step=1)
    agent = Agent(FunctionModel(brain, profile=profile), tools=desk.tools(), requirements=[first])
    async with agent.run_stream("Where is 1001?") as stream:
        words = "".join([one.delta.text async for one in stream if isinstance(one, ModelDelta)])
        result = await stream.result()
    assert (result.status, result.output, desk.calls["find_order"]) == ("done", ANSWER, 1)
    assert (asked[0].tool_choice, asked[0].tools) == ("auto", ())
    assert '"name": "find_order"' not in words
