"""Incident 2: "only the last 30 days" was said once, in a chat, and forgotten.

The sentence stood in the second turn. Many turns later the model asked for 90 days, with whatever argument the tool
happened to have, and nobody noticed, for the rule lived in the prompt alone. Here it is a rule from the turn on in
which it is said, whoever summarises the conversation: read by the parser, bound to what the arguments mean, judged
before every call. Source: SPEC B7, B8, M6.
"""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from backstay import Agent, Boundary, DateRange, Principal, Quantity, RunResult, tool
from backstay.agents import decide
from backstay.core.messages import Args, ModelRequest, ToolResult
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.memory import MemoryStore

NOW = 1_781_524_800.0
"""2026-06-15 12:00 UTC."""
SAID = {"en": "I need a sales report. Only the last 30 days.", "zh": "给我做个销售报表，只要近30天的数据。"}
BROKEN: list[tuple[str, Args]] = [
    ("the model's own number of days", {"days": 90}),
    ("a start and an end", {"start": "2026-03-17", "end": "2026-06-15"}),
    ("a start alone", {"start": "2026-03-17"}),
    ("ISO text with a time", {"start": "2026-03-17T00:00:00Z", "end": "2026-06-15T23:59:59Z"}),
    ("an ISO interval", {"period": "2026-03-17/2026-06-15"}),
    ("words", {"period": "last quarter"}),
    ("an end alone", {"end": "2026-06-15"}),
    ("no date filter at all", {}),
]
SHAPES = pytest.mark.parametrize("args", [args for _, args in BROKEN], ids=[name for name, _ in BROKEN])
LANGUAGES = pytest.mark.parametrize("locale", ["en", "zh"])


class Shop:
    """One bare tool: whoever wrote it thought of no rule."""

    def __init__(self) -> None:
        self.asked: list[tuple[int | None, str | None, str | None, str | None]] = []
        self.requests: list[ModelRequest] = []

    def agent(self, *lines: Any) -> Agent[Any]:
        shop = self

        @tool
        def sales_report(
            days: Annotated[int | None, Quantity("days")] = None,
            start: Annotated[str | None, DateRange("start")] = None,
            end: Annotated[str | None, DateRange("end")] = None,
            period: Annotated[str | None, DateRange()] = None,
        ) -> str:
            """Sum up what was sold. Use it when the user asks for sales."""
            shop.asked.append((days, start, end, period))
            return "sold"

        return Agent(ScriptedModel(*lines), name="shop", tools=[sales_report], boundary=Boundary(provenance="off"))

    def watched(self, *lines: Any) -> FunctionModel:
        """A model that says its lines in order and keeps what it was asked."""

        def line(request: ModelRequest, ctx: Any) -> Any:
            self.requests.append(request)
            return lines[ctx.step - 1]

        return FunctionModel(line)


def user(locale: str) -> Principal:
    return Principal(id="ann", kind="developer", locale=locale)


def results(run: RunResult[str]) -> list[ToolResult]:
    return [one.result for message in run.new_messages for one in message.returns]


@SHAPES
@LANGUAGES
async def test_while_only_proposed_it_asks_and_never_executes_unasked(locale: str, args: Args) -> None:
    shop = Shop()
    agent = shop.agent(call("sales_report", **args), "Somebody has to agree.")
    with agent.override(clock=lambda: NOW):
        run = await agent.run(SAID[locale], session="s", principal=user(locale))
    (held,) = results(run)
    assert (held.via, held.code, shop.asked) == ("held", "action.waiting", [])
    (approval,) = [one for one in run.pending if one.kind == "approval"]
    assert approval.question is not None
    assert "only the last 30 days" in approval.question


@SHAPES
@LANGUAGES
async def test_with_nobody_to_ask_it_is_refused_with_the_reason(locale: str, args: Args) -> None:
    shop = Shop()
    agent = shop.agent(call("sales_report", **args), "I may not.")
    with agent.override(clock=lambda: NOW):
        run = await agent.run(SAID[locale], session="s", principal=user(locale), presence="unattended")
    (refused,) = results(run)
    assert (refused.ok, refused.code, shop.asked) == (False, "action.unattended", [])
    assert "only the last 30 days" in refused.summary


@SHAPES
@LANGUAGES
async def test_once_confirmed_it_is_refused_with_the_reason_and_put_to_nobody(locale: str, args: Args) -> None:
    shop, store = Shop(), MemoryStore()
    agent = shop.agent("Understood.")
    with agent.override(clock=lambda: NOW):
        said = await agent.run(SAID[locale], session="s", principal=user(locale), store=store)
        (question,) = said.pending
        await decide(store, question, approve=True, by="ann", via="cli", at=NOW)
        script = ScriptedModel(call("sales_report", **args), "I may not.")
        run = await agent.run("Go on.", session="s", principal=user(locale), store=store, model=script)
    (refused,) = results(run)
    assert (refused.ok, refused.code, run.pending, shop.asked) == (False, "constraint.broken", (), [])
    assert "only the last 30 days" in refused.summary
    assert "left out" in refused.summary or any(str(value) in refused.summary for value in args.values())


@LANGUAGES
async def test_what_keeps_to_it_runs(locale: str) -> None:
    shop = Shop()
    calls = [{"days": 30}, {"start": "2026-05-16"}, {"start": "2026-06-01", "end": "2026-06-15"}, {"days": 7}]
    agent = shop.agent([call("sales_report", **args) for args in calls], "Here it is.")
    with agent.override(clock=lambda: NOW):
        run = await agent.run(SAID[locale], session="s", principal=user(locale), presence="unattended")
    assert [one.via for one in results(run)] == ["ran"] * 4
    assert len(shop.asked) == 4


async def test_twenty_turns_later_it_stands_in_the_request_and_still_holds() -> None:
    shop, store = Shop(), MemoryStore()
    agent = shop.agent("Fine.")
    with agent.override(clock=lambda: NOW):
        await agent.run("Hello.", session="s", store=store)
        await agent.run(SAID["en"], session="s", store=store)
        for number in range(20):
            await agent.run(f"Something else, number {number}.", session="s", store=store)
        script = shop.watched(call("sales_report", days=90), "It waits.")
        run = await agent.run("And the report again.", session="s", store=store, model=script)
    assert [one.via for one in results(run)] == ["held"]
    assert shop.asked == []
    shown = [message.text for message in shop.requests[0].messages if message.role == "system"]
    assert any("Only the last 30 days." in text and "only the last 30 days" in text for text in shown)


async def test_the_thirty_days_are_counted_from_the_day_of_the_call() -> None:
    shop, store = Shop(), MemoryStore()
    agent = shop.agent("Understood.")
    with agent.override(clock=lambda: NOW):
        await agent.run(SAID["en"], session="s", store=store)
    script = ScriptedModel(call("sales_report", start="2026-06-01"), "It waits.")
    with agent.override(clock=lambda: NOW + 40 * 86_400):
        run = await agent.run("Once more.", session="s", store=store, model=script)
    assert [one.via for one in results(run)] == ["held"]
