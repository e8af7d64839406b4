"""What a tool declares, and what becomes of what it returns."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from backstay.core.canon import FrozenDict
from backstay.core.context import RunContext
from backstay.core.meanings import FreeText, Id, Money
from backstay.core.messages import Artifact, Label, ToolResult
from backstay.tools import Tool, tool
from workbench import Bench


class Input(BaseModel):
    order_id: Annotated[str, Id("order")]
    amount: Annotated[Decimal, Money("EUR")]
    note: Annotated[str, FreeText] = ""
    lines: list[str] = Field(default_factory=list)


class Refund(Tool):
    name = "refund"
    description = "Refund."
    input_schema = Input
    risk = "write"

    async def _run(self, input: Input, context: RunContext[Any]) -> object:
        return input.order_id


async def returned(value: object, **options: Any) -> ToolResult:
    @tool(risk="read", **options)
    async def give() -> object:
        """Give."""
        return value

    return await Bench().run(give)


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "null"), ([], "[]"), ((), "[]"), (0, "0"), ("", '""'), (False, "false")]
)
async def test_every_kind_of_nothing_reaches_the_model(value: object, shown: str) -> None:
    """C41."""
    result = await returned(value)
    assert (result.ok, result.summary) == (True, shown)
    assert result.data == (() if value == [] else value)
    assert type(result.data) is (tuple if value == [] else type(value))


async def test_a_long_result_is_cut_at_a_row_and_named() -> None:
    result = await returned([{"id": n} for n in range(5_000)], keep="id")
    assert "of 5,000 rows:" in result.summary
    assert result.ref == "run:1"
    assert len(result.data) == 5_000  # type: ignore[arg-type]  # a list
    assert result.keep == ("id",)


async def test_a_tools_own_result_passes_with_what_it_says() -> None:
    chart = Artifact(ref="sha", name="c.png", mime="image/png", size=3)
    own = ToolResult(
        ok=True,
        summary="two rows",
        data={"rows": [1, 2]},
        keep=("rows",),
        artifacts=(chart,),
        label=Label(secrecy="internal"),
    )
    result = await returned(own, untrusted=True, keep=("other",))
    assert (result.summary, result.keep, result.artifacts) == (
        "two rows\n[file c.png, image/png, 3 bytes: sha]",
        ("rows",),
        (chart,),
    )
    assert result.data == {"rows": (1, 2)}
    assert isinstance(result.data, FrozenDict)
    assert result.label == Label(trusted=False, secrecy="internal")


async def test_a_long_summary_of_its_own_can_be_read_again() -> None:
    result = await returned(ToolResult(ok=True, summary="line\n" * 10_000))
    assert result.ref == "run:1"
    assert result.data == "line\n" * 10_000


async def test_a_field_that_is_untrusted_or_secret_marks_the_whole_result() -> None:
    assert (await returned({"body": "x"}, untrusted=("body",))).label == Label(trusted=False)
    assert (await returned({"iban": "x"}, secret="iban")).label == Label(secrecy="secret")


def test_the_boundary_knows_what_was_declared() -> None:
    facts = Refund().facts(None)
    assert (facts.risk, facts.effect) == ("write", "once")
    assert facts.sinks == {"order_id", "lines"}
    assert facts.texts == {"note"}
    assert facts.meanings["amount"] == "money:EUR"
    assert Refund().facts({"order_id": "1"}) is not None


def test_a_read_has_no_sinks_unless_it_carries_data_out() -> None:
    @tool(risk="read")
    async def fetch(url: str, size: int) -> str:
        """Fetch."""
        return url

    @tool(risk="read", egress=True)
    async def send(url: str, size: int) -> str:
        """Fetch."""
        return url

    assert fetch.facts(None).sinks == frozenset()
    assert send.facts(None).sinks == {"url"}
    assert fetch.facts(None).effect == "none"


def test_what_is_declared_changes_the_digest() -> None:
    made = [
        tool(name="t", description="d", **more)(lambda: 1)
        for more in ({"risk": "read"}, {"risk": "write"}, {"risk": "write", "effect": "keyed"})
    ]
    assert len({one.facts(None).digest for one in made}) == 3


def test_every_problem_of_the_arguments_is_said_at_once_without_running() -> None:
    problems = Refund().validate({"amount": "much", "nonsense": 1, "lines": 3})
    assert len(problems) >= 3
    assert all(any(name in one for one in problems) for name in ("order_id", "amount", "lines"))
    assert Refund().validate({"order_id": "1", "amount": "2"}) == []


async def test_a_class_can_declare_what_it_returns() -> None:
    class Row(BaseModel):
        value: int = Field(serialization_alias="wireOut")

    class Rows(Refund):
        name = "rows"
        returns = list[Row]

        async def _run(self, input: Input, context: RunContext[Any]) -> object:
            return [Row(value=1)]

    result = await Rows().run({"order_id": "1", "amount": "1"})
    assert result.data == ({"wireOut": 1},)
