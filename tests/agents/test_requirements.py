"""Requirements in a run: what the next request offers, what is refused, asked, and when the run may end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from backstay import (
    Agent,
    AskPermissionRequirement,
    ConditionalRequirement,
    RunResult,
    Tool,
    ToolError,
    requirement,
    tool,
)
from backstay.agents import Rule, StepView
from backstay.agents.drive import live
from backstay.agents.state import SessionState
from backstay.core.errors import RequirementError
from backstay.core.messages import ModelRequest
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.protocol import RunStore
from backstay.toolkit.think import ThinkTool


@tool(risk="read")
async def look(x: int = 0) -> int:
    """Look. Use it when asked."""
    return x


@tool(risk="read")
async def check(x: int = 0) -> int:
    """Check. Use it when asked."""
    return x


@tool(risk="write", effect="keyed")
async def save(x: int = 0) -> str:
    """Save. Use it when asked."""
    return f"saved {x}"


@tool(risk="high")
async def pay(amount: int) -> str:
    """Pay. Use it when asked."""
    return f"paid {amount}"


@tool(risk="high")
async def wipe(what: str) -> str:
    """Wipe. Use it when asked."""
    return f"wiped {what}"


TOOLS: tuple[Tool, ...] = (look, check, save)


def codes_of(result: RunResult[Any]) -> list[str | None]:
    return [one.result.code for message in result.new_messages for one in message.returns]


def propose(name: str, **args: Any) -> Any:
    return call("propose_action", action={"name": name, "arguments": args}, reason="asked")


class Watched(FunctionModel):
    """A script that keeps the requests it was given."""

    def __init__(self, *lines: Any) -> None:
        self.requests: list[ModelRequest] = []

        def line(request: ModelRequest, ctx: Any) -> Any:
            self.requests.append(request)
            return lines[ctx.step - 1]

        super().__init__(line)

    @property
    def offers(self) -> list[tuple[list[str], str]]:
        return [([one.name for one in each.tools], each.tool_choice) for each in self.requests]

    @property
    def notes(self) -> list[str]:
        return [each.messages[-1].text if each.messages[-1].id == "warning" else "" for each in self.requests]


def obedient(words: str = "done", most: int = 8) -> tuple[FunctionModel, list[str]]:
    """A model that calls what it is told to call, thinks whenever it may, and then acts; at step `most` it answers."""
    said: list[str] = []

    def line(request: ModelRequest, ctx: Any) -> Any:
        names = [one.name for one in request.tools]
        if request.tool_choice.startswith("tool:"):
            name = request.tool_choice.removeprefix("tool:")
        elif ctx.step >= most or not names:
            return words
        else:
            name = "think" if "think" in names else names[0]
        said.append(name)
        return call(name, {"thoughts": f"hm {ctx.step}"} if name == "think" else {"x": ctx.step})

    return FunctionModel(line), said


async def test_the_think_pattern_gives_think_act_think_act() -> None:
    model, said = obedient(most=6)
    pattern = ConditionalRequirement(ThinkTool, force_at_step=1, force_after=Tool, consecutive_allowed=False)
    result = await Agent(model, tools=[ThinkTool(), look], requirements=[pattern]).run("go")
    assert said == ["think", "look", "think", "look", "think"]
    assert (result.status, result.output) == ("done", "done")


async def test_a_forced_step_offers_that_tool_alone_and_a_call_of_another_is_refused() -> None:
    model = Watched(call("save", x=1), call("look", x=1), "done")
    agent = Agent(model, tools=TOOLS, requirements=[ConditionalRequirement(look, force_at_step=1)])
    result = await agent.run("go")
    assert model.offers[0] == (["look"], "tool:look")
    refused = result.new_messages[2].returns[0].result
    assert (refused.code, refused.via, refused.summary) == (
        "requirement.refused",
        "refused",
        "save is not allowed in this step: look has to be called in this step.",
    )
    assert model.offers[1] == (["look"], "tool:look")  # what was not done stays forced
    assert model.offers[2] == (["look", "check", "save"], "auto")
    assert result.status == "done"


async def test_an_order_is_kept_and_the_reasons_are_shown() -> None:
    model = Watched(call("save"), call("check"), call("save"), "done")
    needs = ConditionalRequirement(save, only_after=check)
    result = await Agent(model, tools=TOOLS, requirements=[needs]).run("go")
    codes = codes_of(result)
    assert codes == ["requirement.refused", None, None]
    assert model.offers[0][0] == ["look", "check"]
    assert model.notes[0] == "save is not allowed now: first check."
    assert model.notes[2] == ""


async def test_only_before_alone_closes_a_tool_after_another() -> None:
    """The notes' bug input 4."""
    model = ScriptedModel(call("check"), call("look"), "done")
    agent = Agent(model, tools=TOOLS, requirements=[ConditionalRequirement("look", only_before="check")])
    result = await agent.run("go")
    assert codes_of(result) == [
        None,
        "requirement.refused",
    ]


