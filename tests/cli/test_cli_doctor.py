"""`backstay doctor` and `backstay model`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.command import Command

APP = """
from backstay import Agent, Boundary, tool
from backstay.models import ScriptedModel
from backstay.models.model import ModelProfile

@tool
def jot(text: str) -> str:
    "Write something."
    return text

agent = Agent(
    ScriptedModel("x", profile=ModelProfile(family="x", window=1000)), name="a", tools=[jot],
    boundary=Boundary(constraints=["only the last 30 days", "be kind"]),
)
"""


def _found(backstay: Command, *args: str) -> tuple[int, dict[str, list[str]]]:
    said = backstay("doctor", *args, "--json")
    found: dict[str, list[str]] = {}
    for one in json.loads(said.out):
        found.setdefault(one["about"], []).append(f"{one['verdict']}: {one['text']}")
    return said.code, found


def test_doctor_says_what_is_there_and_what_an_app_should_say_better(backstay: Command) -> None:
    (backstay.folder / "small.py").write_text(APP)
    code, found = _found(backstay, "small.py")
    assert code == 0
    assert found["version"][0].startswith("ok: Backstay")
    assert any("made by the first run" in text for text in found["store"])
    assert any("declares no risk" in text for text in found["tool jot"])
    assert any("when to use it" in text for text in found["tool jot"])
    assert any("without description: text" in text for text in found["tool jot"])
    assert any("price" in text for text in found["agent a"])
    assert any("advisory" in text for text in found["agent a"])
    assert any("reaches no tool" in text for text in found["agent a"])


UNSAFE = """
from backstay import Agent, tool

@tool(risk="read", untrusted=True)
def inbox() -> str:
    "Mails that came in. Use it when the user asks what is new."
    return ""

@tool(risk="read", secret={"card"})
def wallet() -> dict[str, str]:
    "Cards of the user. Use it when one is needed."
    return {}

@tool(risk="read", egress=True)
def fetch() -> str:
    "A page. Use it to read one."
    return ""

safe = Agent(name="safe", tools=[inbox, wallet])
agent = Agent(name="unsafe", tools=[inbox, wallet, fetch])
"""


def test_doctor_says_which_agents_may_not_run_unattended(backstay: Command) -> None:
    (backstay.folder / "three.py").write_text(UNSAFE)
    code, found = _found(backstay, "three.py")
    (told,) = [text for text in found["agent unsafe"] if "unattended" in text]
    assert (code, [name in told for name in ("inbox", "wallet", "fetch")]) == (0, [True] * 3)
    assert not any("unattended" in text for text in found.get("agent safe", ()))


def test_doctor_fails_on_a_damaged_store(backstay: Command) -> None:
    (backstay.folder / "bad.db").write_text("garbage" * 1000)
    code, found = _found(backstay, "--store", "bad.db")
    assert code == 1
    assert any("store.corrupt" in text for text in found["store"])


def test_doctor_prod_fails_on_what_is_fine_for_trying_out(backstay: Command) -> None:
    (backstay.folder / "plain.py").write_text("from backstay import Agent\nagent = Agent(name='plain')\n")
    code, _ = _found(backstay, "plain.py", "--store", "memory:")
    assert code == 0
    code, found = _found(backstay, "plain.py", "--store", "memory:", "--prod")
    assert code == 1
    assert any(text.startswith("wrong") for text in found["store"])
    assert any(text.startswith("wrong") for text in found["agent plain"])


def test_model_ls_says_where_the_weights_are(backstay: Command) -> None:
    said = backstay("model", "ls", "--json")
    assert said.code == 0
    (one,) = json.loads(said.out)
    assert (one["name"], one["licence"]) == ("smollm2-135m", "Apache-2.0")
    assert Path(one["path"]).is_file() == one["is_present"]


def test_an_unknown_model_is_a_clear_error(backstay: Command) -> None:
    said = backstay("model", "pull", "nosuch")
    assert said.code == 2
    assert "smollm2-135m" in said.err
    said = backstay("run", "small.py", "x", "--model", "nosuch:thing")
    assert said.code == 2
