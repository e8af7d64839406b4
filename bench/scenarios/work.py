"""The agents that are measured, and their tool."""

from __future__ import annotations

from collections.abc import Iterable

from backstay import Agent, Boundary, Constraint, Limits, Tool, tool
from backstay.core.messages import Risk
from backstay.models.scripted import FunctionModel, ScriptedModel, call

RULES = (
    Constraint(
        id="c1", text="a at most 100", render="at most 100", bind={"argument": "a"}, check={"op": "le", "number": "100"}
    ),
    Constraint(
        id="c2", text="b at least 0", render="at least 0", bind={"argument": "b"}, check={"op": "ge", "number": "0"}
    ),
)
"""Two rules that reach the call and hold."""
ONE_CALL = (call("add", a=1, b=2), "3")
LONG = Limits(steps=200, calls=200, tokens=10_000_000)
"""Far from every limit: the scripted model counts tokens, and eighty rounds send the history eighty times."""


def add_tool(risk: Risk = "read") -> Tool:
    """Return the one tool: async, two whole numbers."""

    @tool(risk=risk)
    async def add(a: int, b: int) -> int:
        """Add two whole numbers."""
        return a + b

    return add


def guarded(model: FunctionModel, *, risk: Risk = "read") -> Agent:
    """An agent with the tool, two rules and one listener."""
    agent = Agent(model, tools=[add_tool(risk)], boundary=Boundary(constraints=RULES))
    agent.on("*", lambda event: None)
    return agent


def rounds(count: int) -> Agent:
    """An agent that takes so many tool rounds and then answers."""
    lines: Iterable = [call("add", a=number, b=1) for number in range(count)]
    return Agent(ScriptedModel(*lines, "done"), tools=[add_tool()], boundary=Boundary(limits=LONG))


async def checked(agent: Agent, *, steps: int, **options: object) -> None:
    """Run once outside the measurement and make sure that it did what is measured."""
    result = await agent.run("add 1 and 2", **options)
    if result.status != "done" or result.steps != steps:
        raise AssertionError(
            f"the run ended {result.status} ({result.code} {result.reason}) after {result.steps} steps"
        )
