"""Incident 3: the model could simply call the delete tool.

The instructions said "ask before you delete anything". The tool was there to be called, so one day the model called
it, on everything, and asked afterwards. Here the model can express an intent and nothing else: the tool is not in what
it is offered, a call of its name is refused, and what it proposes waits for a person who sees the targets. And a
sentence of the user's holds even where the developer took the tool for harmless. Source: SPEC B2, B3, B7, T13.
"""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from backstay import Agent, Boundary, FilePath, Principal, RunResult, tool
from backstay.agents import decide
from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import ModelRequest, ToolResult
from backstay.models import FunctionModel, ScriptedModel, call
from backstay.store.memory import MemoryStore

NOW = 1_781_524_800.0
"""2026-06-15 12:00 UTC."""
ASK = {"en": "Tidy up, but ask me before you delete anything.", "zh": "整理一下。删除前先问我。"}
NEVER = {"en": "Tidy up. Never delete any files.", "zh": "整理一下，不要删除任何文件。"}
LANGUAGES = pytest.mark.parametrize("locale", ["en", "zh"])


class Folder:
    """A folder with a tool that deletes from it, as harmful as its developer says that it is."""

    def __init__(self) -> None:
        self.files = {"a.txt", "b.txt", "c.txt"}
        self.requests: list[ModelRequest] = []

    def agent(self, *lines: Any, **declared: Any) -> Agent[Any]:
        folder = self

        @tool(**declared)
        def delete_file(path: Annotated[str, FilePath()]) -> str:
            """Delete a file."""
            folder.files.discard(path)
            return f"{path} is gone"

        def line(request: ModelRequest, ctx: Any) -> Any:
            folder.requests.append(request)
            return lines[ctx.step - 1]

        return Agent(FunctionModel(line), name="folder", tools=[delete_file], boundary=Boundary(provenance="off"))


def propose(path: str) -> Any:
    return call("propose_action", action={"name": "delete_file", "arguments": {"path": path}}, reason="it is old")


def delete(path: str) -> Any:
    return call("delete_file", path=path)


def user(locale: str) -> Principal:
    return Principal(id="ann", kind="developer", locale=locale)


def results(run: RunResult[str]) -> list[ToolResult]:
    return [one.result for message in run.new_messages for one in message.returns]


def test_a_bare_delete_tool_is_no_agent_before_somebody_says_what_it_does() -> None:
    with pytest.raises(ToolDefinitionError) as error:
        Folder().agent("Hello.")
    assert error.value.code == "tool.risk_undeclared"


async def test_it_is_never_offered_and_a_call_of_its_name_is_refused() -> None:
    folder = Folder()
    agent = folder.agent([delete("a.txt"), delete("b.txt")], "I may not.", risk="high")
    run = await agent.run("Delete the old files.", session="s")
    assert folder.files == {"a.txt", "b.txt", "c.txt"}
    assert [(one.ok, one.code) for one in results(run)] == [(False, "tool.high")] * 2
    assert all("delete_file" not in {spec.name for spec in request.tools} for request in folder.requests)


async def test_what_it_proposes_waits_with_its_targets_and_only_that_happens() -> None:
    folder, store = Folder(), MemoryStore()
    agent = folder.agent([propose("a.txt"), propose("b.txt")], "Two wait.", "One is gone.", risk="high")
    run = await agent.run("Delete the old files.", session="s", store=store)
    assert (run.status, folder.files) == ("waiting", {"a.txt", "b.txt", "c.txt"})
    assert [one.targets for one in run.pending] == [("a.txt",), ("b.txt",)]
    first, second = run.pending
    await decide(store, first, approve=True, by="ann", via="cli")
    await decide(store, second, approve=False, by="ann", via="cli")
    await agent.resume(run.run_id, store=store)
    assert folder.files == {"b.txt", "c.txt"}


async def test_with_nobody_to_ask_nothing_is_deleted() -> None:
    folder = Folder()
    run = await folder.agent(propose("a.txt"), "I may not.", risk="high").run("Delete it.", presence="unattended")
    assert (folder.files, [one.code for one in results(run)]) == ({"a.txt", "b.txt", "c.txt"}, ["action.unattended"])


@LANGUAGES
async def test_a_sentence_asks_even_where_the_developer_took_it_for_harmless(locale: str) -> None:
    folder, store = Folder(), MemoryStore()
    agent = folder.agent(delete("a.txt"), "It waits.", "It is gone.", risk="write")
    with agent.override(clock=lambda: NOW):
        run = await agent.run(ASK[locale], session="s", principal=user(locale), store=store)
        assert [one.via for one in results(run)] == ["held"]
        assert folder.files == {"a.txt", "b.txt", "c.txt"}
        (approval,) = [one for one in run.pending if one.kind == "approval"]
        assert approval.targets == ("a.txt",)
        for one in run.pending:
            await decide(store, one, approve=True, by="ann", via="cli", at=NOW)
        await agent.resume(run.run_id, store=store)
        assert folder.files == {"b.txt", "c.txt"}
        script = ScriptedModel(delete("b.txt"), "It waits.")
        again = await agent.run("Go on.", session="s", principal=user(locale), store=store, model=script)
    assert [one.via for one in results(again)] == ["held"], "confirmed, it still asks, for that is what was said"
    assert folder.files == {"b.txt", "c.txt"}


@LANGUAGES
@pytest.mark.parametrize("said", [ASK, NEVER], ids=["ask", "never"])
async def test_unattended_a_sentence_refuses_with_the_reason(locale: str, said: dict[str, str]) -> None:
    folder = Folder()
    agent = folder.agent(delete("a.txt"), "I may not.", risk="write")
    run = await agent.run(said[locale], session="s", principal=user(locale), presence="unattended")
    (refused,) = results(run)
    assert (refused.code, folder.files) == ("action.unattended", {"a.txt", "b.txt", "c.txt"})
    assert "u1.1" in refused.summary


@LANGUAGES
async def test_a_confirmed_never_is_put_to_nobody(locale: str) -> None:
    folder, store = Folder(), MemoryStore()
    agent = folder.agent("Understood.", risk="high")
    with agent.override(clock=lambda: NOW):
        said = await agent.run(NEVER[locale], session="s", principal=user(locale), store=store)
        await decide(store, said.pending[0], approve=True, by="ann", via="cli", at=NOW)
        script = ScriptedModel(propose("a.txt"), "I may not.")
        run = await agent.run("Delete a.txt.", session="s", principal=user(locale), store=store, model=script)
    assert [one.code for one in results(run)] == ["constraint.broken"]
    assert (run.pending, folder.files) == ((), {"a.txt", "b.txt", "c.txt"})
