"""A model that could not answer, and the one that was asked in its place, as `run` and `chat` show it."""

from __future__ import annotations

import pytest

from cli.command import Command

APP = """
from backstay import Agent
from backstay.core.errors import ModelError
from backstay.models import FallbackModel, FunctionModel

def down(request, ctx):
    raise ModelError("no\\x1b[2J credit", retryable=False, code="model.credit")

agent = Agent(FallbackModel(FunctionModel(down, name="a:1"), FunctionModel(lambda request, ctx: "hello", name="b:2")))
"""
LINE = "! a:1 could not answer [model.credit] no\\u001b[2J credit; asking b:2"


@pytest.fixture
def two(backstay: Command) -> Command:
    (backstay.folder / "two.py").write_text(APP, "utf-8")
    return backstay


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_run_says_on_one_line_which_model_failed_and_which_is_asked(two: Command, stream: str) -> None:
    said = two("run", "two.py", "hi", stream)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[:1] == [LINE]
    assert said.out.count("hello") == 1


def test_chat_says_it_too(two: Command) -> None:
    said = two("chat", "two.py", stdin="hi\n")
    assert said.code == 0
    assert f"{LINE}\nhello\n" in said.out


def test_a_document_holds_nothing_but_itself(two: Command) -> None:
    said = two("run", "two.py", "hi", "--json")
    assert (said.code, said.json["output"]) == (0, "hello")
