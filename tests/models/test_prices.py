"""Prices: by the table, by the model, by the program's own file; unknown stays unknown."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from backstay import Agent, Boundary, Limits
from backstay.core.errors import AppError
from backstay.core.messages import ModelReply, Text, Usage
from backstay.models import FunctionModel, ModelProfile, Price
from backstay.models.prices import price_of

USAGE = Usage(input_tokens=1_000_000, output_tokens=500_000, cached_tokens=400_000)


def model(**price: str) -> FunctionModel:
    profile = ModelProfile(family="f", window=1_000, price=price or None)
    reply = ModelReply(parts=(Text(text="hi"),), finish="stop", usage=USAGE, model="my:model")
    return FunctionModel(lambda _r, _c: reply, profile=profile, name="my:model")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "prices.json"
    monkeypatch.setenv("BACKSTAY_PRICES", str(path))
    return path


def test_cached_tokens_have_their_own_price() -> None:
    assert Price({"input": "1", "cached": "0.1", "output": "4"}).cost_usd(USAGE) == Decimal("2.64")
    assert Price({"input": "1", "output": "4"}).cost_usd(USAGE) == Decimal(3)


def test_unknown_is_unknown_and_never_nothing() -> None:
    assert price_of(model()).cost_usd(USAGE) is None
    assert Price({"input": "1"}).cost_usd(USAGE) is None
    assert Price({"input": "1", "output": "1"}).cost_usd(None) is None


async def test_the_programs_own_file_wins(table: Path) -> None:
    _write(table, '{"my:model": {"input": 2, "cached": "0", "output": "10"}}')
    result = await Agent(model(input="1", output="1")).run("hi", limits=Limits(tokens=10_000_000))
    assert result.cost_usd == Decimal("6.2")
    assert price_of(model()).cost_usd(USAGE) == Decimal("6.2")


def test_a_model_that_the_file_does_not_name_keeps_its_own(table: Path) -> None:
    table.write_text('{"other:model": {"input": 2, "output": "10"}}')
    assert price_of(model(input="1", output="0")).cost_usd(USAGE) == Decimal(1)
    assert price_of(model()).cost_usd(USAGE) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"input": "x"}}', '{"a": {"input": -1}}'])
def test_a_file_that_is_no_table_is_said_where_the_agent_is_built(table: Path, text: str) -> None:
    table.write_text(text)
    with pytest.raises(AppError, match="no table of prices") as raised:
        Agent(model())
    assert raised.value.code == "model.prices"


def test_a_limit_of_cost_can_be_kept_with_a_price_from_the_file(table: Path) -> None:
    table.write_text('{"my:model": {"input": 2, "output": "10"}}')
    Agent(model(), boundary=Boundary(limits=Limits(usd=1)))


def _write(table: Path, text: str) -> None:
    table.write_text(text)
