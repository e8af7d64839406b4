"""`@tool`: declarations by name, a static type that stays, previews, and functions of every kind."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import pytest

from backstay.core.context import RunContext
from backstay.core.errors import ToolDefinitionError
from backstay.tools import FunctionTool, MemoryCache, Tool, tool
from workbench import Bench, RecordingGuard


def test_a_tool_still_is_its_function() -> None:
    @tool(risk="read")
    def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    assert add(1) == 3
    assert add.__name__ == "add"
    assert add.__doc__ == "Add two numbers."
    assert str(inspect.signature(add)) == "(a: 'int', b: 'int' = 2) -> 'int'"
    assert isinstance(add, Tool)
    assert repr(add) == "<tool add>"
    assert (add.name, add.description) == ("add", "Add two numbers.")


def test_an_option_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(ToolDefinitionError, match="rsik"):
        tool(rsik="high", name="t", description="d")(lambda: 1)  # type: ignore[call-overload]  # the mistake
    with pytest.raises(ToolDefinitionError, match="run"):
        tool(run=1, name="t", description="d")(lambda: 1)  # type: ignore[call-overload]  # the mistake


@pytest.mark.parametrize(
    "wrong",
    [
        {"risk": "hihg"}, {"effect": "twice"}, {"timeout": 0}, {"timeout": float("nan")}, {"max_attempts": 0},
        {"sinks": ["nobody"]}, {"cache": MemoryCache()}, {"risk": "write", "cache": MemoryCache()},
        {"risk": lambda _a: "read", "cache": MemoryCache()},
    ],
)  # fmt: skip
def test_declarations_that_cannot_be_kept_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError, match="t:"):
        tool(name="t", description="d", **wrong)(lambda: 1)  # type: ignore[call-overload]  # the mistake


def test_one_name_is_a_list_of_one_and_not_its_letters() -> None:
    made = tool(name="t", description="d", risk="read", secret="iban", untrusted="body", keep="id", sinks=())(lambda: 1)
    assert (made.secret, made.untrusted, made.keep) == ({"iban"}, {"body"}, ("id",))
    assert made.sinks == frozenset()


def test_without_a_description_a_test_is_only_warned_at_its_own_line() -> None:
    with pytest.warns(UserWarning, match="no description") as caught:

        @tool
        def find_order() -> int:
            return 1

    assert caught[0].filename == __file__
    assert find_order.description == "find order"


async def test_the_context_is_given_and_never_the_models() -> None:
    @tool(risk="read")
    async def who(context: RunContext[Any], n: int) -> str:
        """Who."""
        return f"{context.principal.id}{n}"

    assert who.takes_context
    assert "context" not in who.spec.schema["properties"]  # type: ignore[operator]  # a schema
    bench = Bench()
    assert (await bench.run(who, {"n": 1})).data == "ann1"
    assert (await bench.run(who, {"n": 1, "context": {}})).code == "tool.input"


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_preview_takes_the_functions_own_parameters(is_async: bool) -> None:
    async def later(a: int, *, b: int, context: RunContext[Any]) -> str:
        return f"{a}{b}{context.principal.id}"

    def now(a: int, *, b: int, context: RunContext[Any]) -> str:
        return f"{a}{b}{context.principal.id}"

    @tool(risk="high", preview=later if is_async else now)
    async def act(a: int, *, b: int = 5, context: RunContext[Any]) -> str:
        """Act."""
        return ""

    bench = Bench(RecordingGuard(rule=lambda _c, _t: "ask"))
    await bench.run(act, {"a": "1"})
    assert bench.guard.log[-1][2] == "15ann"


async def test_partials_methods_and_callable_objects_are_tools() -> None:
    class Shop:
        def find(self, n: int) -> int:
            """Find."""
            return n

        def __call__(self, n: int) -> int:
            """Call."""
            return n

    def both(a: int, b: int) -> int:
        """Both."""
        return a + b

    bench = Bench()
    made: list[tuple[FunctionTool[Any, Any], dict[str, int], int]] = [
        (tool(Shop().find), {"n": 1}, 1),
        (tool(Shop()), {"n": 2}, 2),
        (tool(partial(both, b=3)), {"a": 1}, 4),
    ]
    for one, args, expected in made:
        assert (await bench.run(one, args)).data == expected
