"""Signatures that users of agent frameworks have reported, tried as a whole: schema, call, and a model's mistakes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from pydantic import BaseModel, Field

from backstay import Agent, RunContext, tool
from backstay.core.canon import thaw
from backstay.core.schema import result_schema, signature_of
from backstay.core.schema.docstring import read
from backstay.models import ScriptedModel, call
from backstay.tools import FunctionTool

if TYPE_CHECKING:
    from collections.abc import Mapping


class SearchConfig(BaseModel):
    depth: int
    label: str | None = None


def shown(made: FunctionTool[Any, Any]) -> Any:
    return thaw(made.spec.schema)


async def test_c01_a_union_with_none_is_the_same_as_optional() -> None:
    @tool(risk="read")
    def bar(local: str | None = None) -> object:
        """Do."""
        return [local]

    @tool(risk="read", name="bar")
    def typed(local: Optional[str] = None) -> object:  # noqa: UP045  # the other spelling
        """Do."""
        return [local]

    assert shown(bar) == shown(typed)
    assert shown(bar)["properties"]["local"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert "required" not in shown(bar)
    for made in (bar, typed):
        for args in ({}, {"local": None}):
            assert (await made.run(args)).data == (None,)
        assert (await made.run({"local": "a"})).data == ("a",)


async def test_c03_postponed_annotations_are_resolved_wherever_their_names_live() -> None:
    class LocalConfig(BaseModel):
        inner: SearchConfig

    @tool(risk="read")
    def far(cfg: SearchConfig, n: Optional[int] = None) -> object:  # noqa: UP045  # as it was written
        """Do."""
        return [type(cfg) is SearchConfig, n]

    @tool(risk="read")
    def near(cfg: LocalConfig, more: list[LocalConfig], n: int | None = None) -> object:
        """Do."""
        return [type(cfg) is LocalConfig, type(cfg.inner) is SearchConfig, type(more[0]) is LocalConfig]

    assert shown(far)["properties"]["n"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert set(shown(near)["$defs"]) == {"LocalConfig", "SearchConfig"}
    assert (await far.run({"cfg": {"depth": "2"}})).data == (True, None)
    inner = {"inner": {"depth": 1}}
    assert (await near.run({"cfg": inner, "more": [inner]})).data == (True, True, True)


def test_c03_a_name_that_leads_nowhere_is_an_error_that_says_which() -> None:
    with pytest.raises(Exception, match=r"parameter 'rows' of seek.*'Mapping\[str, Missing\]' names 'Missing'"):

        @tool(risk="read")
        def seek(rows: Mapping[str, Missing]) -> None:  # type: ignore[name-defined]  # noqa: F821  # the mistake
            """Do."""


def google(x: int, *numbers: float, **kwargs: str) -> float:
    """Do a thing: well.

    Use it when: the user asks.

    Args:
        x (int): one: with colon
            and a second line.
        *numbers (float): the numbers.
        **kwargs: the rest.

    Returns:
        float: r.
    """
    return x


def numpy(x: int, *numbers: float, **kwargs: str) -> float:
    """Do a thing: well.

    Use it when: the user asks.

    Parameters
    ----------
    x : int
        one: with colon
        and a second line.
    *numbers : float
        the numbers.
    **kwargs
        the rest.

    Returns
    -------
    float
        r.
    """
    return x


def sphinx(x: int, *numbers: float, **kwargs: str) -> float:
    r"""Do a thing: well.

    Use it when: the user asks.

    :param int x: one: with colon
        and a second line.
    :param \*numbers: the numbers.
    :param \**kwargs: the rest.
    :returns: r.
    :rtype: float
    """
    return x


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_c05_each_docstring_style_describes_starred_parameters_too(function: Callable[..., Any]) -> None:
    made = tool(risk="read")(function)
    assert made.description == "Do a thing: well.\n\nUse it when: the user asks."
    schema = shown(made)
    assert schema["properties"]["x"]["description"] == "one: with colon and a second line."
    assert schema["properties"]["numbers"]["description"] == "the numbers."
    assert schema["additionalProperties"] == {"type": "string", "description": "the rest."}
    assert read(function.__doc__, ["x"]).returns == "r."


class Holder(BaseModel):
    argument: dict[str, int]


@pytest.mark.parametrize("args", [{"argument": {"count": 1}}, {"argument": {"argument": {"count": 1}}}])
async def test_c07_a_model_that_is_the_only_argument_may_come_wrapped_or_bare(args: dict[str, Any]) -> None:
    got: list[Holder] = []

    @tool(risk="read")
    def take(argument: Holder) -> None:
        """Do."""
        got.append(argument)

    assert (await take.run(args)).ok
    assert got == [Holder(argument={"count": 1})]


async def test_c07_nothing_is_dropped_on_the_way_to_a_models_fields() -> None:
    @tool(risk="read")
    def take(argument: Holder) -> None:
        """Do."""

    for args, field in (
        ({"argument": {"argument": {"count": 1}, "other": 2}}, "argument.other"),
        ({"argument": {"argument": {"count": 1}}, "other": 2}, "other"),
        ({"argument": {"argument": {"count": "q"}}}, "argument.argument.count"),
    ):
        result = await take.run(args)
        assert (result.ok, result.code) == (False, "tool.input")
        assert f"{field}: " in (result.error or "")


def test_c09_types_inside_a_docstring_swallow_no_parameter() -> None:
    docs = read("Args:\n    x (int): one.\n    y (float): two.\nReturns:\n    float: r.", ["x", "y"])
    assert docs.parameters == {"x": "one.", "y": "two."}
    assert docs.returns == "r."

    @tool(risk="read")
    def add(x: int, y: float) -> float:
        """Add.

        Args:
            x (int): one.
            y (float): two.

        Returns:
            float: r.
        """
        return x + y

    assert [one["description"] for one in shown(add)["properties"].values()] == ["one.", "two."]


@pytest.mark.parametrize("sent", [{}, {"ctx": {"deps": "evil"}}, {"token": "evil"}, {"ctx": None, "token": "evil"}])
async def test_c11_what_is_injected_is_never_the_models(sent: dict[str, Any]) -> None:
    """A value for the hidden parameter is refused by name; the call that leaves it out gets the true one."""
    got: list[str] = []

    def read_order(order_id: str, ctx: RunContext[str], token: str = "") -> str:
        """Read an order. Use it when the user asks."""
        got.append(f"{ctx.deps} {token}")
        return "read"

    made = tool(risk="read")(partial(read_order, token="ours"))
    assert list(shown(made)["properties"]) == ["order_id"]
    agent = Agent(
        ScriptedModel(call("read_order", order_id="1", **sent), call("read_order", order_id="1"), "Read."), tools=[made]
    )
    run = await agent.run("read 1", deps="true")
    assert run.output == "Read."
    assert got == ["true ours"] * (1 if sent else 2)
    first = run.new_messages[2].returns[0].result
    assert first.ok is not bool(sent)
    for name in sent:
        assert f"{name}: no such argument" in (first.error or "")


class Wire(BaseModel):
    value: int = Field(serialization_alias="wireOut")
    other: Annotated[int, Field(validation_alias="in")] = 0


async def test_c13_the_result_has_the_names_of_the_advertised_schema() -> None:
    @tool(risk="read")
    def make() -> Wire:
        """Do."""
        return Wire(value=1)

    result = await make.run({})
    assert result.data == {"wireOut": 1, "other": 0}
    returns = signature_of(make.function).returns
    assert returns is not None
    assert set(thaw(result_schema(returns))["properties"]) == set(result.data)
