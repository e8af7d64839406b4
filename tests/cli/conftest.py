"""A folder with small apps in it, and the command to run there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import Command

APP = '''
"""Pays, looks and talks, as told by the words of the input. Every payment is a line of paid.txt."""
import asyncio
import os
from pathlib import Path
from typing import Annotated

from backstay import Agent, Boundary, Id, ToolError, tool
from backstay.models import FunctionModel, call
from backstay.models.model import ModelProfile


@tool(risk="read")
def look(what: str) -> str:
    """Look something up."""
    return f"{what} is there"


@tool(risk="read")
def fail(what: str) -> str:
    """Fail."""
    raise ToolError("the line is down")


@tool(risk="high")
def pay(account: Annotated[str, Id("account")], euros: int) -> str:
    """Pay somebody."""
    if account == "broken":
        raise ToolError("the bank is closed", applied=False)
    with Path("paid.txt").open("a") as book:
        book.write(f"{account} {euros}\\n")
    return "paid"


async def brain(request, ctx):
    last = max(n for n, one in enumerate(request.messages) if one.role == "user")
    words, since = request.messages[last].text.split(), request.messages[last + 1:]
    if since and since[-1].role == "notice":
        return f"told: {since[-1].text}"
    if since:
        return f"result: {since[-1].returns[0].result.summary}"
    match words:
        case ["pay", account, euros]:
            args = {"account": account, "euros": int(euros)}
            return call("propose_action", action={"name": "pay", "arguments": args}, reason="because\\x1b[2Jof it")
        case ["look", what]:
            return call("look", what=what)
        case ["fail"]:
            return call("fail", what="x")
        case ["loop"]:
            return call("look", what=str(ctx.step))
        case ["slow"]:
            Path("started").touch()
            while not Path("go").exists():
                await asyncio.sleep(0.02)
            return "slow but done"
        case ["cost"]:
            return "priced"
    return " ".join(["you said:", *words])


def looping(request, ctx):
    return call("look", what=str(ctx.step))


price = ModelProfile(family="test", window=16_000, price={"input": "1000", "output": "1000"})
rules = Boundary(ask_seconds=float(os.environ.get("ASK_SECONDS", "86400")))
agent = Agent(FunctionModel(brain, profile=price), name="clerk", tools=[look, fail, pay], boundary=rules)
looper = Agent(FunctionModel(looping), name="looper", tools=[look])
'''


@pytest.fixture
def backstay(tmp_path: Path) -> Command:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    return Command(tmp_path)
