"""With nobody to ask, a run that could carry a secret out of a conversation does not start."""

from __future__ import annotations

from typing import Any

import pytest

from backstay import Agent, Boundary, tool
from backstay.core.errors import SetupError
from backstay.core.messages import Label, Message, Text
from backstay.models import ScriptedModel, call
from backstay.store.memory import MemoryStore

FOREIGN = Label(trusted=False)


@tool(risk="read", untrusted=True)
async def inbox() -> str:
    """Mails that came in. Use it when the user asks what is new."""
    return "hello"


@tool(risk="read", secret={"card"})
async def wallet() -> dict[str, str]:
    """Cards of the user. Use it when one is needed."""
    return {"card": "4111"}


@tool(risk="read", egress=True)
async def fetch(url: str) -> str:
    """A page. Use it to read one."""
    return "page"


@tool(risk="write")
async def note(text: str) -> str:
    """Keep a note. Use it when asked."""
    return "kept"


@tool(risk="read")
async def clock() -> str:
    """The time. Use it when asked."""
    return "noon"


async def nobody(_action: object) -> None:
    return None


def agent(*tools: Any, lines: Any = ("done",)) -> Agent[Any]:
    return Agent(ScriptedModel(*lines), name="desk", tools=tools, boundary=Boundary(provenance="off"))


@pytest.mark.parametrize("changes", [note, fetch], ids=["a write", "an egress read"])
async def test_all_three_with_nobody_to_ask_is_refused_before_anything_runs_and_names_the_tools(changes: Any) -> None:
    one = agent(inbox, wallet, changes, clock)
    with pytest.raises(SetupError) as raised:
        await one.run("what is new?", presence="unattended")
    assert raised.value.code == "session.unsafe"
    for word in ("inbox", "wallet", changes.name, "presence='inbox'"):
        assert word in raised.value.message
    assert "clock" not in raised.value.message
    assert await one.store.runs() == []


@pytest.mark.parametrize("tools", [(inbox, wallet), (inbox, note), (wallet, note), (clock,)])
async def test_any_two_of_the_three_may_run_unattended(tools: Any) -> None:
    assert (await agent(*tools).run("hi", presence="unattended")).status == "done"


async def test_somebody_to_ask_is_enough() -> None:
    one = agent(inbox, wallet, note)
    assert (await one.run("hi")).status == "done"
    assert (await agent(inbox, wallet, note).run("hi", presence="unattended", approver=nobody)).status == "done"


async def test_an_input_or_a_history_of_other_peoples_text_counts_like_a_tool_that_reads_it() -> None:
    with pytest.raises(SetupError, match="the conversation itself"):
        await agent(wallet, note).run("hi", presence="unattended", label=FOREIGN)
    said = Message(id="m", role="user", parts=(Text(text="hi"),), label=FOREIGN)
    with pytest.raises(SetupError, match="the conversation itself"):
        await agent(wallet, note).run("hi", presence="unattended", history=[said])


async def test_what_an_earlier_run_of_the_session_has_read_counts_too() -> None:
    store = MemoryStore()
    await agent(inbox, lines=(call("inbox"), "read")).run("news?", session="s", store=store)
    later = await agent(wallet, note, lines=(call("note", text="x"), "x")).run(
        "keep it", session="s", store=store, presence="unattended"
    )
    assert (later.status, later.code, later.steps) == ("stopped", "session.unsafe", 0)
