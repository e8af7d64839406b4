"""What a type checker must see of decorated functions. Checked by `test_static_types.py`; never run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, assert_type

from backstay import Agent, Money, RunContext, Tool, ToolResult, tool
from backstay.tools import FunctionTool


@tool
def plain(a: int, b: str = "") -> str:
    """Do."""
    return b * a


@tool(risk="read", timeout=3, examples=[("twice", {"a": 2})])
async def later(a: int, *, b: str = "") -> bytes:
    """Do."""
    return b.encode() * a


@tool(risk="high", preview=lambda amount, ctx: f"{amount}")
async def pay(amount: Annotated[int, Money("EUR")], ctx: RunContext[list[str]]) -> None:
    """Do."""
    assert_type(ctx.deps, list[str])


@tool(risk=lambda args: "high" if args else "read")
def depends(*numbers: float, **more: int) -> float:
    """Do."""
    return sum(numbers)


async def uses(ctx: RunContext[list[str]]) -> None:
    assert_type(plain(1), str)
    assert_type(plain(a=1, b="x"), str)
    assert_type(await later(1, b="x"), bytes)
    assert_type(depends(1.0, 2.0, x=3), float)
    assert_type(await pay(1, ctx), None)
    assert_type(await plain.run({"a": 1}), ToolResult)
    assert_type(plain.validate({"a": 1}), list[str])
    assert_type(plain.name, str)
    as_tool: Tool = later
    as_callable: Callable[[int], str] = plain
    made: FunctionTool[[int], str] = tool(risk="read")(as_callable)
    Agent(tools=[plain, later, pay, depends, as_tool, made])
    takes_async(later)


def takes_async(function: Callable[..., Awaitable[bytes]]) -> None: ...


async def mistakes() -> Any:
    plain("x")  # wrong: an argument of another type
    await later(1, "x")  # wrong: a keyword-only argument by position
    tool(rsik="high")  # wrong: an option that there is not
    tool(risk="hihg")  # wrong: a risk that there is not
    return plain.nowhere  # wrong: an attribute that there is not
