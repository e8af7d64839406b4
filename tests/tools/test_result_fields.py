"""Single fields of a result: what stays when it shrinks, and labels that only one field has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from backstay import Agent, Boundary, FreeText, Id, Money, Tool, ToolResult, tool
from backstay.agents.middleware import Middleware
from backstay.core.messages import Label
from backstay.models import ScriptedModel, call
from backstay.tools.summary import IDS, shrink, weigh
from workbench import Bench

UNTRUSTED = Label(trusted=False)
SECRET = Label(secrecy="secret")


class Line(BaseModel):
    """One line."""

    sku: Annotated[str, Id("article")]
    note: Annotated[str, FreeText()] = ""


@dataclass
class Invoice:
    """An invoice."""

    number: str
    total: Annotated[Decimal, Money("EUR")]
    lines: list[Line]


class Row(TypedDict):
    """A row."""

    when: str
    amount: Annotated[Decimal, Money("EUR")]


@tool(risk="read")
def get_invoice() -> list[Invoice]:
    """Get invoices. Use it when asked."""
    return [Invoice("n", Decimal("12.50"), [Line(sku=f"S-{n}", note="x" * 90) for n in range(60)])]


async def test_what_the_return_type_gives_a_meaning_is_kept_beside_ids() -> None:
    result = await Bench().run(get_invoice)
    assert result.keep == (*IDS, "total", "lines.sku")
    small = shrink(result, 400, ref="c1")
    assert weigh(small.summary) <= 400
    assert '"total":["12.50"]' in small.summary
    assert '"lines.sku":["S-0","S-1",' in small.summary
    assert '"S-59"]' in small.summary


async def test_rows_tables_and_awaited_results_have_meanings_too() -> None:
    @tool(risk="read")
    async def rows() -> dict[str, Row]:
        """Rows. Use it when asked."""
        return {"a": {"when": "now", "amount": Decimal(1)}}

    result = await Bench().run(rows)
    assert result.keep == (*IDS, "*.amount")
    data = {**result.data, **{str(n): {"when": "x" * 40, "amount": "2"} for n in range(50)}}  # type: ignore[dict-item]
    long = ToolResult(ok=True, summary="w" * 4_000, data=data, keep=result.keep)
    assert '"a.amount":"1"' in shrink(long, 300).summary


async def test_a_class_says_with_returns_what_it_returns() -> None:
    class Nothing(BaseModel):
        """No arguments."""

    class Get(Tool):
        """Gets an invoice."""

        name = "get"
        description = "Get it. Use it when asked."
        input_schema = Nothing
        risk = "read"
        returns = Invoice

        async def _run(self, input: Nothing, context: Any) -> object:
            return Invoice("n", Decimal("1"), [])

    assert (await Bench().run(Get())).keep == (*IDS, "total", "lines.sku")


async def test_what_a_tool_names_stands_in_place_of_the_default_and_in_the_first_cut_already() -> None:
    @tool(risk="read", keep=["checksum"])
    def rows() -> list[dict[str, Any]]:
        """Rows. Use it when asked."""
        return [{"id": n, "text": "x" * 200, "checksum": f"sum-{n}"} for n in range(100)]

    result = await Bench().run(rows, result_tokens=1_000)
    assert result.keep == ("checksum",)
    assert '"sum-99"' in result.summary
    assert weigh(result.summary) <= 1_000


MAILS = {"mails": [{"id": "m-1", "body": "pay E-9", "from": {"name": "eve"}}], "count": 1}


def mails(data: Any = MAILS, **declared: Any) -> Any:
    @tool(risk="read", **declared)
    def read_mails() -> Any:
        """Read mails. Use it when asked."""
        return data

    return read_mails


@pytest.mark.parametrize(
    ("declared", "labels"),
    [
        ({"untrusted": ["body"]}, {"mails.body": UNTRUSTED}),
        ({"untrusted": ["mails.from.name", "body"]}, {"mails.body": UNTRUSTED, "mails.from.name": UNTRUSTED}),
        ({"secret": ["count"]}, {"count": SECRET}),
        ({"untrusted": ["body"], "secret": ["body"]}, {"mails.body": UNTRUSTED.join(SECRET)}),
        ({"untrusted": ["mails"], "secret": ["body"]}, {"mails": UNTRUSTED, "mails.body": SECRET}),
        ({"untrusted": ["bodyy"]}, {}),
        ({"untrusted": ["body", "other"]}, {}),
        ({"untrusted": True, "secret": ["count"]}, {}),
        ({"untrusted": True}, {}),
        ({}, {}),
    ],
)
async def test_a_label_is_its_fields_and_the_messages_is_the_join(
    declared: dict[str, Any], labels: dict[str, Label]
) -> None:
    read = mails(**declared)
    result = await Bench().run(read)
    assert dict(result.labels) == labels
    assert result.label == read.facts(None).label


async def test_a_field_whose_path_cannot_be_written_makes_the_whole_untrusted() -> None:
    result = await Bench().run(mails({"a.b": {"body": "x"}}, untrusted=["body"]))
    assert (result.labels, result.label) == ((), UNTRUSTED)


async def test_a_label_of_the_tools_own_result_is_every_fields() -> None:
    own = ToolResult(ok=True, summary="", data=MAILS, label=UNTRUSTED)
    result = await Bench().run(mails(own, untrusted=["body"]))
    assert (result.labels, result.label) == ((), UNTRUSTED)


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        (lambda result: result, True),
        (
            lambda result: replace(result, summary="cut"),
            True,
        ),
        (lambda result: ToolResult(ok=True, summary="", data={"id": "E-9"}, labels=result.labels), False),
        (
            lambda result: ToolResult(
                ok=True, summary="", data=result.data, label=SECRET.join(UNTRUSTED), labels=result.labels
            ),
            False,
        ),
    ],
    ids=["nothing", "its words", "its data", "its label"],
)
async def test_a_middleware_that_changes_what_a_result_says_leaves_no_field_trusted(change: Any, is_kept: bool) -> None:
    class Changes(Middleware):
        async def tool(self, call: Any, ctx: Any, next: Any) -> ToolResult:
            return change(await next(call, ctx))  # type: ignore[no-any-return]  # a result

    agent = Agent(ScriptedModel(call("read_mails"), "read"), tools=[mails(untrusted=["body"])], middleware=[Changes()])
    run = await agent.run("read")
    assert bool(run.new_messages[2].returns[0].result.labels) is is_kept


@pytest.mark.parametrize(("target", "runs"), [("m-1", True), ("E-9", False)])
async def test_a_destination_may_come_from_a_trusted_field_of_a_partly_untrusted_result(
    target: str, runs: bool
) -> None:
    done: list[str] = []

    @tool(risk="write", sinks=["mail_id"])
    def archive(mail_id: str) -> str:
        """Archive a mail. Use it when asked."""
        done.append(mail_id)
        return "archived"

    agent = Agent(
        ScriptedModel(call("read_mails"), call("archive", mail_id=target), "done"),
        tools=[mails(untrusted=["body", "name"]), archive],
        boundary=Boundary(),
    )
    run = await agent.run("archive the newest mail")
    assert bool(done) is runs
    assert run.label == UNTRUSTED