async def test_a_reason_of_the_developers_own_is_told_and_a_hidden_tool_is_not_spoken_of() -> None:
    @requirement(["save", "look"])
    def quiet(view: StepView) -> Sequence[Rule]:
        return [
            Rule(target="save", hidden=True, reason="secret"),
            Rule(target="look", allowed=False, reason="closed today"),
        ]

    model = Watched(call("save"), "done")
    result = await Agent(model, tools=TOOLS, requirements=[quiet]).run("go")
    assert model.offers[0] == (["check"], "auto")
    assert model.notes[0] == "look is not allowed now: closed today."
    assert result.new_messages[2].returns[0].result.code == "requirement.refused"


async def test_calls_beside_each_other_count_too() -> None:
    once = ConditionalRequirement(save, max_invocations=1)
    calls = [call("save", x=1), call("save", x=2), call("look")]
    result = await Agent(ScriptedModel(calls, "done"), tools=TOOLS, requirements=[once]).run("go")
    assert [one.result.code for one in result.new_messages[2].returns] == [None, "requirement.refused", None]


async def test_a_failed_call_is_no_success() -> None:
    @tool(risk="read", name="check")
    async def failing(x: int = 0) -> int:
        """Check. Use it when asked."""
        raise ToolError("down")

    needs = ConditionalRequirement(save, only_after="check")
    agent = Agent(ScriptedModel(call("check"), call("save"), "sorry"), tools=[failing, save], requirements=[needs])
    result = await agent.run("go")
    assert codes_of(result)[1] == "requirement.refused"


async def test_the_run_goes_on_until_the_minimum_is_reached_and_hears_why() -> None:
    model = Watched("I think I am done.", call("check"), "Now I am.")
    agent = Agent(model, tools=TOOLS, requirements=[ConditionalRequirement(check, min_invocations=1)])
    result = await agent.run("go")
    assert (result.status, result.output, result.steps) == ("done", "Now I am.", 3)
    assert [message.role for message in result.new_messages] == [
        "user",
        "assistant",
        "notice",
        "assistant",
        "tool",
        "assistant",
    ]
    assert "check has to be called first" in result.new_messages[2].text
    assert [choice for _, choice in model.offers] == ["required", "required", "auto"]
    assert model.notes[0] == "Do not end yet: check has to be called first."


async def test_a_model_that_will_not_is_stopped_after_two_words_about_it() -> None:
    agent = Agent(
        ScriptedModel(*["no"] * 9), tools=TOOLS, requirements=[ConditionalRequirement(check, min_invocations=1)]
    )
    result = await agent.run("go")
    assert (result.status, result.code, result.steps, result.output) == ("stopped", "requirement.unmet", 3, None)
    assert "check has to be called first" in result.reason


async def test_nothing_left_ends_the_run_failed_and_lists_the_rules() -> None:
    both = [
        ConditionalRequirement(look, min_invocations=1),
        requirement("look", name="closes")(lambda _: [Rule(target="look", allowed=False, reason="closed")]),
    ]
    result = await Agent(ScriptedModel("never asked"), tools=[look], requirements=both).run("go")
    assert (result.status, result.code, result.steps) == ("failed", "requirement.nothing_left", 0)
    assert "closes refuses look (closed)" in result.reason


async def test_a_requirement_that_raises_ends_the_run_failed_with_its_name() -> None:
    bad = ConditionalRequirement(look, custom_checks=[lambda _: 1 / 0])
    result = await Agent(ScriptedModel("x"), tools=TOOLS, requirements=[bad]).run("go")
    assert (result.status, result.code) == ("failed", "requirement.invalid")
    assert "ConditionalRequirement(look) raised ZeroDivisionError" in result.reason


async def test_a_person_is_asked_and_a_refusal_is_no_success(store: RunStore) -> None:
    """The notes' bug input 7: what a person has denied opens nothing."""
    needs = [AskPermissionRequirement(check), ConditionalRequirement(save, only_after=check)]

    def agent(*lines: Any) -> Agent[Any]:
        return Agent(ScriptedModel(*lines), tools=TOOLS, requirements=needs)

    waiting = await agent(call("check"), call("save"), "I wait.").run("go", session="s", store=store)
    assert waiting.status == "waiting"
    codes = codes_of(waiting)
    assert codes == ["action.waiting", "requirement.refused"]
    lines = (call("check"), call("save"), "I wait.", call("save"), "It was refused.")
    done = await agent(*lines).decide(waiting.pending[0], approve=False, by="bo", store=store)
    assert done is not None
    assert done.status == "done"
    assert codes_of(done) == ["requirement.refused"]


