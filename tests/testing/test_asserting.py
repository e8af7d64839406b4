"""What users of the package test their agents with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backstay import Agent, tool
from backstay.core.errors import SetupError
from backstay.models import ScriptedModel, call
from backstay.testing import FakeClock, assert_called, assert_not_called, assert_refused, picture
from desk import Desk, propose

LINES = (
    [call("find_order", order_id="1001"), call("list_orders", days=90), call("nobody")],
    propose(),
    "A person decides.",
)


async def ran(**more: Any) -> tuple[Any, list[Any]]:
    heard: list[Any] = []
    agent = Desk().agent(*LINES, constraints=("only the last 30 days",), **more)
    return await agent.run("refund 1001", on=heard.append), heard


@pytest.mark.parametrize("which", [0, 1], ids=["result", "events"])
async def test_what_ran_was_called_and_nothing_else(which: int) -> None:
    source: Any = (await ran())[which]
    assert assert_called(source, "find_order").args == {"order_id": "1001"}
    assert_called(source, "find_order", order_id="1001")
    assert_not_called(source, "find_order", order_id="1002")
    for name in ("list_orders", "refund", "nobody"):
        assert_not_called(source, name)
        with pytest.raises(AssertionError, match=r"did not run\. The calls were:\n(.*\n)*  find_order\("):
            assert_called(source, name)
    with pytest.raises(AssertionError, match="ran"):
        assert_not_called(source, "find_order")


@pytest.mark.parametrize("which", [0, 1], ids=["result", "events"])
async def test_a_refusal_is_found_by_rule_and_by_code(which: int) -> None:
    source: Any = (await ran())[which]
    assert assert_refused(source, "c1").code == "constraint.broken"
    assert_refused(source, "constraint.broken")
    assert_refused(source, "tool.unknown")
    with pytest.raises(AssertionError, match=r"nothing was refused for 'c2'\. The calls were"):
        assert_refused(source, "c2")
    with pytest.raises(AssertionError, match="There were no calls"):
        assert_refused([], "c1")


async def test_an_approved_action_was_called_as_its_events_say(run_events: list[Any]) -> None:
    agent = Desk().agent(propose(), "waiting", "paid")
    waiting = await agent.run("refund 1001")
    assert_not_called(run_events, "refund")
    await agent.decide(waiting.pending[0], approve=True, by="bo")
    assert_called(run_events, "refund", order_id="1001")


async def test_the_picture_of_a_run_is_the_same_on_every_day() -> None:
    (one, events), (other, more) = await ran(), await ran()
    assert picture(one) == picture(other)
    assert picture(events) == picture(more)
    assert "assistant: find_order" in picture(one)
    assert "tool.finish find_order" in picture(events)
    assert one.run_id not in picture(one)


async def test_another_run_has_another_picture() -> None:
    other = await Desk().agent("hello").run("refund 1001")
    assert picture((await ran())[0]) != picture(other)


async def test_stand_ins_take_the_places_of_tools_and_leave_with_the_block() -> None:
    seen: list[str] = []

    @tool(risk="read")
    async def find_order(order_id: str) -> str:
        """Pretend to look. Use it when the user names an order."""
        seen.append(order_id)
        return "pretended"

    desk = Desk()
    agent = desk.agent(call("find_order", order_id="1001"), "ok")
    with agent.override(tools=[find_order]):
        assert_called(await agent.run("go"), "find_order", order_id="1001")
    assert (seen, desk.calls["find_order"]) == (["1001"], 0)
    await agent.run("go")
    assert (seen, desk.calls["find_order"]) == (["1001"], 1)


async def test_the_rules_hold_for_a_stand_in_too() -> None:
    @tool(risk="read")
    async def list_orders(days: int = 30) -> list[str]:
        """Pretend to list. Use it when the user asks for several."""
        return []

    agent = Desk().agent(call("list_orders", days=90), "ok", constraints=("only the last 30 days",))
    with agent.override(tools=[list_orders]):
        result = await agent.run("go")
    assert_called(result, "list_orders")  # without its mark nothing says that the number counts days


async def test_a_stand_in_for_nothing_is_refused() -> None:
    @tool(risk="read")
    async def other() -> None:
        """Other. Use it never."""

    agent = Desk().agent("hi")
    with pytest.raises(SetupError, match="no tool other to stand in for"), agent.override(tools=[other]):
        pass
    assert (await agent.run("go")).output == "hi"


async def test_overrides_nest_and_end(fake_clock: FakeClock) -> None:
    agent = Agent(ScriptedModel("own"))
    with agent.override(model=ScriptedModel("first"), clock=fake_clock):
        with agent.override(model=ScriptedModel("second")):
            assert (await agent.run("go")).output == "second"
        assert (await agent.run("go")).output == "first"
    assert (await agent.run("go")).output == "own"


TEST = """
from backstay import Agent
from backstay.models import ScriptedModel
from backstay.testing import assert_not_called

def test_it(fake_clock, no_network, run_events):
    Agent(ScriptedModel("hi")).run_sync("go")
    assert_not_called(run_events, "anything")
    assert "run.finish" in [event.name for event in run_events]
"""


def test_the_fixtures_are_there_for_who_asks_for_them(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["backstay.testing.fixtures"]\n')
    (tmp_path / "test_it.py").write_text(TEST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stdout


def test_what_asserts_needs_no_pytest() -> None:
    code = "import sys, backstay.testing; assert 'pytest' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
