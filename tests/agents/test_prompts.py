"""The four templates of an agent, the day, role and notes: what the model reads, and that a resume reads the same."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from backstay import Agent, Principal, PromptTemplate, ToolError, tool
from backstay.agents.prompts import Prompts, TaskPrompt, today
from backstay.core.errors import TemplateError
from backstay.core.messages import ModelRequest
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.memory import MemoryStore

NOW = datetime(2026, 11, 30, 23, 30, tzinfo=UTC).timestamp()


class Reader(FunctionModel):
    """A script that keeps what it was sent."""

    def __init__(self, *lines: Any) -> None:
        self.requests: list[ModelRequest] = []

        def line(request: ModelRequest, ctx: Any) -> Any:
            self.requests.append(request)
            return lines[ctx.step - 1]

        super().__init__(line)

    def system(self, number: int = -1) -> str:
        return self.requests[number].messages[0].text.split("\n\nA <notice>")[0]


async def system_of(principal: Principal | None = None, **more: Any) -> str:
    model = Reader("ok")
    agent = Agent(model, **more)
    with agent.override(clock=lambda: NOW):
        await agent.run("hi", **({"principal": principal} if principal else {}))
    return model.system()


async def test_an_agent_without_role_and_notes_has_its_instructions_and_the_day() -> None:
    assert await system_of(instructions="Be kind.\nBe brief.") == "Be kind.\nBe brief.\n\nToday is Monday, 2026-11-30."
    assert await system_of() == "Today is Monday, 2026-11-30."


async def test_role_and_notes_stand_around_the_instructions_unescaped() -> None:
    said = await system_of(role='R&D "lead"', instructions="a < b", notes=["first {{role}}", "second"])
    assert said == (
        'Your role: R&D "lead"\n\na < b\n\nNotes:\n- first {{role}}\n- second\n\nToday is Monday, 2026-11-30.'
    )
    assert "Notes:\n- one\n\nToday" in await system_of(notes="one")


async def test_the_day_is_that_of_whom_the_run_is_for() -> None:
    assert await system_of(Principal(id="x", zone="Asia/Shanghai")) == "Today is Tuesday, 2026-12-01."
    assert today(NOW, "No/Where") == "Monday, 2026-11-30"


async def test_a_resumed_run_on_another_day_sends_the_same_bytes() -> None:
    @tool(risk="high")
    async def pay(amount: int) -> str:
        """Pay. Use it when asked."""
        return "paid"

    action = call("propose_action", action={"name": "pay", "arguments": {"amount": 1}}, reason="r")
    model, store = Reader(action, "wait", "done"), MemoryStore()
    agent = Agent(model, tools=[pay], role="clerk", templates={"task": "{{input}} (please)"})
    with agent.override(clock=lambda: NOW):
        waiting = await agent.run("pay", session="s", store=store)
    with agent.override(clock=lambda: NOW + 3_600):
        await agent.decide(waiting.pending[0], approve=True, by="bo", store=store)
    assert model.system(-1) == model.system(0)
    said = [next(one.text for one in each.messages if one.role == "user") for each in model.requests]
    assert said == ["pay (please)"] * 3
    with agent.override(clock=lambda: NOW + 3_600):
        await agent.run("again", session="s", store=store, model=(later := Reader("ok")))
    assert "2026-12-01" in later.system()


async def test_the_task_template_says_how_the_turn_is_read_and_the_users_words_stay_theirs() -> None:
    model = Reader("ok")
    agent = Agent(
        model, templates={"task": "Order: {{input}}\nShop: {{metadata.shop}}, only the last 3 days, only look"}
    )
    result = await agent.run("hi {{metadata}}", metadata={"shop": "north"}, session="s")
    assert model.requests[0].messages[1].text == "Order: hi {{metadata}}\nShop: north, only the last 3 days, only look"
    assert result.pending == ()  # what the developer's template says is no rule of the user's
    assert all(rule not in model.requests[0].messages[0].text for rule in ("<rules>",))


async def test_failures_and_empty_results_are_put_to_the_model_as_the_templates_say() -> None:
    @tool(risk="read")
    async def nothing() -> None:
        """Look. Use it when asked."""

    @tool(risk="read")
    async def down() -> None:
        """Look. Use it when asked."""
        raise ToolError("the line is <dead>")

    lines = ([call("nothing"), call("down"), call("neither")], "ok")
    plain = await Agent(ScriptedModel(*lines), tools=[nothing, down]).run("go")
    assert plain.new_messages[2].returns[0].result.summary == "null"
    templates = {"tool_no_result": "{{tool}} found nothing.", "tool_error": "[{{code}}] {{tool}}: {{error}}"}
    told = await Agent(ScriptedModel(*lines), tools=[nothing, down], templates=templates).run("go")
    first, second, third = (one.result for one in told.new_messages[2].returns)
    assert first.summary == "nothing found nothing."
    assert second.summary.startswith("[tool.failed] down: ")
    assert "<dead>" in second.summary
    assert third.summary.startswith("[tool.unknown] neither: There is no tool")
    assert (first.data, second.error) == (None, plain.new_messages[2].returns[1].result.error)


async def test_each_agent_has_copies_of_its_own() -> None:
    task = PromptTemplate(TaskPrompt, "one {{input}}")
    first, second = Agent(Reader("ok"), templates={"task": task}), Agent(Reader("ok"), templates={"task": task})
    first.templates.task.update("two {{input}}")
    first.templates.system.update("Only this. {{today}}")
    assert (task.template, second.templates.task.template) == ("one {{input}}", "one {{input}}")
    assert await system_of() == "Today is Monday, 2026-11-30."
    model = Reader("ok")
    with first.override(clock=lambda: NOW):
        await first.run("x", model=model)
    assert model.system() == "Only this. Monday, 2026-11-30"
    assert model.requests[0].messages[1].text == "two x"


async def test_a_customizer_gets_a_copy_of_the_default() -> None:
    def louder(copy: PromptTemplate[Any]) -> None:
        copy.update(copy.template + "\nShout.")

    assert await system_of(templates={"system": louder}) == "Today is Monday, 2026-11-30.\nShout."
    assert await system_of() == "Today is Monday, 2026-11-30."


async def test_a_function_of_the_template_is_computed_at_every_run() -> None:
    count = iter(range(9))
    agent = Agent(model := Reader("ok"))
    agent.templates.system.update("{{n}}", functions={"n": lambda _: next(count)})
    await agent.run("a")
    await agent.run("b")
    assert [model.system(0), model.system(1)] == ["0", "1"]


@pytest.mark.parametrize(
    ("templates", "told"),
    [
        ({"sytem": "x"}, "no template 'sytem'; there are: system, task, tool_error, tool_no_result"),
        ({"system": "{{instuctions}}"}, "names 'instuctions'"),
        ({"task": 7}, "given as int"),
    ],
)
def test_what_cannot_be_used_is_an_error_when_the_agent_is_made(templates: Any, told: str) -> None:
    with pytest.raises(TemplateError, match=told):
        Agent(ScriptedModel("x"), templates=templates)


def test_other_words_are_another_version_of_the_agent() -> None:
    digests = {
        Agent(ScriptedModel("x"), **more).definition.digest
        for more in ({}, {"role": "r"}, {"notes": "n"}, {"templates": {"task": "{{input}}!"}})
    }
    assert len(digests) == 4


def test_the_default_texts_are_rendered_once_a_day() -> None:
    prompts = Prompts()
    assert prompts.system_text("", "i", (), "d") is prompts.system_text("", "i", (), "d")