async def test_an_approved_call_is_a_success_in_a_resumed_run(store: RunStore) -> None:
    needs = [AskPermissionRequirement(check), ConditionalRequirement(save, only_after=check)]
    lines = (call("check"), "I wait.", call("save", x=3), "Saved.")
    waiting = await Agent(ScriptedModel(*lines), tools=TOOLS, requirements=needs).run("go", session="s", store=store)
    again = Agent(ScriptedModel(*lines), tools=TOOLS, requirements=needs)
    done = await again.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert done is not None
    assert (done.status, done.output) == ("done", "Saved.")
    assert [one.result.data for message in done.new_messages for one in message.returns] == ["saved 3"]


async def test_actions_and_propose_action_are_targets_like_any_tool() -> None:
    def agent(model: Any, *needs: Any) -> Agent[Any]:
        return Agent(model, tools=[look, pay, wipe], requirements=needs)

    model = Watched(propose("pay", amount=1), call("look"), propose("pay", amount=1), "waiting")
    result = await agent(model, ConditionalRequirement(pay, only_after=look)).run("go")
    shown = [next(one for one in each.tools if one.name == "propose_action") for each in model.requests]
    assert ["pay" in str(one.schema) for one in shown] == [False, False, True, True]
    codes = codes_of(result)
    assert codes == ["requirement.refused", None, "action.waiting"]

    model = Watched(propose("wipe", what="x"), "stop")
    result = await agent(model, ConditionalRequirement("propose_action", max_invocations=0)).run("go")
    assert model.offers[0][0] == ["look"]
    assert result.new_messages[2].returns[0].result.code == "requirement.refused"


async def test_a_forced_action_is_forced_as_a_proposal_and_ends_forcing_when_it_waits() -> None:
    model = Watched(propose("wipe", what="x"), propose("pay", amount=1), "It waits.")
    agent = Agent(model, tools=[look, pay, wipe], requirements=[ConditionalRequirement(pay, force_at_step=1)])
    result = await agent.run("go")
    assert model.offers[0] == (["propose_action"], "tool:propose_action")
    assert "wipe" not in str(model.requests[0].tools[0].schema)
    assert codes_of(result) == [
        "requirement.refused",
        "action.waiting",
    ]
    assert (model.offers[2][1], result.status) == ("auto", "waiting")


async def test_a_question_to_the_user_is_a_target_too() -> None:
    model = Watched(call("ask_user", question="Which one?"), "I wait.")
    agent = Agent(
        model, tools=[look], ask_user=True, requirements=[ConditionalRequirement("ask_user", force_at_step=1)]
    )
    result = await agent.run("go")
    assert model.offers == [(["ask_user"], "tool:ask_user"), (["look", "ask_user"], "auto")]
    assert result.status == "waiting"


async def test_a_typo_is_an_error_when_the_agent_is_made() -> None:
    with pytest.raises(RequirementError, match="no tool 'lokk'; did you mean 'look'"):
        Agent(ScriptedModel("x"), tools=TOOLS, requirements=[ConditionalRequirement("check", only_after="lokk")])


async def test_counters_begin_with_every_input_and_stand_in_the_records(store: RunStore) -> None:
    once = ConditionalRequirement(save, max_invocations=1)
    agent = Agent(ScriptedModel(call("save"), "done"), tools=TOOLS, requirements=[once])
    for _ in range(2):
        result = await agent.run("go", session="s", store=store)
        assert [one.result.ok for message in result.new_messages for one in message.returns] == [True]


async def test_a_resumed_step_has_the_offer_that_its_request_had(store: RunStore) -> None:
    """A process that is left between a reply and its results: whoever goes on refuses what was refused."""
    started, go = asyncio.Event(), asyncio.Event()

    @tool(risk="read", name="check")
    async def slow(x: int = 0) -> int:
        """Check. Use it when asked."""
        started.set()
        await go.wait()
        return x

    def agent() -> Agent[Any]:
        lines = ([call("check"), call("save")], "done")
        return Agent(
            ScriptedModel(*lines), tools=[slow, save], requirements=[ConditionalRequirement(save, only_after=slow)]
        )

    task = asyncio.ensure_future(agent().run("go", session="s", store=store))
    await started.wait()
    live.leave("gone")
    left = await task
    go.set()
    done = await agent().resume(left.run_id, store=store)
    assert done is not None
    assert codes_of(done) == [
        None,
        "requirement.refused",
    ]


async def test_a_snapshot_holds_the_counters(store: RunStore) -> None:
    await Agent(
        ScriptedModel(call("check"), "I wait."), tools=TOOLS, requirements=[AskPermissionRequirement(check)]
    ).run("go", session="s", store=store)
    state = SessionState("s")
    state.load(await store.load("s"))
    (run,) = state.runs.values()
    assert (run.tally.calls, run.tally.ok, run.tally.last, run.tally.done) == ({"check": 1}, {}, ("check",), 1)
    assert run.count().tally == run.tally
