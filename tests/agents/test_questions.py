"""The model asks the user: questions wait in the inbox, answers are checked, each question gets its own."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from backstay import Agent, Decision, PendingAction, Recipient, tool
from backstay.boundary.answers import answer_problems, shape_problems
from backstay.core.errors import DecisionError
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.protocol import RunStore


def asking(*lines: Any, **more: Any) -> Agent[Any]:
    return Agent(ScriptedModel(*lines), ask_user=True, **more)


async def test_a_question_parks_the_run_and_its_answer_enters_as_a_notice(store: RunStore) -> None:
    agent = asking(call("ask_user", question="Which colour?", choices=["red", "blue"]), "wait", "blue it is")
    waiting = await agent.run("paint it", session="s", store=store)
    (question,) = waiting.pending
    assert (waiting.status, question.kind, question.question) == ("waiting", "question", "Which colour?")
    done = await agent.answer(question, "blue", by="local", store=store)
    assert done is not None
    assert (done.status, done.output) == ("done", "blue it is")
    assert (
        done.new_messages[0].text == f'<notice id="{question.id}" state="done">Answer to {question.id}: blue</notice>'
    )
    kept = await store.action(question.id)
    assert kept.state == "done"
    assert kept.decision is not None
    assert kept.decision.answer == "blue"


@pytest.mark.parametrize("value", [False, 0, ""])
async def test_false_zero_and_an_empty_text_are_answers(store: RunStore, value: Any) -> None:
    kind = {bool: "boolean", int: "integer", str: "string"}[type(value)]
    agent = asking(call("ask_user", question="What?", answer_schema={"type": kind}), "wait", "thanks")
    waiting = await agent.run("go", store=store)
    done = await agent.answer(waiting.pending[0], value, by="local", store=store)
    assert done is not None
    assert done.output == "thanks"
    decision = (await store.action(waiting.pending[0].id)).decision
    assert decision is not None
    assert (decision.answer, type(decision.answer)) == (value, type(value))


async def test_an_answer_that_does_not_fit_leaves_the_question_open(store: RunStore) -> None:
    agent = asking(call("ask_user", question="Which?", choices=["a", "b"]), "wait", "ok")
    (question,) = (await agent.run("go", store=store)).pending
    for wrong in ("c", None, True):
        with pytest.raises(DecisionError) as error:
            await agent.answer(question, wrong, by="local", store=store)
        assert error.value.code == "answer.invalid"
    with pytest.raises(DecisionError):
        await agent.decide(question, approve=True, by="local", store=store)
    assert (await store.action(question.id)).state == "open"
    assert await agent.answer(question, "b", by="local", store=store) is not None


async def test_two_questions_answered_in_reverse_order_each_get_their_own(store: RunStore) -> None:
    agent = asking([call("ask_user", question="A?"), call("ask_user", question="B?")], "wait", "both", "more")
    waiting = await agent.run("go", store=store)
    first, second = waiting.pending
    one = await agent.answer(second, "bee", by="local", store=store)
    assert one is not None
    assert (one.status, f"Answer to {second.id}: bee" in one.new_messages[0].text) == ("waiting", True)
    two = await agent.answer(first, "ay", by="local", store=store)
    assert two is not None
    assert (two.status, f"Answer to {first.id}: ay" in two.new_messages[0].text) == ("done", True)


async def test_the_same_question_twice_is_one_row_and_a_question_nobody_answers_is_said(store: RunStore) -> None:
    now = [1_800_000_000.0]
    ask = call("ask_user", question="A?")
    agent = asking([ask, ask], "wait", "on my own then")
    with agent.override(clock=lambda: now[0]):
        waiting = await agent.run("go", store=store)
        assert len(waiting.pending) == 1
        now[0] += 86_401
        done = await agent.resume(waiting.run_id, store=store)
    assert done is not None
    assert "Nobody has answered" in done.new_messages[0].text
    assert (done.status, done.output) == ("done", "on my own then")


async def test_a_question_may_be_declined(store: RunStore) -> None:
    agent = asking(call("ask_user", question="A?"), "wait", "fine")
    waiting = await agent.run("go", store=store)
    done = await agent.decide(
        waiting.pending[0], approve=False, by="local", reason="none of your business", store=store
    )
    assert done is not None
    assert "was not answered: none of your business" in done.new_messages[0].text


async def test_what_the_user_answers_is_a_destination_that_may_be_believed() -> None:
    sent: list[str] = []

    @tool(risk="write")
    async def mail(to: Annotated[str, Recipient]) -> str:
        """Send a mail. Use it when asked."""
        sent.append(to)
        return "sent"

    agent = asking(
        call("ask_user", question="To whom?"), "wait", call("mail", to="bo@shop.example"), "ok", tools=[mail]
    )
    waiting = await agent.run("mail him", session="s")
    done = await agent.answer(waiting.pending[0], "to bo@shop.example please", by="local")
    assert done is not None
    assert (done.status, sent) == ("done", ["bo@shop.example"])


async def test_an_approver_answers_between_two_steps() -> None:
    async def approver(action: PendingAction) -> Decision:
        return Decision(
            approve=True, by="local", via="terminal", at=action.asked_at, args_digest=action.args_digest, answer="blue"
        )

    result = await asking(call("ask_user", question="Colour?"), "blue", approver=approver).run("go")
    assert (result.status, result.output) == ("done", "blue")


async def test_it_is_offered_only_where_somebody_can_answer_and_the_agent_says_so() -> None:
    offered: list[frozenset[str]] = []

    def brain(request: Any, _ctx: Any) -> str:
        offered.append(frozenset(one.name for one in request.tools))
        return "ok"

    await Agent(FunctionModel(brain), ask_user=True).run("go")
    await Agent(FunctionModel(brain), ask_user=True).run("go", presence="unattended")
    await Agent(FunctionModel(brain)).run("go")
    assert offered == [frozenset({"ask_user"}), frozenset(), frozenset()]


async def test_a_schema_nobody_could_answer_is_the_models_mistake() -> None:
    agent = asking(call("ask_user", question="?", answer_schema={"type": "string", "pattern": "(a+)+"}), "ok")
    result = await agent.run("go")
    told = result.new_messages[2].returns[0].result
    assert (told.ok, told.code, result.pending) == (False, "tool.input", ())


def test_answers_are_checked_by_their_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    assert shape_problems(schema) == []
    assert answer_problems(schema, {"n": 2}) == []
    assert answer_problems(schema, {"n": 0})
    assert answer_problems(schema, {"n": True})
    assert answer_problems(schema, {})
    assert answer_problems(schema, {"n": 2, "m": 1})
    assert answer_problems({"type": "array", "items": {"enum": ["a"]}}, ["a", "b"])
    assert answer_problems(["1"], 1)
    assert answer_problems([1], True)
    assert shape_problems([])
    assert shape_problems("yes")
